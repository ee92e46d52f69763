#!/usr/bin/env node
// Starts the loci of this platform with the same input and output, and ends as it ends.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const name = `loci-memory-${process.platform}-${process.arch}`;
const program = process.platform === "win32" ? "loci.exe" : "loci";
let path;
try {
  path = require.resolve(`${name}/${program}`);
} catch {
  console.error(`loci: the package ${name} is missing: this platform has no binary, or optional packages are off`);
  process.exit(1);
}

const child = spawn(path, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`loci: ${path} cannot be started: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));

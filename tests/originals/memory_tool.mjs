// Runs the same commands through the TypeScript SDK's own memory tool and through `loci memory-tool` with the setting
// `memory_tool.helper = "typescript"`, and compares the replies.

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

// The packages are in the folder from which this is run.
const require = createRequire(join(process.cwd(), 'package.json'));
const { betaMemoryTool } = require('@anthropic-ai/sdk/helpers/beta/memory');
const { BetaLocalFilesystemMemoryTool } = require('@anthropic-ai/sdk/tools/memory/node');
const { version } = JSON.parse(readFileSync(join(process.cwd(), 'node_modules/@anthropic-ai/sdk/package.json')));

const sequences = JSON.parse(readFileSync(new URL('sequences.json', import.meta.url)));
const commands = ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'];

class Loci {
  constructor(folder) {
    const env = {
      ...process.env,
      LOCI_DATA: folder,
      LOCI_EMBEDDING_PROVIDER: 'none',
      LOCI_MEMORY_TOOL_HELPER: 'typescript',
      LOCI_LOG: 'error',
    };
    this.process = spawn(process.env.LOCI_BIN, ['memory-tool'], { env, stdio: ['pipe', 'pipe', 'inherit'] });
    this.lines = createInterface({ input: this.process.stdout })[Symbol.asyncIterator]();
    for (const command of commands) this[command] = (given) => this.send(given);
  }

  async send(command) {
    this.process.stdin.write(`${JSON.stringify(command)}\n`);
    const reply = JSON.parse((await this.lines.next()).value);
    if (reply.is_error) throw new Error(reply.content);
    return reply.content;
  }

  async close() {
    this.process.stdin.end();
    await new Promise((done) => this.process.once('exit', done));
  }
}

const filled = (command) =>
  Object.fromEntries(
    Object.entries(command).map(([name, value]) => [
      name,
      value?.repeat === undefined ? value : value.repeat.repeat(value.times),
    ]),
  );

async function said(tool, command) {
  try {
    return ['reply', await tool.run(command)];
  } catch (error) {
    return ['error', error.message];
  }
}

let [compared, different] = [0, 0];
for (const sequence of sequences) {
  const [own, folder] = ['own-', 'loci-'].map((name) => mkdtempSync(join(tmpdir(), name)));
  const loci = new Loci(folder);
  const local = betaMemoryTool(await BetaLocalFilesystemMemoryTool.init(own));
  const tool = betaMemoryTool(loci);
  for (const [index, command] of sequence.commands.map(filled).entries()) {
    const isKnown = commands.includes(command.command);
    const expected = await said(local, command);
    const found = isKnown ? await said(tool, command) : await loci.send(command).then((text) => ['reply', text], (error) => ['error', error.message]);
    // What the helper says of a system error has the path on this machine in it.
    if (expected[0] === 'error' && expected[1].includes(own)) continue;
    compared += 1;
    if (expected[0] !== found[0] || expected[1] !== found[1]) {
      different += 1;
      console.log(`${sequence.about}, ${index + 1}: ${JSON.stringify(command)}`);
      console.log(`  the helper says ${JSON.stringify(expected)}\n  loci says       ${JSON.stringify(found)}`);
    }
  }
  await loci.close();
  for (const each of [own, folder]) rmSync(each, { recursive: true });
}
console.log(`@anthropic-ai/sdk ${version} (TypeScript): ${compared} replies compared, ${different} differ`);
process.exit(different > 0 || compared === 0 ? 1 : 0);

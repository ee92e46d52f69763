"""The common parts of the agent hosts: a home of their own, the program, the built loci on the path."""

import copy
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile

import features
import support
from endpoint import Call, plain

# Seconds; more than a host needs on a busy machine.
TIMEOUT = 120
# The folder that sessions work in. Gemini CLI names its own folder for it otherwise (`kestrel-notes`), loci does not.
PROJECT = "Kestrel_Notes"
WING = "kestrel_notes"
COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Failed(AssertionError):
    """A program ended with an error."""


class Host:
    """An agent host in a home of its own, installed in `folder`, which asks the model at `endpoint`."""

    # The program that its package brings.
    program = None
    # Finds the names of connected servers in what the host lists, or of all where it does not try them.
    listed_pattern = None
    # Whether the model is told the names of all tools at once, or of the servers alone.
    names_tools = True

    def __init__(self, folder, endpoint):
        self.endpoint = endpoint
        # The MCP servers that were added.
        self.servers = []
        self.temporary = tempfile.TemporaryDirectory(
            prefix="loci-host-", dir=support.memory_disk(), ignore_cleanup_errors=True
        )
        self.home = pathlib.Path(self.temporary.name)
        self.project = self.home / "work" / PROJECT
        for made in (self.project, self.home / "tmp", self.home / "bin"):
            made.mkdir(parents=True)
        (self.home / "bin" / "loci").symlink_to(support.LOCI)
        (self.home / "bin" / self.program).symlink_to(folder / "node_modules" / ".bin" / self.program)
        common = features.environment(self.home)
        path = f"{self.home / 'bin'}{os.pathsep}{common['PATH']}"
        temporary = str(self.home / "tmp")
        self.environment = {**common, "PATH": path, "TMPDIR": temporary, "TERM": "xterm-256color", **self.variables()}
        self.configure()

    def variables(self):
        """The environment variables that point the host at the endpoint and keep it from the network."""
        return {}

    def configure(self):
        """Writes the settings that no environment variable stands for."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.temporary.cleanup()

    # Different in each host --------------------------------------------------------------------------------------------

    def stdio_arguments(self, server, command):
        """Arguments that add a server which the host starts by itself."""
        raise NotImplementedError

    def http_arguments(self, server, url):
        """Arguments that add a server whose token is in the environment variable LOCI_TOKEN."""
        raise NotImplementedError

    def ask_arguments(self, prompt, resume):
        """Arguments that run a session without a person."""
        raise NotImplementedError

    def offered(self, request, server):
        """The names of a server's tools that the model is told of."""
        return [tool.full_name for tool in request.tools if plain(server) in tool.full_name]

    def discover(self, request, wanted):
        """The calls that bring tools, (server, name) each, which the host holds back until the model looks for them."""
        return []

    def call(self, request, server, name, arguments):
        """A call of a tool of an MCP server."""
        return Call(request.tool(server, name), arguments)

    # The same in all -------------------------------------------------------------------------------------------------

    def add(self, server, dialect, url=None, token=None):
        """Adds an MCP server by the host's own command: over stdio, or over HTTP if there is a URL."""
        if url is None:
            arguments = self.stdio_arguments(server, ["loci", "mcp", dialect])
        else:
            self.environment["LOCI_TOKEN"] = token
            arguments = self.http_arguments(server, url)
        self.servers.append(server)
        self.run(*arguments)

    def mcp_list(self):
        """The names of the servers that the host's own list calls connected; none, if it has no list."""
        if self.listed_pattern is None:
            return None
        return re.findall(self.listed_pattern, self.run("mcp", "list"), re.MULTILINE)

    def ask(self, prompt, resume=False):
        """Runs a session, or goes on with the last one; gives what the host prints."""
        return self.run(*self.ask_arguments(prompt, resume))

    def interrupt(self, prompt, begun):
        """Asks, and interrupts the host once the event `begun` says that the model is at work."""
        with self.start([self.program, *self.ask_arguments(prompt, False)]) as process:
            try:
                if not begun.wait(TIMEOUT):
                    raise AssertionError("the model was not asked")
                process.send_signal(signal.SIGINT)
                process.communicate(timeout=TIMEOUT)
            finally:
                process.kill()

    def elsewhere(self, project):
        """The same host in another project."""
        other = copy.copy(self)
        other.project = self.project.parent / project
        other.project.mkdir()
        return other

    def run(self, *arguments):
        """Runs the host to its end; gives what it prints, on stdout or stderr."""
        return "".join(self.finish([self.program, *arguments]))

    def shell(self, line):
        """Runs a line of the documentation."""
        self.finish(["sh", "-c", line])

    def loci(self, *arguments):
        """Runs loci in this home; gives its data."""
        return self.finish(["loci", *arguments])[0]

    def start(self, command, stdin=subprocess.DEVNULL):
        return subprocess.Popen(
            command,
            cwd=self.project,
            env=self.environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )

    def finish(self, command):
        with self.start(command) as process:
            try:
                out, err = process.communicate(timeout=TIMEOUT)
            finally:
                process.kill()
        if process.returncode != 0:
            raise Failed(f"{command} ended with {process.returncode}:\n{out}\n{err}")
        return COLOURS.sub("", out), COLOURS.sub("", err)

    def filed(self):
        """The filed messages of conversations: wing, speaker and text of each."""
        lines = map(json.loads, self.loci("export", "-").splitlines())
        memories = [line["memory"] for line in lines if "memory" in line]
        said = [memory for memory in memories if "speaker" in memory.get("attributes", {})]
        return [(memory["collection"], memory["attributes"]["speaker"], memory["content"]) for memory in said]

    def summaries(self):
        """The filed summaries of conversations."""
        memories = [json.loads(line).get("memory", {}) for line in self.loci("export", "-").splitlines()]
        return [memory["content"] for memory in memories if memory.get("kind") == "summary"]


class HookedHost(Host):
    """A host that loci installs hooks into."""

    # The name that `loci hook` knows it by.
    hook_name = None

    def install_hooks(self):
        self.loci("hook", "install", "--host", self.hook_name)

    def add_plugin(self, checkout):
        """Adds the plug-in of loci in a checkout, after the host's own checks of it."""
        raise NotImplementedError

    def ask_compacted(self, prompt):
        """Has the host compact the last session, and goes on with it."""
        raise NotImplementedError


def write_json(path, value):
    """Writes a settings file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2) + "\n")

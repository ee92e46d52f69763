"""Claude Code."""

import contextlib
import json
import re
import subprocess

from agents.host import TIMEOUT, Failed, HookedHost
from endpoint import Call, Tool


class ClaudeCode(HookedHost):
    program, hook_name = "claude", "claude-code"
    listed_pattern = r"^(\S+): .* - \S+ Connected$"

    def variables(self):
        return {
            "ANTHROPIC_BASE_URL": self.endpoint.url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
        }

    def stdio_arguments(self, server, command):
        return ["mcp", "add", "--scope", "user", server, "--", *command]

    def http_arguments(self, server, url):
        # The header comes last: it takes all words that follow it.
        header = "Authorization: Bearer ${LOCI_TOKEN}"
        return ["mcp", "add", "--scope", "user", "--transport", "http", server, url, "--header", header]

    def ask_arguments(self, prompt, resume):
        # To skip all permissions is refused to root, so that those of loci's tools are given by their names.
        allowed = ["--allowedTools", ",".join(f"mcp__{server}" for server in self.servers)] if self.servers else []
        return ["--print", *(["--continue"] if resume else []), *allowed, "--", prompt]

    @contextlib.contextmanager
    def session(self):
        """A session that goes on between questions: gives a function that asks one and waits for the answer."""
        form = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
        with self.start([self.program, "--print", *form], stdin=subprocess.PIPE) as process:

            def ask(prompt):
                message = {"type": "user", "message": {"role": "user", "content": prompt}}
                process.stdin.write(f"{json.dumps(message)}\n")
                process.stdin.flush()
                # Its hooks have run when it tells the result.
                for line in process.stdout:
                    if json.loads(line)["type"] == "result":
                        return
                raise Failed(f"the session ended:\n{process.stderr.read()}")

            try:
                yield ask
                process.communicate(timeout=TIMEOUT)
            finally:
                process.kill()

    def offered(self, request, server):
        # But for those that the server marks (`anthropic/alwaysLoad`), tools of MCP servers are held back: the model is
        # told their names and searches for those that it needs.
        at_once = [tool.name for tool in request.tools if tool.name.startswith(f"mcp__{server}__")]
        return [*at_once, *re.findall(rf"^(mcp__{re.escape(server)}__\w+)$", request.everything, re.MULTILINE)]

    def discover(self, request, wanted):
        offered = {tool.name for tool in request.tools}
        names = [name for name in (f"mcp__{server}__{name}" for server, name in wanted) if name not in offered]
        if not names:
            return []
        return [Call(Tool("ToolSearch"), {"query": f"select:{','.join(names)}", "max_results": len(names)})]

    def add_plugin(self, checkout):
        self.run("plugin", "validate", "--strict", str(checkout / "plugins" / "claude-code"))
        self.run("plugin", "validate", "--strict", str(checkout))
        self.run("plugin", "marketplace", "add", str(checkout))
        self.run("plugin", "install", "loci@loci")

    def ask_compacted(self, prompt):
        self.ask("/compact", resume=True)
        return self.ask(prompt, resume=True)

"""Codex."""

import re

from agents.host import HookedHost
from endpoint import Call, Tool, plain

# Low enough that any conversation is compacted before the next question.
COMPACT_AT_TOKENS = 50


class Codex(HookedHost):
    program, hook_name = "codex", "codex"
    names_tools = False
    listed_pattern = r"^(\S+) .* enabled "

    def variables(self):
        return {"MODEL_KEY": "none"}

    def configure(self):
        folder = self.home / ".codex"
        folder.mkdir()
        (folder / "config.toml").write_text(
            f"""\
model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{self.endpoint.url}/v1"
wire_api = "responses"
env_key = "MODEL_KEY"

[analytics]
enabled = false
"""
        )

    def stdio_arguments(self, server, command):
        return ["mcp", "add", server, "--", *command]

    def http_arguments(self, server, url):
        return ["mcp", "add", server, "--url", url, "--bearer-token-env-var", "LOCI_TOKEN"]

    def ask_arguments(self, prompt, resume, *settings):
        # A person trusts the hooks by `/hooks`; without that, or this option, `exec` passes over them in silence.
        # Codex asks a person for leave to call tools, so that the sandbox and its questions are left out.
        unasked = ["--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"]
        session = ["resume", "--last"] if resume else []
        return ["exec", *session, "--skip-git-repo-check", *unasked, *settings, prompt]

    def offered(self, request, server):
        # Tools of MCP servers are held back: the model is told of each server and searches for tools.
        named = re.findall(rf"^- (mcp__{plain(server)}): ", request.everything, re.MULTILINE)
        return [*super().offered(request, server), *named]

    def discover(self, request, wanted):
        queries = [f"{plain(server)} {name}" for server, name in wanted if not request.has_tool(server, name)]
        return [Call(Tool("tool_search"), {"query": query, "limit": 20}) for query in queries]

    def add_plugin(self, checkout):
        self.run("plugin", "marketplace", "add", str(checkout))
        self.run("plugin", "add", "loci@loci")

    def ask_compacted(self, prompt):
        setting = f"model_auto_compact_token_limit={COMPACT_AT_TOKENS}"
        return self.run(*self.ask_arguments(prompt, True, "--config", setting))

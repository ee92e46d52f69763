"""Qwen Code."""

import re

from agents.host import Host, write_json
from endpoint import Call, Tool


class QwenCode(Host):
    program = "qwen"
    listed_pattern = r"^✓ (\S+): .* - Connected$"

    def variables(self):
        return {
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": f"{self.endpoint.url}/v1",
            "OPENAI_MODEL": "scripted",
            "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1",
        }

    def configure(self):
        settings = {
            "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            # It would have the model write memories after each answer.
            "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
        }
        write_json(self.home / ".qwen" / "settings.json", settings)

    def stdio_arguments(self, server, command):
        return ["mcp", "add", server, *command]

    def http_arguments(self, server, url):
        return ["mcp", "add", "--transport", "http", "--header", "Authorization: Bearer $LOCI_TOKEN", server, url]

    def ask_arguments(self, prompt, resume):
        session = ["--continue"] if resume else []
        return ["--auth-type", "openai", "--approval-mode", "yolo", *session, prompt]

    def offered(self, request, server):
        # Tools of MCP servers are held back: the model is told their names and calls them through another tool.
        named = re.findall(rf'^- "(mcp__{re.escape(server)}__\w+)": ', request.everything, re.MULTILINE)
        return [*super().offered(request, server), *named]

    def call(self, request, server, name, arguments):
        if request.has_tool(server, name):
            return super().call(request, server, name, arguments)
        return Call(Tool("tool_call"), {"name": f"mcp__{server}__{name}", "arguments": arguments})

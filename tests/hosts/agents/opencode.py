"""opencode."""

from agents.host import HookedHost, write_json


class Opencode(HookedHost):
    program, hook_name = "opencode", "opencode"
    listed_pattern = r"✓ (\S+) connected$"

    def variables(self):
        return {
            "OPENCODE_DISABLE_AUTOUPDATE": "true",
            "OPENCODE_DISABLE_MODELS_FETCH": "true",
            # With a plug-in, it waits for a package of its own from npm, which has no network here.
            "npm_config_fetch_retries": "0",
        }

    def configure(self):
        model = {"name": "Scripted", "tool_call": True, "limit": {"context": 100_000, "output": 1_000}}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"{self.endpoint.url}/v1", "apiKey": "none"},
            "models": {"scripted": model},
        }
        settings = {
            "model": "scripted/scripted",
            "small_model": "scripted/scripted",
            "provider": {"scripted": provider},
            "autoupdate": False,
            "share": "disabled",
        }
        write_json(self.home / ".config" / "opencode" / "opencode.jsonc", settings)

    def stdio_arguments(self, server, command):
        return ["mcp", "add", server, "--", *command]

    def http_arguments(self, server, url):
        return ["mcp", "add", server, "--url", url, "--header", "Authorization=Bearer {env:LOCI_TOKEN}"]

    def ask_arguments(self, prompt, resume):
        return ["run", "--auto", *(["--continue"] if resume else []), prompt]

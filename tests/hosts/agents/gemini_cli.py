"""Gemini CLI."""

from agents.host import HookedHost, write_json

# A model by name: for the default one, the host first asks another which to take.
MODEL = "gemini-2.5-flash"


class GeminiCli(HookedHost):
    program, hook_name = "gemini", "gemini-cli"
    listed_pattern = r"^✓ (\S+)(?: \(from [^)]+\))?: .* - Connected$"

    def variables(self):
        return {
            "GEMINI_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": self.endpoint.url,
            # In a folder that is not trusted no server is connected.
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }

    def configure(self):
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
        }
        write_json(self.home / ".gemini" / "settings.json", settings)

    def stdio_arguments(self, server, command):
        return ["mcp", "add", "--scope", "user", server, *command]

    def http_arguments(self, server, url):
        header = ["--header", "Authorization: Bearer $LOCI_TOKEN"]
        return ["mcp", "add", "--scope", "user", "--transport", "http", *header, server, url]

    def add_plugin(self, checkout):
        folder = str(checkout / "plugins" / "gemini-cli")
        self.run("extensions", "validate", folder)
        self.run("extensions", "install", folder, "--consent")

    def ask_arguments(self, prompt, resume):
        # Without a person to ask, the model is offered only what needs no approval.
        session = ["--resume", "latest"] if resume else []
        return ["--model", MODEL, "--approval-mode", "yolo", *session, "--prompt", prompt]

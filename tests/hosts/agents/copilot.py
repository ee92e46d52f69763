"""GitHub Copilot CLI."""

from agents.host import Host


class Copilot(Host):
    program = "copilot"
    listed_pattern = r"^ +(\S+) \((?:local|http)\)$"

    def variables(self):
        return {
            "COPILOT_PROVIDER_BASE_URL": f"{self.endpoint.url}/v1",
            "COPILOT_MODEL": "gpt-4",
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
        }

    def stdio_arguments(self, server, command):
        return ["mcp", "add", server, "--", *command]

    def http_arguments(self, server, url):
        header = ["--header", "Authorization: Bearer ${LOCI_TOKEN}"]
        return ["mcp", "add", "--transport", "http", *header, server, url]

    def ask_arguments(self, prompt, resume):
        return [*(["--continue"] if resume else []), "--allow-all-tools", "--silent", "--prompt", prompt]

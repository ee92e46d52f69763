"""Cline's CLI."""

from agents.host import Host, write_json


class Cline(Host):
    program = "cline"

    def variables(self):
        return {"CLINE_NO_AUTO_UPDATE": "1"}

    def configure(self):
        self.data = self.home / ".cline" / "data"
        silent = {"telemetryOptOut": True, "autoUpdateEnabled": False}
        write_json(self.data / "settings" / "global-settings.json", silent)
        model = ["--apikey", "none", "--modelid", "scripted", "--baseurl", f"{self.endpoint.url}/v1"]
        self.run("auth", "--provider", "openai", *model)

    def stdio_arguments(self, server, command):
        return ["mcp", "add", "--yes", server, "--", *command]

    def http_arguments(self, server, url):
        # It puts no variables into headers.
        header = ["--header", f"Authorization: Bearer {self.environment['LOCI_TOKEN']}"]
        return ["mcp", "add", "--yes", "--transport", "http", *header, server, url]

    def ask_arguments(self, prompt, resume):
        # With a data folder of its own, though it is the usual one, no process outlives the session.
        return ["--data-dir", str(self.data), prompt]

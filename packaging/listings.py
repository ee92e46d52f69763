"""What lists the packages where people look for them."""

import re

from files import ROOT, as_json, digest, release_file

# The settings that a person may want to choose before the first start.
CHOICES = ["LOCI_DATA", "LOCI_VAULT", "LOCI_STORE", "LOCI_STORE_PASSWORD"]
FOLDERS = ["LOCI_DATA", "LOCI_VAULT"]
SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"


def bundle(fact, platform):
    """The name of the bundle for Claude Desktop."""
    return f"{fact['name']}-{fact['version']}-{platform['target']}.mcpb"


def choices(names):
    """The environment variables with these names, as the reference explains them."""
    reference = (ROOT / "docs/reference.md").read_text()
    found = []
    for name in names:
        row = re.search(rf"^\|[^|]*\|[^|]*\|[^|]*`{name}`[^|]*\|[^|]*\| (.*) \|$", reference, re.MULTILINE)
        meaning, secret, _ = row[1].partition(" (a secret)")
        kind = {"isSecret": True} if secret else {"format": "filepath"} if name in FOLDERS else {}
        found.append({"name": name, "description": meaning, **kind})
    return found


def server(fact, out):
    """The entry of the MCP registry, with the bundles that lie in `out`."""
    common = {
        "transport": {"type": "stdio"},
        "packageArguments": [{"type": "positional", "value": value} for value in ("mcp", "mememory")],
    }
    packages = [
        {
            "registryType": kind,
            "identifier": fact["name"],
            "version": fact["version"],
            "runtimeHint": runtime,
            **common,
            "environmentVariables": choices(CHOICES),
        }
        for kind, runtime in (("pypi", "uvx"), ("npm", "npx"))
    ]
    # The registry wants the version of an image in its name. The volume keeps the memories when the container goes.
    packages.append(
        {
            "registryType": "oci",
            "identifier": f"{fact['image']}:{fact['version']}",
            "runtimeHint": "docker",
            "runtimeArguments": [{"type": "named", "name": "--volume", "value": f"{fact['name']}:/data"}],
            **common,
            "environmentVariables": choices([name for name in CHOICES if name not in FOLDERS]),
        }
    )
    # The manifest in a bundle has the arguments.
    for platform in fact["platform"]:
        file = out / bundle(fact, platform)
        if file.is_file():
            packages.append(
                {
                    "registryType": "mcpb",
                    "identifier": release_file(fact, file.name),
                    "version": fact["version"],
                    "fileSha256": digest(file.read_bytes()),
                    "transport": {"type": "stdio"},
                }
            )
    entry = {
        "$schema": SCHEMA,
        "name": fact["registry_name"],
        "title": fact["title"],
        "description": fact["description"],
        "version": fact["version"],
    }
    hosts = [host for host in ("github", "gitlab") if fact["repository"].startswith(f"https://{host}.com/")]
    if hosts:
        entry["repository"] = {"url": fact["repository"], "source": hosts[0]}
    (out / "server.json").write_bytes(as_json({**entry, "packages": packages}))

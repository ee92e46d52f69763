"""What lists the packages where people look for them."""

import re
import sys

from files import ROOT, as_json, digest, release_file, synopsis

# The settings that a person may want to choose before the first start.
CHOICES = ["LOCI_DATA", "LOCI_VAULT", "LOCI_STORE", "LOCI_STORE_PASSWORD"]
FOLDERS = ["LOCI_DATA", "LOCI_VAULT"]
SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"


def bundle(fact, platform):
    """The name of the bundle for Claude Desktop."""
    return f"{fact['name']}-{fact['version']}-{platform['target']}.mcpb"


def archive(fact, target):
    """The name of the archive that `scripts/release` writes for a target."""
    return f"loci-{fact['version']}-{target}.tar.xz"


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


def formula(fact, out):
    """The Homebrew formula, for the platforms whose archives lie in `out`."""
    processors = {"arm": "aarch64", "intel": "x86_64"}
    places = ""
    for system, rest in (("macos", "apple-darwin"), ("linux", "unknown-linux-gnu")):
        found = ""
        for processor, first in processors.items():
            file = out / archive(fact, f"{first}-{rest}")
            if file.is_file():
                found += f"""
    on_{processor} do
      url "{release_file(fact, file.name)}"
      sha256 "{digest(file.read_bytes())}"
    end
"""
        if found:
            places += f"\n  on_{system} do{found}  end\n"
    if not places:
        print("build: no formula: no archive for macOS or Linux lies beside the packages", file=sys.stderr)
        return
    licences = ", ".join(f'"{licence}"' for licence in fact["license"].split(" OR "))
    (out / f"{fact['name']}.rb").write_text(
        f"""class LociMemory < Formula
  desc "{synopsis(fact)}"
  homepage "{fact['repository']}"
  version "{fact['version']}"
  license any_of: [{licences}]
{places}
  def install
    bin.install "loci"
    man1.mkpath
    system bin/"loci", "man", "--out", man1
    generate_completions_from_executable(bin/"loci", "completions")
  end

  test do
    ENV["LOCI_DATA"] = (testpath/"data").to_s
    system bin/"loci", "add", "The lighthouse keeper's cat is called Bartholomew"
    assert_match "Bartholomew", shell_output("#{{bin}}/loci search 'which pet does the keeper have'")
  end
end
"""
    )

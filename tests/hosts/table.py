"""The table of clients and features, and the document around it."""

import install
from features import FEATURES

DOCUMENT = install.ROOT / "docs" / "hosts.md"
YES, FAILED, SKIPPED, NONE = "yes", "FAILED", "skipped", "–"
KINDS = {"host": "Agents", "tool": "Tools", "sdk": "Libraries"}
INTRODUCTION = """\
# Hosts and clients

Each of these was installed from its registry at the version given and driven against a built loci on loopback: the \
agents without a person, against a scripted model, the libraries each in an environment of its own. “–” stands for \
what a client has no part in, or what no server can change about it; [tests/hosts](../tests/hosts) says which. \
[docs/hosts](hosts/README.md) says what `loci connect` writes for each host, and \
[its page of frameworks](hosts/frameworks.md) how each library for agents behaves.
"""
END = """\
`just hosts` installs all of them, repeats all of this and writes this page; `scripts/test` tries about half of them. \
A client that its registry doesn't give is skipped, and said to be.
"""


def columns(outcomes):
    """The features that were tried with any client."""
    return [feature for feature in FEATURES if any(tried == feature for _, tried in outcomes)]


def row(cells):
    return f"| {' | '.join(cells)} |"


def head(outcomes):
    features = columns(outcomes)
    return [row(["client", "version", *features]), row(["---"] * (2 + len(features)))]


def client_row(name, outcomes):
    client = install.CLIENTS[name]
    cells = [outcomes.get((name, feature), NONE) for feature in columns(outcomes)]
    return row([client["title"], install.version(client), *cells])


def of(outcomes):
    """The table of the clients that were tried."""
    tried = {name for name, _ in outcomes}
    return "\n".join(head(outcomes) + [client_row(name, outcomes) for name in install.CLIENTS if name in tried])


def document(outcomes):
    """The page, with all clients."""
    parts = [INTRODUCTION]
    for kind, title in KINDS.items():
        names = [name for name, client in install.CLIENTS.items() if client["kind"] == kind]
        kept = {place: outcome for place, outcome in outcomes.items() if place[0] in names}
        parts.append(f"## {title}\n")
        parts.append("\n".join(head(kept) + [client_row(name, kept) for name in names]) + "\n")
    meanings = [f"- **{feature}**: {FEATURES[feature]}" for feature in columns(outcomes)]
    parts += ["## Features\n", "\n".join(meanings) + "\n", END]
    return "\n".join(parts)


def clients_of(text):
    """The clients and versions that a page tells of, in its order."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [tuple(cells[:2]) for cells in rows if cells[0] not in ("client", "---")]

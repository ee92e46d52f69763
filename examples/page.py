#!/usr/bin/env python3
"""Finds memories over the JSON interface of loci, and tags what was found.

    loci serve &
    python examples/page.py --token-file TOKEN_FILE "how hot is the kiln" --tag pottery

The interface is described at /api/v1/openapi.json, and in docs/page.md.
"""

import argparse
import json
import pathlib
import urllib.error
import urllib.parse
import urllib.request


class Loci:
    """The memory behind a URL, as the bearer of a token sees it."""

    def __init__(self, url, token):
        self.url = f"{url}/api/v1"
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def get(self, path, **parameters):
        query = urllib.parse.urlencode(parameters)
        return self._send(urllib.request.Request(f"{self.url}/{path}?{query}", headers=self.headers))

    def post(self, path, **fields):
        body = json.dumps(fields).encode()
        return self._send(urllib.request.Request(f"{self.url}/{path}", body, self.headers))

    def _send(self, request):
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as refused:
            error = json.load(refused)["error"]
            raise SystemExit(f"{error['code']}: {error['message']}") from None


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("question")
    arguments.add_argument("--url", default="http://127.0.0.1:7821")
    arguments.add_argument("--token-file", type=pathlib.Path, required=True)
    arguments.add_argument("--tag", help="gives the first result this tag")
    given = arguments.parse_args()
    loci = Loci(given.url, given.token_file.read_text().strip())
    hits = loci.get("search", q=given.question)["hits"]
    for hit in hits:
        print(f"{hit['why']['relevance']:.2f}  {hit['memory']['id']}  {hit['memory']['title']}")
    if given.tag and hits:
        changed = loci.post("selected/tag", id=[hits[0]["memory"]["id"]], add=given.tag)
        print(f"{changed['changed']} memory was tagged")


if __name__ == "__main__":
    main()

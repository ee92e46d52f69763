"""What the end-to-end tests share: the built binary, servers in temporary folders, SDK clients."""

import asyncio
import base64
import contextlib
import http.server
import json
import os
import pathlib
import re
import secrets
import signal
import subprocess
import tempfile
import threading
import unittest
import urllib.error
import urllib.parse
import urllib.request

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

LOCI = os.environ["LOCI_BIN"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
# Both eras of the protocol: stateless requests, and the handshake before them.
ERAS = {"2026-07-28": "2026-07-28", "legacy": "2025-11-25"}


def environment(data, variables=None):
    """The environment of a child: nothing of the developer's own settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LOCI_", "TAVILY_"))}
    return {**kept, "LOCI_DATA": str(data), "LOCI_CONFIG": str(configuration(data)), **(variables or {})}


def configuration(data):
    """The configuration file that goes with a data folder; empty unless a test writes into it."""
    return pathlib.Path(data).parent / "config.toml"


# A folder on it is kept in memory: no test depends on how busy the disk of the machine is, where a flush may take
# seconds and an end in good order has less than two.
MEMORY_DISK = "/dev/shm"
# Bytes that have to be free there: more than any test writes.
MEMORY_DISK_ROOM = 1 << 30


def memory_disk():
    """Where folders are that no flush shall hold up; none where there is no such disk with room in it."""
    with contextlib.suppress(OSError):
        space = os.statvfs(MEMORY_DISK)
        if space.f_bavail * space.f_frsize >= MEMORY_DISK_ROOM and os.access(MEMORY_DISK, os.W_OK):
            return MEMORY_DISK
    return None


@contextlib.contextmanager
def data_folder(on_disk=False):
    """Where a data folder and its configuration are; `on_disk` says that the files have to be on a real one."""
    with tempfile.TemporaryDirectory(prefix="loci-e2e-", dir=None if on_disk else memory_disk()) as folder:
        data = pathlib.Path(folder) / "data"
        configuration(data).touch()
        yield data


def run(data, *arguments, stdin=None, variables=None):
    """Runs a command to its end."""
    environ = environment(data, variables)
    return subprocess.run([LOCI, *arguments], env=environ, input=stdin, capture_output=True, timeout=120)


def stored(data, text):
    """The id of a memory that was added by a command."""
    added = run(data, "add", text, "--json")
    assert added.returncode == 0, added.stderr
    return json.loads(added.stdout)["id"]


def texts(data):
    """The texts of all memories that agents get."""
    listed = run(data, "list", "--json", "--limit", "100")
    assert listed.returncode == 0, listed.stderr
    return sorted(memory["content"] for memory in json.loads(listed.stdout)["memories"])


class Provider:
    """A running `oidc-provider` on a port of its own."""

    def __init__(self):
        self.secret = secrets.token_hex()
        command = [ROOT / ".venv/bin/node", ROOT / "tests/oidc/provider.mjs", self.secret]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.issuer = self.process.stdout.readline().strip()

    def token(self, client, resource, scope="memory:read memory:write"):
        """An access token of a program that has credentials of its own."""
        form = {"grant_type": "client_credentials", "scope": scope, "resource": resource}
        credentials = base64.b64encode(f"{client}:{self.secret}".encode()).decode()
        headers = {"Authorization": f"Basic {credentials}"}
        request = urllib.request.Request(f"{self.issuer}/token", urllib.parse.urlencode(form).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)["access_token"]

    def client(self, redirect):
        """The id of a new client by which people sign in, and are sent back to an address."""
        client = {"redirect_uris": [redirect], "client_name": "tests", "token_endpoint_auth_method": "none"}
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.issuer}/reg", json.dumps(client).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)["client_id"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


class Server:
    """A running `loci serve` on a port of its own, or on that of one before it."""

    def __init__(self, data, *arguments, variables=None, port=0):
        self.data = data
        command = [LOCI, "serve", "--bind", f"127.0.0.1:{port}", *arguments]
        self.process = subprocess.Popen(
            command, env=environment(data, variables), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.log = []
        self.url = None
        for line in self.process.stderr:
            self.log.append(line)
            if found := re.search(r"listening on (https?://\S+)", line):
                self.url = found.group(1)
                break
        if self.url is None:
            raise AssertionError("the server did not start:\n" + "".join(self.log))
        # A full pipe would stop the server.
        self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True)
        self.reader.start()

    def token(self):
        return (self.data / "token").read_text().strip()

    def status(self, token):
        """The HTTP status of a plain request, without the SDK."""
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        request = urllib.request.Request(f"{self.url}/mcp/mememory", json.dumps(message).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return reply.status
        except urllib.error.HTTPError as error:
            return error.code

    @contextlib.asynccontextmanager
    async def client(self, mode, token="default", dialect="mememory"):
        token = self.token() if token == "default" else token
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        url = f"{self.url}/mcp/{dialect}"
        async with create_mcp_http_client(headers=headers) as http_client:
            async with Client(streamable_http_client(url, http_client=http_client), mode=mode) as client:
                yield client

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=60)
        finally:
            self.process.kill()
            self.process.wait()
            self.reader.join()
            self.process.stdout.close()
            self.process.stderr.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def stdio_client(data, mode, *arguments, dialect="mememory", variables=None):
    environ = environment(data, variables)
    parameters = StdioServerParameters(command=LOCI, args=["mcp", dialect, *arguments], env=environ)
    return Client(parameters, mode=mode)


@contextlib.contextmanager
def service(answer):
    """A local HTTP service that speaks JSON: `answer(path, headers, body)` gives a status and a reply."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, reply = answer(self.path, self.headers, body)
            text = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            # Who asked may be gone by now.
            with contextlib.suppress(ConnectionError):
                self.wfile.write(text)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextlib.asynccontextmanager
async def clients(dialect, no_auth=False):
    """A client of a dialect for each era and transport, each on a fresh store."""
    made = []
    arguments, token = (["--no-auth"], None) if no_auth else ([], "default")
    with contextlib.ExitStack() as stack:
        for mode, version in ERAS.items():
            client = stdio_client(stack.enter_context(data_folder()), mode, dialect=dialect)
            made.append((f"stdio {mode}", version, client))
            server = stack.enter_context(Server(stack.enter_context(data_folder()), *arguments))
            made.append((f"http {mode}", version, server.client(mode, token=token, dialect=dialect)))
        yield made


class AsyncTestCase(unittest.IsolatedAsyncioTestCase):
    """Asynchronous tests without the event loop's report of slow steps."""

    async def asyncSetUp(self):
        asyncio.get_running_loop().set_debug(False)

    async def each(self, scenario, dialect, no_auth=False):
        """Runs a scenario with each of the `clients`."""
        async with clients(dialect, no_auth) as made:
            for name, version, client in made:
                with self.subTest(name):
                    async with client as client:
                        self.assertEqual(client.protocol_version, version)
                        await scenario(client)


def failure(result):
    """The code of a failure and what else programs may want of it, which is in its metadata alone."""
    assert result.is_error and result.structured_content is None, result
    return result.meta["loci/error"]


def value(result):
    """The structured content; before 2026-07-28 a value that is no object is wrapped."""
    content = result.structured_content
    if isinstance(content, dict) and set(content) == {"result"}:
        return content["result"]
    return content

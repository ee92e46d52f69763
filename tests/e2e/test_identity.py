"""Who calls: tokens of loci and of a real OpenID provider, scopes, TLS, proxies, limits."""

import contextlib
import datetime
import json
import pathlib
import re
import ssl
import tempfile
import unittest
import urllib.error
import urllib.parse
import urllib.request

import httpx2
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from mcp import Client, MCPError
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.shared.auth import OAuthClientMetadata
from support import ERAS, AsyncTestCase, Provider, Server, data_folder, run, value

LOOKS_MAX = 100_000
REDIRECT = "http://127.0.0.1:9/callback"
MEMORY = {"content": "The server room is on the second floor", "scope": "s", "source": "user-said", "category": "decision"}


def post(url, token=None, tool="list_memory", arguments=None, context=None, headers=None):
    """A plain call: status, headers, body."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments or {"scope": "s"}}}
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **(headers or {})}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    request = urllib.request.Request(url, json.dumps(message).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=60, context=context) as reply:
            return reply.status, reply.headers, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, error.headers, json.load(error)


@contextlib.contextmanager
def provider_and_server(**variables):
    with Provider() as provider, data_folder() as data:
        with Server(data, variables={"LOCI_OIDC_ISSUER": provider.issuer, **variables}) as server:
            yield provider, server


class Storage:
    """Keeps what an OAuth client gets, in memory."""

    def __init__(self):
        self.tokens = self.client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


@contextlib.asynccontextmanager
async def oauth_client(server, auth, mode, dialect="engram"):
    async with create_mcp_http_client(auth=auth) as http_client:
        transport = streamable_http_client(f"{server.url}/mcp/{dialect}", http_client=http_client)
        async with Client(transport, mode=mode) as client:
            yield client


class Browser:
    """Walks through the provider's login pages as a person does: follows redirects, fills in forms."""

    def __init__(self, login):
        self.login = login
        self.result = None

    async def open(self, url):
        async with httpx2.AsyncClient(timeout=60) as web:
            response = await web.get(url)
            for _ in range(10):
                if location := response.headers.get("location"):
                    url = str(response.url.join(location))
                    if url.startswith(REDIRECT):
                        answer = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
                        self.result = AuthorizationCodeResult(**{name: answer[name] for name in ("code", "state", "iss") if name in answer})
                        return
                    response = await web.get(url)
                    continue
                page = response.text
                form = dict(re.findall(r'<input[^>]*name="(\w+)"[^>]*value="(\w*)"', page))
                if 'name="login"' in page:
                    form |= {"login": self.login, "password": "any"}
                action = re.search(r'<form[^>]*action="([^"]+)"', page).group(1)
                response = await web.post(str(response.url.join(action)), data=form)
        raise AssertionError("the provider's pages lead nowhere")

    async def answer(self):
        return self.result


class OpenId(AsyncTestCase):
    async def test_tokens_of_a_provider_say_who_calls(self):
        with provider_and_server() as (provider, server):
            for mode in ERAS:
                for client_id in ["rs256", "es256"]:
                    token = provider.token(client_id, f"{server.url}/mcp/engram")
                    async with server.client(mode, token=token, dialect="engram") as client:
                        identifier = value(await client.call_tool("store_memory", MEMORY))["id"]
                        record = value(await client.call_tool("get_memory", {"id": identifier}))
                        self.assertEqual((record["owner"], record["actor"]), (client_id, client_id))
            # One owner's records are nobody else's.
            other = provider.token("rs256", server.url)
            status, _, body = post(f"{server.url}/mcp/engram", other)
            self.assertEqual(status, 200)
            owners = {one["owner"] for one in body["result"]["structuredContent"]["memories"]}
            self.assertEqual(owners, {"rs256"})

    async def test_a_token_for_another_service_is_refused(self):
        with provider_and_server() as (provider, server):
            url = f"{server.url}/mcp/engram"
            for resource in ["http://127.0.0.1:9/mcp/engram", f"{server.url}/mcp/mememory"]:
                status, headers, body = post(url, provider.token("rs256", resource))
                self.assertEqual((status, body["error"]["data"]["code"]), (401, "unauthorized"))
                self.assertIn('error="invalid_token"', headers["WWW-Authenticate"])
        with provider_and_server(LOCI_OIDC_AUDIENCE="https://memory.example") as (provider, server):
            url = f"{server.url}/mcp/engram"
            self.assertEqual(post(url, provider.token("es256", "https://memory.example"))[0], 200)
            self.assertEqual(post(url, provider.token("es256", url))[0], 401)

    async def test_scopes_limit_what_a_token_can_do(self):
        with provider_and_server() as (provider, server):
            url = f"{server.url}/mcp/engram"
            reader = provider.token("es256", url, "memory:read")
            self.assertEqual(post(url, reader)[0], 200)
            status, headers, body = post(url, reader, "store_memory", MEMORY)
            self.assertEqual(status, 403)
            challenge = headers["WWW-Authenticate"]
            for part in ['error="insufficient_scope"', "memory:write", "/.well-known/oauth-protected-resource/mcp/engram"]:
                self.assertIn(part, challenge)
            self.assertEqual(body["id"], 1)
            self.assertIn("write", json.dumps(body))

    async def test_programs_find_the_provider_by_themselves(self):
        with provider_and_server() as (provider, server):
            for mode in ERAS:
                auth = ClientCredentialsOAuthProvider(
                    f"{server.url}/mcp/engram", Storage(), "es256", provider.secret, issuer=provider.issuer
                )
                async with oauth_client(server, auth, mode) as client:
                    stored = await client.call_tool("store_memory", MEMORY)
                    self.assertFalse(stored.is_error)

    async def test_people_log_in_with_nothing_but_the_url(self):
        with provider_and_server() as (_, server):
            for mode, dialect in zip(ERAS, ["engram", "mememory"]):
                browser = Browser("ann")
                metadata = OAuthClientMetadata(redirect_uris=[REDIRECT], client_name="tests")
                url = f"{server.url}/mcp/{dialect}"
                auth = OAuthClientProvider(url, metadata, Storage(), browser.open, browser.answer)
                async with oauth_client(server, auth, mode, dialect) as client:
                    if dialect == "engram":
                        identifier = value(await client.call_tool("store_memory", MEMORY))["id"]
                        record = value(await client.call_tool("get_memory", {"id": identifier}))
                        self.assertEqual((record["owner"], record["actor"]), ("ann", "ann@people.example"))
                    else:
                        found = value(await client.call_tool("recall", {"query": "where is the server room?", "project": "s"}))
                        self.assertIn(MEMORY["content"], json.dumps(found))

    async def test_without_its_provider_a_server_goes_on_with_what_it_knows(self):
        with data_folder() as data:
            with Provider() as provider:
                variables = {"LOCI_OIDC_ISSUER": provider.issuer, "LOCI_OIDC_AUDIENCE": "https://m.example"}
                server = Server(data, variables=variables)
                self.addCleanup(server.stop)
                url = f"{server.url}/mcp/engram"
                token = provider.token("rs256", "https://m.example")
                self.assertEqual(post(url, token)[0], 200)
            self.assertEqual(post(url, token)[0], 200)
            # A server that never saw the provider's keys says so, and serves its own tokens.
            with Server(data, variables=variables) as late:
                status, headers, body = post(f"{late.url}/mcp/engram", token)
                self.assertEqual((status, body["error"]["data"]["code"]), (503, "unavailable"))
                self.assertGreaterEqual(int(headers["Retry-After"]), 1)
                self.assertEqual(post(f"{late.url}/mcp/engram", late.token())[0], 200)


class Tokens(AsyncTestCase):
    async def test_a_revocation_holds_in_every_process_at_the_next_call(self):
        with data_folder() as data:
            created = json.loads(run(data, "token", "create", "--subject", "ann", "--json").stdout)
            with Server(data) as one, Server(data) as other:
                urls = [f"{server.url}/mcp/engram" for server in (one, other)]
                self.assertEqual([post(url, created["token"])[0] for url in urls], [200, 200])
                self.assertEqual(run(data, "token", "revoke", created["id"]).returncode, 0)
                self.assertEqual([post(url, created["token"])[0] for url in urls], [401, 401])

    async def test_a_read_only_token_is_told_why_it_cannot_write(self):
        with data_folder() as data:
            token = run(data, "token", "create", "--subject", "ann", "--scopes", "read").stdout.decode().strip()
            with Server(data) as server:
                for mode in ERAS:
                    async with server.client(mode, token=token, dialect="engram") as client:
                        self.assertEqual(value(await client.call_tool("list_memory", {"scope": "s"}))["memories"], [])
                        with self.assertRaisesRegex(MCPError, "needs the scope `write`"):
                            await client.call_tool("store_memory", MEMORY)
                listed = json.loads(run(data, "list", "--json").stdout)["memories"]
                self.assertEqual(listed, [])

    async def test_who_asks_too_often_has_to_wait(self):
        with data_folder() as data:
            ann, bob = (run(data, "token", "create", "--subject", name).stdout.decode().strip() for name in ("ann", "bob"))
            variables = {"LOCI_RATE_LIMIT_PER_MINUTE": "1", "LOCI_RATE_LIMIT_BURST": "3"}
            with Server(data, variables=variables) as server:
                url = f"{server.url}/mcp/engram"
                self.assertEqual([post(url, ann)[0] for _ in range(4)], [200, 200, 200, 429])
                status, headers, body = post(url, ann)
                self.assertEqual((status, body["error"]["code"]), (429, "rate_limited"))
                self.assertGreaterEqual(int(headers["Retry-After"]), 1)
                self.assertEqual(post(url, bob)[0], 200)


def certificate(folder, name="localhost"):
    """Writes a self-signed certificate for `name` and its key; returns the certificate's file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
    builder = builder.not_valid_after(now + datetime.timedelta(days=1))
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    signed = builder.sign(key, hashes.SHA256())
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    (folder / "cert.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    return folder / "cert.pem"


class Transport(AsyncTestCase):
    async def test_https_with_a_certificate_that_is_renewed(self):
        with data_folder() as data, tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            first = certificate(folder)
            context = ssl.create_default_context(cafile=first)
            with Server(data, "--tls-cert", str(first), "--tls-key", str(folder / "key.pem")) as server:
                self.assertTrue(server.url.startswith("https://"))
                url = re.sub(r"//[^:]+:", "//localhost:", server.url) + "/mcp/engram"
                self.assertEqual(post(url, server.token(), context=context)[0], 200)
                certificate(folder)
                # It is looked for at handshakes, and at most once a second.
                for _ in range(LOOKS_MAX):
                    try:
                        renewed = ssl.create_default_context(cafile=folder / "cert.pem")
                        self.assertEqual(post(url, server.token(), context=renewed)[0], 200)
                        break
                    except urllib.error.URLError:
                        pass
                else:
                    self.fail("the new certificate never came")
                with self.assertRaises(urllib.error.URLError):
                    post(url, server.token(), context=context)

    async def test_settings_that_cannot_be_are_refused_in_words(self):
        with data_folder() as data, tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            certificate(folder)
            (folder / "empty.pem").touch()
            cert, key, empty = (str(folder / name) for name in ("cert.pem", "key.pem", "empty.pem"))
            rows = [
                (["--bind", "0.0.0.0:0", "--no-auth"], {}, "loopback"),
                (["--tls-cert", cert], {}, "tls.key"),
                (["--tls-cert", empty, "--tls-key", key], {}, "empty.pem"),
                (["--tls-cert", str(folder / "absent.pem"), "--tls-key", key], {}, "absent.pem"),
                (["--public-url", "memory.example"], {}, "public_url"),
                ([], {"LOCI_TRUSTED_PROXIES": "everybody"}, "trusted_proxies"),
                ([], {"LOCI_OIDC_ISSUER": "http://issuer.example"}, "oidc.issuer"),
                (["--no-auth"], {"LOCI_OIDC_ISSUER": "https://issuer.example"}, "oidc.issuer"),
                (["--no-auth", "--public-url", "https://memory.example"], {}, "public_url"),
                (["--no-auth"], {"LOCI_TRUSTED_PROXIES": "10.0.0.0/8"}, "trusted_proxies"),
                (["--no-auth"], {"LOCI_ALLOWED_ORIGINS": "https://page.example"}, "allowed_origins"),
                ([], {"LOCI_OIDC_AUDIENCE": "https://memory.example"}, "oidc.issuer"),
                (["--oauth", "--no-auth"], {}, "--oauth asks people to sign in"),
                (["--oauth"], {"LOCI_OIDC_ISSUER": "https://issuer.example"}, "without a provider of identities"),
                (["--oauth", "--public-url", "http://memory.example"], {}, "public URL with `https://`"),
                (["--oauth", "--bind", "0.0.0.0:0"], {}, "--oauth needs encryption"),
            ]
            for arguments, variables, expected in rows:
                with self.subTest(expected):
                    done = run(data, "serve", *arguments, variables={"LOCI_BIND": "127.0.0.1:0", **variables})
                    self.assertNotEqual(done.returncode, 0)
                    self.assertIn(expected, done.stderr.decode())

    async def test_what_a_proxy_says_counts_only_when_it_is_trusted(self):
        forwarded = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "memory.example"}
        with Provider() as provider, data_folder() as data:
            variables = {"LOCI_OIDC_ISSUER": provider.issuer, "LOCI_ALLOWED_HOSTS": "memory.example"}
            for trusted, expected in [("127.0.0.1", "https://memory.example"), ("", "http://127.0.0.1:")]:
                with Server(data, variables={**variables, "LOCI_TRUSTED_PROXIES": trusted}) as server:
                    status, headers, _ = post(f"{server.url}/mcp/engram", headers=forwarded)
                    self.assertEqual(status, 401)
                    self.assertIn(f'resource_metadata="{expected}', headers["WWW-Authenticate"])
            with Server(data, "--public-url", "https://memory.example/", variables=variables) as server:
                _, headers, _ = post(f"{server.url}/mcp/engram")
                document = "https://memory.example/.well-known/oauth-protected-resource/mcp/engram"
                self.assertIn(f'resource_metadata="{document}"', headers["WWW-Authenticate"])
                request = urllib.request.Request(f"{server.url}/.well-known/oauth-protected-resource/mcp/engram")
                with urllib.request.urlopen(request, timeout=60) as reply:
                    metadata = json.load(reply)
                self.assertEqual(metadata["resource"], "https://memory.example/mcp/engram")
                self.assertEqual(metadata["authorization_servers"], [provider.issuer])


if __name__ == "__main__":
    unittest.main()

"""What must not come out or be reached: tokens and contents in logs, others' memories, files beside the notes."""

import hashlib
import json
import os
import socket
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

from support import Server, data_folder, run, service

WORDS = {"LOCI_EMBEDDING_PROVIDER": "none", "LOCI_LOG": "trace"}


def call(server, dialect, token, tool, arguments, headers=None, query=""):
    """The status and the text of the reply to a call."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    every = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **(headers or {})}
    if token:
        every["Authorization"] = f"Bearer {token}"
    request = urllib.request.Request(f"{server.url}/mcp/{dialect}{query}", json.dumps(message).encode(), every)
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode() + str(error.headers)


def raw(server, text):
    """All that is said to these bytes, which ask for the end of the connection or are no request."""
    address = urllib.parse.urlsplit(server.url)
    with socket.create_connection((address.hostname, address.port), timeout=60) as stream:
        stream.sendall(text.encode())
        said = b""
        try:
            while part := stream.recv(1 << 16):
                said += part
        except ConnectionError:
            pass
    return said.decode()


def until(condition, what):
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(what)
        time.sleep(0.05)


def token_of(data, subject, scopes="read,write"):
    made = run(data, "token", "create", "--subject", subject, "--scopes", scopes, "--json", variables=WORDS)
    return json.loads(made.stdout)["token"]


class Malice(unittest.TestCase):
    def test_no_token_and_no_content_is_logged_or_said_back(self):
        with data_folder() as data:
            with Server(data, variables=WORDS) as server:
                valid, wrong, content = server.token(), "loci_" + "W" * 43, "what-nobody-else-may-read"
                host = urllib.parse.urlsplit(server.url).netloc
                said = []
                for secret in [valid, wrong]:
                    everywhere = [
                        ({"Authorization": f"Bearer {secret}"}, ""),
                        ({"Authorization": f"Bearer {secret} {secret}"}, ""),
                        ({"Authorization": f"Basic {secret}"}, ""),
                        ({"Authorization": secret}, ""),
                        ({"Authorization": f"bearer\t{secret}"}, ""),
                        ({"Cookie": f"token={secret}"}, ""),
                        ({"X-Api-Key": secret, "Mcp-Session-Id": secret, "Last-Event-Id": secret}, ""),
                        ({"Mcp-Method": secret, "Mcp-Name": secret, "Mcp-Protocol-Version": "2026-07-28"}, ""),
                        ({}, f"?token={secret}&access_token={secret}"),
                        ({}, f"/{secret}"),
                        ({"Authorization": f"Bearer {valid}", "X-Forwarded-For": secret}, f"?access_token={secret}"),
                    ]
                    for headers, query in everywhere:
                        said.append(call(server, "mememory", None, "stats", {}, headers, query)[1])
                    twice = f"Authorization: Bearer {secret}\r\n" * 2
                    for line in ["POST /mcp/mememory HTTP/1.1", f"GET /mcp/mememory?{secret} HTTP/1.1", f"{secret} / HTTP/1.1"]:
                        said.append(raw(server, f"{line}\r\nHost: {host}\r\n{twice}Connection: close\r\nContent-Length: 0\r\n\r\n"))
                        said.append(raw(server, f"{line}\r\nHost: {host}\r\nAuthorization: Bearer {secret}\0\r\n\r\n"))
                    # A version that is none is said back to whoever sent it.
                    call(server, "mememory", valid, "stats", {}, {"Mcp-Protocol-Version": secret})
                self.assertEqual(call(server, "mememory", valid, "remember", {"content": content})[0], 200)
                faulty = [{"content": [content]}, {"content": content, "odd-argument": 1}, {"content": content, "tags": content}]
                for arguments in faulty:
                    call(server, "mememory", valid, "remember", arguments)
                call(server, "mememory", valid, "recall", {"query": "anything"})
                body = '{"jsonrpc":"2.0","id":1,"method":"' + content
                length = f"Connection: close\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
                raw(server, f"POST /mcp/mememory HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {valid}\r\n{length}")
            logged = "".join(server.log)
            audit = run(data, "audit", "--json", "--limit", "1000", variables=WORDS)
            self.assertEqual(audit.returncode, 0, audit.stderr)
            for secret in [valid, wrong]:
                for trace in [secret, secret[5:25], hashlib.sha256(secret.encode()).hexdigest()]:
                    self.assertNotIn(trace, logged)
                    self.assertNotIn(trace, audit.stdout.decode())
                    self.assertNotIn(trace, "".join(said))
            self.assertNotIn(content, logged)
            self.assertNotIn(content, audit.stdout.decode())
            self.assertNotIn("odd-argument", audit.stdout.decode())
            self.assertIn("`content`", audit.stdout.decode())
            self.assertNotIn("panicked", logged)

    def test_keys_of_services_are_kept_even_if_those_repeat_them(self):
        for part, provider in [("EMBEDDING", "http"), ("LLM", "none")]:
            with self.subTest(part), data_folder() as data:
                self.check_key_is_kept(data, part, provider)

    def check_key_is_kept(self, data, part, provider):
        key, asked = "key-that-nobody-may-see", []

        def answer(_path, headers, _body):
            asked.append(headers["Authorization"])
            return 401, {"error": {"message": f"bad key {key}"}}

        with service(answer) as model:
            variables = {"LOCI_LOG": "trace", "LOCI_EMBEDDING_PROVIDER": provider, f"LOCI_{part}_API_KEY": key}
            variables |= {f"LOCI_{part}_URL": f"{model}/v1", f"LOCI_{part}_MODEL": "m"}
            said = []
            with Server(data, variables=variables) as server:
                token = server.token()
                message = {"role": "human", "content": "I prefer tea to coffee and always will"}
                stored = {"user_id": "local", "conversation_id": "c", "messages": [message]}
                said.append(call(server, "memory-mcp", token, "store_memory", stored))
                for tool, dialect in [("recall", "mememory"), ("memory_search", "vault")]:
                    said.append(call(server, dialect, token, tool, {"query": "tea"}))
                until(lambda: asked, "the service is not asked")
            for arguments in [["add", "text"], ["search", "text"], ["doctor"], ["config"], ["audit", "--json"]]:
                done = run(data, *arguments, variables=variables)
                said.append(done.stdout.decode() + done.stderr.decode())
            self.assertIn(f"Bearer {key}", asked)
            self.assertNotIn(key, "".join(server.log) + str(said))

    def test_what_one_may_not_read_is_like_what_is_not_there(self):
        with data_folder() as data, Server(data, variables=WORDS) as server:
            ann, bob = token_of(data, "ann"), token_of(data, "bob")
            stored = {"content": "Ann's own", "scope": "plans", "source": "user-said", "category": "decision"}
            status, text = call(server, "engram", ann, "store_memory", stored)
            self.assertEqual(status, 200, text)
            there = json.loads(text)["result"]["structuredContent"]["id"]
            absent = there[:-6] + ("abcdef" if there[-6:] != "abcdef" else "fedcba")
            by_id = [
                ("engram", "get_memory", "id", {}),
                ("engram", "update_memory", "id", {"content": "x"}),
                ("engram", "delete_memory", "id", {}),
                ("engram", "set_visibility", "id", {"shared": True}),
                ("mememory", "update", "id", {"content": "x"}),
                ("mememory", "forget", "id", {}),
                ("vault", "memory_forget", "id", {}),
                ("memory-mcp", "delete_memory", "memory_id", {"user_id": "bob"}),
                ("mempalace", "mempalace_get_drawer", "drawer_id", {}),
                ("mempalace", "mempalace_update_drawer", "drawer_id", {"content": "x"}),
                ("mempalace", "mempalace_delete_drawer", "drawer_id", {}),
            ]
            for dialect, tool, name, more in by_id:
                replies = [call(server, dialect, bob, tool, {name: id, **more}) for id in (there, absent)]
                same = [(status, text.replace(there, "ID").replace(absent, "ID")) for status, text in replies]
                self.assertEqual(same[0], same[1], tool)
                self.assertTrue('"isError":true' in same[0][1] or '"deleted_count":0' in same[0][1], tool)
                self.assertNotIn("Ann", same[0][1], tool)
            status, text = call(server, "engram", ann, "get_memory", {"id": there})
            self.assertIn("Ann's own", text)

    def test_no_path_leads_out_of_the_notes(self):
        with data_folder() as data:
            vault, outside = data / "vault", data.parent / "outside"
            for folder in (vault, outside):
                folder.mkdir(parents=True)
            secret = outside / "secret.md"
            secret.write_text("the-secret-beside-the-notes\n")
            os.symlink(secret, vault / "link.md")
            os.symlink(outside, vault / "folder")
            before = {path: path.read_bytes() for path in outside.rglob("*")}
            with Server(data, variables=WORDS) as server:
                token = server.token()
                titles = ["../outside/secret", "../../etc/x", "/etc/x", str(secret), "folder/new", "link", "a/../../b"]
                titles += ["..", ".", "C:\\x", "\\\\host\\x", "a\0b", "con", "~/x", "%2e%2e%2fx", "‥/x", "x" * 256]
                for title in titles:
                    status, text = call(server, "vault", token, "memory_append", {"title": title, "body": "text"})
                    self.assertEqual(status, 200, text)
                for query in ["the-secret-beside-the-notes", "secret"]:
                    status, text = call(server, "vault", token, "memory_search", {"query": query})
                    self.assertNotIn("the-secret-beside-the-notes", text.replace(query, "", 1) if query == "secret" else text)
                for id in ["../outside/secret", str(secret), "link", "link.md", "folder/secret", "a\0b"]:
                    status, text = call(server, "vault", token, "memory_forget", {"id": id})
                    self.assertIn('"isError":true', text, id)
                # Files that drawers are said to come from are looked at by admins alone, and never read.
                drawer = {"wing": "w", "room": "r", "content": "text", "source_file": str(secret)}
                self.assertEqual(call(server, "mempalace", token, "mempalace_add_drawer", drawer)[0], 200)
                bob = token_of(data, "bob")
                for folder in [str(outside), "/", "../outside"]:
                    status, text = call(server, "mempalace", bob, "mempalace_sync", {"project_dir": folder})
                    self.assertTrue(status == 403 or '"isError":true' in text, text)
                status, text = call(server, "mempalace", token, "mempalace_search", {"query": "the-secret"})
                self.assertNotIn("the-secret-beside", text)
                # Paths of URLs lead to endpoints alone.
                host = urllib.parse.urlsplit(server.url).netloc
                for path in ["/../data/token", "/mcp/../data/token", "/mcp/vault/../../token", "//etc/passwd", "/%2e%2e/token"]:
                    said = raw(server, f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
                    self.assertRegex(said, r"^HTTP/1.1 (400|401|404|405)")
            self.assertEqual({path: path.read_bytes() for path in outside.rglob("*")}, before)
            written = [path for path in data.parent.rglob("*.md") if not path.is_symlink()]
            stray = [path for path in written if vault not in path.parents and outside not in path.parents]
            self.assertEqual(stray, [])


if __name__ == "__main__":
    unittest.main()

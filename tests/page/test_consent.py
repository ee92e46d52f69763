"""A person lets a client in, in a browser: its cookies and its policies decide what an HTTP client only believes."""

import base64
import contextlib
import hashlib
import http.server
import json
import sys
import threading
import unittest
import urllib.parse
import urllib.request

from browser import Browser, Server, programs

sys.path.insert(0, "tests/e2e")
from support import data_folder  # noqa: E402

VERIFIER = "a-verifier-of-forty-three-characters-or-more-0123"


class Site:
    """A site with a link to the server, to which the browser comes back."""

    def __init__(self):
        site = self
        self.link = self.came = None

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                if self.path.startswith("/callback"):
                    site.came = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
                body = f'<!doctype html><title>site</title><a href="{site.link}">Connect</a>'.encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        # Another site than the server's, which is reached as 127.0.0.1.
        self.url = f"http://localhost:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def post(url, body, kind):
    request = urllib.request.Request(url, body.encode(), {"Content-Type": kind})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)


@unittest.skipUnless(programs(), "page: SKIPPED: there is no Chromium here; run scripts/setup")
class Consent(unittest.TestCase):
    def setUp(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        data = stack.enter_context(data_folder())
        self.server = stack.enter_context(Server(data, "--oauth"))
        self.site = Site()
        stack.callback(self.site.close)
        self.callback = f"{self.site.url}/callback"
        metadata = {"client_name": "A site", "redirect_uris": [self.callback]}
        client = post(f"{self.server.url}/register", json.dumps(metadata), "application/json")
        self.client = client["client_id"]
        challenge = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
        asked = {
            "response_type": "code",
            "client_id": self.client,
            "redirect_uri": self.callback,
            "state": "a state",
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        self.site.link = f"{self.server.url}/authorize?{urllib.parse.urlencode(asked)}".replace("&", "&amp;")
        self.browser = Browser(self.site.url)
        stack.callback(self.browser.close)

    def come(self):
        self.site.came = None
        self.browser.open("/")
        self.browser.link("Connect")

    def test_a_person_signs_in_and_lets_a_site_in(self):
        self.come()
        self.browser.fill("token", self.server.token())
        self.browser.press("Sign in")
        self.browser.says("A site")
        self.browser.press("Allow")
        self.browser.until(lambda: self.site.came, "the browser to come back")
        came = self.site.came
        self.assertEqual((came["state"], came["iss"]), ("a state", self.server.url))
        form = {
            "grant_type": "authorization_code",
            "code": came["code"],
            "client_id": self.client,
            "redirect_uri": self.callback,
            "code_verifier": VERIFIER,
        }
        kind = "application/x-www-form-urlencoded"
        given = post(f"{self.server.url}/token", urllib.parse.urlencode(form), kind)
        self.assertEqual(self.server.status(given["access_token"]), 200)
        # Who is signed in is asked at once, though the session's cookie does not come from another site.
        self.come()
        self.browser.says("Let localhost in?")
        self.browser.press("Do not allow")
        self.browser.until(lambda: self.site.came, "the browser to come back")
        self.assertEqual(self.site.came["error"], "access_denied")
        self.assertEqual([fault for fault in self.browser.faults() if self.server.url in fault], [])


if __name__ == "__main__":
    unittest.main()

"""Signing in on the page at a real OpenID provider."""

import contextlib
import sys
import unittest

from browser import Browser, Server, programs

sys.path.insert(0, "tests/e2e")
from support import Provider, data_folder  # noqa: E402


@unittest.skipUnless(programs(), "page: SKIPPED: there is no Chromium here; run scripts/setup")
class SignIn(unittest.TestCase):
    def setUp(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        data = stack.enter_context(data_folder())
        self.provider = stack.enter_context(Provider())
        # The provider has to know the address of the server, and the server its name there.
        with Server(data) as server:
            url = server.url
        client = self.provider.client(f"{url}/signed-in")
        variables = {
            "LOCI_OIDC_ISSUER": self.provider.issuer,
            "LOCI_OIDC_CLIENT_ID": client,
            "LOCI_OIDC_CLIENT_SCOPES": "openid,memory:read,memory:write",
        }
        server = Server(data, variables=variables, port=int(url.rsplit(":", 1)[1]))
        stack.callback(server.stop)
        self.browser = Browser(server.url)
        stack.callback(self.browser.close)

    def sign_in(self, path, name):
        """Goes from a view to the provider, signs in there and agrees, as a person does."""
        self.browser.open(path)
        self.browser.link(f"Sign in at {self.provider.issuer.removeprefix('http://')}")
        self.browser.fill("login", name)
        self.browser.fill("password", "any")
        self.browser.find("button[type=submit]").click()
        self.browser.says("Authorize")
        self.browser.find("button[type=submit]").click()

    def test_a_person_signs_in_and_sees_what_that_person_may(self):
        self.sign_in("/search?q=kiln", "ann")
        self.browser.until(lambda: self.browser.path() == "/search", "the view that was asked for")
        self.assertEqual(self.browser.find(".user").text, "ann")
        # The session is one of this server: it holds on the other views, and ends on demand.
        self.browser.open("/browse")
        self.assertEqual(self.browser.find(".user").text, "ann")
        self.browser.press("Sign out")
        self.browser.says("Sign in at")
        self.browser.open("/browse")
        self.assertEqual(self.browser.path(), "/sign-in")
        # The provider's own pages ask for fonts elsewhere.
        self.assertEqual([fault for fault in self.browser.faults() if self.browser.url in fault], [])

    def test_a_reply_that_was_not_asked_for_opens_nothing(self):
        self.browser.open("/signed-in?code=stolen&state=other")
        self.browser.says("not begun in this browser")
        self.browser.open("/")
        self.assertEqual(self.browser.path(), "/sign-in")


if __name__ == "__main__":
    unittest.main()

"""A person at a browser who lets a client in, without a browser: follows the pages of loci and sends their forms."""

import html
import http.cookiejar
import re
import urllib.error
import urllib.parse
import urllib.request

# More than any way through the pages has.
STEPS_MAX = 10


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Leaves redirects to who asks."""

    def redirect_request(self, *_):
        return None


class Person:
    """Signs in with a token of loci, and allows what a client asks for."""

    def __init__(self, token, decision="allow"):
        self.token = token
        self.decision = decision
        # What the consent page said.
        self.shown = None
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        # Nothing of the network of the tests lies between.
        self.opener = urllib.request.build_opener(NoRedirect, cookies, urllib.request.ProxyHandler({}))

    def ask(self, url, site, form=None):
        """A request as a browser sends it: the status, the place it leads to, the page."""
        data = urllib.parse.urlencode(form).encode() if form else None
        request = urllib.request.Request(url, data, {"Sec-Fetch-Site": site, "Accept": "text/html"})
        try:
            with self.opener.open(request, timeout=60) as reply:
                return reply.status, reply.headers.get("Location"), reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers.get("Location"), error.read().decode()

    def visit(self, url):
        """Opens the address that a client sends a browser to; gives the one that the browser is sent back to."""
        server = origin(url)
        status, location, page = self.ask(url, "cross-site")
        for _ in range(STEPS_MAX):
            if location:
                url = urllib.parse.urljoin(url, location)
                if origin(url) != server:
                    return url
                status, location, page = self.ask(url, "same-origin")
                continue
            if again := re.search(r'content="0; url=([^"]+)"', page):
                location = html.unescape(again.group(1))
                continue
            if status != 200:
                raise AssertionError(f"{url} answers {status}:\n{page}")
            form = {
                name: html.unescape(value)
                for name, value in re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page)
            }
            action = re.search(r'<form[^>]* method="post" action="([^"]+)"', page).group(1)
            if action == "/sign-in":
                form["token"] = self.token
            else:
                self.shown = page
                form["decision"] = self.decision
            url = urllib.parse.urljoin(url, action)
            status, location, page = self.ask(url, "same-origin", form)
        raise AssertionError(f"the pages lead nowhere; the last is {url}:\n{page}")


def origin(url):
    parts = urllib.parse.urlsplit(url)
    return parts.scheme, parts.netloc


def answer(url):
    """The parameters that come back with a browser."""
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))

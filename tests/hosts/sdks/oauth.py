"""The login of the Python SDK, as a program sets it up that has no token."""

from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import OAuthClientMetadata

REDIRECT = "http://127.0.0.1:9/callback"


class NoTokens:
    """A store of tokens that holds none yet."""

    async def get_tokens(self):
        return None

    async def set_tokens(self, tokens):
        pass

    async def get_client_info(self):
        return None

    async def set_client_info(self, client_info):
        pass


async def redirect(url):
    raise AssertionError(f"a person would have to open {url}")


async def callback():
    raise AssertionError("nothing comes back without a person")


def provider(url):
    metadata = OAuthClientMetadata(client_name="hosts", redirect_uris=[REDIRECT])
    return OAuthClientProvider(url, metadata, NoTokens(), redirect, callback)

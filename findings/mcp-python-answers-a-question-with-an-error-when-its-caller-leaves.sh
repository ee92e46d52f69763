#!/usr/bin/env bash
# Package: mcp 2.3.0 (PyPI).
# Behaviour: a person is asked in the middle of a call (`elicitation/create` in the event stream of a POST, of a server that
#   named a session), and the program around, whose own client of HTTP it is, gives the call up and closes the client of
#   MCP. This says by a notification in a POST of its own that the call is cancelled, and then answers the question, which
#   its person never answered, with the error -32000 "Connection closed".
# Why a good guess misses it: `decline` and `cancel` are the answers of a person who does not want to answer, and the
#   protocol knows no other way to leave a question. A server that takes an error for "this client cannot ask", and goes on
#   without the question, then does what no person agreed to, unless it takes the notification, which comes over another
#   connection, before the answer.
# Date: 2026-11-30
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check mcp==2.3.0
cat > try.py <<'PY'
import asyncio, contextlib, http.server, importlib.metadata, json, threading

from mcp import Client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

posted = []


class Shop(http.server.BaseHTTPRequestHandler):
    """A server of revision 2025-11-25 that asks before it sells."""

    protocol_version = "HTTP/1.1"

    def answer(self, status, body=b"", kind="application/json", session=None):
        self.send_response(status)
        if session:
            self.send_header("Mcp-Session-Id", session)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(405)

    do_DELETE = do_GET

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        posted.append(message)
        method = message.get("method")
        if method == "initialize":
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "shop", "version": "1"}}
            self.answer(200, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode(), session="till-1")
        elif method == "tools/call":
            schema = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}
            params = {"mode": "form", "message": "Sell it?", "requestedSchema": schema}
            question = {"jsonrpc": "2.0", "id": "question", "method": "elicitation/create", "params": params}
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(f"event: message\ndata: {json.dumps(question)}\n\n".encode())
                self.wfile.flush()
                # Until the client hangs up.
                self.connection.settimeout(20)
                self.connection.recv(1)
            self.close_connection = True
        else:
            self.answer(202)

    def log_message(self, *_):
        pass


async def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    asked = asyncio.Event()

    async def person(context, parameters):
        asked.set()
        await asyncio.sleep(3600)

    url = f"http://127.0.0.1:{server.server_port}/mcp"
    # The client of HTTP is the program's own, as it is where it sends a token.
    async with create_mcp_http_client(headers={"Authorization": "Bearer token"}) as client_of_http:
        transport = streamable_http_client(url, http_client=client_of_http)
        async with Client(transport, mode="legacy", elicitation_callback=person) as client:
            call = asyncio.create_task(client.call_tool("sell", {}))
            await asked.wait()
            call.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await call
    server.shutdown()


asyncio.run(asyncio.wait_for(main(), 60))
print("mcp", importlib.metadata.version("mcp"))
cancelled = [message for message in posted if message.get("method") == "notifications/cancelled"]
answers = [message for message in posted if message.get("id") == "question"]
print("cancelled:", json.dumps(cancelled))
print("answers to the question:", json.dumps(answers))
seen = len(cancelled) == 1 and [answer.get("error", {}).get("code") for answer in answers] == [-32000]
print("seen" if seen else "not seen")
raise SystemExit(0 if seen else 1)
PY
venv/bin/python try.py

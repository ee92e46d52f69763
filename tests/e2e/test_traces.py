"""The traces of calls, as a receiver of OTLP that is not ours gets them, and as a collector passes them on."""

import asyncio
import contextlib
import gzip
import http.server
import importlib.util
import json
import pathlib
import queue
import re
import secrets
import socket
import subprocess
import sys
import threading
import time
import unittest
import urllib.request

from support import LOCI, Server, data_folder, environment

try:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    from oteltap import OtelTapHttpProtobufReceiver, OtelTapHttpProtobufReceiverSettings
except (ImportError, OSError) as error:
    print(f"e2e: SKIPPED: the receiver of traces does not run here ({error})", file=sys.stderr)
    OtelTapHttpProtobufReceiver = None

# A whole collector, which scripts/setup installs where its package runs.
COLLECTOR = importlib.util.find_spec("rotel")
SECRET = "The kiln in the cellar fires at 1240 degrees"
SERVER_KIND = 2
ERROR_STATUS = 2


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Receiver:
    """A receiver of OTLP in a thread of its own, and the spans that it got."""

    def __init__(self):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.spans = []
        self.started, self.ending = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self.receive()), daemon=True)
        self.thread.start()
        if not self.started.wait(30):
            raise AssertionError("the receiver of traces did not start")

    async def receive(self):
        settings = OtelTapHttpProtobufReceiverSettings(http_port=self.port)
        async with OtelTapHttpProtobufReceiver(settings) as receiver:
            collecting = asyncio.create_task(self.collect(receiver.stream_traces()))
            await asyncio.sleep(0)
            self.started.set()
            await asyncio.to_thread(self.ending.wait)
            collecting.cancel()

    async def collect(self, spans):
        async for span in spans:
            self.spans.append(span)

    def named(self, name):
        return [span for span in self.spans if span.name == name]

    def wait_for(self, name, count=1):
        """The spans of a name, when there are as many."""
        deadline = time.monotonic() + 20
        while len(self.named(name)) < count:
            if time.monotonic() > deadline:
                raise AssertionError(f"waited for {count} of {name}: {[span.name for span in self.spans]}")
            time.sleep(0.02)
        return self.named(name)

    def children(self, span):
        return [child for child in self.spans if child.parent_span_id == span.span_id]

    def stop(self):
        self.ending.set()
        self.thread.join()


@contextlib.contextmanager
def receiver():
    made = Receiver()
    try:
        yield made
    finally:
        made.stop()


class Sink:
    """The end of the way of a collector's traces: a server that takes what is sent, and its bodies."""

    def __init__(self):
        bodies = self.bodies = queue.Queue()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                bodies.put(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@contextlib.contextmanager
def collector(url):
    """A collector that passes on what it gets; yields its own URL."""
    agent = pathlib.Path(COLLECTOR.origin).with_name("rotel-agent")
    port = free_port()
    arguments = ["--otlp-grpc-endpoint", f"127.0.0.1:{free_port()}", "--otlp-http-endpoint", f"127.0.0.1:{port}"]
    arguments += ["--exporter", "otlp", "--otlp-exporter-protocol", "http", "--otlp-exporter-endpoint", url]
    arguments += ["--batch-timeout", "100ms"]
    process = subprocess.Popen([agent, "start", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    reader = threading.Thread(target=process.stdout.read, daemon=True)
    reader.start()
    try:
        deadline = time.monotonic() + 30
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            if time.monotonic() > deadline or process.poll() is not None:
                raise AssertionError("the collector did not start")
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=30)
        reader.join()
        process.stdout.close()


def context(sampled=True):
    """A new trace context: the ids of the trace and of the span, and the `traceparent` of both."""
    trace, span = secrets.token_bytes(16), secrets.token_bytes(8)
    return trace, span, f"00-{trace.hex()}-{span.hex()}-{'01' if sampled else '00'}"


def request(server, method, parameters, meta=None, headers=None):
    """Sends a request to the mememory dialect, with metadata and headers of its own."""
    parameters = {**parameters, **({"_meta": meta} if meta else {})}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {server.token()}",
        **(headers or {}),
    }
    sent = urllib.request.Request(f"{server.url}/mcp/mememory", json.dumps(message).encode(), headers)
    with urllib.request.urlopen(sent, timeout=60) as reply:
        return json.load(reply)


def call(server, tool, arguments, meta=None, headers=None):
    """Calls a tool of the mememory dialect."""
    return request(server, "tools/call", {"name": tool, "arguments": arguments}, meta, headers)["result"]


def attributes(span):
    return {one.key: one.value.string_value or one.value.int_value for one in span.attributes}


@unittest.skipIf(OtelTapHttpProtobufReceiver is None, "needs the receiver of traces")
class Traces(unittest.TestCase):
    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.data = self.stack.enter_context(data_folder())

    def serve(self, url, *arguments, **variables):
        variables = {"LOCI_OTLP_ENDPOINT": url, **variables}
        return Server(self.data, "--log-format", "json", *arguments, variables=variables)

    def stop(self, server):
        """Stops a server, and returns the seconds that it took."""
        begun = time.monotonic()
        self.assertEqual(server.stop(), 0, "".join(server.log))
        return time.monotonic() - begun

    def assert_tree(self, got, span, operation, parts):
        """A call has one operation, which has these parts among others."""
        [child] = got.children(span)
        self.assertEqual(child.name, operation)
        self.assertEqual(child.trace_id, span.trace_id)
        named = {part.name for part in got.children(child)}
        self.assertLessEqual(parts, named)
        for part in got.children(child):
            self.assertEqual(part.trace_id, span.trace_id)
            self.assertLessEqual(child.start_time_unix_nano, part.start_time_unix_nano)
            self.assertLessEqual(part.end_time_unix_nano, child.end_time_unix_nano)

    def test_a_call_is_a_child_of_what_its_client_sends(self):
        got = self.stack.enter_context(receiver())
        server = self.serve(got.url)
        by_meta, by_header, lost = context(), context(), context()
        call(server, "remember", {"content": SECRET}, {"traceparent": by_meta[2], "tracestate": "a=b"})
        call(server, "recall", {"query": "the kiln"}, None, {"traceparent": by_header[2], "tracestate": "c=d"})
        # The metadata of the message count before the headers, which a proxy may have made.
        call(server, "recall", {"query": "kiln"}, {"traceparent": by_meta[2]}, {"traceparent": lost[2]})
        # The flushing end counts as well: nothing waited for a batch.
        seconds = self.stop(server)
        self.assertLess(seconds, 2.5)
        [remember] = got.wait_for("tools/call remember")
        self.assertEqual((remember.trace_id, remember.parent_span_id), by_meta[:2])
        self.assertEqual((remember.trace_state, remember.kind), ("a=b", SERVER_KIND))
        self.assert_tree(got, remember, "memory:write", {"store commit", "embeddings"})
        first, second = sorted(got.wait_for("tools/call recall", 2), key=lambda span: span.start_time_unix_nano)
        self.assertEqual((first.trace_id, first.parent_span_id, first.trace_state), (*by_header[:2], "c=d"))
        self.assert_tree(got, first, "memory:read", {"embeddings", "store candidates"})
        self.assertEqual((second.trace_id, second.parent_span_id), by_meta[:2])
        found = attributes(remember)
        for name, value in {
            "mcp.method.name": "tools/call",
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "remember",
            "network.transport": "tcp",
            "loci.dialect": "mememory",
            "loci.outcome": "ok",
        }.items():
            self.assertEqual(found[name], value)
        # Not a word of what was stored or asked, and nothing about who did it.
        sent = b"".join(span.SerializeToString() for span in got.spans)
        for word in [b"kiln", b"1240", b"local", server.token().encode(), str(self.data).encode()]:
            self.assertNotIn(word, sent)

    def test_a_malformed_context_is_ignored(self):
        got = self.stack.enter_context(receiver())
        server = self.serve(got.url)
        by_header = context()
        zero = "00-00000000000000000000000000000000-0000000000000000-01"
        for malformed in ["", "nonsense", zero, by_header[2] + "-x", 7, None, {"a": 1}, "x" * 9_000]:
            headers = {"traceparent": by_header[2]}
            call(server, "recall", {"query": "kiln"}, {"traceparent": malformed, "tracestate": 7}, headers)
        call(server, "recall", {"query": "kiln"}, {"traceparent": "nonsense"}, {"traceparent": "ff", "tracestate": "="})
        # A client that does not keep its trace decides for the parts as well.
        call(server, "recall", {"query": "kiln"}, {"traceparent": context(sampled=False)[2]})
        self.stop(server)
        spans = got.wait_for("tools/call recall", 9)
        self.assertEqual(len(spans), 9)
        parents = [span.parent_span_id for span in spans]
        self.assertEqual(sorted(parents), [b""] + [by_header[1]] * 8)

    def test_a_failure_is_one(self):
        got = self.stack.enter_context(receiver())
        server = self.serve(got.url)
        self.assertTrue(call(server, "remember", {"content": ["wrong"]})["isError"])
        self.stop(server)
        [span] = got.wait_for("tools/call remember")
        found = attributes(span)
        self.assertEqual((found["error.type"], found["loci.outcome"]), ("invalid_argument", "invalid_argument"))
        self.assertEqual((span.status.code, span.status.message), (ERROR_STATUS, ""))
        self.assertEqual(span.parent_span_id, b"")

    def test_a_read_of_a_resource_has_one(self):
        got = self.stack.enter_context(receiver())
        server = self.serve(got.url)
        call(server, "remember", {"content": SECRET, "type": "bootstrap"})
        parent = context()
        read = request(server, "resources/read", {"uri": "mememory://bootstrap"}, {"traceparent": parent[2]})
        self.assertIn(SECRET, read["result"]["contents"][0]["text"])
        self.assertIn("error", request(server, "resources/read", {"uri": "mememory://nothing"}))
        self.stop(server)
        read, failed = sorted(got.wait_for("resources/read", 2), key=lambda span: span.start_time_unix_nano)
        self.assertEqual((read.trace_id, read.parent_span_id), parent[:2])
        self.assert_tree(got, read, "resource:read", {"store list"})
        found = attributes(read)
        self.assertEqual((found["mcp.method.name"], found["loci.outcome"]), ("resources/read", "ok"))
        self.assertNotIn("gen_ai.tool.name", found)
        self.assertEqual(attributes(failed)["loci.outcome"], "not_found")

    def test_a_pipe_has_traces(self):
        got = self.stack.enter_context(receiver())
        parent = context()
        initialize = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        parameters = {"name": "recall", "arguments": {"query": "kiln"}, "_meta": {"traceparent": parent[2]}}
        messages = [
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": parameters},
        ]
        lines = "".join(json.dumps(message) + "\n" for message in messages)
        variables = environment(self.data, {"LOCI_OTLP_ENDPOINT": got.url})
        ended = subprocess.run(
            [LOCI, "mcp", "mememory"], env=variables, input=lines, capture_output=True, text=True, timeout=60
        )
        self.assertEqual(ended.returncode, 0, ended.stderr)
        # Nothing but the protocol is on stdout.
        self.assertEqual([json.loads(line)["id"] for line in ended.stdout.splitlines()], [1, 2])
        [span] = got.wait_for("tools/call recall")
        self.assertEqual((span.trace_id, span.parent_span_id), parent[:2])
        found = attributes(span)
        self.assertEqual((found["network.transport"], found["mcp.protocol.version"]), ("pipe", "2025-11-25"))

    @unittest.skipIf(COLLECTOR is None, "needs the collector")
    def test_a_collector_takes_them(self):
        sink = self.stack.enter_context(Sink())
        url = self.stack.enter_context(collector(sink.url))
        server = self.serve(url)
        parent = context()
        call(server, "remember", {"content": SECRET}, {"traceparent": parent[2]})
        self.stop(server)
        self.assertFalse([line for line in server.log if "collector" in line])
        [got] = ExportTraceServiceRequest.FromString(gzip.decompress(sink.bodies.get(timeout=20))).resource_spans
        resource = attributes(got.resource)
        self.assertEqual(resource["service.name"], "loci")
        self.assertRegex(resource["service.version"], r"^\d+\.\d+\.\d+$")
        [span] = [span for span in got.scope_spans[0].spans if span.name == "tools/call remember"]
        self.assertEqual((span.trace_id, span.parent_span_id), parent[:2])

    def test_a_collector_that_is_away_is_noted_once(self):
        with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as silent:
            ends = [f"http://127.0.0.1:{free_port()}", f"http://127.0.0.1:{silent.getsockname()[1]}"]
            for url, is_refused in zip(ends, [True, False]):
                server = self.serve(url, OTEL_BSP_SCHEDULE_DELAY="20")
                for _ in range(5):
                    self.assertFalse(call(server, "recall", {"query": "kiln"})["isError"])
                    time.sleep(0.1)
                self.assertLess(self.stop(server), 2.5)
                noted = [line for line in server.log if "the collector of traces at" in line]
                if is_refused:
                    self.assertEqual(len(noted), 1, server.log)
                    self.assertEqual(json.loads(noted[0])["level"], "WARN")

    def test_without_the_setting_nothing_is_sent(self):
        got = self.stack.enter_context(receiver())
        logs = []
        # The first start says more, since it makes the database.
        self.stop(self.serve(""))
        for variables in [{"LOCI_OTLP_ENDPOINT": "", "OTEL_EXPORTER_OTLP_ENDPOINT": got.url}, {}]:
            server = self.serve(got.url, "--log", "trace", **variables)
            call(server, "recall", {"query": "kiln"}, {"traceparent": context()[2]})
            self.stop(server)
            logs.append(server.log)
            if variables:
                self.assertEqual(got.spans, [])
        got.wait_for("tools/call recall")
        # And the log is the same with traces.
        said = [{re.sub(r"\d+", "0", json.loads(line)["message"]) for line in log if "{" in line} for log in logs]
        self.assertEqual(*said)
        self.assertFalse([line for line in logs[1] if "tools/call" in line or '"span' in line])


if __name__ == "__main__":
    unittest.main()

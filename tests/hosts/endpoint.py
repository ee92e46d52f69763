"""A model on loopback: speaks the APIs of four providers and answers by a script.

The script is a function of one `Request` that returns an `Answer`, or a text. It is asked once for each call of the
model that belongs to the conversation; what a host asks beside it (titles, counts of tokens, lists of models) is
answered without it. Requests are kept, so that a test can say what the model was shown.
"""

import contextlib
import dataclasses
import http.server
import itertools
import json
import re
import threading
import time
import urllib.parse

NUMBERS = itertools.count(1)
# How Claude Code and Codex ask for what takes the place of a conversation when they compact it, and what they get.
SUMMARY_WANTED = re.compile(r"detailed summary of the conversation|CONTEXT CHECKPOINT COMPACTION")
SUMMARY = "<summary>They spoke about birds, and this is the summary of it.</summary>"

# How long each conversation is for its model, which makes no host compact it by itself.
TOKENS = 100


@dataclasses.dataclass
class Tool:
    """A tool as a host offers it to the model; Codex puts those of a server into a namespace."""

    name: str
    description: str = ""
    schema: dict = dataclasses.field(default_factory=dict)
    namespace: str | None = None

    @property
    def full_name(self):
        return plain(f"{self.namespace or ''}__{self.name}")


@dataclasses.dataclass
class Call:
    """A call of a tool by the model."""

    tool: Tool
    arguments: dict
    id: str = dataclasses.field(default_factory=lambda: f"call_{next(NUMBERS)}")


@dataclasses.dataclass
class Message:
    """Something in the conversation: of the `system`, the `user`, the `assistant`, or the result of a `tool`."""

    role: str
    text: str


@dataclasses.dataclass
class Request:
    """A request to the model, the same whatever the provider."""

    path: str
    body: dict
    streams: bool
    system: str
    messages: list[Message]
    tools: list[Tool]

    def tool(self, server, name):
        """The offered tool of an MCP server; hosts join the two names in ways of their own."""
        for tool in self.tools:
            if plain(server) in tool.full_name and tool.full_name.endswith(plain(name)):
                return tool
        raise KeyError(f"no tool {name} of {server} among {sorted(tool.full_name for tool in self.tools)}")

    def has_tool(self, server, name):
        with contextlib.suppress(KeyError):
            return self.tool(server, name) is not None
        return False

    def texts(self, role):
        return [message.text for message in self.messages if message.role == role]

    @property
    def prompt(self):
        """The last text of the user."""
        return next(iter(reversed(self.texts("user"))), "")

    @property
    def results(self):
        """The results of tools since the model last spoke; empty when it is asked something new."""
        since = itertools.takewhile(lambda message: message.role != "assistant", reversed(self.messages))
        return [message.text for message in since if message.role == "tool"][::-1]

    @property
    def everything(self):
        """All that the model reads but the tools, as one text."""
        return "\n".join([self.system, *(message.text for message in self.messages)])


@dataclasses.dataclass
class Answer:
    """The answer of the model, after a delay: a text, calls of tools, or an error with an HTTP status."""

    text: str = ""
    calls: list[Call] = dataclasses.field(default_factory=list)
    delay: float = 0.0
    status: int = 200


def plain(name):
    """A name in the letters that all hosts leave in it."""
    return re.sub(r"[^A-Za-z0-9]+", "_", name).lower().strip("_")


def text_of(content):
    """The text of content, which is a string, a block or a list of blocks in every API."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(text_of, content)))
    return text_of(content.get("text", content.get("content")))


class Api:
    """The common parts of the APIs, by OpenAI's example."""

    def side_reply(self, path):
        """The reply to a request that is no call of the model."""
        return None

    def error(self, message):
        return {"error": {"type": "server_error", "code": "server_error", "message": message}}


class Anthropic(Api):
    """Anthropic's Messages."""

    def request(self, path, body):
        messages = []
        for message in body["messages"]:
            content = message["content"]
            for block in [content] if isinstance(content, str) else content:
                kind = "text" if isinstance(block, str) else block["type"]
                if kind == "tool_use":
                    messages.append(Message("assistant", json.dumps(block["input"])))
                elif kind == "tool_result":
                    messages.append(Message("tool", text_of(block.get("content"))))
                elif kind == "text":
                    messages.append(Message(message["role"], text_of(block)))
        tools = [
            Tool(tool["name"], tool.get("description", ""), tool["input_schema"])
            for tool in body.get("tools", [])
            if "input_schema" in tool
        ]
        return Request(path, body, body.get("stream", False), text_of(body.get("system")), messages, tools)

    def blocks(self, answer):
        if answer.text or not answer.calls:
            yield {"type": "text", "text": answer.text}
        for call in answer.calls:
            yield {"type": "tool_use", "id": f"toolu_{call.id}", "name": call.tool.name, "input": call.arguments}

    def reply(self, request, answer):
        return {
            "id": f"msg_{next(NUMBERS)}",
            "type": "message",
            "role": "assistant",
            "model": request.body["model"],
            "content": list(self.blocks(answer)),
            "stop_reason": "tool_use" if answer.calls else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": TOKENS, "output_tokens": 10},
        }

    def events(self, request, answer):
        reply = self.reply(request, answer)
        yield "message_start", {"message": {**reply, "content": [], "stop_reason": None}}
        for index, block in enumerate(reply["content"]):
            if block["type"] == "text":
                begun, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                begun = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            yield "content_block_start", {"index": index, "content_block": begun}
            yield "content_block_delta", {"index": index, "delta": delta}
            yield "content_block_stop", {"index": index}
        yield "message_delta", {
            "delta": {"stop_reason": reply["stop_reason"], "stop_sequence": None},
            "usage": reply["usage"],
        }
        yield "message_stop", {}

    def stream(self, request, answer):
        for event, data in self.events(request, answer):
            yield event, {"type": event, **data}

    def error(self, message):
        return {"type": "error", "error": {"type": "api_error", "message": message}}

    def side_reply(self, path):
        return {"input_tokens": 100} if path.endswith("/count_tokens") else None


class Responses(Api):
    """OpenAI's Responses."""

    def request(self, path, body):
        system, messages, offered = [text_of(body.get("instructions"))], [], [*(body.get("tools") or [])]
        given = body["input"]
        for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
            kind = item.get("type", "message")
            if kind == "message" and item["role"] in ("system", "developer"):
                messages.append(Message("system", text_of(item["content"])))
            elif kind == "message":
                messages.append(Message(item["role"], text_of(item["content"])))
            elif kind.endswith("_output"):
                # A search for tools gives no text, but the tools that it found.
                messages.append(Message("tool", text_of(item.get("output"))))
                offered += item.get("tools") or []
            elif kind.endswith("_call"):
                messages.append(Message("assistant", str(item.get("arguments", item.get("input", "")))))
        tools = list(self.tools(offered))
        return Request(path, body, body.get("stream", False), "\n".join(system), messages, tools)

    def tools(self, offered):
        for entry in offered:
            namespace = entry["name"] if entry["type"] == "namespace" else None
            for tool in entry["tools"] if namespace else [entry]:
                if tool["type"] == "function":
                    yield Tool(tool["name"], tool.get("description", ""), tool.get("parameters", {}), namespace)

    def items(self, answer):
        if answer.text or not answer.calls:
            content = [{"type": "output_text", "text": answer.text, "annotations": []}]
            yield {"type": "message", "id": f"msg_{next(NUMBERS)}", "role": "assistant", "content": content}
        for call in answer.calls:
            common = {"id": f"fc_{call.id}", "call_id": call.id}
            if call.tool.name == "tool_search":
                yield {"type": "tool_search_call", **common, "execution": "client", "arguments": call.arguments}
                continue
            place = {"namespace": call.tool.namespace} if call.tool.namespace else {}
            function = {"type": "function_call", **common, "name": call.tool.name, **place}
            yield {**function, "arguments": json.dumps(call.arguments)}

    def reply(self, request, answer):
        usage = {
            "input_tokens": TOKENS,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 10,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": TOKENS + 10,
        }
        output = [{**item, "status": "completed"} for item in self.items(answer)]
        return {
            "id": f"resp_{next(NUMBERS)}",
            "object": "response",
            "created_at": int(time.time()),
            "model": request.body["model"],
            "status": "completed",
            "output": output,
            "usage": usage,
        }

    def stream(self, request, answer):
        reply = self.reply(request, answer)
        events = [("response.created", {"response": {**reply, "status": "in_progress", "output": [], "usage": None}})]
        for index, item in enumerate(reply["output"]):
            begun = {**item, "status": "in_progress"}
            if item["type"] == "message":
                part = item["content"][0]
                place = {"item_id": item["id"], "output_index": index, "content_index": 0}
                events += [
                    ("response.output_item.added", {"output_index": index, "item": {**begun, "content": []}}),
                    ("response.content_part.added", {**place, "part": {**part, "text": ""}}),
                    ("response.output_text.delta", {**place, "delta": part["text"]}),
                    ("response.output_text.done", {**place, "text": part["text"]}),
                    ("response.content_part.done", {**place, "part": part}),
                ]
            elif item["type"] == "function_call":
                place = {"item_id": item["id"], "output_index": index}
                events += [
                    ("response.output_item.added", {"output_index": index, "item": {**begun, "arguments": ""}}),
                    ("response.function_call_arguments.delta", {**place, "delta": item["arguments"]}),
                    ("response.function_call_arguments.done", {**place, "arguments": item["arguments"]}),
                ]
            events.append(("response.output_item.done", {"output_index": index, "item": item}))
        events.append(("response.completed", {"response": reply}))
        for number, (event, data) in enumerate(events):
            yield event, {"type": event, "sequence_number": number, **data}


class Completions(Api):
    """OpenAI's Chat Completions."""

    def request(self, path, body):
        system, messages = [], []
        for message in body["messages"]:
            text = text_of(message.get("content"))
            if message["role"] in ("system", "developer"):
                system.append(text)
            elif text or message["role"] != "assistant":
                messages.append(Message(message["role"], text))
            for call in message.get("tool_calls") or []:
                messages.append(Message("assistant", call["function"]["arguments"]))
        tools = [
            Tool(function["name"], function.get("description", ""), function.get("parameters", {}))
            for function in (tool["function"] for tool in body.get("tools") or [] if tool["type"] == "function")
        ]
        return Request(path, body, body.get("stream", False), "\n".join(system), messages, tools)

    def parts(self, answer):
        calls = [
            {
                "index": index,
                "id": call.id,
                "type": "function",
                "function": {"name": call.tool.name, "arguments": json.dumps(call.arguments)},
            }
            for index, call in enumerate(answer.calls)
        ]
        return {"role": "assistant", "content": answer.text or None, **({"tool_calls": calls} if calls else {})}

    def common(self, request, kind):
        return {
            "id": f"chatcmpl-{next(NUMBERS)}",
            "object": kind,
            "created": int(time.time()),
            "model": request.body["model"],
        }

    def usage(self):
        return {"prompt_tokens": TOKENS, "completion_tokens": 10, "total_tokens": TOKENS + 10}

    def reply(self, request, answer):
        choice = {
            "index": 0,
            "message": self.parts(answer),
            "finish_reason": "tool_calls" if answer.calls else "stop",
        }
        return {**self.common(request, "chat.completion"), "choices": [choice], "usage": self.usage()}

    def stream(self, request, answer):
        common = self.common(request, "chat.completion.chunk")
        reason = "tool_calls" if answer.calls else "stop"
        yield None, {**common, "choices": [{"index": 0, "delta": self.parts(answer), "finish_reason": None}]}
        yield None, {**common, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
        yield None, {**common, "choices": [], "usage": self.usage()}
        yield None, "[DONE]"


class Gemini(Api):
    """Google's generateContent."""

    def request(self, path, body):
        messages = []
        for content in body.get("contents", []):
            role = "assistant" if content.get("role") == "model" else "user"
            for part in content.get("parts", []):
                if "functionCall" in part:
                    messages.append(Message("assistant", json.dumps(part["functionCall"].get("args", {}))))
                elif "functionResponse" in part:
                    response = part["functionResponse"]["response"]
                    said = response.get("output", response.get("error", response))
                    messages.append(Message("tool", said if isinstance(said, str) else json.dumps(said)))
                elif "text" in part:
                    messages.append(Message(role, part["text"]))
        declared = [tool for group in body.get("tools") or [] for tool in group.get("functionDeclarations", [])]
        tools = [Tool(tool["name"], tool.get("description", ""), self.schema(tool)) for tool in declared]
        system = "\n".join(part.get("text", "") for part in (body.get("systemInstruction") or {}).get("parts", []))
        return Request(path, body, ":streamGenerateContent" in path, system, messages, tools)

    def schema(self, tool):
        return tool.get("parametersJsonSchema", tool.get("parameters", {}))

    def reply(self, _request, answer):
        parts = [{"text": answer.text}] if answer.text or not answer.calls else []
        parts += [{"functionCall": {"name": call.tool.name, "args": call.arguments}} for call in answer.calls]
        return {
            "candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
            "usageMetadata": {
                "promptTokenCount": TOKENS,
                "candidatesTokenCount": 10,
                "totalTokenCount": TOKENS + 10,
            },
            "modelVersion": "gemini-scripted",
        }

    def stream(self, request, answer):
        yield None, self.reply(request, answer)

    def error(self, message):
        return {"error": {"code": 500, "status": "INTERNAL", "message": message}}

    def side_reply(self, path):
        return {"totalTokens": 100} if path.endswith(":countTokens") else None


# By the end of the path, which each provider has to itself.
APIS = {
    r"/messages(/count_tokens)?$": Anthropic(),
    r"/responses$": Responses(),
    r"/chat/completions$": Completions(),
    r":(generateContent|streamGenerateContent|countTokens)$": Gemini(),
}


class Endpoint:
    """The HTTP server; `script` may be replaced between the sessions of a test."""

    def __init__(self, script):
        self.script = script
        # Those of the conversation, and those for a summary of it.
        self.requests, self.summaries = [], []
        # Faults of the script, which a host would only tell as an error of the model.
        self.failures = []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        # A host that was interrupted leaves an answer that is still waited for.
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def reply(self, path, data):
        """The status of the reply, and its JSON or its events."""
        api = next((api for pattern, api in APIS.items() if re.search(pattern, path)), None)
        if api is None:
            return 200, {}
        if (reply := api.side_reply(path)) is not None:
            return 200, reply
        try:
            request = api.request(path, json.loads(data))
            answer = self.answer(request)
        except Exception as failure:  # The test's own thread shall see it.
            self.failures.append(failure)
            return 400, api.error(f"the endpoint failed: {failure!r}")
        time.sleep(answer.delay)
        if answer.status != 200:
            return answer.status, api.error(answer.text)
        return 200, (api.stream if request.streams else api.reply)(request, answer)

    def answer(self, request):
        if SUMMARY_WANTED.search(request.prompt):
            self.summaries.append(request)
            return Answer(SUMMARY)
        # A host that talks offers tools; without any it asks for a title or the like.
        if not request.tools:
            return Answer("Title")
        self.requests.append(request)
        answer = self.script(request)
        return Answer(answer) if isinstance(answer, str) else answer

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def handler(endpoint):
    """The class that handles the requests to an endpoint."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            # A list of models, in whatever form.
            self.send(200, {"object": "list", "data": [], "models": []})

        def do_POST(self):
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send(*endpoint.reply(urllib.parse.urlsplit(self.path).path, data))

        def send(self, status, content):
            # The host may be gone, as after an interruption.
            with contextlib.suppress(ConnectionError):
                if isinstance(content, dict):
                    self.send_json(status, content)
                else:
                    self.send_events(content)

        def send_json(self, status, value):
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def send_events(self, events):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            for event, data in events:
                name = f"event: {event}\n" if event else ""
                text = data if isinstance(data, str) else json.dumps(data)
                self.wfile.write(f"{name}data: {text}\n\n".encode())

        def log_message(self, *_):
            pass

    return Handler

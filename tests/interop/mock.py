"""A model server for agent programs: it speaks the Messages API, the Responses API, chat completions and the Gemini API,
and does what the prompt says.

A prompt contains steps such as `[[shell: touch a.txt]] [[send bob: hello]] [[note add: {}]] [[say: done]]`: a command, a
message, a call of the MCP server `notes`, a text. Each response is the next step: the number of calls after the prompt counts
the steps that are done. Without steps left, the response is a text.
"""

import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

STEP = re.compile(r"\[\[(\w+)((?: [^\]:]*)?): ?(.*?)\]\]", re.DOTALL)
SHELLS = ["Bash", "bash", "shell", "shell_command", "exec_command", "run_shell_command"]


class Conversation:
    """A request in the form that all APIs share: texts of the user, calls and results, in order."""

    def __init__(self, api, body):
        self.api, self.body = api, body
        self.tools, self.items = [], []
        {"messages": self._messages, "responses": self._responses, "chat": self._chat, "gemini": self._gemini}[api]()

    def _text(self, role, text):
        # The summary of a message repeats its beginning.
        text = re.sub(r' summary="[^"]*"', "", text or "")
        if text:
            self.items.append((role, text))

    def _messages(self):
        self.tools = [tool.get("name") for tool in self.body.get("tools") or []]
        for message in self.body.get("messages", []):
            content = message["content"]
            for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
                if block["type"] == "text":
                    self._text(message["role"], block["text"])
                elif block["type"] == "tool_use":
                    self.items.append(("call", block["name"]))
                elif block["type"] == "tool_result":
                    self.items.append(("result", json.dumps(block.get("content"))))

    def _responses(self):
        for tool in self.body.get("tools") or []:
            if tool.get("type") == "namespace":
                self.tools += [(tool["name"], inner["name"]) for inner in tool.get("tools", [])]
            else:
                self.tools.append(tool.get("name") or tool.get("type"))
        for item in self.body.get("input", []):
            kind = item.get("type", "message")
            if kind == "message":
                self._text(item["role"], "\n".join(part.get("text", "") for part in item["content"]))
            elif kind.endswith("_call"):
                self.items.append(("call", item.get("name")))
            elif kind.endswith("_output"):
                self.items.append(("result", json.dumps(item.get("output"))))

    def _chat(self):
        self.tools = [tool["function"]["name"] for tool in self.body.get("tools") or []]
        for message in self.body.get("messages", []):
            content = message.get("content")
            if isinstance(content, list):
                content = "\n".join(part.get("text", "") for part in content)
            if message["role"] == "tool":
                self.items.append(("result", content))
                continue
            self._text(message["role"], content)
            self.items += [("call", call["function"]["name"]) for call in message.get("tool_calls") or []]

    def _gemini(self):
        for tool in self.body.get("tools") or []:
            self.tools += [one["name"] for one in tool.get("functionDeclarations", [])]
        for content in self.body.get("contents", []):
            for part in content.get("parts", []):
                if "text" in part and not part.get("thought"):
                    self._text("user" if content.get("role") == "user" else "assistant", part["text"])
                elif "functionCall" in part:
                    self.items.append(("call", part["functionCall"]["name"]))
                elif "functionResponse" in part:
                    self.items.append(("result", json.dumps(part["functionResponse"].get("response"))))

    def next_step(self):
        """Returns the next step of the last prompt with steps, as (verb, argument, text). `<<` and
        `>>` are the brackets of steps inside of a step."""
        asked = self._consent()
        if asked:
            return asked
        last = max((at for at, (kind, text) in enumerate(self.items) if kind == "user" and STEP.search(text)), default=None)
        if last is None:
            return ("say", "", "noted")
        steps = [(verb, argument.strip(), text.replace("<<", "[[").replace(">>", "]]"))
                 for verb, argument, text in STEP.findall(self.items[last][1])]
        done = sum(kind == "call" for kind, _ in self.items[last:])
        later = any(kind == "user" for kind, text in self.items[last + 1:] if not text.startswith("<system-reminder>"))
        said = any(kind == "assistant" for kind, _ in self.items[last + 1:])
        if done >= len(steps) or (later and said):
            return ("say", "", "noted")
        return steps[done]

    def _consent(self):
        """Returns the consent to a request to shut down, or to a plan, that has no answer yet."""
        for at in range(len(self.items) - 1, -1, -1):
            kind, text = self.items[at]
            if kind == "call":
                return None
            plan = re.search(r"plan_approval-\d+@(\w+)@[\w-]+", text) if kind == "user" else None
            if plan and "plan_approval_request" in text:
                answer = {"type": "plan_approval_response", "request_id": plan.group(), "approve": True}
                return ("tool", "SendMessage", json.dumps({"to": plan.group(1), "message": answer}))
            request = re.search(r"shutdown-\d+@\w+", text) if kind == "user" else None
            if request and "SendMessage" in text or request and "shutdown_request" in text:
                answer = {"type": "shutdown_response", "request_id": request.group(), "approve": True}
                return ("tool", "SendMessage", json.dumps({"to": "team-lead", "message": answer}))
        return None

    def results(self):
        return [text for kind, text in self.items if kind == "result"]

    def _tool_of(self, server, name):
        """Returns a tool of an MCP server under the name that the program gives it."""
        for tool in self.tools:
            if isinstance(tool, tuple):
                if server in tool[0] and tool[1] == name:
                    return tool
            elif server in tool and re.search(rf"(^|_){name}$", tool):
                return tool
        # Claude Code accepts calls of tools that it has not listed yet.
        return f"mcp__{server}__{name}"

    def call_of(self, step):
        """Returns the tool and the input of a step; `None` for a text."""
        verb, argument, text = step
        if verb == "say" or not self.tools:
            return None
        if verb == "shell":
            name = next((shell for shell in SHELLS if shell in self.tools), "Bash")
            if name == "shell":
                return name, {"command": ["bash", "-lc", text]}
            if name == "exec_command":
                return name, {"cmd": text}
            more = {"is_background": False} if name == "run_shell_command" else {}
            return name, {"command": text, "description": "a step of the test", **more}
        if verb == "plan":
            # Claude Code names the file of the plan in its instructions.
            path = re.search(r"/[^\s\"'`\\]+/plans/[^\s\"'`\\]+\.md", json.dumps(self.body))
            return "Write", {"file_path": path.group() if path else "plan.md", "content": text}
        if verb == "send":
            if "SendMessage" in self.tools and not any("swarm" in str(tool) for tool in self.tools):
                return "SendMessage", {"to": argument, "message": text, "summary": text[:40]}
            return self._tool_of("swarm", "send"), {"to": argument, "text": text}
        arguments = json.loads(text or "{}")
        if verb == "tool":
            return argument, arguments
        return self._tool_of("notes" if verb == "note" else "swarm", argument), arguments


def usage():
    return {"input_tokens": 10, "output_tokens": 5}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.server.note({"get": self.path})
        if self.path.startswith("/v1/models"):
            return self.json({"object": "list", "data": [{"id": "mock", "object": "model"}], "models": []})
        self.json({}, 404)

    do_HEAD = do_GET

    def do_POST(self):
        length = int(self.headers.get("content-length") or 0)
        raw = self.rfile.read(length)
        path = self.path.split("?")[0]
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {}
        if path.endswith("/count_tokens"):
            return self.json({"input_tokens": 100})
        if path.endswith(":countTokens"):
            return self.json({"totalTokens": 100})
        api = ("messages" if path.endswith("/messages") else "responses" if path.endswith("/responses")
               else "chat" if path.endswith("/chat/completions") else "gemini" if "enerateContent" in path else None)
        if api is None:
            self.server.note({"unknown": self.path, "body": body})
            return self.json({}, 404)
        talk = Conversation(api, body)
        step = talk.next_step() if talk.tools else ("say", "", "title")
        call = talk.call_of(step)
        text = step[2] if step[0] == "say" else "noted"
        self.server.note({"api": api, "path": self.path, "headers": dict(self.headers), "body": body, "step": step, "call": call})
        if self.server.delay:
            time.sleep(self.server.delay)
        getattr(self, f"answer_{api}")(body, text, call)

    def json(self, value, status=200):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def events(self, events):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for event in events:
            name = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
            data = event if isinstance(event, str) else json.dumps(event)
            self.wfile.write(f"{name}data: {data}\n\n".encode())
        self.wfile.flush()
        self.close_connection = True

    def answer_messages(self, body, text, call):
        number = self.server.count()
        block = ({"type": "tool_use", "id": f"toolu_{number:08}", "name": call[0], "input": call[1]} if call
                 else {"type": "text", "text": text})
        stop = "tool_use" if call else "end_turn"
        message = {"id": f"msg_{number:08}", "type": "message", "role": "assistant", "model": body.get("model"),
                   "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage()}
        if not body.get("stream"):
            return self.json({**message, "content": [block], "stop_reason": stop})
        start = {**block, "input": {}} if call else {**block, "text": ""}
        delta = ({"type": "input_json_delta", "partial_json": json.dumps(call[1])} if call
                 else {"type": "text_delta", "text": text})
        self.events([
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": start},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 5}},
            {"type": "message_stop"},
        ])

    def answer_responses(self, body, text, call):
        number = self.server.count()
        if call:
            name = call[0]
            item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}",
                    "name": name, "arguments": json.dumps(call[1]), "status": "completed"}
            if isinstance(name, tuple):
                item["namespace"], item["name"] = name
        else:
            item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": text, "annotations": []}]}
        response = {"id": f"resp_{number}", "object": "response", "created_at": 1, "model": body.get("model"), "output": []}
        done = {**response, "status": "completed", "output": [item],
                "usage": {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
                          "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15}}
        events = [{"type": "response.created", "response": {**response, "status": "in_progress"}},
                  {"type": "response.output_item.added", "output_index": 0, "item": item}]
        if not call:
            events.append({"type": "response.output_text.delta", "item_id": item["id"], "output_index": 0,
                           "content_index": 0, "delta": text})
        events += [{"type": "response.output_item.done", "output_index": 0, "item": item},
                   {"type": "response.completed", "response": done}]
        self.events(events)

    def answer_chat(self, body, text, call):
        number = self.server.count()
        message = {"role": "assistant", "content": None if call else text}
        if call:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            message["tool_calls"] = [{"index": 0, "id": f"call_{number}", "type": "function", "function": function}]
        finish = "tool_calls" if call else "stop"
        counts = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        base = {"id": f"chat_{number}", "created": 1, "model": body.get("model")}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": finish}
            return self.json({**base, "object": "chat.completion", "choices": [choice], "usage": counts})
        base["object"] = "chat.completion.chunk"
        self.events([
            {**base, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
            {**base, "choices": [], "usage": counts},
            "[DONE]",
        ])

    def answer_gemini(self, _body, text, call):
        part = {"functionCall": {"name": call[0], "args": call[1]}} if call else {"text": text}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        counts = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
        answer = {"candidates": [candidate], "usageMetadata": counts, "modelVersion": "mock"}
        self.events([answer]) if "stream" in self.path else self.json(answer)


class Mock(ThreadingHTTPServer):
    """The server on a free loopback port. `requests` has everything that it got."""

    daemon_threads = True

    def __init__(self, log=None, delay=0.0):
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests, self.delay = [], delay
        self._lock, self._number = threading.Lock(), 0
        self._log = open(log, "a", encoding="utf-8") if log else None
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *_):
        pass

    def count(self):
        with self._lock:
            self._number += 1
            return self._number

    def note(self, entry):
        with self._lock:
            self.requests.append(entry)
            if self._log:
                self._log.write(json.dumps(entry) + "\n")
                self._log.flush()

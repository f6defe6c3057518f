"""Traces: a receiver gets spans whose names and attributes agree with OpenTelemetry's conventions."""

import importlib
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as genai
from opentelemetry.semconv.schemas import Schemas

from world import World, until


class Receiver:
    """Takes OTLP requests as a collector does, in both encodings."""

    def __init__(self):
        self.requests, self.problems, self.refusals = [], [], 0
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if receiver.refusals > 0:
                    receiver.refusals -= 1
                    self.send_response(503)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                try:
                    receiver.take(self.path, dict(self.headers.items()), body)
                except Exception as problem:  # said by the test, not by a thread
                    receiver.problems.append(repr(problem))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, path, headers, body):
        assert path == "/v1/traces", path
        kind = headers.get("Content-Type", headers.get("content-type"))
        if kind == "application/x-protobuf":
            request = ExportTraceServiceRequest.FromString(body)
        else:
            assert kind == "application/json", kind
            # Ids are hexadecimal in OTLP's JSON, unlike in that of protobuf.
            request = json_format.Parse(as_base64(body), ExportTraceServiceRequest())
        self.requests.append((kind, headers, request))

    def spans(self):
        assert not self.problems, self.problems
        return [span for _, _, request in self.requests for part in request.resource_spans
                for scope in part.scope_spans for span in scope.spans]


def as_base64(body):
    import base64

    def walk(value):
        if isinstance(value, dict):
            for key, held in value.items():
                if key in ("traceId", "spanId", "parentSpanId"):
                    value[key] = base64.b64encode(bytes.fromhex(held)).decode()
                else:
                    walk(held)
        elif isinstance(value, list):
            for held in value:
                walk(held)
        return value

    return json.dumps(walk(json.loads(body)))


def attributes(span):
    def value(held):
        which = held.WhichOneof("value")
        if which == "array_value":
            return [value(one) for one in held.array_value.values]
        return getattr(held, which)

    return {pair.key: value(pair.value) for pair in span.attributes}


def registry():
    """Every attribute name of the conventions, and the operations they know."""
    error = importlib.import_module("opentelemetry.semconv.attributes.error_attributes")
    names = {value for name, value in vars(genai).items() if name.startswith("GEN_AI_") and isinstance(value, str)}
    return names | {error.ERROR_TYPE}, {one.value for one in genai.GenAiOperationNameValues}


def check_spans(spans, run, is_content_wanted=False):
    names, operations = registry()
    by_id = {span.span_id: span for span in spans}
    assert len(by_id) == len(spans), "a span was sent twice"
    assert len({span.trace_id for span in spans}) == 1
    for span in spans:
        held = attributes(span)
        unknown = {key for key in held if not key.startswith("updraft.")} - names
        assert not unknown, f"{span.name}: {unknown} are not in the registry"
        operation = held["gen_ai.operation.name"]
        assert operation in operations, operation
        subject = {"chat": "gen_ai.request.model", "execute_tool": "gen_ai.tool.name", "invoke_agent": "gen_ai.agent.name",
                   "invoke_workflow": "gen_ai.workflow.name"}[operation]
        assert span.name == f"{operation} {held[subject]}", span.name
        assert span.kind == (Span.SPAN_KIND_CLIENT if operation == "chat" else Span.SPAN_KIND_INTERNAL)
        assert span.start_time_unix_nano <= span.end_time_unix_nano
        assert held["gen_ai.conversation.id"] == held["updraft.run.id"] == run
        if operation != "invoke_workflow":
            assert held["gen_ai.agent.name"], f"{span.name} names no agent"
            assert span.parent_span_id in by_id, f"{span.name} has no parent"
        if operation == "chat":
            assert held["gen_ai.provider.name"] and held["updraft.cost.usd"] > 0
            assert (held["gen_ai.usage.input_tokens"], held["gen_ai.usage.output_tokens"]) == (100, 20)
            assert held["gen_ai.response.finish_reasons"] in (["stop"], ["tool_call"])
        if operation == "execute_tool":
            assert held["gen_ai.tool.call.id"] and held["gen_ai.tool.type"] == "function"
        is_failed = span.status.code == Status.STATUS_CODE_ERROR
        assert is_failed == ("error.type" in held), span.name
        content = [key for key in held if "messages" in key or key.endswith((".arguments", ".result"))]
        assert bool(content) <= is_content_wanted, f"{span.name} contains {content}"
    counts = {}
    for span in spans:
        operation = span.name.split()[0]
        counts[operation] = counts.get(operation, 0) + 1
    assert counts == {"invoke_workflow": 1, "invoke_agent": 3, "chat": 4, "execute_tool": 2}, counts
    root = next(span for span in spans if span.name.startswith("invoke_workflow"))
    assert not root.parent_span_id and attributes(root)["gen_ai.usage.input_tokens"] == 400
    failed = [span.name for span in spans if span.status.code == Status.STATUS_CODE_ERROR]
    assert failed == ["execute_tool read_file"], failed


def check(updraft):
    receiver = Receiver()
    known = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.address, "OTEL_EXPORTER_OTLP_HEADERS": "x-team=a%20b",
             "OTEL_SERVICE_NAME": "observed", "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test"}
    world = World(updraft, environment=known)
    receiver.refusals = 0
    run = world.goal()
    check_spans(receiver.spans(), run)
    kind, headers, request = receiver.requests[0]
    assert kind == "application/x-protobuf" and headers.get("X-Team", headers.get("x-team")) == "a b"
    resource = {pair.key: pair.value.string_value for pair in request.resource_spans[0].resource.attributes}
    assert resource["service.name"] == "observed" and resource["deployment.environment.name"] == "test"
    scope = request.resource_spans[0].scope_spans[0]
    assert scope.scope.name == "updraft" and scope.schema_url == Schemas.V1_44_0.value
    world.close()
    print(f"  {len(receiver.spans())} spans in protobuf agree with the conventions")

    receiver = Receiver()
    settings = f'[telemetry]\nendpoint = "{receiver.address}"\ncontent = true\n'
    world = World(updraft, environment={"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, settings=settings)
    run = world.goal()
    check_spans(receiver.spans(), run, is_content_wanted=True)
    tool = next(span for span in receiver.spans() if span.name == "execute_tool read_file")
    assert json.loads(attributes(tool)["gen_ai.tool.call.arguments"])["path"] in ("a.txt", "missing.txt")
    message = json.loads(attributes(next(s for s in receiver.spans() if s.name.startswith("chat")))["gen_ai.output.messages"])
    assert message[0]["role"] == "assistant" and message[0]["parts"], message
    world.close()
    print("  the same in JSON, with content where it is wanted")

    check_resumed(updraft)
    check_sent_back(updraft)
    check_passed_on(updraft)
    check_away(updraft)


def check_resumed(updraft):
    """A run that stops for a person and is resumed by another process continues its trace, and no span comes twice."""
    receiver = Receiver()
    question = {"name": "ask_user", "args": {"question": "Which?", "options": ["a", "b"]}}
    script = {"rules": [{"when": {"turn": 0}, "answer": {"calls": [question]}}], "default": {"text": "Done."}}
    world = World(updraft, script=script, environment={"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.address})
    world.run("run", "Ask me", "--agent", "clarification", "--model", world.model, "--no-sandbox", check=False)
    run = json.loads(world.run("show", "last", "--json").stdout)["run"]
    before = list(receiver.spans())
    assert before and not any(span.name.startswith("invoke_workflow") for span in before), [s.name for s in before]
    world.run("answer", run, "b")
    world.run("resume", run)
    spans = receiver.spans()
    assert len(spans) > len(before) and len({span.trace_id for span in spans}) == 1
    assert len({span.span_id for span in spans}) == len(spans), "a span was sent twice"
    roots = [span for span in spans if span.name.startswith("invoke_workflow")]
    assert len(roots) == 1 and roots[0].start_time_unix_nano <= min(span.start_time_unix_nano for span in spans)
    world.close()
    print("  a resumed run continues its trace")


def check_sent_back(updraft):
    """A step whose result a review sends back has two visits, each with one span; what is said is in none of them."""
    receiver = Receiver()
    plan = {"steps": [{"id": "make", "agent": "summarizer", "prompt": "Make it.", "writes": ["made"]},
                      {"id": "check", "agent": "reviewer", "prompt": "Check it.", "reads": ["made"], "after": ["make"]}]}
    said = "the password is hunter2"
    script = {"rules": [
        {"when": {"agent": "planner"}, "answer": {"json": plan}},
        {"when": {"agent": "reviewer", "contains": "made anew"}, "answer": {"json": {"verdict": "accept", "feedback": said}}},
        {"when": {"agent": "reviewer"}, "answer": {"json": {"verdict": "retry", "feedback": f"once more: {said}"}}},
        {"when": {"step": "make", "contains": "once more"}, "answer": {"text": f"It is made anew: {said}", "reasoning": said}},
        {"when": {"step": "make", "turn": 0}, "answer": {"calls": [{"name": said, "args": {"text": said}},
                                                                   {"name": "read_file", "args": {"path": said}}]}},
    ], "default": {"text": f"It is made: {said}"}}
    world = World(updraft, script=script, environment={"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.address})
    world.goal(said)
    spans = receiver.spans()
    assert len({span.span_id for span in spans}) == len(spans), "a span was sent twice"
    visits = sorted((attributes(span)["updraft.step.id"], attributes(span)["updraft.step.visit"])
                    for span in spans if span.name.startswith("invoke_agent"))
    assert visits.count(("make", 0)) == visits.count(("make", 1)) == 1, visits
    assert "execute_tool unknown" in [span.name for span in spans], [span.name for span in spans]
    leaks = [span.name for span in spans if "hunter2" in str(span)]
    assert not leaks, f"what was said is in {leaks}"
    world.close()
    print("  what a review sends back has a span for each visit, and nothing that was said is in any")


def check_away(updraft):
    """A collector that is away neither fails nor delays a run for long, and one that is busy is tried again."""
    world = World(updraft, environment={"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"})
    assert world.goal()
    world.close()
    silent = socket.create_server(("127.0.0.1", 0))  # takes connections, and never answers
    away = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{silent.getsockname()[1]}", "OTEL_BSP_SCHEDULE_DELAY": "1"}
    # With a limit that is longer than the patience of these tests.
    world = World(updraft, environment=away | {"OTEL_EXPORTER_OTLP_TIMEOUT": "60000"})
    assert world.goal()
    world.close()
    silent.close()
    receiver = Receiver()
    receiver.refusals = 2
    world = World(updraft, environment={"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.address, "OTEL_BSP_SCHEDULE_DELAY": "50"})
    with world.serve() as served:
        from metrics import call
        call(served, "query", {"query": "Say what the file says"})
        until(lambda: len(receiver.spans()) >= 10, "spans after a busy collector")
        served.stop()
    assert len({span.span_id for span in receiver.spans()}) == len(receiver.spans()) == 10
    world.close()
    print("  a collector that is away or busy harms nothing")


SERVER = r'''
import json, sys
seen = open(sys.argv[1], "a")
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, params = message["method"], message.get("params") or {}
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if method == "initialize":
        answer["result"] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "echo", "version": "0"}}
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        answer["result"] = {"tools": [{"name": "echo", "description": "Says the text again.", "inputSchema": schema,
                                       "annotations": {"readOnlyHint": True, "openWorldHint": False}}]}
    elif method == "tools/call":
        seen.write(json.dumps(params.get("_meta") or {}) + "\n")
        seen.flush()
        answer["result"] = {"content": [{"type": "text", "text": params["arguments"].get("text", "")}]}
    else:
        answer["error"] = {"code": -32601, "message": "no such method"}
    print(json.dumps(answer), flush=True)
'''


class Provider:
    """A model service that first asks for one tool call, and keeps the headers that it was sent."""

    def __init__(self):
        self.parents = []
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                provider.parents.append(self.headers.get("traceparent"))
                tool = next((tool["function"]["name"] for tool in body.get("tools", [])
                             if tool["function"]["name"].endswith("echo")), None)
                is_first = not any(message["role"] == "tool" for message in body["messages"])
                delta = {"role": "assistant", "content": "Said."}
                if tool and is_first:
                    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": tool, "arguments": '{"text": "hi"}'}}
                    delta = {"role": "assistant", "tool_calls": [call]}
                finish = "tool_calls" if "tool_calls" in delta else "stop"
                chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m",
                         "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
                         "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}}
                answer = f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def do_GET(self):
                self.send_error(404)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.base = f"http://127.0.0.1:{self.server.server_port}/v1"


def check_passed_on(updraft):
    """Providers and MCP servers are told the spans that their work belongs to."""
    import sys

    receiver, provider = Receiver(), Provider()
    settings = f'[providers.house]\nbase_url = "{provider.base}"\n'
    world = World(updraft, environment={"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.address}, settings=settings)
    (world.root / "server.py").write_text(SERVER)
    seen = world.root / "seen.jsonl"
    server = {"command": sys.executable, "args": [str(world.root / "server.py"), str(seen)]}
    (world.home / "mcp.json").write_text(json.dumps({"mcpServers": {"echo": server}}))
    world.run("run", "Say hi", "--agent", "coder", "--model", "house/m", "--no-sandbox", "--yes")
    spans = {f"00-{span.trace_id.hex()}-{span.span_id.hex()}-01": span.name for span in receiver.spans()}
    assert provider.parents and all(spans.get(parent) == "chat m" for parent in provider.parents), (provider.parents, spans)
    metas = [json.loads(line) for line in seen.read_text().splitlines()]
    names = [spans.get(meta.get("traceparent")) for meta in metas]
    assert len(names) == 1 and names[0] and names[0].startswith("execute_tool") and names[0].endswith("echo"), (metas, spans)
    world.close()
    print("  providers and MCP servers get the traceparent of their spans")

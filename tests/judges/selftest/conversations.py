"""The server held against the official clients and the official types of events: it plays what services send."""

import http.client
import json
import traceback

from fake.story import FIRST, LAST, PATHS, SIGNATURE, THINKING, TOOL, WORDS, fitting
from server import cut, start

from . import bodies_anthropic, bodies_gemini, bodies_ollama, bodies_openai, bodies_responses, clients, events, signed
from .bodies import GONE, changed

RESULTS = ("three – 3", "four – 4")
CALLS = [(TOOL, {"path": path}) for path in PATHS]
QUOTED = f"They say “{RESULTS[0]}” and “{RESULTS[1]}” — that’s all ✓."
PATHS_OF = {
    "openai": "/v1/chat/completions",
    "responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/gemini-3:streamGenerateContent?alt=sse",
    "ollama": "/api/chat",
}
VERTEX = "/v1/projects/p/locations/l/publishers/google/models/gemini-3:streamGenerateContent?alt=sse"
BODIES = {
    "openai": bodies_openai,
    "responses": bodies_responses,
    "anthropic": bodies_anthropic,
    "gemini": bodies_gemini,
    "ollama": bodies_ollama,
}


def conversation_failures():
    """What went wrong, one text each."""
    server, address = start()
    checks = [a_cut_goes_through_every_long_character, a_value_fits_its_schema]
    checks += [made(official_client, dialect, address) for dialect in BODIES]
    checks += [made(official_types, dialect, address) for dialect in BODIES]
    checks += [made(signatures, dialect, address) for dialect in signed.BODIES]
    checks += [made(refusals, dialect, address) for dialect in BODIES]
    failed = []
    for check in checks:
        try:
            check()
        except Exception:  # noqa: BLE001: any of them is a failure to report
            failed.append(traceback.format_exc())
    server.shutdown()
    print(f"{len(checks)} checks of the server, {len(BODIES)} of them by official clients")
    return failed


def made(check, *arguments):
    return lambda: check(*arguments)


def official_client(dialect, address):
    """The client hears both turns as they were meant."""
    heard = clients.CLIENTS[dialect](address, RESULTS)
    tells_details = dialect != "ollama"
    first = clients.Heard(THINKING, WORDS, CALLS, clients.spent(FIRST, tells_details))
    last = clients.Heard(THINKING, QUOTED, [], clients.spent(LAST, tells_details))
    assert heard == [first, last], f"{dialect}: heard {heard}, expected {[first, last]}"


def official_types(dialect, address):
    """Every event is one that the package's types describe, down to the last field."""
    good = BODIES[dialect].GOOD
    for body in (good["everything"], before_any_call(good["everything"]), good["no more than a question"]):
        for path in (PATHS_OF[dialect], VERTEX) if dialect == "gemini" else (PATHS_OF[dialect],):
            status, content = post(address, path, body)
            assert status == 200, f"{dialect}: {status}: {content.decode()}"
            count = events.check(dialect, content)
            assert count > 3, f"{dialect}: only {count} events"


def before_any_call(body):
    """The conversation up to the first question."""
    messages = next(key for key in ("messages", "contents", "input") if key in body)
    roles = [message.get("role") for message in body[messages]]
    return changed(body, [messages], lambda members: members[: roles.index("user") + 1])


def signatures(dialect, address):
    """Our own calls must come back signed as they were: without that the services refuse them. Others' need not."""
    other = "b3RoZXI="
    for signature, began, expected in ((other, False, 200), (SIGNATURE, True, 200), (other, True, 422)):
        body = signed.BODIES[dialect](signature, RESULTS)
        if began:
            post(address, PATHS_OF[dialect], before_any_call(body))
        status, content = post(address, PATHS_OF[dialect], body)
        assert status == expected, f"{dialect}: `{signature}`: {status}: {content.decode()}"


def refusals(dialect, address):
    """What a judge refuses is a 422 with its reason, in the shape of the dialect."""
    what, path, value, reason = BODIES[dialect].BROKEN[0]
    broken = changed(BODIES[dialect].GOOD["everything"], path, value)
    status, content = post(address, PATHS_OF[dialect], broken)
    error = json.loads(content)["error"]
    fault = error if dialect == "ollama" else error["message"]
    assert (status, reason in fault) == (422, True), f"{dialect}: {what}: {status}: {fault}"
    for header in {"anthropic": ["anthropic-version", "x-api-key"], "gemini": ["x-goog-api-key"]}.get(dialect, []):
        status, content = post(address, PATHS_OF[dialect], broken, leave_out=header)
        assert status == 422 and header in content.decode(), f"{dialect}: {status}: {content.decode()}"


def post(address, path, body, leave_out=None):
    """The status and the whole answer."""
    keys = {"x-api-key": "k", "anthropic-version": "2023-06-01", "x-goog-api-key": "k", leave_out: GONE}
    headers = {name: value for name, value in keys.items() if value is not GONE}
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=60)
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json", **headers})
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, content


def a_cut_goes_through_every_long_character():
    text = "a“b”📖" + "c" * 100
    pieces = list(cut(text.encode()))
    assert b"".join(pieces) == text.encode()
    assert pieces[0] == b"a\xe2" and all(len(piece) <= 48 for piece in pieces), pieces


def a_value_fits_its_schema():
    schema = {
        "type": "object",
        "properties": {
            "kind": {"enum": ["file", "folder"]},
            "names": {"type": "array", "items": {"$ref": "#/$defs/name"}, "minItems": 2},
            "size": {"type": ["integer", "null"], "minimum": 5},
        },
        "required": ["kind", "names"],
        "$defs": {"name": {"type": "string", "maxLength": 4}},
    }
    assert fitting(schema, "a long text") == {"kind": "file", "names": ["a lo", "a lo"], "size": 5}

"""Messages, good and broken."""

from .bodies import ANSWER, GONE, JPEG, PARAMETERS, PNG, changed, repeated, swapped, without


def call(call_id, path):
    return {"type": "tool_use", "id": call_id, "name": "read_file", "input": {"path": path}}


def result(call_id, content):
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


CACHED = {"cache_control": {"type": "ephemeral"}}
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
WHOLE = {
    "model": "claude-sonnet-4-5",
    "stream": True,
    "max_tokens": 4096,
    "thinking": {"type": "enabled", "budget_tokens": 2048},
    "system": [{"type": "text", "text": "Be brief.", **CACHED}],
    "tools": [{"name": "read_file", "description": "Reads.", "input_schema": PARAMETERS, **CACHED}],
    "tool_choice": {"type": "auto"},
    "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": ANSWER}},
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "What is in a and b?"}, PICTURE]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Both.", "signature": "Eqc="},
                {"type": "text", "text": "I read both."},
                call("toolu_1", "a"),
                call("toolu_2", "b"),
            ],
        },
        {
            "role": "user",
            "content": [
                result("toolu_1", "3"),
                {**result("toolu_2", [{"type": "text", "text": "none"}, PICTURE]), "is_error": True, **CACHED},
            ],
        },
    ],
}


def in_two_messages(messages):
    first, second = messages[2]["content"]
    return [*messages[:2], {"role": "user", "content": [first]}, {"role": "user", "content": [second]}]


GOOD = {
    "everything": WHOLE,
    "results in another order": changed(WHOLE, ["messages", 2, "content"], swapped(0, 1)),
    "words after the results": changed(
        WHOLE, ["messages", 2, "content"], lambda blocks: [*blocks, {"type": "text", "text": "And now?"}]
    ),
    "adaptive thinking": changed(WHOLE, ["thinking"], {"type": "adaptive"}),
    "no more than a question": {
        "model": "m",
        "stream": True,
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "Hi"}],
    },
}
ASKED = ["messages", 0, "content"]
SAID = ["messages", 1, "content"]
RESULTS = ["messages", 2, "content"]
SCHEMA = ["output_config", "format", "schema"]
BROKEN = [
    ("an unknown field", ["bogus"], 1, "bogus"),
    ("an unknown field of a block", [*SAID, 1, "bogus"], 1, "bogus"),
    ("no streaming", ["stream"], False, "stream"),
    ("an empty model", ["model"], "", "model: empty"),
    ("no cap", ["max_tokens"], GONE, "max_tokens"),
    ("no messages", ["messages"], [], "messages: empty"),
    ("a role that is none", ["messages", 2, "role"], "tool", "role"),
    ("the assistant first", ["messages"], without(0), "the first message"),
    ("arguments as text", [*SAID, 2, "input"], '{"path": "a"}', "input"),
    ("a result too few", RESULTS, without(0), "have no result: ['toolu_1']"),
    ("a result too many", RESULTS, repeated(0), "a second result"),
    ("a result nobody asked for", [*RESULTS, 0, "tool_use_id"], "toolu_9", "nobody called"),
    ("results in two messages", ["messages"], in_two_messages, "have no result: ['toolu_2']"),
    ("words before the results", RESULTS, lambda b: [{"type": "text", "text": "Well"}, *b], "stand first"),
    ("a result of the assistant", ["messages", 2, "role"], "assistant", "is the user's"),
    ("a call of the user", ["messages", 1, "role"], "user", "is the assistant's"),
    ("calls that are left open", ["messages"], without(2), "the end"),
    ("two calls with one id", [*SAID, 2, "id"], "toolu_2", "two calls"),
    ("an id with a space", [*SAID, 2, "id"], "toolu 2", "id"),
    ("thinking without a signature", [*SAID, 0, "signature"], GONE, "signature"),
    ("thinking with an empty signature", [*SAID, 0, "signature"], "", "signature"),
    ("calls whose thinking was dropped", SAID, without(0), "begin with it"),
    ("a budget too small", ["thinking", "budget_tokens"], 1000, "below 1024"),
    ("a budget as large as the cap", ["thinking", "budget_tokens"], 4096, "not above the budget"),
    ("a temperature, which is no longer taken", ["temperature"], 0.5, "temperature"),
    ("a forced tool with thinking", ["tool_choice", "type"], "any", "tool_choice"),
    ("a text of nothing", [*ASKED, 0, "text"], " ", "white space"),
    ("an image that is no base64", [*ASKED, 1, "source", "data"], "a", "not base64"),
    ("an image of another type", [*ASKED, 1, "source", "data"], JPEG, "not `image/png`"),
    ("an image of another type in a result", [*RESULTS, 1, "content", 1, "source", "data"], JPEG, "not `image/png`"),
    ("a type of image that is not taken", [*ASKED, 1, "source", "media_type"], "image/bmp", "media_type"),
    ("a tool of another dialect", ["tools", 0], {"type": "function", "function": {"name": "x"}}, "tools.0"),
    ("a tool's schema that is none", ["tools", 0, "input_schema", "properties", "path"], 7, "JSON Schema"),
    ("a tool named twice", ["tools"], repeated(0), "named twice"),
    ("five places to cache", ["system"], lambda blocks: blocks * 3, "5 places"),
    ("an answer's schema that is open", [*SCHEMA, "additionalProperties"], GONE, "additionalProperties"),
    ("an answer's schema that is none", [*SCHEMA, "type"], "record", "JSON Schema"),
]

"""Chat completions, good and broken."""

from .bodies import ANSWER, GONE, JPEG, PARAMETERS, PNG, changed, repeated, swapped, without


def call(call_id, path):
    return {"id": call_id, "type": "function", "function": {"name": "read_file", "arguments": f'{{"path": "{path}"}}'}}


WHOLE = {
    "model": "gpt-5",
    "stream": True,
    "stream_options": {"include_usage": True},
    "reasoning_effort": "low",
    "max_completion_tokens": 4096,
    "tools": [
        {
            "type": "function",
            "function": {"name": "read_file", "description": "Reads.", "parameters": PARAMETERS, "strict": True},
        }
    ],
    "tool_choice": "auto",
    "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": ANSWER, "strict": True}},
    "messages": [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is in a and b?"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
                {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{JPEG}"}},
            ],
        },
        {"role": "assistant", "content": "I read both.", "tool_calls": [call("c1", "a"), call("c2", "b")]},
        {"role": "tool", "tool_call_id": "c1", "content": "3"},
        {"role": "tool", "tool_call_id": "c2", "content": "4"},
        {"role": "assistant", "content": None, "tool_calls": [call("c3", "c")]},
        {"role": "tool", "tool_call_id": "c3", "content": [{"type": "text", "text": "5"}]},
        {"role": "user", "content": "And now?"},
    ],
}
GOOD = {
    "everything": WHOLE,
    "results in another order": changed(WHOLE, ["messages"], swapped(3, 4)),
    "no more than a question": {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hi"}]},
}
URL = ["messages", 1, "content", 1, "image_url", "url"]
FUNCTION = ["tools", 0, "function"]
FIRST_CALL = ["messages", 2, "tool_calls", 0]
BROKEN = [
    ("an unknown field", ["bogus"], 1, "bogus"),
    ("an unknown field of a message", ["messages", 7, "bogus"], 1, "bogus"),
    ("an unknown field of a call", [*FIRST_CALL, "bogus"], 1, "bogus"),
    ("an unknown field of a part", ["messages", 1, "content", 0, "bogus"], 1, "bogus"),
    ("no streaming", ["stream"], False, "stream"),
    ("no model", ["model"], GONE, "model"),
    ("an empty model", ["model"], " ", "model: empty"),
    ("no messages", ["messages"], [], "messages: empty"),
    ("a role that is none", ["messages", 7, "role"], "human", "role"),
    ("arguments as an object", [*FIRST_CALL, "function", "arguments"], {"path": "a"}, "arguments"),
    ("arguments that are no JSON", [*FIRST_CALL, "function", "arguments"], '{"path": ', "not JSON"),
    ("arguments that are a list", [*FIRST_CALL, "function", "arguments"], "[]", "not an object"),
    ("a result too few", ["messages"], without(4), "have no result: ['c2']"),
    ("a result too many", ["messages"], repeated(4), "a second result for `c2`"),
    ("a result nobody asked for", ["messages", 3, "tool_call_id"], "c9", "nobody called"),
    ("a message between call and result", ["messages"], swapped(4, 7), "have no result: ['c2']"),
    ("two calls with one id", [*FIRST_CALL, "id"], "c2", "two calls"),
    ("an id used again later", ["messages", 5, "tool_calls", 0, "id"], "c1", "two calls"),
    ("a call without a name", [*FIRST_CALL, "function", "name"], "", "no name for a tool"),
    ("calls that are left open", ["messages"], lambda messages: messages[:3], "the end"),
    ("an image that is no base64", URL, "data:image/png;base64,%%%", "not base64"),
    ("an image of another type", URL, f"data:image/png;base64,{JPEG}", "not `image/png`"),
    ("an image by its path", URL, "picture.png", "neither"),
    ("a tool's schema that is none", [*FUNCTION, "parameters", "properties", "path", "type"], "text", "JSON Schema"),
    ("a tool whose arguments are no object", [*FUNCTION, "parameters"], {"type": "string"}, "of type `object`"),
    ("a tool named twice", ["tools"], repeated(0), "named twice"),
    ("a tool with a space in its name", [*FUNCTION, "name"], "read file", "no name for a tool"),
    ("strict, but open", [*FUNCTION, "parameters", "additionalProperties"], GONE, "additionalProperties"),
    ("strict, but optional", ["response_format", "json_schema", "schema", "required"], ["sum"], "not required"),
    ("an answer's schema that is none", ["response_format", "json_schema", "schema", "type"], "record", "JSON Schema"),
    ("a schema outside its place", ["response_format", "schema"], ANSWER, "schema"),
    ("two caps", ["max_tokens"], 10, "exclude each other"),
    ("a cap that is text", ["max_completion_tokens"], "10", "max_completion_tokens"),
    ("an answer of nothing", ["messages", 2], {"role": "assistant"}, "neither content nor calls"),
]

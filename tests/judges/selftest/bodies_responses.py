"""Responses, good and broken."""

from .bodies import ANSWER, GONE, JPEG, PARAMETERS, PNG, changed, repeated, swapped, without


def call(call_id, path):
    name = {"type": "function_call", "call_id": call_id, "name": "read_file"}
    return {**name, "arguments": f'{{"path": "{path}"}}'}


def result(call_id, text):
    return {"type": "function_call_output", "call_id": call_id, "output": text}


WHOLE = {
    "model": "gpt-5",
    "stream": True,
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "instructions": "Be brief.",
    "reasoning": {"effort": "low", "summary": "auto"},
    "max_output_tokens": 4096,
    "tools": [
        {"type": "function", "name": "read_file", "description": "Reads.", "parameters": PARAMETERS, "strict": True}
    ],
    "text": {"format": {"type": "json_schema", "name": "answer", "schema": ANSWER, "strict": True}},
    "input": [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "What is in a and b?"},
                {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{PNG}"},
            ],
        },
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "Both."}],
            "encrypted_content": "gAAAA",
        },
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "I read both.", "annotations": []}],
        },
        call("c1", "a"),
        call("c2", "b"),
        result("c1", "3"),
        result("c2", [{"type": "input_text", "text": "4"}]),
        {"role": "user", "content": "And now?"},
    ],
}
GOOD = {
    "everything": WHOLE,
    "results in another order": changed(WHOLE, ["input"], swapped(5, 6)),
    "an answer as plain text": changed(WHOLE, ["input", 2], {"role": "assistant", "content": "I read both."}),
    "no more than a question": {"model": "m", "stream": True, "input": "Hi"},
}
URL = ["input", 0, "content", 1, "image_url"]
BROKEN = [
    ("an unknown field", ["messages"], [], "messages"),
    ("an unknown field of an item", ["input", 3, "bogus"], 1, "bogus"),
    ("an unknown field of a part", ["input", 0, "content", 0, "bogus"], 1, "bogus"),
    ("no streaming", ["stream"], False, "stream"),
    ("no model", ["model"], GONE, "model: empty"),
    ("an empty model", ["model"], "", "model: empty"),
    ("no input", ["input"], [], "input: empty"),
    ("a role that is none", ["input", 7, "role"], "human", "role"),
    ("a part of the chat dialect", ["input", 0, "content", 0, "type"], "text", "type"),
    ("arguments as an object", ["input", 3, "arguments"], {"path": "a"}, "arguments"),
    ("arguments that are no JSON", ["input", 3, "arguments"], "path", "not JSON"),
    ("arguments that are a number", ["input", 3, "arguments"], "1", "not an object"),
    ("a result too few", ["input"], without(6), "have no result: ['c2']"),
    ("a result too many", ["input"], repeated(6), "a second result for `c2`"),
    ("a result nobody asked for", ["input", 5, "call_id"], "c9", "nobody called"),
    ("a message between call and result", ["input"], swapped(6, 7), "have no result: ['c2']"),
    ("a result before its call", ["input"], swapped(3, 5), "nobody called"),
    ("two calls with one id", ["input", 3, "call_id"], "c2", "two calls"),
    ("reasoning without its secret", ["input", 1, "encrypted_content"], GONE, "encrypted_content"),
    ("reasoning that led to nothing", ["input"], lambda items: items[:2], "the item it led to"),
    ("reasoning without a summary", ["input", 1, "summary"], GONE, "summary"),
    ("a message of ours without an id", ["input", 2, "id"], GONE, "id"),
    ("an image that is no base64", URL, "data:image/png;base64,a", "not base64"),
    ("an image of another type", URL, f"data:image/gif;base64,{JPEG}", "not `image/gif`"),
    ("a tool of the chat dialect", ["tools", 0], {"type": "function", "function": {"name": "x"}}, "name"),
    ("a tool that does not say whether strict", ["tools", 0, "strict"], GONE, "strict"),
    ("a tool's schema that is none", ["tools", 0, "parameters", "required"], "path", "JSON Schema"),
    ("a tool named twice", ["tools"], repeated(0), "named twice"),
    ("strict, but open", ["text", "format", "schema", "additionalProperties"], True, "additionalProperties"),
    ("a schema without a name", ["text", "format", "name"], GONE, "name"),
    ("an answer's schema that is none", ["text", "format", "schema", "properties"], [], "JSON Schema"),
    ("an effort that is none", ["reasoning", "effort"], "enormous", "effort"),
    ("the cap of the chat dialect", ["max_tokens"], 10, "max_tokens"),
]

"""Ollama's chat, good and broken."""

from .bodies import ANSWER, GONE, PARAMETERS, PNG, changed, repeated, swapped, without


def call(path):
    return {"function": {"name": "read_file", "arguments": {"path": path}}}


def result(text):
    return {"role": "tool", "tool_name": "read_file", "content": text}


WHOLE = {
    "model": "qwen3",
    "stream": True,
    "think": True,
    "format": ANSWER,
    "options": {"num_ctx": 8192, "num_predict": 512, "temperature": 0},
    "keep_alive": "5m",
    "tools": [
        {"type": "function", "function": {"name": "read_file", "description": "Reads.", "parameters": PARAMETERS}}
    ],
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is in a and b?", "images": [PNG]},
        {"role": "assistant", "content": "", "thinking": "Both.", "tool_calls": [call("a"), call("b")]},
        result("3"),
        result("4"),
        {"role": "user", "content": "And now?"},
    ],
}
CALLS = ["messages", 2, "tool_calls"]


def with_ids(messages):
    for number in (0, 1):
        messages[2]["tool_calls"][number]["id"] = f"c{number}"
        messages[3 + number]["tool_call_id"] = f"c{number}"
    return messages


GOOD = {
    "everything": WHOLE,
    "with ids": changed(WHOLE, ["messages"], with_ids),
    "with ids, in another order": changed(WHOLE, ["messages"], lambda messages: swapped(3, 4)(with_ids(messages))),
    "a level of thinking": changed(WHOLE, ["think"], "high"),
    "any JSON": changed(WHOLE, ["format"], "json"),
    "no more than a question": {"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
}
BROKEN = [
    ("an unknown field", ["max_tokens"], 1, "max_tokens"),
    ("an unknown field of a message", ["messages", 5, "bogus"], 1, "bogus"),
    ("an unknown field of a call", [*CALLS, 0, "type"], "function", "knows only"),
    ("an unknown field of a function", [*CALLS, 0, "function", "bogus"], 1, "knows only"),
    ("an unknown option", ["options", "max_tokens"], 1, "max_tokens"),
    ("an option of another type", ["options", "num_ctx"], "8192", "num_ctx"),
    ("no streaming", ["stream"], False, "stream"),
    ("no model", ["model"], GONE, "model: empty"),
    ("an empty model", ["model"], "", "model: empty"),
    ("no messages", ["messages"], [], "messages: empty"),
    ("a role that is none", ["messages", 5, "role"], "human", "role"),
    ("a message without a role", ["messages", 5, "role"], GONE, "role"),
    ("content in parts", ["messages", 5, "content"], [{"type": "text", "text": "Hi"}], "content"),
    ("arguments as text", [*CALLS, 0, "function", "arguments"], '{"path": "a"}', "arguments"),
    ("a call without a name", [*CALLS, 0, "function", "name"], "", "without a name"),
    ("a call of the user", ["messages", 2, "role"], "user", "is the assistant's"),
    ("a result too few", ["messages"], without(4), "have no result"),
    ("a result too many", ["messages"], repeated(4), "too many"),
    ("a result of another tool", ["messages", 3, "tool_name"], "write_file", "was not called"),
    ("a result without its tool", ["messages", 3, "tool_name"], GONE, "was not called"),
    ("a result by another's id", ["messages", 3, "tool_call_id"], "c9", "no open call"),
    ("a message between call and result", ["messages"], swapped(4, 5), "have no result"),
    ("calls that are left open", ["messages"], lambda messages: messages[:3], "the end"),
    ("an image that is no base64", ["messages", 1, "images", 0], "a", "not base64"),
    ("an image as a data URL", ["messages", 1, "images", 0], f"data:image/png;base64,{PNG}", "not base64"),
    ("an image that is none", ["messages", 1, "images", 0], "aGVsbG8=", "no known image"),
    ("a level of thinking that is none", ["think"], "enormous", "think"),
    ("a format that is none", ["format"], "yaml", "format"),
    ("an answer's schema that is none", ["format", "type"], "record", "JSON Schema"),
    ("a tool's schema that is none", ["tools", 0, "function", "parameters", "required"], [1], "JSON Schema"),
    ("a tool of another dialect", ["tools", 0], {"name": "x", "input_schema": PARAMETERS}, "function"),
    ("an unknown field of a tool", ["tools", 0, "function", "strict"], True, "strict"),
]

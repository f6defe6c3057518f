"""Gemini's contents, good and broken."""

from .bodies import ANSWER, GONE, JPEG, PARAMETERS, PNG, changed, repeated, swapped, without


def call(path):
    return {"functionCall": {"name": "read_file", "args": {"path": path}}}


def result(text):
    return {"functionResponse": {"name": "read_file", "response": {"output": text}}}


WHOLE = {
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "tools": [
        {
            "functionDeclarations": [
                {"name": "read_file", "description": "Reads.", "parametersJsonSchema": PARAMETERS}
            ]
        }
    ],
    "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
    "generationConfig": {
        "maxOutputTokens": 4096,
        "temperature": 0,
        "thinkingConfig": {"includeThoughts": True, "thinkingBudget": 2048},
        "responseMimeType": "application/json",
        "responseJsonSchema": ANSWER,
    },
    "contents": [
        {
            "role": "user",
            "parts": [{"text": "What is in a and b?"}, {"inlineData": {"mimeType": "image/png", "data": PNG}}],
        },
        {
            "role": "model",
            "parts": [
                {"text": "Both.", "thought": True},
                {"text": "I read both."},
                {**call("a"), "thoughtSignature": "CiQB4/9+Zg=="},
                call("b"),
            ],
        },
        {"role": "user", "parts": [result("3"), result("4")]},
    ],
}
SAID = ["contents", 1, "parts"]
RESULTS = ["contents", 2, "parts"]
DECLARED = ["tools", 0, "functionDeclarations"]


def with_ids(contents):
    for number in (0, 1):
        contents[1]["parts"][2 + number]["functionCall"]["id"] = f"c{number}"
        contents[2]["parts"][number]["functionResponse"]["id"] = f"c{number}"
    return contents


GOOD = {
    "everything": WHOLE,
    "with ids": changed(WHOLE, ["contents"], with_ids),
    "with ids, in another order": changed(changed(WHOLE, ["contents"], with_ids), RESULTS, swapped(0, 1)),
    "a signature in the other alphabet": changed(WHOLE, [*SAID, 2, "thoughtSignature"], "CiQB4_9-Zg=="),
    "a level of thinking": changed(
        WHOLE, ["generationConfig", "thinkingConfig"], {"includeThoughts": True, "thinkingLevel": "LOW"}
    ),
    "a name as the official client writes it": changed(
        WHOLE, ["generationConfig", "thinkingConfig"], {"include_thoughts": True}
    ),
    "no more than a question": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
}
BLOB = ["contents", 0, "parts", 1, "inlineData"]
BROKEN = [
    ("an unknown field", ["messages"], [], "messages"),
    ("an unknown field of a content", ["contents", 0, "bogus"], 1, "bogus"),
    ("an unknown field of a part", [*SAID, 1, "bogus"], 1, "bogus"),
    ("an unknown field of a call", [*SAID, 3, "functionCall", "arguments"], {}, "arguments"),
    ("an unknown setting", ["generationConfig", "maxTokens"], 1, "maxTokens"),
    ("no contents", ["contents"], [], "contents: empty"),
    ("the role of another dialect", ["contents", 1, "role"], "assistant", "role"),
    ("results under a role of their own", ["contents", 2, "role"], "function", "role"),
    ("the model first", ["contents"], without(0), "the first"),
    ("a content without parts", [*RESULTS], [], "no parts"),
    ("a part that holds two things", [*SAID, 3, "text"], "b", "holds one thing"),
    ("a part that holds nothing", [*SAID, 1], {"thought": True}, "holds one thing"),
    ("a field that is null", [*SAID, 1, "thought"], None, "null"),
    ("arguments as text", [*SAID, 3, "functionCall", "args"], '{"path": "b"}', "args"),
    ("a result too few", RESULTS, without(1), "no response"),
    ("a result too many", RESULTS, repeated(1), "open are []"),
    ("a result of another function", [*RESULTS, 0, "functionResponse", "name"], "write_file", "open are"),
    ("a result with an id that no call has", [*RESULTS, 0, "functionResponse", "id"], "c9", "open are"),
    ("a result as text", [*RESULTS, 0, "functionResponse", "response"], "3", "response"),
    ("a call of the user", ["contents", 1, "role"], "user", "is the model's"),
    ("calls that are left open", ["contents"], without(2), "the end"),
    ("a signature inside the call", [*SAID, 2, "functionCall", "thoughtSignature"], "CiQB", "thoughtSignature"),
    ("a signature that is no base64", [*SAID, 2, "thoughtSignature"], "%%", "thoughtSignature"),
    ("an image that is no base64", [*BLOB, "data"], "%%%", "data"),
    ("an image of another type", [*BLOB, "data"], JPEG, "not `image/png`"),
    ("an image without a type", [*BLOB, "mimeType"], GONE, "needs its type"),
    ("a function's schema that is none", [*DECLARED, 0, "parametersJsonSchema", "required"], "path", "JSON Schema"),
    ("a function named twice", DECLARED, repeated(0), "named twice"),
    ("a function without a name", [*DECLARED, 0, "name"], GONE, "no name"),
    ("an unknown mode", ["toolConfig", "functionCallingConfig", "mode"], "SOMETIMES", "SOMETIMES"),
    ("a schema without the type of the answer", ["generationConfig", "responseMimeType"], GONE, "responseMimeType"),
    ("an answer's schema that is none", ["generationConfig", "responseJsonSchema", "type"], "record", "JSON Schema"),
    ("budget and level", ["generationConfig", "thinkingConfig", "thinkingLevel"], "LOW", "exclude each other"),
    ("a cap that is text", ["generationConfig", "maxOutputTokens"], "4096", "maxOutputTokens"),
]

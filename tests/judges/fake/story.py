"""The one conversation that every service plays: think, say a little, read two files at once, then quote them.

Token counts are the same in all dialects: `output` includes `reasoning`, `input` includes `cached`.
"""

import base64
import json
from dataclasses import dataclass, field

import jsonschema

from rules.refusal import expect

TOOL = "read_file"
PATHS = ("a.txt", "b.txt")
CALL_IDS = ("call_a1", "call_b2")
THINKING = "Two files are wanted: “a” and “b”. I read both at once."
WORDS = "I’ll read both — “a” and “b” 📖."
SIGNATURE = base64.b64encode("a sign that must come back ✓?>".encode()).decode()
PIECE = 9


@dataclass(frozen=True)
class Usage:
    """What a turn cost."""

    input: int
    cached: int
    output: int
    reasoning: int


FIRST = Usage(input=257, cached=0, output=59, reasoning=17)
LAST = Usage(input=321, cached=256, output=38, reasoning=8)


@dataclass(frozen=True)
class Turn:
    """What the model says next. Without calls it is the last turn."""

    text: str
    usage: Usage
    thinking: str = ""
    calls: list = field(default_factory=list)


def next_turn(*, tools, results, wants_thinking, schema=None):
    """Calls the tool twice if it is offered and nothing was called yet; otherwise answers."""
    thinking = THINKING if wants_thinking else ""
    if results is None and TOOL in tools:
        calls = [(call_id, TOOL, {"path": path}) for call_id, path in zip(CALL_IDS, PATHS)]
        return Turn(WORDS, FIRST, thinking, calls)
    quoted = " and ".join(f"“{text}”" for text in results or [])
    text = f"They say {quoted} — that’s all ✓." if quoted else "Nothing to read here — that’s all ✓."
    if schema:
        text = json.dumps(fitting(schema, text), ensure_ascii=False)
    return Turn(text, LAST, thinking)


def pieces(text):
    """The text in pieces of a few characters."""
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]


def fitting(schema, text):
    """A value that fits the schema; its strings are the text wherever that fits."""
    value = sample(schema, schema, text)
    faults = [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(value)]
    expect(not faults, f"no answer is known that fits the schema: {faults}")
    return value


def sample(schema, root, text):
    if "$ref" in schema:
        found = root
        for key in schema["$ref"].removeprefix("#/").split("/"):
            found = found[key]
        return sample(found, root, text)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return sample(schema[key][0], root, text)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: sample(member, root, text) for name, member in schema.get("properties", {}).items()}
    if kind == "array":
        return [sample(schema.get("items", {"type": "string"}), root, text)] * schema.get("minItems", 1)
    if kind in ("integer", "number"):
        return schema.get("minimum", 1)
    return {"boolean": True, "null": None}.get(kind, text[: schema.get("maxLength")])

"""Raw answers against the types of events: each must parse, and hold nothing that the type does not know."""

import json

from pydantic import BaseModel, TypeAdapter


def check(dialect, content):
    """How many events there are; raises at the first that is not as described."""
    payloads = list(lines_in(content) if dialect == "ollama" else events_in(dialect, content))
    parse = PARSERS[dialect]()
    for payload in payloads:
        parse(payload)
    assert [ENDS[dialect](payload) for payload in payloads].index(True) == len(payloads) - 1, "it ends too early"
    return len(payloads)


def lines_in(content):
    text = content.decode()
    assert text.endswith("\n"), "the last line has no end"
    return map(json.loads, text.splitlines())


def events_in(dialect, content):
    """The payloads; the names of events must be the types inside, where a dialect has them."""
    end = "\r\n\r\n" if dialect == "gemini" else "\n\n"
    text = content.decode()
    assert text.endswith(end), "the last event has no end"
    events = text.removesuffix(end).split(end)
    if dialect == "openai":
        assert events.pop() == "data: [DONE]"
    for event in events:
        *name, data = event.splitlines()
        payload = json.loads(data.removeprefix("data: "))
        expected = [f"event: {payload['type']}"] if dialect in ("anthropic", "responses") else []
        assert name == expected, f"named {name}, expected {expected}"
        if payload != {"type": "ping"}:
            yield payload


def check_known(value, but=()):
    """Raises if a model somewhere took a field it does not know."""
    if isinstance(value, BaseModel):
        unknown = set(value.model_extra or {}) - set(but)
        assert not unknown, f"{type(value).__name__} does not know {unknown}"
        members = [getattr(value, name) for name in type(value).model_fields]
    else:
        members = value if isinstance(value, list) else []
    for member in members:
        check_known(member, but)


def by_type(kind, but=()):
    adapter = TypeAdapter(kind)
    return lambda payload: check_known(adapter.validate_python(payload), but)


def openai():
    from openai.types.chat import ChatCompletionChunk

    return by_type(ChatCompletionChunk, but={"reasoning_content"})


def responses():
    from openai.types.responses import ResponseStreamEvent

    return by_type(ResponseStreamEvent)


def anthropic():
    from anthropic.types import RawMessageStreamEvent

    return by_type(RawMessageStreamEvent)


def gemini():
    from google.genai.types import GenerateContentResponse

    return GenerateContentResponse.model_validate


def ollama():
    from ollama import ChatResponse

    def parse(payload):
        again = ChatResponse.model_validate(payload).model_dump(exclude_unset=True)
        assert again == payload, f"ChatResponse knows only {again}, not all of {payload}"

    return parse


ENDS = {
    "openai": lambda payload: bool(payload["usage"] if "usage" in payload else payload["choices"][0]["finish_reason"]),
    "responses": lambda payload: payload["type"] == "response.completed",
    "anthropic": lambda payload: payload["type"] == "message_stop",
    "gemini": lambda payload: "finishReason" in payload["candidates"][0],
    "ollama": lambda payload: payload["done"],
}
PARSERS = {"openai": openai, "responses": responses, "anthropic": anthropic, "gemini": gemini, "ollama": ollama}

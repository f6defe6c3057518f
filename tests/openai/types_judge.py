"""Judges what the server sent by the types of the official package, strictly: they are made from OpenAI's OpenAPI file.

The package itself takes anything from a server. Here its types are held against the bodies with pydantic, without any
conversion, and an event must fit the type that its name stands for.
"""

import re
import typing

import openai.types.responses as responses
from openai.types import Model
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import response_item_list
from pydantic import TypeAdapter


def union_by_type(union):
    """The members of a union of events, by their `type`."""
    members = typing.get_args(typing.get_args(union)[0]) or typing.get_args(union)
    named = {}
    for member in members:
        for name in typing.get_args(member.model_fields["type"].annotation):
            named[name] = TypeAdapter(member)
    return named


EVENTS = union_by_type(responses.ResponseStreamEvent)
MODEL, COMPLETION, CHUNK = TypeAdapter(Model), TypeAdapter(ChatCompletion), TypeAdapter(ChatCompletionChunk)
RESPONSE, ITEMS = TypeAdapter(responses.Response), TypeAdapter(response_item_list.ResponseItemList)


def strict(judge, body):
    judge.validate_python(body, strict=True)


def check_error(body):
    error = body["error"]
    assert set(error) == {"message", "type", "param", "code"} and error["message"], body


def check(exchange):
    """Looks at all that came back in an exchange; gives the number of bodies and events."""
    if exchange.status >= 400:
        check_error(exchange.body())
        return 1
    if exchange.kind == "text/event-stream":
        events = exchange.events()
        for event in events:
            if "error" in event and "type" not in event:
                check_error(event)
            elif exchange.path.startswith("/v1/chat"):
                strict(CHUNK, event)
            else:
                strict(EVENTS[event["type"]], event)
        return len(events)
    body = exchange.body()
    if exchange.path == "/v1/models":
        for model in body["data"]:
            strict(MODEL, model)
    elif exchange.path.startswith("/v1/models/"):
        strict(MODEL, body)
    elif exchange.path == "/v1/chat/completions":
        strict(COMPLETION, body)
    elif exchange.path.endswith("/input_items"):
        strict(ITEMS, body)
    elif exchange.method == "DELETE":
        assert re.fullmatch(r"resp_\w+", body["id"]) and body["deleted"] is True, body
    else:
        strict(RESPONSE, body)
    return 1

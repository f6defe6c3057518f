"""Ollama's chat, by the types of `ollama`.

They ignore what they do not know, so a message is parsed, written again, and compared: what got lost was unknown.
"""

import copy

from ollama._types import ChatRequest, Message, Options, Tool
from pydantic import ValidationError

from .calls import Calls
from .images import check_some_image
from .refusal import Refused, expect
from .schemas import check_parameters, check_schema

KNOWN = {"think", "logprobs", "top_logprobs", "model", "messages", "tools", "stream", "format", "options", "keep_alive"}
ROLES = ("system", "user", "assistant", "tool")
LEVELS = ("low", "medium", "high", "max")


def judge(body):
    """Refuses what the service would not take, or would pass over in silence."""
    expect(body.keys() <= KNOWN, f"unknown: {sorted(body.keys() - KNOWN)}")
    expect(isinstance(body.get("model"), str) and body["model"].strip(), "model: empty")
    expect(body.get("stream", True) is True, "stream: false")
    expect(isinstance(body.get("messages"), list) and body["messages"], "messages: empty")
    think = body.get("think") or False
    expect(isinstance(think, bool) or think in LEVELS, f"think: `{think}` is neither a boolean nor one of {LEVELS}")
    judge_messages(body["messages"])
    judge_tools(body.get("tools") or [])
    survives(Options, body.get("options") or {}, "options")
    if isinstance(body.get("format"), dict):
        check_schema(body["format"], "format")
    parsed(ChatRequest, {**body, "messages": [], "tools": []}, "body")


def judge_messages(messages):
    calls = Calls()
    waiting = {}  # the ids of open calls, by the name of the tool
    for at, message in enumerate(messages):
        where = f"messages.{at}"
        expect(isinstance(message, dict), f"{where}: no object")
        survives(Message, without_ids_and_images(message), where)
        expect(message["role"] in ROLES, f"{where}.role: `{message['role']}` is none of {ROLES}")
        for image in message.get("images") or []:
            check_some_image(image, where)
        if message["role"] == "tool":
            calls.result(answered(message, waiting, where))
            continue
        calls.other(where)
        waiting = {}
        made = message.get("tool_calls") or []
        expect(not made or message["role"] == "assistant", f"{where}: a tool call is the assistant's")
        expect(made or message.get("content") is not None, f"{where}: neither content nor calls")
        for number, call in enumerate(made):
            call_id = call.get("id") or f"{where}.tool_calls.{number}"
            calls.call(call_id)
            expect(call["function"]["name"], f"{where}: a call without a name")
            waiting.setdefault(call["function"]["name"], []).append(call_id)
    calls.other("the end")


def answered(message, waiting, where):
    """The call that a result belongs to: by its id if it has one, otherwise the oldest open one of that tool."""
    name = message.get("tool_name")
    expect(name in waiting, f"{where}: `{name}` was not called; open are {sorted(waiting)}")
    expect(waiting[name], f"{where}: one result too many for `{name}`")
    call_id = message.get("tool_call_id", waiting[name][0])
    expect(call_id in waiting[name], f"{where}: `{call_id}` is no open call of `{name}`")
    waiting[name].remove(call_id)
    return call_id


def without_ids_and_images(message):
    """Ids of calls are younger than the package; images it takes as paths and bytes, not as the wire has them."""
    message = copy.deepcopy(message)
    message.pop("images", None)
    if message.get("role") == "tool":
        message.pop("tool_call_id", None)
    for call in message.get("tool_calls") or []:
        if isinstance(call, dict):
            call.pop("id", None)
    return message


def judge_tools(tools):
    for at, tool in enumerate(tools):
        where = f"tools.{at}"
        is_whole = isinstance(tool, dict) and isinstance(tool.get("function"), dict)
        expect(is_whole, f"{where}: no object with a `function`")
        shallow = copy.deepcopy(tool)
        parameters = shallow["function"].pop("parameters", None)
        survives(Tool, shallow, where)
        expect(tool.get("type") == "function", f"{where}: not of type `function`")
        expect(tool["function"].get("name"), f"{where}: no name")
        if parameters is not None:
            check_parameters(parameters, where)
            parsed(Tool, tool, where)


def survives(kind, value, where):
    """Refuses a value of which something is lost on the way through the package's type."""
    again = parsed(kind, value, where).model_dump(exclude_unset=True, by_alias=True)
    expect(again == value, f"{where}: {kind.__name__} knows only {again}, not all of {value}")


def parsed(kind, value, where):
    try:
        return kind.model_validate(value, strict=True)
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, c['loc']))}: {c['msg']}" for c in error.errors(include_url=False)]
        raise Refused(f"{where}: {'; '.join(lines[:6])}") from error

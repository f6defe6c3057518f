"""Gemini's `generateContent`, by the types of `google-genai`, which refuse unknown fields by themselves."""

import json
import re
import warnings

from google.genai import types
from pydantic import ValidationError

from .images import check_media
from .refusal import Refused, expect
from .schemas import check_names, check_parameters, check_schema

TYPES = {
    "systemInstruction": types.Content,
    "toolConfig": types.ToolConfig,
    "generationConfig": types.GenerationConfig,
}
LISTS = {"contents": types.Content, "tools": types.Tool, "safetySettings": types.SafetySetting}
KNOWN = {*TYPES, *LISTS, "cachedContent"}
NAME = r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}"
FREE = {"args", "response", "parametersJsonSchema", "responseJsonSchema", "partMetadata"}
BESIDE = {"thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"}


def judge(body):
    """Refuses what the service would not take."""
    body = in_camel_case(body)
    expect(body.keys() <= KNOWN, f"unknown: {sorted(body.keys() - KNOWN)}")
    expect(body.get("contents"), "contents: empty")
    for field in TYPES.keys() & body.keys():
        check_type(TYPES[field], body[field], field)
    for field in LISTS.keys() & body.keys():
        expect(isinstance(body[field], list), f"{field}: no list")
        for at, member in enumerate(body[field]):
            check_type(LISTS[field], member, f"{field}.{at}")
    check_no_nulls(body, "body")
    judge_contents(body["contents"])
    judge_parts(body.get("systemInstruction", {"parts": [{"text": ""}]}), "systemInstruction")
    judge_tools(body.get("tools", []))
    judge_generation(body.get("generationConfig", {}))


def in_camel_case(value):
    """The service takes names in both cases, and the official client mixes them; here they are in one."""
    if isinstance(value, list):
        return [in_camel_case(member) for member in value]
    if not isinstance(value, dict):
        return value
    named = {re.sub("_(.)", lambda found: found[1].upper(), name): member for name, member in value.items()}
    return {name: member if name in FREE else in_camel_case(member) for name, member in named.items()}


def check_type(kind, value, where):
    """As JSON, so that bytes must be base64; a wrong value of an enum is only a warning there."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            kind.model_validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, c['loc']))}: {c['msg']}" for c in error.errors(include_url=False)]
        raise Refused(f"{where}: {'; '.join(lines[:6])}") from error
    except UserWarning as warning:
        raise Refused(f"{where}: {warning}") from warning


def check_no_nulls(value, where):
    """A field without a value is left out; what is free in form may hold anything."""
    expect(value is not None, f"{where}: null")
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []
    for key, member in members:
        if key not in FREE:
            check_no_nulls(member, f"{where}.{key}")


def judge_contents(contents):
    expect(contents[0].get("role") == "user", "contents.0: the first is the user's")
    waiting = []
    for at, content in enumerate(contents):
        where = f"contents.{at}"
        role = content.get("role")
        expect(role in ("user", "model"), f"{where}.role: `{role}`, expected user or model")
        judge_parts(content, where)
        calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
        results = [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]
        expect(not calls or role == "model", f"{where}: a function call is the model's")
        expect(not results or role == "user", f"{where}: a function's response is the user's")
        for result in results:
            answer(result, waiting, where)
        expect(not waiting, f"{where}: these calls have no response: {waiting}")
        waiting = calls
        check_names(sorted({call.get("name", "") for call in calls}), NAME, where)
        ids = [call["id"] for call in calls if "id" in call]
        expect(len(ids) == len(set(ids)), f"{where}: two calls have the same id")
    expect(not waiting, f"the end: these calls have no response: {waiting}")


def answer(result, waiting, where):
    """Takes the call that a response belongs to from those that wait: by name, and by id where the call has one."""
    expect(isinstance(result.get("response"), dict), f"{where}: a response is an object")
    name, call_id = result.get("name"), result.get("id")
    for call in waiting:
        if (call.get("name"), call.get("id")) == (name, call_id):
            waiting.remove(call)
            return
    raise Refused(f"{where}: a response of `{name}` with id `{call_id}`, but open are {waiting}")


def judge_parts(content, where):
    expect(content.get("parts"), f"{where}: no parts")
    for part in content["parts"]:
        holds = part.keys() - BESIDE
        expect(len(holds) == 1, f"{where}: a part holds one thing, not {sorted(holds)}")
        if "inlineData" in part:
            blob = part["inlineData"]
            expect(blob.get("mimeType") and blob.get("data"), f"{where}: inline data needs its type and its bytes")
            check_media(blob["mimeType"], standard(blob["data"]), where)


def standard(data):
    """Both alphabets of base64 are taken; the rest of us knows the standard one."""
    return data.replace("-", "+").replace("_", "/")


def judge_tools(tools):
    declared = [function for tool in tools for function in tool.get("functionDeclarations", [])]
    check_names([function.get("name", "") for function in declared], NAME, "tools")
    for function in declared:
        where = f"tools.{function['name']}"
        schema = function.get("parametersJsonSchema")
        expect(schema is None or "parameters" not in function, f"{where}: parameters are given twice")
        if schema is not None:
            check_parameters(schema, where)


def judge_generation(config):
    schema = config.get("responseJsonSchema")
    if schema is not None:
        check_schema(schema, "generationConfig.responseJsonSchema")
        expect("responseSchema" not in config, "generationConfig: two schemas for the answer")
    if schema is not None or "responseSchema" in config:
        mime = config.get("responseMimeType")
        expect(mime == "application/json", f"generationConfig.responseMimeType: `{mime}` with a schema")
    thinking = config.get("thinkingConfig", {})
    both = {"thinkingBudget", "thinkingLevel"} <= thinking.keys()
    expect(not both, "generationConfig.thinkingConfig: budget and level exclude each other")
    expect(config.get("maxOutputTokens", 1) > 0, "generationConfig.maxOutputTokens: not positive")

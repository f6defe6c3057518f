"""OpenAI's responses, by the types of `openai`."""

from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

from .calls import Calls, check_arguments
from .images import check_data_url
from .refusal import expect
from .schemas import check_closed, check_names, check_parameters, check_schema
from .strict_types import strict

NAME = r"[a-zA-Z0-9_-]{1,64}"
check_types = strict("openai", ResponseCreateParamsStreaming)


def judge(body):
    """Refuses what the service would not take."""
    check_types(body)
    expect(body.get("model", "").strip(), "model: empty")
    expect(body.get("input"), "input: empty")
    if isinstance(body["input"], list):
        judge_input(body)
    judge_tools(body)
    judge_format(body.get("text", {}).get("format", {}))


def judge_input(body):
    calls = Calls()
    # What the service keeps itself need not stand here.
    is_whole = not (body.get("previous_response_id") or body.get("conversation"))
    items = body["input"]
    for at, item in enumerate(items):
        where = f"input.{at}"
        kind = item.get("type", "message")
        if kind == "function_call":
            check_names([item["name"]], NAME, where)
            check_arguments(item["arguments"], where)
            calls.call(item["call_id"])
        elif kind == "function_call_output":
            if is_whole or item["call_id"] in calls.known:
                calls.result(item["call_id"])
            judge_content(item["output"], where)
        elif kind == "reasoning":
            judge_reasoning(item, items[at + 1 :], body, where)
        elif kind == "message":
            is_same_turn = item["role"] == "assistant" and not calls.has_results
            if not is_same_turn:
                calls.other(where)
            judge_content(item["content"], where)
    calls.other("the end")


def judge_reasoning(item, rest, body, where):
    """It stands before what it led to; a service that keeps nothing must get it back as it gave it."""
    kept = body.get("store", True) is not False
    is_whole = kept or item.get("encrypted_content")
    expect(is_whole, f"{where}: reasoning without `encrypted_content`, and nothing is stored")
    follows = rest[0] if rest else {}
    is_ours = follows.get("role", "assistant") == "assistant" and follows.get("type") != "function_call_output"
    expect(rest and is_ours, f"{where}: reasoning without the item it led to")


def judge_content(content, where):
    expect(isinstance(content, str) or content, f"{where}: no content")
    for part in content if isinstance(content, list) else []:
        if part["type"] == "input_image" and part.get("image_url"):
            check_data_url(part["image_url"], where)
        if part["type"] == "input_file" and part.get("file_data"):
            check_data_url(part["file_data"], where)


def judge_tools(body):
    functions = [tool for tool in body.get("tools", []) if tool["type"] == "function"]
    check_names([function["name"] for function in functions], NAME, "tools")
    for function in functions:
        where = f"tools.{function['name']}"
        if function["parameters"] is not None:
            check_parameters(function["parameters"], where)
        if function["strict"]:
            check_closed(function["parameters"], where, all_required=True)


def judge_format(asked):
    if asked.get("type") != "json_schema":
        return
    check_names([asked["name"]], NAME, "text.format")
    check_schema(asked["schema"], "text.format")
    if asked.get("strict"):
        check_closed(asked["schema"], "text.format", all_required=True)

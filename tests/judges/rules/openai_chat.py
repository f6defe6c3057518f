"""OpenAI's chat completions, by the types of `openai`."""

from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

from .calls import Calls, check_arguments
from .images import check_data_url
from .refusal import expect
from .schemas import check_closed, check_names, check_parameters, check_schema
from .strict_types import strict

NAME = r"[a-zA-Z0-9_-]{1,64}"
check_types = strict("openai", CompletionCreateParamsStreaming)


def judge(body):
    """Refuses what the service would not take."""
    check_types(body)
    expect(body["model"].strip(), "model: empty")
    expect(body["messages"], "messages: empty")
    both = {"max_tokens", "max_completion_tokens"} <= body.keys()
    expect(not both, "max_tokens and max_completion_tokens exclude each other")
    judge_messages(body["messages"])
    judge_tools(body)
    judge_format(body.get("response_format", {}))


def judge_messages(messages):
    calls = Calls()
    for at, message in enumerate(messages):
        where = f"messages.{at}"
        if message["role"] == "tool":
            calls.result(message["tool_call_id"])
            continue
        calls.other(where)
        if message["role"] == "assistant":
            judge_assistant(message, calls, where)
        else:
            expect(message["content"], f"{where}: no content")
        for part in message.get("content") or []:
            if isinstance(part, dict):
                judge_part(part, where)
    calls.other("the end")


def judge_assistant(message, calls, where):
    made = message.get("tool_calls")
    expect(made is None or made, f"{where}: an empty list of tool calls")
    expect(made or message.get("content") is not None or message.get("refusal"), f"{where}: neither content nor calls")
    for call in made or []:
        calls.call(call["id"])
        if call["type"] == "function":
            check_names([call["function"]["name"]], NAME, where)
            check_arguments(call["function"]["arguments"], where)


def judge_part(part, where):
    if part["type"] == "image_url":
        check_data_url(part["image_url"]["url"], where)
    if part["type"] == "file" and "file_data" in part["file"]:
        check_data_url(part["file"]["file_data"], where)


def judge_tools(body):
    tools = body.get("tools")
    expect(tools is None or tools, "tools: an empty list")
    functions = [tool["function"] for tool in tools or [] if tool["type"] == "function"]
    check_names([function["name"] for function in functions], NAME, "tools")
    for function in functions:
        where = f"tools.{function['name']}"
        if "parameters" in function:
            check_parameters(function["parameters"], where)
        if function.get("strict"):
            check_closed(function["parameters"], where, all_required=True)
    expect(tools or not {"tool_choice", "parallel_tool_calls"} & body.keys(), "a choice of tools without tools")


def judge_format(response_format):
    if response_format.get("type") != "json_schema":
        return
    asked = response_format["json_schema"]
    check_names([asked["name"]], NAME, "response_format")
    expect("schema" in asked, "response_format: no schema")
    check_schema(asked["schema"], "response_format")
    if asked.get("strict"):
        check_closed(asked["schema"], "response_format", all_required=True)

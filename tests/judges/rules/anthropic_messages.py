"""Anthropic's messages, by the types of `anthropic`."""

from anthropic.types.message_create_params import MessageCreateParamsStreaming

from .calls import Calls
from .images import check_media
from .refusal import expect
from .schemas import check_closed, check_names, check_parameters, check_schema
from .strict_types import strict

NAME = r"[a-zA-Z0-9_-]{1,128}"
MOST_BREAKPOINTS = 4
LEAST_BUDGET = 1024
check_types = strict("anthropic", MessageCreateParamsStreaming)


def judge(body):
    """Refuses what the service would not take."""
    check_types(body)
    expect(body["model"].strip(), "model: empty")
    expect(body["max_tokens"] > 0, "max_tokens: not positive")
    expect(body["messages"], "messages: empty")
    expect(body["messages"][0]["role"] == "user", "messages.0: the first message is the user's")
    judge_messages(body["messages"])
    judge_thinking(body)
    judge_tools(body)
    found = breakpoints_in(body)
    expect(found <= MOST_BREAKPOINTS, f"cache_control: {found} places, {MOST_BREAKPOINTS} are allowed")
    asked = body.get("output_config", {}).get("format")
    if asked:
        check_schema(asked["schema"], "output_config.format")
        check_closed(asked["schema"], "output_config.format", all_required=False)


def judge_messages(messages):
    calls = Calls()
    for at, message in enumerate(messages):
        where = f"messages.{at}"
        blocks = blocks_of(message)
        is_last_answer = at == len(messages) - 1 and message["role"] == "assistant"
        expect(blocks or is_last_answer, f"{where}: no content")
        results = [block for block in blocks if block["type"] == "tool_result"]
        expect(blocks[: len(results)] == results, f"{where}: tool results stand first")
        expect(not results or message["role"] == "user", f"{where}: a tool result is the user's")
        for result in results:
            calls.result(result["tool_use_id"])
            for block in result["content"] if isinstance(result.get("content"), list) else []:
                judge_block(block, where)
        # The next message answers all calls of the one before.
        calls.other(f"{where} (or what stands after its results)")
        for block in blocks[len(results) :]:
            judge_block(block, where)
            if block["type"] == "tool_use":
                expect(message["role"] == "assistant", f"{where}: a tool call is the assistant's")
                check_names([block["name"]], NAME, where)
                check_names([block["id"]], r"[a-zA-Z0-9_-]+", f"{where}: id")
                calls.call(block["id"])
    calls.other("the end")


def blocks_of(message):
    content = message["content"]
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content)


def judge_block(block, where):
    if block["type"] == "text":
        expect(block["text"].strip(), f"{where}: a text of nothing but white space")
    if block["type"] in ("image", "document") and block["source"]["type"] == "base64":
        check_media(block["source"]["media_type"], block["source"]["data"], where)
    if block["type"] == "thinking":
        expect(block["signature"], f"{where}: thinking without its signature")


def judge_thinking(body):
    thinking = body.get("thinking", {})
    if thinking.get("type") != "enabled":
        return
    budget = thinking["budget_tokens"]
    expect(budget >= LEAST_BUDGET, f"thinking.budget_tokens: {budget} is below {LEAST_BUDGET}")
    cap = body["max_tokens"]
    expect(cap > budget, f"max_tokens: {cap} is not above the budget for thinking, {budget}")
    choice = body.get("tool_choice", {}).get("type", "auto")
    expect(choice in ("auto", "none"), f"tool_choice: `{choice}` does not go with thinking")
    if any(block["type"] == "tool_result" for block in blocks_of(body["messages"][-1])):
        first = blocks_of(body["messages"][-2])[0]["type"]
        is_thought = first in ("thinking", "redacted_thinking")
        expect(is_thought, f"the last calls: thinking is on, so they begin with it, not with `{first}`")


def judge_tools(body):
    own = [tool for tool in body.get("tools", []) if tool.get("type") in (None, "custom")]
    check_names([tool["name"] for tool in own], NAME, "tools")
    for tool in own:
        check_parameters(tool["input_schema"], f"tools.{tool['name']}")
    expect(body.get("tools") or "tool_choice" not in body, "tool_choice without tools")


def breakpoints_in(value):
    """How often `cache_control` stands in a body, schemas left out."""
    if isinstance(value, list):
        return sum(map(breakpoints_in, value))
    if not isinstance(value, dict):
        return 0
    deeper = (member for key, member in value.items() if key not in ("input_schema", "schema", "input"))
    return (value.get("cache_control") is not None) + sum(map(breakpoints_in, deeper))

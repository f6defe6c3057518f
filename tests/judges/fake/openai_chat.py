"""OpenAI's chat completions. Thinking streams as `reasoning_content`, as the servers that show it do."""

import json

from .shown import before_pictures
from .sse import event
from .story import next_turn, pieces


def stream(body, _is_ours):
    """The events of one answer."""
    turn = next_turn(
        tools=[tool["function"]["name"] for tool in body.get("tools", []) if tool["type"] == "function"],
        results=results_in(before_pictures(body["messages"])),
        wants_thinking=body.get("reasoning_effort") not in (None, "none"),
        schema=body.get("response_format", {}).get("json_schema", {}).get("schema"),
    )
    shows_usage = (body.get("stream_options") or {}).get("include_usage", False)

    def chunk(delta, finish_reason=None):
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return event({**head(body), "choices": [choice]} | ({"usage": None} if shows_usage else {}))

    yield chunk({"role": "assistant", "content": "", "refusal": None})
    for piece in pieces(turn.thinking):
        yield chunk({"reasoning_content": piece})
    for piece in pieces(turn.text):
        yield chunk({"content": piece})
    for index, (call_id, name, arguments) in enumerate(turn.calls):
        function = {"name": name, "arguments": ""}
        yield chunk({"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]})
        for piece in pieces(json.dumps(arguments)):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, "tool_calls" if turn.calls else "stop")
    if shows_usage:
        yield event({**head(body), "choices": [], "usage": usage(turn.usage)})
    yield event("[DONE]")


def results_in(messages):
    """The texts of the results at the end, or None."""
    texts = []
    for message in reversed(messages):
        if message["role"] != "tool":
            break
        content = message["content"]
        texts.insert(0, content if isinstance(content, str) else "".join(part["text"] for part in content))
    return texts or None


def head(body):
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1700000000, "model": body["model"]}


def usage(used):
    return {
        "prompt_tokens": used.input,
        "completion_tokens": used.output,
        "total_tokens": used.input + used.output,
        "prompt_tokens_details": {"cached_tokens": used.cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": used.reasoning, "audio_tokens": 0},
    }

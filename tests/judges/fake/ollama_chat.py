"""Ollama's chat: a line of JSON each, calls whole and without ids."""

import json

from .shown import before_pictures
from .story import next_turn, pieces


def stream(body, _is_ours):
    """The lines of one answer."""
    schema = body.get("format")
    turn = next_turn(
        tools=[tool["function"]["name"] for tool in body.get("tools", [])],
        results=results_in(before_pictures(body["messages"])),
        wants_thinking=bool(body.get("think")),
        schema=schema if isinstance(schema, dict) else None,
    )

    def line(message, **more):
        head = {"model": body["model"], "created_at": "2026-11-01T12:00:00.5Z"}
        whole = {**head, "message": {"role": "assistant", "content": "", **message}, "done": False, **more}
        return json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    for piece in pieces(turn.thinking):
        yield line({"thinking": piece})
    for piece in pieces(turn.text):
        yield line({"content": piece})
    for _, name, arguments in turn.calls:
        yield line({"tool_calls": [{"function": {"name": name, "arguments": arguments}}]})
    yield line(
        {},
        done=True,
        done_reason="stop",
        total_duration=900_000_000,
        load_duration=100_000_000,
        prompt_eval_count=turn.usage.input,
        prompt_eval_duration=300_000_000,
        eval_count=turn.usage.output,
        eval_duration=500_000_000,
    )


def results_in(messages):
    """The texts of the results at the end, or None."""
    texts = []
    for message in reversed(messages):
        if message["role"] != "tool":
            break
        texts.insert(0, message.get("content") or "")
    return texts or None

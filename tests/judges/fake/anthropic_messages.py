"""Anthropic's messages: named events, pings, thinking that ends with its signature."""

import json

from rules.anthropic_messages import blocks_of
from rules.refusal import expect

from .shown import before_pictures
from .sse import event
from .story import CALL_IDS, SIGNATURE, next_turn, pieces


def stream(body, is_ours):
    """The events of one answer."""
    thinking = body.get("thinking", {}).get("type") in ("enabled", "adaptive")
    if is_ours and thinking:
        check_signature(body["messages"])
    asked = body.get("output_config", {}).get("format") or {}
    turn = next_turn(
        tools=[tool["name"] for tool in body.get("tools", [])],
        results=results_in(before_pictures(body["messages"])),
        wants_thinking=thinking,
        schema=asked.get("schema"),
    )
    blocks = list(blocks_in(turn))
    yield named({"type": "message_start", "message": opening(body, turn.usage)})
    for index, (block, deltas) in enumerate(blocks):
        yield named({"type": "content_block_start", "index": index, "content_block": block})
        if index == 0:
            yield named({"type": "ping"})
        for delta in deltas:
            yield named({"type": "content_block_delta", "index": index, "delta": delta})
        yield named({"type": "content_block_stop", "index": index})
    reason = "tool_use" if turn.calls else "end_turn"
    delta = {"stop_reason": reason, "stop_sequence": None}
    yield named({"type": "message_delta", "delta": delta, "usage": usage(turn.usage)})
    yield named({"type": "message_stop"})


def check_signature(messages):
    """Our own calls come back with the thinking that led to them, signed as it was given."""
    for message in messages:
        blocks = blocks_of(message)
        if any(block.get("id") in CALL_IDS for block in blocks):
            signatures = [block.get("signature") for block in blocks if block["type"] == "thinking"]
            expect(signatures == [SIGNATURE], f"the signature of the thinking did not come back: {signatures}")


def blocks_in(turn):
    """Each block as it starts, and the deltas that fill it."""
    if turn.thinking:
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(turn.thinking)]
        deltas.append({"type": "signature_delta", "signature": SIGNATURE})
        yield {"type": "thinking", "thinking": "", "signature": ""}, deltas
    yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces(turn.text)]
    for call_id, name, arguments in turn.calls:
        texts = ["", *pieces(json.dumps(arguments))]
        deltas = [{"type": "input_json_delta", "partial_json": text} for text in texts]
        yield {"type": "tool_use", "id": call_id, "name": name, "input": {}, "caller": {"type": "direct"}}, deltas


def results_in(messages):
    """The texts of the results in the last message, or None."""
    results = [block for block in blocks_of(messages[-1]) if block["type"] == "tool_result"]
    return ["".join(block.get("text", "") for block in inside(result)) for result in results] or None


def inside(result):
    content = result.get("content", "")
    return [{"text": content}] if isinstance(content, str) else content


def named(payload):
    return event(payload, name=payload["type"])


def opening(body, used):
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**usage(used), "output_tokens": 1, "output_tokens_details": None, "service_tier": "standard"},
    }


def usage(used):
    """Here `input_tokens` are those that were not cached."""
    return {
        "input_tokens": used.input - used.cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": used.cached,
        "output_tokens": used.output,
        "output_tokens_details": {"thinking_tokens": used.reasoning},
    }

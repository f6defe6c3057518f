"""OpenAI's responses: numbered events, items that open, fill and close, and the whole response at the end."""

import json

from rules.refusal import expect

from .shown import before_pictures
from .sse import event
from .story import CALL_IDS, SIGNATURE, next_turn, pieces


def stream(body, is_ours):
    """The events of one answer."""
    items_so_far = body["input"] if isinstance(body["input"], list) else []
    wants_thinking = bool((body.get("reasoning") or {}).get("summary"))
    wants_encrypted = "reasoning.encrypted_content" in (body.get("include") or [])
    if is_ours and wants_thinking and wants_encrypted:
        check_reasoning(items_so_far)
    turn = next_turn(
        tools=[tool["name"] for tool in body.get("tools", []) if tool["type"] == "function"],
        results=results_in(before_pictures(items_so_far)),
        wants_thinking=wants_thinking,
        schema=body.get("text", {}).get("format", {}).get("schema"),
    )
    encrypted = SIGNATURE if wants_encrypted else None
    items = list(items_in(turn, encrypted))
    events = [("response.created", {"response": response(body, "in_progress", [])})]
    events.append(("response.in_progress", {"response": response(body, "in_progress", [])}))
    for index, (opened, filling, closed) in enumerate(items):
        place = {"output_index": index}
        events.append(("response.output_item.added", {**place, "item": opened}))
        events.extend((kind, {**place, "item_id": closed["id"], **more}) for kind, more in filling)
        events.append(("response.output_item.done", {**place, "item": closed}))
    whole = response(body, "completed", [closed for _, _, closed in items]) | {"usage": usage(turn.usage)}
    events.append(("response.completed", {"response": whole}))
    for number, (kind, more) in enumerate(events):
        yield event({"type": kind, "sequence_number": number, **more}, name=kind)


def items_in(turn, encrypted):
    """Each item as it opens, the events that fill it, and the item as it closes."""
    if turn.thinking:
        yield reasoning(turn, encrypted)
    yield message(turn)
    for call_id, name, arguments in turn.calls:
        yield function_call(call_id, name, json.dumps(arguments))


def reasoning(turn, encrypted):
    opened = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": encrypted}
    place = {"summary_index": 0}
    whole = {"type": "summary_text", "text": turn.thinking}
    filling = [("response.reasoning_summary_part.added", {**place, "part": {**whole, "text": ""}})]
    filling += [("response.reasoning_summary_text.delta", {**place, "delta": piece}) for piece in pieces(turn.thinking)]
    filling.append(("response.reasoning_summary_text.done", {**place, "text": turn.thinking}))
    filling.append(("response.reasoning_summary_part.done", {**place, "part": whole}))
    return opened, filling, {**opened, "summary": [whole]}


def message(turn):
    opened = {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
    place = {"content_index": 0}
    whole = {"type": "output_text", "text": turn.text, "annotations": [], "logprobs": []}
    filling = [("response.content_part.added", {**place, "part": {**whole, "text": ""}})]
    filling += [("response.output_text.delta", {**place, "delta": text, "logprobs": []}) for text in pieces(turn.text)]
    filling.append(("response.output_text.done", {**place, "text": turn.text, "logprobs": []}))
    filling.append(("response.content_part.done", {**place, "part": whole}))
    return opened, filling, {**opened, "status": "completed", "content": [whole]}


def function_call(call_id, name, arguments):
    head = {"id": f"fc_{call_id}", "type": "function_call", "call_id": call_id, "name": name}
    filling = [("response.function_call_arguments.delta", {"delta": piece}) for piece in pieces(arguments)]
    filling.append(("response.function_call_arguments.done", {"arguments": arguments}))
    opened = {**head, "arguments": "", "status": "in_progress"}
    return opened, filling, {**head, "arguments": arguments, "status": "completed"}


def check_reasoning(items):
    """Our own calls come back with the encrypted reasoning that led to them."""
    if any(item.get("call_id") in CALL_IDS for item in items):
        found = [item.get("encrypted_content") for item in items if item.get("type") == "reasoning"]
        expect(SIGNATURE in found, f"the encrypted reasoning did not come back: {found}")


def results_in(items):
    """The texts of the results at the end, or None."""
    texts = []
    for item in reversed(items):
        if item.get("type") != "function_call_output":
            break
        output = item["output"]
        texts.insert(0, output if isinstance(output, str) else "".join(part.get("text", "") for part in output))
    return texts or None


def response(body, status, output):
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1700000000,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "model": body["model"],
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": None,
    }


def usage(used):
    return {
        "input_tokens": used.input,
        "input_tokens_details": {"cached_tokens": used.cached, "cache_write_tokens": 0},
        "output_tokens": used.output,
        "output_tokens_details": {"reasoning_tokens": used.reasoning},
        "total_tokens": used.input + used.output,
    }

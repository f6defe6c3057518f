"""How four services stream an answer with calls, and how each refuses a request that is too long."""

import json


def sse(*events):
    """Named or unnamed events as server-sent events."""
    lines = []
    for event in events:
        name = f"event: {event['type']}\n" if "type" in event and "." in event["type"] or event.get("_named") else ""
        body = {key: value for key, value in event.items() if key != "_named"}
        lines.append(f"{name}data: {json.dumps(body)}\n\n")
    return "".join(lines)


def openai(text, calls, tokens):
    said = {"role": "assistant", "content": text}
    if calls:
        said["tool_calls"] = [
            {"index": n, "id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
            for n, (id, name, args) in enumerate(calls)
        ]
    usage = {"prompt_tokens": tokens, "completion_tokens": 50, "total_tokens": tokens + 50}
    finish = "tool_calls" if calls else "stop"
    chunk = {"id": "x", "object": "chat.completion.chunk", "model": "m"}
    return sse(
        chunk | {"choices": [{"index": 0, "delta": said, "finish_reason": None}]},
        chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": usage},
    ) + "data: [DONE]\n\n"


def responses(text, calls, tokens):
    items = [{"type": "message", "id": "m", "role": "assistant", "status": "completed",
              "content": [{"type": "output_text", "text": text, "annotations": []}]}] if text else []
    items += [{"type": "function_call", "id": f"fc_{id}", "call_id": id, "name": name, "arguments": json.dumps(args),
               "status": "completed"} for id, name, args in calls]
    usage = {"input_tokens": tokens, "output_tokens": 50, "total_tokens": tokens + 50,
             "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    answer = {"id": "r", "object": "response", "status": "completed", "model": "m", "output": items, "usage": usage}
    events = [{"type": "response.created", "response": answer | {"status": "in_progress", "output": []}}]
    for n, item in enumerate(items):
        events.append({"type": "response.output_item.added", "output_index": n, "item": item})
        events.append({"type": "response.output_item.done", "output_index": n, "item": item})
    return sse(*events, {"type": "response.completed", "response": answer})


def anthropic(text, calls, tokens):
    events = [{"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [],
               "usage": {"input_tokens": tokens, "output_tokens": 1}}}]
    blocks = [({"type": "text", "text": ""}, {"type": "text_delta", "text": text})] if text else []
    blocks += [({"type": "tool_use", "id": id, "name": name, "input": {}},
                {"type": "input_json_delta", "partial_json": json.dumps(args)}) for id, name, args in calls]
    for n, (block, delta) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": n, "content_block": block})
        events.append({"type": "content_block_delta", "index": n, "delta": delta})
        events.append({"type": "content_block_stop", "index": n})
    stop = "tool_use" if calls else "end_turn"
    events.append({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 50}})
    events.append({"type": "message_stop"})
    return sse(*[event | {"_named": True} for event in events])


def gemini(text, calls, tokens):
    parts = ([{"text": text}] if text else []) + [{"functionCall": {"name": name, "args": args}} for _, name, args in calls]
    usage = {"promptTokenCount": tokens, "candidatesTokenCount": 50, "totalTokenCount": tokens + 50}
    return sse({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
                "usageMetadata": usage, "modelVersion": "m"})


ANSWERS = {"openai": openai, "responses": responses, "anthropic": anthropic, "gemini": gemini}


def refusal(dialect, tokens, window):
    """The words of each service, as they were seen."""
    words = {
        "openai": f"This model's maximum context length is {window} tokens. However, your messages resulted in {tokens} tokens.",
        "responses": "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "anthropic": f"prompt is too long: {tokens} tokens > {window} maximum",
        "gemini": f"The input token count ({tokens}) exceeds the maximum number of tokens allowed ({window}).",
    }[dialect]
    code = "context_length_exceeded" if dialect in ("openai", "responses") else "invalid_request_error"
    error = {"message": words, "type": "invalid_request_error", "code": code, "status": "INVALID_ARGUMENT"}
    return json.dumps({"type": "error", "error": error})

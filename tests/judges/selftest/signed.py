"""The second request of the conversation, with a signature to choose, in the dialects that have one."""

from fake.story import CALL_IDS, PATHS, THINKING, TOOL, WORDS

from . import bodies_anthropic, bodies_gemini, bodies_responses


def gemini(signature, results):
    calls = [{"functionCall": {"name": TOOL, "args": {"path": path}}} for path in PATHS]
    calls[0]["thoughtSignature"] = signature
    answers = [{"functionResponse": {"name": TOOL, "response": {"output": result}}} for result in results]
    contents = [
        {"role": "user", "parts": [{"text": "Read."}]},
        {"role": "model", "parts": [{"text": WORDS}, *calls]},
        {"role": "user", "parts": answers},
    ]
    return {**bodies_gemini.WHOLE, "contents": contents}


def anthropic(signature, results):
    thinking = {"type": "thinking", "thinking": THINKING, "signature": signature}
    calls = [bodies_anthropic.call(call_id, path) for call_id, path in zip(CALL_IDS, PATHS)]
    answers = [bodies_anthropic.result(call_id, result) for call_id, result in zip(CALL_IDS, results)]
    messages = [
        {"role": "user", "content": "Read."},
        {"role": "assistant", "content": [thinking, {"type": "text", "text": WORDS}, *calls]},
        {"role": "user", "content": answers},
    ]
    return {**bodies_anthropic.WHOLE, "messages": messages}


def responses(signature, results):
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": signature}
    calls = [bodies_responses.call(call_id, path) for call_id, path in zip(CALL_IDS, PATHS)]
    answers = [bodies_responses.result(call_id, result) for call_id, result in zip(CALL_IDS, results)]
    items = [{"role": "user", "content": "Read."}, reasoning, *calls, *answers]
    return {**bodies_responses.WHOLE, "input": items}


BODIES = {"gemini": gemini, "anthropic": anthropic, "responses": responses}

"""The cases of the Open Responses compliance suite that fit an agent: all but the two in which the client brings tools.

Each is one request as raw HTTP; the answer must have all that the specification of a response requires, be complete and
have an output. The schemas of the answers are held by the judges of all traffic.
"""

import json

from chat_checks import PICTURE

REQUIRED = {
    "id", "object", "created_at", "completed_at", "status", "incomplete_details", "model", "previous_response_id", "instructions",
    "output", "error", "tools", "tool_choice", "truncation", "parallel_tool_calls", "text", "top_p", "presence_penalty",
    "frequency_penalty", "top_logprobs", "temperature", "reasoning", "usage", "max_output_tokens", "max_tool_calls", "store",
    "background", "service_tier", "metadata", "safety_identifier", "prompt_cache_key"}


def message(role, content):
    return {"type": "message", "role": role, "content": content}


CASES = {
    "basic text": [message("user", "Greet me in three words.")],
    "system prompt": [message("system", "Speak like a weaver."), message("user", "Greet me.")],
    "image input": [message("user", [{"type": "input_text", "text": "What is in the image?"},
                                     {"type": "input_image", "image_url": PICTURE}])],
    "several turns": [message("user", "My name is Alice."), message("assistant", "Hello Alice!"),
                      message("user", "What is my name?")],
    "streaming": [message("user", "Count to five.")],
}


def check(name):
    def ask(world):
        is_stream = name == "streaming"
        request = {"model": "updraft/thinker", "input": CASES[name], "stream": is_stream}
        answer = world.http().post(f"{world.origin}/v1/responses", json=request, headers={"Authorization": f"Bearer {world.token}"})
        assert answer.status_code == 200, answer.text
        if is_stream:
            assert answer.headers["content-type"].startswith("text/event-stream")
            frames = [frame.split("\n") for frame in answer.text.split("\n\n") if frame]
            events = [json.loads(lines[1].removeprefix("data: ")) for lines in frames]
            assert [lines[0] for lines in frames] == [f"event: {event['type']}" for event in events]
            body = events[-1]["response"]
        else:
            body = answer.json()
        assert not REQUIRED - set(body), REQUIRED - set(body)
        assert body["status"] == "completed" and body["output"], body

    ask.__name__ = f"check_{name.replace(' ', '_')}"
    return ask


CHECKS = [check(name) for name in CASES]

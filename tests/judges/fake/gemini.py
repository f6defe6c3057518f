"""Gemini: events that end with CRLF, usage in every one of them, calls without ids, and STOP even after a call."""

from rules.gemini import in_camel_case, standard
from rules.refusal import expect

from .shown import before_pictures
from .sse import event
from .story import SIGNATURE, WORDS, next_turn, pieces

EARLY_INPUT = 55  # the count of input tokens grows while the answer streams


def stream(body, is_ours):
    """The events of one answer."""
    body = in_camel_case(body)
    if is_ours:
        check_signature(body["contents"])
    config = body.get("generationConfig", {})
    declared = [function for tool in body.get("tools", []) for function in tool.get("functionDeclarations", [])]
    turn = next_turn(
        tools=[function["name"] for function in declared],
        results=results_in(before_pictures(body["contents"])),
        wants_thinking=config.get("thinkingConfig", {}).get("includeThoughts", False),
        schema=config.get("responseJsonSchema"),
    )
    early = {"promptTokenCount": EARLY_INPUT, "totalTokenCount": EARLY_INPUT}

    def part(part, counts=early, **more):
        candidate = {"content": {"parts": [part], "role": "model"}, "index": 0, **more}
        head = {"candidates": [candidate], "usageMetadata": counts, "modelVersion": "fake-1", "responseId": "resp-1"}
        return event(head, end="\r\n")

    for piece in pieces(turn.thinking):
        yield part({"text": piece, "thought": True})
    for piece in pieces(turn.text):
        yield part({"text": piece})
    for index, (_, name, arguments) in enumerate(turn.calls):
        # Of several calls only the first is signed.
        signature = {"thoughtSignature": SIGNATURE} if index == 0 else {}
        yield part({"functionCall": {"name": name, "args": arguments}, **signature}, usage(turn.usage))
    signature = {} if turn.calls else {"thoughtSignature": SIGNATURE}
    yield part({"text": "", **signature}, usage(turn.usage), finishReason="STOP")


def check_signature(contents):
    """Our own calls come back with their signature, in the same part."""
    for content in contents:
        texts = "".join(part.get("text", "") for part in content["parts"])
        calls = [part for part in content["parts"] if "functionCall" in part]
        if WORDS in texts and calls:
            signature = calls[0].get("thoughtSignature", "")
            expect(standard(signature) == SIGNATURE, f"the call's signature did not come back: `{signature}`")


def results_in(contents):
    """The texts of the results in the last content, or None."""
    results = [part["functionResponse"]["response"] for part in contents[-1]["parts"] if "functionResponse" in part]
    return [" ".join(map(str, result.values())) for result in results] or None


def usage(used):
    """Here the answer's tokens do not include those of thinking."""
    cached = {"cachedContentTokenCount": used.cached} if used.cached else {}
    return {
        "promptTokenCount": used.input,
        **cached,
        "candidatesTokenCount": used.output - used.reasoning,
        "thoughtsTokenCount": used.reasoning,
        "totalTokenCount": used.input + used.output,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": used.input}],
    }

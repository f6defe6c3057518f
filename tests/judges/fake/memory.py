"""Which conversations began here. Only those bring signatures back: calls that another model made have none of ours."""

BEGUN = set()


def began_here(place, body):
    """Whether the first answer in this conversation was ours; a conversation without any answer begins here."""
    messages = next(body[key] for key in ("messages", "contents", "input") if key in body)
    messages = messages if isinstance(messages, list) else []
    answers = [at for at, message in enumerate(messages) if is_answer(message)]
    opening = (place, body.get("model"), tuple(texts_in(messages[: answers[0]] if answers else messages)))
    if answers:
        return opening in BEGUN
    BEGUN.add(opening)
    return True


def is_answer(message):
    return message.get("role") in ("assistant", "model") or message.get("type") in ("reasoning", "function_call")


def texts_in(value):
    """All that is said, whatever stands around it: marks for a cache move from request to request."""
    if isinstance(value, list):
        for member in value:
            yield from texts_in(member)
    elif isinstance(value, dict):
        for key in ("text", "content", "parts"):
            inside = value.get(key)
            yield from [inside] if isinstance(inside, str) else texts_in(inside)

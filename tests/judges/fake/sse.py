"""Server-sent events, as bytes."""

import json


def event(payload, *, name=None, end="\n"):
    """One event; characters beyond ASCII stay as they are, so that reading has to put them together."""
    data = payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    head = f"event: {name}{end}" if name else ""
    return f"{head}data: {data}{end}{end}".encode()

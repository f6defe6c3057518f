"""Pictures in a conversation, in any dialect. A tool's pictures are shown after all results of its turn."""

PICTURES = ("image_url", "input_image", "image")
RESULTS = ("tool_result", "function_call_output")


def before_pictures(messages):
    """The messages without those at the end that only show pictures."""
    end = len(messages)
    while end > 1 and only_shows(messages[end - 1]):
        end -= 1
    return messages[:end]


def only_shows(message):
    content = message.get("parts") or message.get("content") or []
    parts = content if isinstance(content, list) else []
    has_pictures = any(part.get("type") in PICTURES or "inlineData" in part for part in parts)
    has_results = any(part.get("type") in RESULTS or "functionResponse" in part for part in parts)
    return (has_pictures or bool(message.get("images"))) and not has_results

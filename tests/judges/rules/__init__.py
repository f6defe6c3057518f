"""The judges: one module a dialect, each with `judge(body)`, which raises `Refused` with the fault it finds."""

from importlib import import_module

from .refusal import Refused

MODULES = {
    "gemini": "gemini",
    "openai": "openai_chat",
    "responses": "openai_responses",
    "anthropic": "anthropic_messages",
    "ollama": "ollama_chat",
}


def fault_in(dialect, body):
    """What is wrong with the body, or None. Packages are loaded when first needed: some take a second."""
    if dialect not in MODULES:
        return f"no dialect `{dialect}`; expected one of {', '.join(MODULES)}"
    try:
        if not isinstance(body, dict):
            raise Refused("the body is no JSON object")
        import_module(f"{__name__}.{MODULES[dialect]}").judge(body)
    except Refused as refusal:
        return str(refusal)
    return None

"""Who judges the judges: bodies that must pass, bodies that must not, and the official clients against the server."""

from . import bodies_anthropic, bodies_gemini, bodies_ollama, bodies_openai, bodies_responses
from .bodies import failures
from .conversations import conversation_failures

DIALECTS = {
    "gemini": bodies_gemini,
    "openai": bodies_openai,
    "responses": bodies_responses,
    "anthropic": bodies_anthropic,
    "ollama": bodies_ollama,
}


def run():
    """Prints what failed; 0 if nothing did."""
    failed = []
    for dialect, bodies in DIALECTS.items():
        failed += failures(dialect, bodies.GOOD, bodies.BROKEN)
        print(f"{dialect}: {len(bodies.GOOD)} good bodies, {len(bodies.BROKEN)} broken ones")
    failed += conversation_failures()
    for fault in failed:
        print(f"FAILED: {fault}")
    print(f"{len(failed)} failed" if failed else "all as it should be")
    return 1 if failed else 0

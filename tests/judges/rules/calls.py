"""Calls and their results: each call has exactly one, and results follow their calls directly."""

import json

from .refusal import Refused, expect


class Calls:
    """Told of a conversation in its order; refuses the first thing out of place."""

    def __init__(self):
        self.open = []
        self.known = set()
        self.has_results = False

    def call(self, call_id):
        """A call; more may follow in the same turn."""
        expect(call_id, "a call without an id")
        expect(call_id not in self.known, f"two calls have the id `{call_id}`")
        expect(not self.has_results, f"the call `{call_id}` comes while others have no result: {self.open}")
        self.known.add(call_id)
        self.open.append(call_id)

    def result(self, call_id):
        """A result; the last one closes the turn."""
        expect(call_id in self.known, f"a result for `{call_id}`, which nobody called")
        expect(call_id in self.open, f"a second result for `{call_id}`, or one that is late")
        self.open.remove(call_id)
        self.has_results = bool(self.open)

    def other(self, what):
        """Anything else, and the end of the conversation: no call may be open."""
        expect(not self.open, f"{what} comes, but these calls have no result: {self.open}")


def check_arguments(text, where):
    """Arguments that travel as text must be the JSON of an object."""
    try:
        arguments = json.loads(text)
    except json.JSONDecodeError as error:
        raise Refused(f"{where}: arguments are not JSON: {error}") from error
    expect(isinstance(arguments, dict), f"{where}: arguments are not an object")

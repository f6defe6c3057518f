"""What the records of a run say, as far as promises speak of it."""

import json
import sys
from collections import Counter


def events_in(export):
    """The events of an exported run, in order; those without a body as objects, too."""
    found = [event for line in export.splitlines() for event in json.loads(line).get("e", [])]
    return [event if isinstance(event, dict) else {event: {}} for event in found]


def replies(events):
    """How many replies each effect has, by address."""
    return Counter(event["replied"]["id"] for event in events if "replied" in event)


def doubts(events):
    """The numbers of the calls whose outcome is in doubt."""
    unknown = [event["replied"] for event in events if "in_doubt" in event.get("replied", {}).get("reply", {})]
    return {int(reply["id"].rsplit("call.", 1)[1]) for reply in unknown}


def refused(events):
    """The numbers of the calls that were refused, of which the agent is told."""
    return {int(event["rejected"]["id"].rsplit("call.", 1)[1]) for event in events if "/call." in event.get("rejected", {}).get("id", "")}


def decisions(events, run):
    """What was decided, in an order that does not depend on who was first. What the world answered counts by its kind only."""
    def decision(event):
        if "begun" in event:
            return f"begun {event['begun']['id']}"
        if "replied" in event and "output" in event["replied"]["reply"]:
            return f"replied {event['replied']['id']} output"
        return json.dumps(event, sort_keys=True).replace(run, "RUN")
    return sorted(map(decision, events))


if __name__ == "__main__":
    sys.exit(__doc__)

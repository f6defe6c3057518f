"""What the bodies of all dialects share, and how a broken one is made from a good one: by one change."""

import base64
import copy
import json

from rules import fault_in

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(16)).decode()
JPEG = base64.b64encode(b"\xff\xd8\xff\xe0" + bytes(16)).decode()
PARAMETERS = {
    "type": "object",
    "properties": {"path": {"type": "string", "maxLength": 200}},
    "required": ["path"],
    "additionalProperties": False,
}
ANSWER = {
    "type": "object",
    "properties": {"sum": {"type": "integer"}, "why": {"type": "string"}},
    "required": ["sum", "why"],
    "additionalProperties": False,
}
GONE = object()


def changed(body, path, value):
    """A copy in which the place is gone, has another value, or has what a function makes of the old one."""
    body = json.loads(json.dumps(body))  # so that nothing in it is shared
    place = body
    for key in path[:-1]:
        place = place[key]
    if value is GONE:
        del place[path[-1]]
    elif callable(value):
        place[path[-1]] = value(copy.deepcopy(place[path[-1]]))
    else:
        place[path[-1]] = value
    return body


def failures(dialect, good, broken):
    """Good bodies that were refused; broken ones that were not, or for another reason than the one meant."""
    for what, body in good.items():
        fault = fault_in(dialect, body)
        if fault:
            yield f"{dialect}: good, but refused: {what}: {fault}"
    whole = next(iter(good.values()))
    for what, path, value, reason in broken:
        fault = fault_in(dialect, changed(whole, path, value))
        if fault is None or reason not in fault:
            yield f"{dialect}: broken by {what}: expected a fault with `{reason}`, found {fault!r}"


def swapped(first, second):
    """A change of a list: two members change places."""

    def change(members):
        members[first], members[second] = members[second], members[first]
        return members

    return change


def without(index):
    """A change of a list: a member less."""
    return lambda members: members[:index] + members[index + 1 :]


def repeated(index):
    """A change of a list: a member stands there twice."""
    return lambda members: members[: index + 1] + members[index:]

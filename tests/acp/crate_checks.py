"""The official crate as an editor: a program of its own (crate-client), whose types read and write everything."""

import json


def texts(updates, kind):
    return "".join(update["content"]["text"] for update in updates if update["sessionUpdate"] == kind)


def calls(updates):
    """The last state of each call."""
    found = {}
    for update in updates:
        if update["sessionUpdate"] in ("tool_call", "tool_call_update"):
            found.setdefault(update["toolCallId"], {}).update(update)
    return found


def conversation(world, client):
    """A call, a permission, a cancel, and a load that tells everything again."""
    seen = json.loads(world.run(client, str(world.work), *world.command))
    assert seen["introduced"]["protocolVersion"] == 1 and seen["introduced"]["agentCapabilities"]["loadSession"], seen["introduced"]
    assert seen["stops"] == ["end_turn", "end_turn", "end_turn", "cancelled"], seen["stops"]
    talk = seen["talk"]["updates"]
    assert texts(talk, "agent_thought_chunk") == "Threads become cloth.", talk
    assert texts(talk, "agent_message_chunk") == "A loom.I begin.It is written.I begin.It is written.", talk
    written, hook = calls(talk).values()
    assert (written["kind"], written["status"]) == ("edit", "completed"), written
    [change] = written["content"]
    assert (change["type"], change["oldText"], change["newText"]) == ("diff", "one\n", "one\ntwo\n"), change
    # Only the hook needs a permission, which was given.
    assert [one["toolCall"]["toolCallId"] for one in seen["talk"]["asked"]] == [hook["toolCallId"]], seen["talk"]["asked"]
    assert hook["status"] == "completed" and world.hook.exists(), hook
    assert [one["sessionId"] for one in seen["listed"]["sessions"]] == [seen["session"]], seen["listed"]
    loaded = seen["loaded"]["updates"]
    assert texts(loaded, "user_message_chunk") == "What is it?Inscribe the notesGraft the hookDawdle", loaded
    for kind in ("agent_message_chunk", "agent_thought_chunk"):
        assert texts(loaded, kind) == texts(talk, kind), kind
    fields = ("title", "kind", "status", "content", "locations")
    ended = [{name: {field: call.get(field) for field in fields} for name, call in calls(one).items()} for one in (talk, loaded)]
    assert ended[0] == ended[1], ended
    assert seen["after"]["stop"] == "end_turn" and texts(seen["after"]["talk"]["updates"], "agent_message_chunk") == "A loom.", seen["after"]
    assert len(world.runs()) == 5


CHECKS = [conversation]

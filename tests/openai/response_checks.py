"""`/v1/responses` by the official client: created, streamed, in the background, resumed, continued, cancelled, deleted."""

import json
import signal

import openai
from chat_checks import PICTURE, expect_error, until
from world import HOOK, LONG

THINKER = "updraft/thinker"
RESTING = {"completed", "failed", "cancelled", "incomplete"}


def check_answer(world):
    client = world.client()
    made = client.responses.create(model=THINKER, input="What is it?", instructions="Be brief.", metadata={"a": "b"})
    assert (made.output_text, made.status, made.instructions, made.metadata) == ("A loom.", "completed", "Be brief.", {"a": "b"})
    assert (made.usage.input_tokens, made.usage.output_tokens, made.usage.total_tokens) == (21, 4, 25), made.usage
    assert client.responses.retrieve(made.id) == made
    [item] = client.responses.input_items.list(made.id)
    assert item.role == "user" and item.content[0].text == "What is it?", item
    planned = client.responses.create(model="updraft", input="What is it?")
    lines = [part.text for part in planned.output[0].summary]
    assert planned.output[0].type == "reasoning" and "planned: 2 steps" in lines, planned
    assert client.responses.delete(made.id) is None
    expect_error(openai.NotFoundError, "response_not_found", lambda: client.responses.retrieve(made.id))
    expect_error(openai.NotFoundError, "response_not_found", lambda: client.responses.delete(made.id))
    # A run that is removed takes its response along.
    world.command("rm", planned.id.removeprefix("resp_"))
    expect_error(openai.NotFoundError, "response_not_found", lambda: client.responses.retrieve(planned.id))


def check_items(world):
    """Several items, pages of them, and pictures."""
    create = world.client().responses.create
    said = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "My name is Alice."},
            {"role": "assistant", "content": "Hello Alice."},
            {"role": "user", "content": [{"type": "input_text", "text": "What is my name?"},
                                         {"type": "input_image", "image_url": PICTURE}]}]
    made = create(model=THINKER, input=said)
    assert made.output_text == "I see the image.", made
    run = made.id.removeprefix("resp_")
    assert world.earlier(run) == [("user", "My name is Alice."), ("assistant", "Hello Alice.")], world.goal(run)
    listed = list(world.client().responses.input_items.list(made.id, limit=3, order="asc"))
    assert [item.role for item in listed] == ["developer", "user", "assistant", "user"], listed
    expect_error(openai.BadRequestError, "invalid_value", lambda: create(model=THINKER, input=[]))
    tool = {"type": "function", "name": "x", "parameters": {"type": "object", "properties": {}}, "strict": False}
    expect_error(openai.BadRequestError, "unsupported_parameter", lambda: create(model=THINKER, input="x", tools=[tool]))
    expect_error(openai.NotFoundError, "model_not_found", lambda: create(model="gpt-5", input="x"))


def kinds(events):
    return [event.type for event in events]


def check_stream(world):
    client = world.client()
    events = list(client.responses.create(model="updraft", input="Tell me much", stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events))), events
    assert kinds(events)[:2] == ["response.created", "response.in_progress"] and kinds(events)[-1] == "response.completed"
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    whole = events[-1].response
    assert text == whole.output_text == LONG and client.responses.retrieve(whole.id) == whole, text
    # What is added is done, in order, and is what the whole contains.
    done = [event.item for event in events if event.type == "response.output_item.done"]
    assert done == whole.output, done
    # The helper of the package keeps account of what it is told.
    with client.responses.stream(model=THINKER, input="Tell me much") as stream:
        stream.until_done()
        assert stream.get_final_response().output_text == LONG


def check_follow_up(world):
    create = world.client().responses.create
    first = create(model=THINKER, input="My name is Bob.")
    second = create(model=THINKER, input="What is my name?", previous_response_id=first.id)
    assert second.status == "completed" and second.previous_response_id == first.id, second
    run = second.id.removeprefix("resp_")
    assert world.earlier(run) == [("user", "My name is Bob."), ("assistant", "A loom.")], world.goal(run)
    assert f"resp_{world.goal(run)['follows']}" == first.id, world.goal(run)
    expect_error(openai.NotFoundError, "response_not_found",
                 lambda: create(model=THINKER, input="x", previous_response_id="resp_none"))


def check_background(world):
    client = world.client()
    made = client.responses.create(model=THINKER, input="Wait a moment", background=True)
    assert made.background and made.status in {"queued", "in_progress"} and made.output_text == "", made
    expect_error(openai.BadRequestError, "invalid_value",
                 lambda: client.responses.create(model=THINKER, input="And?", previous_response_id=made.id))
    done = until(lambda: [now for now in [client.responses.retrieve(made.id)] if now.status in RESTING])[0]
    assert (done.status, done.output_text) == ("completed", LONG), done
    slow = client.responses.create(model=THINKER, input="Take your time", background=True)
    cancelled = client.responses.cancel(slow.id)
    assert cancelled.status == "cancelled" and client.responses.cancel(slow.id).status == "cancelled", cancelled
    failed = client.responses.create(model=THINKER, input="Fail")
    assert failed.status == "failed" and "no more" in failed.error.message, failed


def check_client_that_leaves(world):
    """A response that is not in the background ends with its client."""
    client = world.client()
    stream = client.responses.create(model=THINKER, input="Take your time", stream=True)
    made = next(iter(stream)).response
    stream.response.close()
    until(lambda: client.responses.retrieve(made.id).status == "cancelled")


def raw_events(world, path):
    with world.http().stream("GET", f"{world.origin}{path}", headers={"Authorization": f"Bearer {world.token}"}) as answer:
        assert answer.status_code == 200, answer.read()
        return [json.loads(line[6:]) for line in answer.iter_lines() if line.startswith("data: ")]


def check_resumed_stream(world):
    """A stream that is cut off goes on exactly after the last event, also after the server was killed and started again."""
    client = world.client()
    stream = client.responses.create(model="updraft", input="Wait a moment", background=True, stream=True)
    events = iter(stream)
    made, last = next(events).response.id, [next(events) for _ in range(5)][-1].sequence_number
    stream.response.close()
    begun = [event for event in world.recorder.exchanges[-1].events() if event["sequence_number"] <= last]
    world.stop(signal.SIGKILL)
    world.start()
    client = world.client()
    done = list(client.responses.retrieve(made, stream=True, starting_after=last))
    assert done[-1].type == "response.completed" and done[-1].response.output_text == LONG, done[-1]
    rest = world.recorder.exchanges[-1].events()
    again = raw_events(world, f"/v1/responses/{made}?stream=true")
    assert len(begun) == last + 1 and begun + rest == again, (begun, rest, again)
    for n, event in enumerate(again):
        tail = raw_events(world, f"/v1/responses/{made}?stream=true&starting_after={event['sequence_number']}")
        assert tail == again[n + 1:], event
    # Whoever knows more than was ever told gets how it ended.
    assert raw_events(world, f"/v1/responses/{made}?stream=true&starting_after={2**40}") == again[-1:]
    refused = world.http().get(f"{world.origin}/v1/responses/{made}?stream=true&starting_after=x",
                               headers={"Authorization": f"Bearer {world.token}"})
    assert refused.status_code == 400, refused.text


def check_question(world):
    """A run that asks is incomplete; the next response answers it and goes on with the same run."""
    client = world.client()
    asked = client.responses.create(model="updraft/clarification", input="Paint the door")
    assert asked.status == "incomplete" and asked.output_text.startswith("Which colour? (red / blue)"), asked
    assert f"{world.origin}/runs/" in asked.output_text
    runs = len(world.runs())
    done = client.responses.create(model="updraft/clarification", input="blue", previous_response_id=asked.id)
    assert done.output_text == "It is blue now." and done.status == "completed" and len(world.runs()) == runs, done
    assert done.id != asked.id and client.responses.retrieve(done.id) == done
    # The response that asked goes on as well: its stream has the question, and then the answer.
    events = raw_events(world, f"/v1/responses/{asked.id}?stream=true")
    names = [event["type"] for event in events]
    assert names.index("response.incomplete") < names.index("response.completed"), names
    assert client.responses.retrieve(asked.id).status == "completed"


def check_approval(world):
    """A call that needs a person's approval is an `mcp_approval_request`, and `mcp_approval_response` decides."""
    client, hook = world.client(), world.work / HOOK["path"]
    for approve in [False, True]:
        asked = client.responses.create(model="updraft/coder", input="Add the hook")
        request = asked.output[-1]
        assert (asked.status, request.type) == ("incomplete", "mcp_approval_request"), asked
        assert (request.name, json.loads(request.arguments)) == ("write_file", HOOK), request
        assert "Answer `approve` or `deny`" in asked.output_text, asked.output_text
        verdict = {"type": "mcp_approval_response", "approval_request_id": request.id, "approve": approve, "reason": "so"}
        done = client.responses.create(model="updraft/coder", input=[verdict], previous_response_id=asked.id)
        assert (done.status, done.output_text, hook.exists()) == ("completed", "That was all.", approve), done
    hook.unlink()


CHECKS = [check_answer, check_items, check_stream, check_follow_up, check_background, check_client_that_leaves,
          check_resumed_stream, check_question, check_approval]

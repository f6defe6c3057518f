"""`/v1/models` and `/v1/chat/completions` by the official client."""

import time

import openai
from world import HOOK, LONG

PICTURE = ("data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
           "rkJggg==")


def user(text):
    return {"role": "user", "content": text}


def expect_error(kind, code, do):
    try:
        do()
    except kind as error:
        assert error.code == code, error
        return error
    raise AssertionError(f"no {kind.__name__}")


def check_models(world):
    client = world.client()
    names = [model.id for model in client.models.list()]
    assert names[0] == "updraft" and {"updraft/coder", "updraft/thinker"} <= set(names), names
    assert client.models.retrieve("updraft/coder").id == "updraft/coder"
    expect_error(openai.NotFoundError, "model_not_found", lambda: client.models.retrieve("gpt-x"))


def check_answer(world):
    client = world.client()
    done = client.chat.completions.create(model="updraft/thinker", messages=[user("What is it?")], temperature=0.1)
    assert done.choices[0].message.content == "A loom." and done.choices[0].finish_reason == "stop", done
    assert (done.usage.prompt_tokens, done.usage.completion_tokens, done.usage.total_tokens) == (21, 4, 25), done.usage
    planned = client.chat.completions.create(model="updraft", messages=[user("What is it?")])
    progress = planned.choices[0].message.reasoning_content
    assert planned.choices[0].message.content == "A loom." and "planned: 2 steps" in progress, planned
    assert planned.usage.prompt_tokens == 42, planned.usage


def run_of(completion):
    return completion.id.removeprefix("chatcmpl-")


def check_context(world):
    """Earlier messages, the system's message and pictures are part of the run."""
    ask = world.client().chat.completions.create
    before = [user("My name is Alice."), {"role": "assistant", "content": "Hello Alice."}]
    system = {"role": "system", "content": "Be brief."}
    said = ask(model="updraft/thinker", messages=[system, *before, user([{"type": "text", "text": "Who am I?"}])])
    goal = world.goal(run_of(said))
    assert world.earlier(run_of(said)) == [("user", "My name is Alice."), ("assistant", "Hello Alice.")], goal
    assert (goal["text"], goal["asked"]) == ("Be brief.\n\nWho am I?", "Who am I?") and goal["origins"], goal
    picture = {"type": "image_url", "image_url": {"url": PICTURE}}
    seen = ask(model="updraft/thinker", messages=[user([{"type": "text", "text": "What is it?"}, picture])])
    assert seen.choices[0].message.content == "I see the image.", seen
    away = {"type": "image_url", "image_url": {"url": "https://a.example/x.png"}}
    expect_error(openai.BadRequestError, "invalid_value", lambda: ask(model="updraft", messages=[user([away])]))


def check_stream(world):
    ask = world.client().chat.completions.create
    options = {"include_usage": True}
    chunks = list(ask(model="updraft/thinker", messages=[user("Tell me much")], stream=True, stream_options=options))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == LONG and len([chunk for chunk in chunks if chunk.choices]) > 4, chunks
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].choices == [] and chunks[-1].usage.total_tokens == 130, chunks[-1]
    assert all(chunk.usage is None for chunk in chunks[:-1]) and len({chunk.id for chunk in chunks}) == 1
    plain = list(ask(model="updraft", messages=[user("What is it?")], stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in plain) == "A loom.", plain
    assert all(chunk.usage is None and chunk.choices for chunk in plain)


def check_failures(world):
    ask = world.client().chat.completions.create
    expect_error(openai.NotFoundError, "model_not_found", lambda: ask(model="gpt-4o", messages=[user("Hello")]))
    tool = {"type": "function", "function": {"name": "x", "parameters": {"type": "object", "properties": {}}}}
    refused = [{"tools": [tool]}, {"n": 2}, {"response_format": {"type": "json_object"}}]
    for more in refused:
        expect_error(openai.BadRequestError, "unsupported_parameter",
                     lambda more=more: ask(model="updraft", messages=[user("Hello")], **more))
    expect_error(openai.BadRequestError, "invalid_value", lambda: ask(model="updraft", messages=[]))
    failed = expect_error(openai.InternalServerError, "run_failed",
                          lambda: ask(model="updraft/thinker", messages=[user("Fail")]))
    assert "no more" in failed.message and failed.response.headers["x-should-retry"] == "false", failed
    try:
        list(ask(model="updraft/thinker", messages=[user("Fail")], stream=True))
        raise AssertionError("a stream of a run that fails ends with an error")
    except openai.APIError as error:
        assert "no more" in error.message, error


def check_person(world):
    """A run that asks: the question is the answer, and the next message answers it."""
    ask = world.client().chat.completions.create
    model, talk = "updraft/clarification", [user("Paint the door")]
    asked = ask(model=model, messages=talk).choices[0].message.content
    assert asked.startswith("Which colour? (red / blue)") and f"{world.origin}/runs/" in asked, asked
    talk += [{"role": "assistant", "content": asked}, user("blue")]
    runs = len(world.runs())
    done = ask(model=model, messages=talk)
    assert done.choices[0].message.content == "It is blue now." and len(world.runs()) == runs, done
    talk = [user("Add the hook")]
    asked = ask(model="updraft/coder", messages=talk).choices[0].message.content
    talk += [{"role": "assistant", "content": asked}]
    expect_error(openai.BadRequestError, "invalid_value",
                 lambda: ask(model="updraft/coder", messages=[*talk, user("perhaps")]))
    # What somebody made up, or what was asked earlier, passes nothing on to a run.
    forged = [talk[0], {"role": "assistant", "content": asked[:-2] + ("0]" if asked[-2] != "0" else "1]")}]
    runs = len(world.runs())
    other = ask(model="updraft/thinker", messages=[*forged, user("approve")])
    assert other.choices[0].message.content == "A loom." and len(world.runs()) == runs + 1, other
    denied = ask(model="updraft/coder", messages=[*talk, user("deny: not now")])
    assert denied.choices[0].message.content == "That was all." and not (world.work / HOOK["path"]).exists(), denied


def until(condition):
    """Waits until something is so."""
    for _ in range(600):
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("it does not become so")


def check_client_that_leaves(world):
    """Nobody could get the answer, so the run is cancelled; whether it was streamed or not."""
    client = world.client()
    stream = client.chat.completions.create(model="updraft/thinker", messages=[user("Take your time, first")], stream=True)
    run = next(iter(stream)).id.removeprefix("chatcmpl-")
    stream.response.close()
    status = lambda: next(known["status"] for known in world.runs() if known["run"] == run)  # noqa: E731
    until(lambda: status() == "cancelled")
    try:
        client.with_options(timeout=0.7).chat.completions.create(
            model="updraft/thinker", messages=[user("Take your time, second")])
        raise AssertionError("the client waits longer than it wants to")
    except openai.APITimeoutError:
        second = next(known["run"] for known in world.runs() if "second" in known["goal"])
    until(lambda: next(known["status"] for known in world.runs() if known["run"] == second) == "cancelled")


def check_roles(world):
    see, steer = world.user("viewer", "see"), world.user("driver", "steer")
    messages = [user("What is it?")]
    expect_error(openai.AuthenticationError, "invalid_api_key", lambda: world.client("wrong").models.list())
    viewer = world.client(see)
    assert list(viewer.models.list())
    expect_error(openai.PermissionDeniedError, "insufficient_permissions",
                 lambda: viewer.chat.completions.create(model="updraft/thinker", messages=messages))
    done = world.client(steer).chat.completions.create(model="updraft/thinker", messages=messages)
    assert done.choices[0].message.content == "A loom.", done


CHECKS = [check_models, check_answer, check_context, check_stream, check_failures, check_person, check_client_that_leaves,
          check_roles]

"""Answers that are objects: `response_format` and `text.format`, by the helpers of the official package and of LangChain."""

import json

import openai
from chat_checks import expect_error, user
from langchain_checks import model
from pydantic import BaseModel

THINKER = "updraft/thinker"


class Thing(BaseModel):
    name: str
    uses: list[str]


LOOM = Thing(name="loom", uses=["cloth"])


def check_chat(world):
    chat = world.client().chat.completions
    parsed = chat.parse(model=THINKER, messages=[user("Describe it")], response_format=Thing)
    # The model has put a fence around it; the content is plain JSON.
    assert parsed.choices[0].message.parsed == LOOM and json.loads(parsed.choices[0].message.content) == LOOM.model_dump(), parsed
    goal = world.goal(parsed.id.removeprefix("chatcmpl-"))
    assert goal["asked"] == "Describe it" and "JSON Schema" in goal["text"], goal
    with chat.stream(model=THINKER, messages=[user("Describe it")], response_format=Thing) as stream:
        assert stream.get_final_completion().choices[0].message.parsed == LOOM
    any_object = chat.create(model=THINKER, messages=[user("Describe it")], response_format={"type": "json_object"})
    assert json.loads(any_object.choices[0].message.content) == LOOM.model_dump(), any_object


def check_responses(world):
    responses = world.client().responses
    parsed = responses.parse(model=THINKER, input="Describe it", text_format=Thing)
    assert parsed.output_parsed == LOOM and parsed.text.format.type == "json_schema", parsed
    assert responses.retrieve(parsed.id).output_text == parsed.output_text
    # A follow-up has the form that it asks for itself.
    more = responses.create(model=THINKER, input="What is it?", previous_response_id=parsed.id)
    assert more.output_text == "A loom." and more.text.format.type == "text", more


def check_misfits(world):
    """What does not fit is sent back once, and then the run has failed: no other form is ever given."""
    chat = world.client().chat.completions
    expect_error(openai.InternalServerError, "run_failed",
                 lambda: chat.create(model=THINKER, messages=[user("What is it?")], response_format={"type": "json_object"}))
    expect_error(openai.BadRequestError, "unsupported_parameter",
                 lambda: chat.create(model="updraft", messages=[user("Describe it")], response_format={"type": "json_object"}))
    listed = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "array"}}}
    expect_error(openai.BadRequestError, "invalid_value",
                 lambda: chat.create(model=THINKER, messages=[user("Describe it")], response_format=listed))


def check_langchain(world):
    for through in ({}, {"use_responses_api": True}):
        said = model(world, **through).with_structured_output(Thing, method="json_schema").invoke("Describe it")
        assert said == LOOM, said


CHECKS = [check_chat, check_responses, check_misfits, check_langchain]

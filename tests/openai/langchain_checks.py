"""LangChain's client: chat and responses, streamed and not, with messages before and usage."""

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from world import LONG


def model(world, **more):
    options = {"model": "updraft/thinker", "base_url": f"{world.origin}/v1", "api_key": world.token, "max_retries": 0}
    return ChatOpenAI(**options, http_client=world.http(), **more)


def check_chat(world):
    talk = [SystemMessage("Be brief."), HumanMessage("My name is Alice."), AIMessage("Hello."), HumanMessage("What is my name?")]
    said = model(world).invoke(talk)
    run = said.response_metadata["id"].removeprefix("chatcmpl-")
    assert world.earlier(run) == [("user", "My name is Alice."), ("assistant", "Hello.")], said
    said = model(world).invoke("What is it?")
    assert said.content == "A loom." and said.usage_metadata["total_tokens"] == 25, said
    chunks = list(model(world, stream_usage=True).stream("Tell me much"))
    assert "".join(chunk.content for chunk in chunks) == LONG and len(chunks) > 3, chunks
    assert sum(chunk.usage_metadata["total_tokens"] for chunk in chunks if chunk.usage_metadata) == 130, chunks


def check_responses(world):
    through = model(world, use_responses_api=True)
    said = through.invoke("What is it?")
    assert said.text == "A loom." and said.usage_metadata["total_tokens"] == 25, said
    assert "".join(chunk.text for chunk in through.stream("Tell me much")) == LONG
    first = through.invoke("My name is Bob.")
    follow = model(world, use_responses_api=True, use_previous_response_id=True)
    second = follow.invoke([first, HumanMessage("What is my name?")])
    run = second.response_metadata["id"].removeprefix("resp_")
    assert world.earlier(run) == [("user", "My name is Bob."), ("assistant", "A loom.")], second


CHECKS = [check_chat, check_responses]

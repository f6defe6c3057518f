"""The official clients in the two turns of the conversation, each told to think and given the tool."""

import json
import os
import warnings
from dataclasses import dataclass

from .bodies import PARAMETERS

QUESTION = "What is in a and b?"
NAME, DESCRIPTION = "read_file", "Reads a file."
FUNCTION = {"name": NAME, "description": DESCRIPTION, "parameters": PARAMETERS}


@dataclass
class Heard:
    """What a client made of one answer."""

    thinking: str
    text: str
    calls: list
    spent: tuple


def spent(usage, tells_details):
    """Tokens as `Heard` has them; a dialect without details tells none cached and none thought."""
    details = (usage.cached, usage.reasoning) if tells_details else (0, 0)
    return (usage.input, usage.output, *details)


def openai(address, results):
    from openai import OpenAI

    client = OpenAI(base_url=f"{address}/v1", api_key="k", max_retries=0)
    messages = [{"role": "user", "content": QUESTION}]
    heard = []
    for _ in range(2):
        stream = client.chat.completions.create(
            model="gpt-5",
            messages=messages,
            tools=[{"type": "function", "function": FUNCTION}],
            reasoning_effort="low",
            stream=True,
            stream_options={"include_usage": True},
        )
        text, thinking, calls, usage = "", "", {}, None
        for chunk in stream:
            usage = chunk.usage or usage
            for choice in chunk.choices:
                text += choice.delta.content or ""
                thinking += getattr(choice.delta, "reasoning_content", "")
                for part in choice.delta.tool_calls or []:
                    call = calls.setdefault(part.index, {"type": "function", "function": {"name": "", "arguments": ""}})
                    call["id"] = part.id or call["id"]
                    call["function"]["name"] += part.function.name or ""
                    call["function"]["arguments"] += part.function.arguments
        functions = [call["function"] for call in calls.values()]
        made = [(function["name"], json.loads(function["arguments"])) for function in functions]
        details = usage.prompt_tokens_details.cached_tokens, usage.completion_tokens_details.reasoning_tokens
        heard.append(Heard(thinking, text, made, (usage.prompt_tokens, usage.completion_tokens, *details)))
        messages.append({"role": "assistant", "content": text, "tool_calls": list(calls.values())})
        for call, result in zip(calls.values(), results):
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    return heard


def responses(address, results):
    from openai import OpenAI

    client = OpenAI(base_url=f"{address}/v1", api_key="k", max_retries=0)
    items = [{"role": "user", "content": QUESTION}]
    heard = []
    for _ in range(2):
        asked = {
            "model": "gpt-5",
            "input": items,
            "tools": [{"type": "function", "strict": True, **FUNCTION}],
            "reasoning": {"effort": "low", "summary": "auto"},
            "include": ["reasoning.encrypted_content"],
            "store": False,
        }
        with client.responses.stream(**asked) as stream:
            deltas = {"response.output_text.delta": "", "response.reasoning_summary_text.delta": ""}
            for event in stream:
                if event.type in deltas:
                    deltas[event.type] += event.delta
            response = stream.get_final_response()
        text, thinking = deltas.values()
        assert text == response.output_text
        calls = [item for item in response.output if item.type == "function_call"]
        usage = response.usage
        details = usage.input_tokens_details.cached_tokens, usage.output_tokens_details.reasoning_tokens
        made = [(call.name, json.loads(call.arguments)) for call in calls]
        heard.append(Heard(thinking, text, made, (usage.input_tokens, usage.output_tokens, *details)))
        items += [item.model_dump(exclude={"parsed_arguments"}, exclude_none=True) for item in response.output]
        for item in items:
            for part in item["content"] if item.get("type") == "message" else []:
                part.pop("parsed", None)
        for call, result in zip(calls, results):
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": result})
    return heard


def anthropic(address, results):
    from anthropic import Anthropic

    client = Anthropic(base_url=address, api_key="k", max_retries=0)
    messages = [{"role": "user", "content": QUESTION}]
    heard = []
    for _ in range(2):
        asked = {
            "model": "claude-sonnet-4-5",
            "max_tokens": 4096,
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "tools": [{"name": NAME, "description": DESCRIPTION, "input_schema": PARAMETERS}],
            "messages": messages,
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the age of the model's name
            with client.messages.stream(**asked) as stream:
                message = stream.get_final_message()
        blocks = {kind: [b for b in message.content if b.type == kind] for kind in ("thinking", "text", "tool_use")}
        text = "".join(block.text for block in blocks["text"])
        thinking = "".join(block.thinking for block in blocks["thinking"])
        usage = message.usage
        read = usage.cache_read_input_tokens
        counted = (usage.input_tokens + read, usage.output_tokens, read, usage.output_tokens_details.thinking_tokens)
        heard.append(Heard(thinking, text, [(call.name, call.input) for call in blocks["tool_use"]], counted))
        content = [block.model_dump(exclude_none=True, exclude={"parsed_output"}) for block in message.content]
        messages.append({"role": "assistant", "content": content})
        answers = [
            {"type": "tool_result", "tool_use_id": call.id, "content": result}
            for call, result in zip(blocks["tool_use"], results)
        ]
        messages.append({"role": "user", "content": answers})
    return heard


def gemini(address, results):
    os.environ.pop("GOOGLE_API_KEY", None)
    from google import genai
    from google.genai import types

    client = genai.Client(api_key="k", vertexai=False, http_options={"base_url": address})
    declared = types.FunctionDeclaration(name=NAME, description=DESCRIPTION, parameters_json_schema=PARAMETERS)
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[declared])],
        thinking_config=types.ThinkingConfig(include_thoughts=True),
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    contents = [types.Content(role="user", parts=[types.Part(text=QUESTION)])]
    heard = []
    for _ in range(2):
        parts, usage = [], None
        for chunk in client.models.generate_content_stream(model="gemini-3", contents=contents, config=config):
            parts += chunk.candidates[0].content.parts
            usage = chunk.usage_metadata or usage
        text = "".join(part.text for part in parts if part.text and not part.thought)
        thinking = "".join(part.text for part in parts if part.text and part.thought)
        calls = [part.function_call for part in parts if part.function_call]
        output = usage.candidates_token_count + usage.thoughts_token_count
        cached = usage.cached_content_token_count or 0
        counted = (usage.prompt_token_count, output, cached, usage.thoughts_token_count)
        heard.append(Heard(thinking, text, [(call.name, call.args) for call in calls], counted))
        contents.append(types.Content(role="model", parts=parts))
        answers = [
            types.Part.from_function_response(name=call.name, response={"output": result})
            for call, result in zip(calls, results)
        ]
        contents.append(types.Content(role="user", parts=answers))
    return heard


def ollama(address, results):
    from ollama import Client

    client = Client(host=address)
    messages = [{"role": "user", "content": QUESTION}]
    heard = []
    for _ in range(2):
        tools = [{"type": "function", "function": FUNCTION}]
        text, thinking, calls = "", "", []
        for chunk in client.chat(model="qwen3", messages=messages, tools=tools, stream=True, think=True):
            text += chunk.message.content or ""
            thinking += chunk.message.thinking or ""
            calls += chunk.message.tool_calls or []
        assert chunk.done and chunk.done_reason == "stop"
        made = [(call.function.name, dict(call.function.arguments)) for call in calls]
        heard.append(Heard(thinking, text, made, (chunk.prompt_eval_count, chunk.eval_count, 0, 0)))
        messages.append({"role": "assistant", "content": text, "thinking": thinking, "tool_calls": calls})
        messages += [
            {"role": "tool", "tool_name": call.function.name, "content": result} for call, result in zip(calls, results)
        ]
    return heard


CLIENTS = {"openai": openai, "responses": responses, "anthropic": anthropic, "gemini": gemini, "ollama": ollama}

"""Right tool calls of a model on BFCL's prompts, asked directly and through Updraft, by BFCL's own AST check.

    python3 tests/bfcl/measure.py BFCL UPDRAFT ADDRESS [--model smollm2] [--each 50] [--raw-only] [-v]

BFCL is the unpacked wheel of `bfcl-eval` (2026.3.23; it need not be installed), UPDRAFT the program, ADDRESS a server that speaks
OpenAI's chat completions, such as the one that tests/real-model/serve.py starts. Of the kinds `simple` and `multiple`, the first prompts
are taken. Directly, the functions are sent as native tools. Through Updraft, they are the tools of an MCP server (server.py) and the only
ones of an agent; counted is the first call that reaches the server.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import types
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
KINDS = {"simple": "simple_python", "multiple": "multiple"}
AGENT = """---
name: caller
purpose: Calls the function that does what is asked.
tools: [mcp]
turns: 3
---
You are the caller. Call the function that does what the task asks, once, with the values that the task gives. Then say what it returned.
"""


def checker(bfcl):
    """BFCL's check alone: what it imports of its models is replaced by the one fact that it needs."""
    sys.path.insert(0, str(bfcl))
    names = types.ModuleType("bfcl_eval.constants.model_config")
    names.MODEL_CONFIG_MAPPING = {"any": types.SimpleNamespace(underscore_to_dot=True)}
    sys.modules[names.__name__] = names
    for side in ("java", "js"):
        module = types.ModuleType(f"bfcl_eval.eval_checker.ast_eval.type_convertor.{side}_type_converter")
        setattr(module, f"{side}_type_converter", None)
        sys.modules[module.__name__] = module
    module = importlib.import_module("bfcl_eval.eval_checker.ast_eval.ast_checker")
    language = importlib.import_module("bfcl_eval.constants.enums").Language.PYTHON
    return lambda case, calls: module.ast_checker(case["function"], calls, case["answer"], language, case["kind"], "any")["valid"]


def cases(bfcl, kind, count):
    lines = lambda path: [json.loads(line) for line in path.read_text().splitlines()]
    name = f"BFCL_v4_{KINDS[kind]}.json"
    answers = {one["id"]: one["ground_truth"] for one in lines(bfcl / "bfcl_eval/data/possible_answer" / name)}
    for case in lines(bfcl / "bfcl_eval/data" / name)[:count]:
        yield case | {"kind": kind, "answer": answers[case["id"]]}


def plain(name):
    return name.replace(".", "_")


def schema(value):
    """BFCL's types as those of JSON Schema."""
    kinds = {"dict": "object", "float": "number", "tuple": "array"}
    if isinstance(value, list):
        return [schema(one) for one in value]
    if not isinstance(value, dict):
        return value
    value = {key: schema(one) for key, one in value.items()}
    if value.get("type") == "any":
        value.pop("type")
    elif isinstance(value.get("type"), str):
        value["type"] = kinds.get(value["type"], value["type"])
    return value


def tools(case):
    return [
        {"name": plain(one["name"]), "description": one["description"], "parameters": schema(one["parameters"])}
        for one in case["function"]
    ]


def directly(case, args):
    body = {
        "model": args.model,
        "messages": case["question"][0],
        "tools": [{"type": "function", "function": one} for one in tools(case)],
        "max_tokens": 160,
    }
    request = urllib.request.Request(f"{args.address}/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=300) as response:
            message = json.load(response)["choices"][0]["message"]
        called = [one["function"] for one in message.get("tool_calls") or []]
        return [{one["name"]: json.loads(one["arguments"])} for one in called]
    except (OSError, ValueError):
        return []


def through_updraft(case, args, home):
    with tempfile.TemporaryDirectory() as folder:
        workspace, note, told = Path(folder) / "work", Path(folder) / "note", Path(folder) / "tools.json"
        workspace.mkdir()
        note.mkdir()
        told.write_text(json.dumps(tools(case)))
        server = {
            "command": sys.executable,
            "args": [str(HERE / "server.py"), str(told), str(note / "calls")],
            "trustHints": True,
            "sandbox": {"read": [str(HERE), str(told)], "write": [str(note)]},
        }
        environment = os.environ | {
            "UPDRAFT_HOME": str(home),
            "UPDRAFT_MCP_SERVERS": json.dumps([{"name": "f", "transport": "stdio", **server}]),
            "OPENAI_BASE_URL": f"{args.address}/v1",
            "OPENAI_API_KEY": "none",
        }
        command = [args.updraft, "run", "--agent", "caller", "--yes", "--quiet", "--max-calls", "1", "--model", f"openai-compatible/{args.model}"]
        question = case["question"][0][-1]["content"]
        done = subprocess.run([*command, question], cwd=workspace, env=environment, capture_output=True, text=True, timeout=900, stdin=subprocess.DEVNULL)
        if not (note / "calls").exists():
            if args.verbose:
                print(case["id"], "no call:", (done.stdout + done.stderr)[-300:])
            return []
        first = json.loads((note / "calls").read_text().splitlines()[0])
        return [{first["name"]: first["arguments"]}]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bfcl", type=Path)
    parser.add_argument("updraft")
    parser.add_argument("address")
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--each", type=int, default=50)
    parser.add_argument("--raw-only", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    is_right = checker(args.bfcl)
    with tempfile.TemporaryDirectory() as home:
        (Path(home) / "agents").mkdir()
        (Path(home) / "agents/caller.md").write_text(AGENT)
        for kind in KINDS:
            right, named, count, began = {"raw": 0, "updraft": 0}, {"raw": 0, "updraft": 0}, 0, time.monotonic()
            for case in cases(args.bfcl, kind, args.each):
                count += 1
                wanted = plain(next(iter(case["answer"][0])))
                ways = {"raw": directly(case, args)}
                if not args.raw_only:
                    ways["updraft"] = through_updraft(case, args, home)
                for way, calls in ways.items():
                    right[way] += bool(calls) and is_right(case, calls)
                    named[way] += bool(calls) and wanted in calls[0]
                if args.verbose:
                    print(case["id"], wanted, {way: calls for way, calls in ways.items()}, flush=True)
            print(
                f"{kind}: {count} prompts, right calls: raw {right['raw']}, under Updraft {right['updraft']}; "
                f"right function: raw {named['raw']}, under Updraft {named['updraft']}; {time.monotonic() - began:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()

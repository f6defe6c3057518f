"""Has clients of others use /v1: the official Python package, LangChain's, and the cases of Open Responses.

run.py UPDRAFT [--schema FILE] [--only TEXT]

Run by the Python that environment.py prints for requirements.txt; UPDRAFT is the binary. Everything that the server sends is
held against the types of the official package, and against OpenAI's OpenAPI file if it is given (or named by
UPDRAFT_TEST_OPENAI_SCHEMA). No network: models are scripted, everything is on loopback. Ends with 0 only if all went well.
"""

import argparse
import copy
import os
import traceback

import chat_checks
import document_checks
import form_checks
import langchain_checks
import live_checks
import open_responses_checks
import response_checks
import types_judge
from schema_judge import SchemaJudge
from world import served

GROUPS = [chat_checks, response_checks, live_checks, form_checks, langchain_checks, open_responses_checks, document_checks]


def judged(exchanges, judge):
    """How many bodies and events were looked at; every fault is printed."""
    count, faults = 0, 0
    for exchange in exchanges:
        if not exchange.raw:
            continue
        try:
            count += judge(exchange)
        except Exception as fault:  # noqa: BLE001
            faults += 1
            print(f"FAILED {exchange.method} {exchange.path}: {fault}", flush=True)
    return count, faults


def broken(exchange):
    """The same exchange without something that must be there."""
    other = copy.copy(exchange)
    other.raw = exchange.raw.replace(b'"model":', b'"mode":')
    return other


def check_judge(exchanges, judge):
    """A judge that lets everything pass says nothing."""
    answers = [exchange for exchange in exchanges if exchange.raw and exchange.status == 200 and b'"model":' in exchange.raw]
    for exchange in {answer.kind: answer for answer in answers}.values():
        try:
            judge(broken(exchange))
        except Exception:  # noqa: BLE001
            continue
        raise AssertionError(f"a broken answer to {exchange.method} {exchange.path} was not noticed")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("updraft")
    parser.add_argument("--schema", default=os.environ.get("UPDRAFT_TEST_OPENAI_SCHEMA"))
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    failed = 0
    with served(os.path.abspath(args.updraft)) as world:
        for group in GROUPS:
            for check in group.CHECKS:
                name = f"{group.__name__.removesuffix('_checks')}: {check.__name__.removeprefix('check_').replace('_', ' ')}"
                if args.only not in name:
                    continue
                try:
                    check(world)
                    print(f"ok     {name}", flush=True)
                except Exception:  # noqa: BLE001
                    failed += 1
                    print(f"FAILED {name}\n{traceback.format_exc()}", flush=True)
        exchanges = world.recorder.exchanges
    check_judge(exchanges, types_judge.check)
    count, faults = judged(exchanges, types_judge.check)
    print(f"{count} bodies and events fit the types of the official package" if not faults else f"{faults} do not fit")
    failed += faults
    if args.schema:
        judge = SchemaJudge(args.schema).check
        check_judge(exchanges, judge)
        count, faults = judged(exchanges, judge)
        print(f"{count} bodies and events fit OpenAI's OpenAPI file" if not faults else f"{faults} do not fit")
        failed += faults
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()

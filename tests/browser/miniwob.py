#!/usr/bin/env python3
"""How many tasks of MiniWoB++ can be done through the browser's operations alone, by an oracle for each task.

    python3 miniwob.py DRIVER HTML [--seeds N] [--only NAME,…] [-v]

DRIVER is `target/debug/examples/driver` (cargo build -p updraft-browser --example driver); HTML is the folder `html` of
PyPI's `miniwob` 1.1.0. Pages are served on loopback. An oracle sees what `read`, `text` and `screenshot` give and acts by
references and coordinates. JavaScript is used to start an episode and to look at its reward, and for nothing else.
"""

import argparse
import functools
import http.server
import pathlib
import sys
import threading
import time

import oracles_click
import oracles_enter
import oracles_find
import oracles_move
from page import Browser, Failed

START = """() => {
    Math.seedrandom(%r);
    core.EPISODE_MAX_TIME = 100000000;
    for (const name of ['reward-display', 'click-canvas']) document.getElementById(name).style.display = 'none';
    core.startEpisodeReal();
    return true
}"""


def serve(folder):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def episode(browser, port, task, seed, oracle):
    """The reward of one episode, and why it is what it is."""
    browser("open", url=f"http://127.0.0.1:{port}/miniwob/{task}.html")
    browser("evaluate", script=START % f"{task} {seed}")
    browser("events")
    why = ""
    try:
        oracle(browser)
    except (Failed, StopIteration, LookupError, ValueError, TypeError, AttributeError) as error:
        why = f"{type(error).__name__}: {error}"
    for _ in range(20):
        reward, done = browser("evaluate", script="[WOB_RAW_REWARD_GLOBAL, WOB_DONE_GLOBAL]")
        if done:
            return reward, why
        time.sleep(0.05)
    return 0, why or "the episode did not end"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("driver")
    arguments.add_argument("html")
    arguments.add_argument("--seeds", type=int, default=3)
    arguments.add_argument("--only", default="")
    arguments.add_argument("--expect", type=int, help="fail if fewer tasks are done")
    arguments.add_argument("-v", action="store_true")
    arguments = arguments.parse_args()
    oracles = {}
    for module in (oracles_click, oracles_enter, oracles_find, oracles_move):
        oracles.update(module.ORACLES)
    tasks = sorted(file.stem for file in (pathlib.Path(arguments.html) / "miniwob").glob("*.html"))
    if arguments.only:
        tasks = [task for task in tasks if task in arguments.only.split(",")]
    port = serve(arguments.html)
    browser = Browser(arguments.driver, "--grant", f"127.0.0.1:{port}")
    once, always, began = [], [], time.monotonic()
    for task in tasks:
        rewards = []
        for seed in range(arguments.seeds if task in oracles else 0):
            reward, why = episode(browser, port, task, seed, oracles[task])
            rewards.append(reward)
            if arguments.v and reward <= 0:
                print(f"  {task} {seed}: {reward} {why[:300]}", flush=True)
        if any(reward > 0 for reward in rewards):
            once.append(task)
        if rewards and all(reward > 0 for reward in rewards):
            always.append(task)
        else:
            print(f"{task}: {rewards or 'no oracle'}", flush=True)
    browser.close()
    print(f"{len(once)} of {len(tasks)} tasks done, {len(always)} in every one of {arguments.seeds} episodes", end="")
    print(f"; {time.monotonic() - began:.0f} s")
    if arguments.expect and len(once) < arguments.expect:
        sys.exit(f"expected {arguments.expect}")


if __name__ == "__main__":
    main()

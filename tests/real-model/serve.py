"""Serves a model on loopback, on one thread: serve.py MODEL.gguf [TOKENS]

Prints its address once the model answers. Ends when stdin does, so that it never outlives the test that started it.
"""

import os
import sys
import threading
import time
import urllib.error
import urllib.request

import xllamacpp

SECONDS_TO_LOAD = 300
TOKENS = 4096


def main(model, tokens=TOKENS):
    threading.Thread(target=end_with_stdin, daemon=True).start()
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {"smollm2"}
    params.verbosity = 1
    params.n_ctx = int(tokens)
    params.n_parallel = 1
    params.port = 0
    # It takes the likeliest word. No penalty on repeating: it would keep the model from copying a path out of the prompt.
    params.sampling.temp = 0
    params.sampling.penalty_repeat = 1.0
    # Two threads on a busy machine wait for each other, burn twice the time and are slower.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    address = server.listening_address
    if not is_ready_in_time(address):
        print(f"error: the model is not loaded after {SECONDS_TO_LOAD} s", file=sys.stderr)
        os._exit(1)
    print(address, flush=True)
    threading.Event().wait()


def end_with_stdin():
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(0)


def is_ready_in_time(address):
    """While it loads, the server answers every path with 503."""
    deadline = time.monotonic() + SECONDS_TO_LOAD
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=10) as response:
                if response.status == 200:
                    return True
        except (urllib.error.URLError, TimeoutError):
            pass
        time.sleep(0.1)
    return False


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(*sys.argv[1:])

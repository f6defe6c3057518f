"""A run as one HTML file, looked at in a real browser that may not load anything."""

import json
import os
import subprocess
from pathlib import Path

from world import World

HERE = Path(__file__).resolve().parent
HOSTILE = '<script>alert(1)</script><img src="http://127.0.0.1:9/x.png"> ![p](http://127.0.0.1:9/y.png) [l](javascript:alert(1))'


def make(updraft, file, script=None):
    world = World(updraft, **({"script": script} if script else {}))
    run = world.goal(f"Say what the file says {HOSTILE}")
    world.run("export", run, "--html", str(file))
    piped = world.run("export", run, "--format", "html").stdout
    assert piped == file.read_text()
    world.close()
    return run


def check(updraft, folder, chromium, packages):
    file = Path(folder) / "run.html"
    run = make(updraft, file)
    text = file.read_text()
    assert not any(tag in text for tag in ("<script", "<img", "<iframe", "href=\"javascript:"))
    for part in (run, "Say what the file says", "I should read the file first.", "read_file", "<strong>Hello</strong> was said."):
        assert part in text, part
    if not (chromium and packages):
        print("  the file is written (no browser to look at it)")
        return
    node = Path(packages) / "node_modules/node/bin/node"
    environment = os.environ | {"PACKAGES": packages, "CHROMIUM": chromium}
    ran = subprocess.run([node, HERE / "export.mjs", file, folder], env=environment, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    seen = json.loads(ran.stdout)
    assert seen == {"problems": [], "requests": [], "wide": [], "steps": 3}, seen
    print("  the file shows a run in a browser: no script, no request, no fault")

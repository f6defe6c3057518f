"""The logs of runs: made from the journal on demand, or written while a run works; rotated, and removed with the run."""

import json

from world import World

SETTINGS = """
[log]
runs = true
prompts = true
format = "json"
size = "1 KB"
keep = 2
"""


def check(updraft):
    world = World(updraft, settings=SETTINGS)
    run = world.goal()
    folder = world.home / "logs" / run
    files = {file.name for file in folder.iterdir()}
    assert {"general.log", "reasoning.log", "latest_prompt.txt", "general.log.1"} <= files, files
    assert "general.log.3" not in files, files
    assert (folder.stat().st_mode & 0o777, (folder / "general.log").stat().st_mode & 0o777) == (0o700, 0o600)
    lines = [json.loads(line) for line in (folder / "general.log").read_text().splitlines()]
    assert lines[-1]["message"] == "run done" and lines[-1]["status"] == "done", lines[-1]
    reasoning = (folder / "reasoning.log").read_text() + (folder / "reasoning.log.1").read_text()
    assert "I should read the file first." in reasoning

    prompts = sorted(name for name in files if name.endswith("_prompt.txt") and not name.startswith("latest"))
    responses = sorted(name for name in files if name.endswith("_response.txt"))
    assert len(prompts) == len(responses) == 4, files
    assert [name.rsplit("_", 1)[0] for name in prompts] == [name.rsplit("_", 1)[0] for name in responses]
    assert (folder / "latest_prompt.txt").read_text() == (folder / prompts[-1]).read_text()
    assert "Tell it." in (folder / prompts[-1]).read_text() and "**Hello** was said." in (folder / responses[-1]).read_text()

    # The same on demand, whether it was written or not.
    general = world.run("logs", run).stdout.splitlines()
    kinds = [line.split(" ", 1)[1] for line in general]
    assert any(line.startswith("info  call ended") and "tool=read_file" in line for line in kinds), general
    assert any(line.startswith("warn  call failed") for line in kinds), general
    shown = [json.loads(line) for line in world.run("logs", run, "--json").stdout.splitlines()]
    assert shown[-1] == lines[-1]
    assert "I should read the file first." in world.run("logs", "last", "--reasoning").stdout
    for _ in range(2):  # the second time changes nothing
        world.run("logs", run, "--prompts", str(world.root / "out"))
    assert {file.name for file in (world.root / "out").iterdir()} == {*prompts, *responses, "latest_prompt.txt"}

    listed = world.run("prune", "--older-than", "0s", "--dry-run").stdout
    assert str(folder) in listed, listed
    world.run("prune", "--older-than", "0s")
    assert not folder.exists()
    again = world.goal()
    world.run("rm", again)
    assert not (world.home / "logs" / again).exists()
    world.close()

    quiet = World(updraft)
    quiet.goal()
    assert not (quiet.home / "logs").exists(), "nothing is written unless it is wanted"
    quiet.close()
    print("  logs are written, rotated, shown on demand, and removed with their runs")

"""Work that comes back: schedules made, paused, begun at once and removed; recipes listed and run."""

from operations import ok
from world import is_problem

RECIPE = """---
description: Paint something.
parameters:
  what: {type: string, description: What is painted}
  colour: {type: choice, choices: [red, blue], default: red}
agent: researcher
---
Paint {{what}} in {{colour}}.
"""


def schedules(world):
    wanted = {"name": "daily", "cron": "0 7 * * *", "zone": "UTC", "goal": "Paint it", "agent": "researcher"}
    made = ok(world.send("POST", "/schedules", wanted), 201)
    assert (made["name"], made["when"], made["work"], len(made["next"])) == ("daily", "0 7 * * *", "Paint it", 3), made
    assert made["next"][0].split("T")[1].startswith("07:00"), made
    assert ok(world.send("GET", "/schedules")) == [made]
    assert world.send("POST", "/schedules", {"name": "daily", "every_seconds": 3600, "goal": "Paint it"}).status == 409
    timed = {"cron": "0 7 * * *"}
    wrong = [{"cron": "x", "goal": "Paint it"}, {"goal": "Paint it"}, {"every_seconds": 60}, {**timed, "recipe": "../../notes.md"},
             {**timed, "goal": "Paint it", "agent": "nobody"}, {**timed, "goal": "Paint it", "zone": "Mars/Base"}]
    for body in wrong:
        refused = world.send("POST", "/schedules", body)
        assert refused.status == 409 and is_problem(refused), (body, refused.status, refused.body)
    assert ok(world.send("POST", "/schedules/daily/pause"))["paused"]
    # What a person wants now begins although it is paused.
    run = ok(world.send("POST", "/schedules/daily/run"), 202)["id"]
    assert world.until(run, "done")["goal"] == "Paint it"
    resumed = ok(world.send("POST", "/schedules/daily/resume"))
    assert not resumed["paused"] and resumed["next"], resumed
    ok(world.send("DELETE", "/schedules/daily"), 204)
    assert world.send("DELETE", "/schedules/daily").status == 404 and ok(world.send("GET", "/schedules")) == []


def recipes(world):
    (world.home / "updraft/recipes").mkdir()
    (world.home / "updraft/recipes/paint.md").write_text(RECIPE)
    [listed] = ok(world.send("GET", "/recipes"))
    assert (listed["name"], listed["fault"]) == ("paint", None), listed
    assert [(own["name"], own["required"]) for own in listed["parameters"]] == [("what", True), ("colour", False)], listed
    before = ok(world.send("GET", "/runs"))["all"]
    refused = world.send("POST", "/recipes/paint/run", {"parameters": {"colour": "green"}})
    assert refused.status == 409 and "what" in refused.json()["detail"] and "colour" in refused.json()["detail"], refused.body
    assert ok(world.send("GET", "/runs"))["all"] == before, "nothing was started"
    body, key = {"parameters": {"what": "the door"}}, {"Idempotency-Key": "recipe-1"}
    runs = [ok(world.send("POST", "/recipes/paint/run", body, headers=key), 201)["id"] for _ in range(2)]
    assert runs[0] == runs[1] and world.until(runs[0], "done")["goal"] == "Paint the door in red.", runs
    assert world.send("POST", "/recipes/nothing/run", body).status == 404


def check(world):
    schedules(world)
    recipes(world)

"""Every kind of operation once, as a program uses it: a plan changed, runs copied, compared, exported, undone and removed; files,
memories, knowledge, tools; events over a WebSocket."""

import base64
import json
import os
import socket
import struct

from world import SECONDS, is_problem


def ok(answer, status=200):
    assert answer.status == status, (answer.status, answer.body)
    return answer.json() if answer.body else None


def plans(world):
    """A plan is read, replaced and carried out."""
    run = world.run({"goal": "Weave it", "plan_first": True})
    waits = world.until(run, "waiting")["waits"]
    assert waits[0]["kind"] == "approval", waits
    shown = ok(world.send("GET", f"/runs/{run}/plan"))
    assert shown["approval"] == waits[0]["id"] and [step["id"] for step in shown["plan"]["steps"]] == ["warp", "weft"], shown
    wrong = world.send("PUT", f"/runs/{run}/plan", {"steps": [{"id": "a", "agent": "nobody", "prompt": "x"}]})
    assert wrong.status == 409 and is_problem(wrong) and "nobody" in wrong.json()["detail"], wrong.body
    changed = {"steps": [step for step in shown["plan"]["steps"] if step["id"] == "warp"]}
    ok(world.send("PUT", f"/runs/{run}/plan", changed))
    assert world.until(run, "done")["steps"] >= 1
    report = ok(world.send("GET", f"/runs/{run}/export?format=report"))
    assert "weft" not in json.dumps(report.get("steps", report)), report
    assert world.send("GET", f"/runs/{run}/plan").status == 404


def copies(world):
    """A run writes a file; it is compared with its repetition, exported, undone and removed."""
    run = world.run({"goal": "Please write the file", "agent": "coder"})
    world.until(run, "done")
    assert (world.work / "made.txt").read_text() == "hello\n"
    again = ok(world.send("POST", f"/runs/{run}/rerun", {"steps": ["coder"]}), 201)["id"]
    world.until(again, "done")
    diff = ok(world.send("GET", f"/runs/{run}/diff/{again}"))
    assert diff["same_answer"], diff
    events = ok(world.send("GET", f"/runs/{run}/events?limit=1000"))["events"]
    lines = world.send("GET", f"/runs/{run}/export").body.decode().splitlines()
    assert len(lines) > 1 and all(json.loads(line) for line in lines)
    graph = ok(world.send("GET", f"/runs/{run}/export?format=node-link"))
    assert graph["nodes"], graph
    page = world.send("GET", f"/runs/{run}/export?format=html")
    assert page.headers["content-type"].startswith("text/html") and b"Please write the file" in page.body
    copy = ok(world.send("POST", f"/runs/{run}/fork", {"at": len(events) // 2, "goal": "Please write the file again"}), 201)["id"]
    assert world.until(copy, "done")["goal"].endswith("again")
    changed = ok(world.send("GET", f"/runs/{run}/changes"))["files"]
    assert [(file["path"], file["change"], file["before"]) for file in changed] == [("made.txt", "created", None)], changed
    accounts(world, run, lines)
    for one in (again, run):
        planned = ok(world.send("POST", f"/runs/{one}/undo", {"dry_run": True, "force": True}))
        assert "plan" in planned, planned
        ok(world.send("POST", f"/runs/{one}/undo", {"force": True}))
    assert not (world.work / "made.txt").exists()
    ok(world.send("POST", f"/runs/{run}/undo", {"redo": True}))
    assert (world.work / "made.txt").exists()
    ok(world.send("DELETE", f"/runs/{again}"), 204)
    assert world.send("GET", f"/runs/{again}").status == 404


def accounts(world, run, lines):
    """Its logs, what its call touched, its decisions again; the same run from its file."""
    log = ok(world.send("GET", f"/runs/{run}/logs?limit=1000"))
    assert [log["lines"][0]["message"], log["lines"][-1]["message"]] == ["run started", "run done"], log
    text = world.send("GET", f"/runs/{run}/logs?log=reasoning&format=text&last=1").body.decode()
    assert "Painted." in text, text
    [call] = ok(world.send("GET", f"/runs/{run}/audit"))["items"]
    assert call["tool"] == "write_file" and call["changes"][0]["path"] == "made.txt", call
    assert ok(world.send("GET", f"/runs/{run}/replay"))["same"]
    body = "\n".join(lines).encode()
    made = world.send("POST", "/import?id=from-a-file", headers={"Content-Type": "application/jsonl"}, raw=body)
    assert ok(made, 201) == {"id": "from-a-file", "next": "nothing", "notes": []}, made.body
    assert made.headers["location"] == "/api/v1/runs/from-a-file"
    same = [ok(world.send("GET", f"/runs/{one}"))["answer"] for one in (run, "from-a-file")]
    assert same[0] == same[1] and ok(world.send("GET", "/runs/from-a-file/replay"))["same"], same
    for detail in ("messages", "context", "sources", "proof", "prompts"):
        shown = ok(world.send("GET", f"/runs/{run}/details/{detail}"))
        assert shown["all"] == len(shown["items"]), shown
    assert any(one["agent"] == "coder" for one in ok(world.send("GET", "/stats"))["agents"])
    gone = ok(world.send("POST", "/prune", {"older_than_seconds": 0, "dry_run": True}))["runs"]
    assert run in gone and "from-a-file" in gone, gone
    assert ok(world.send("POST", "/prune", {"older_than_seconds": 3600}))["runs"] == []


def surroundings(world):
    """Files, memories, knowledge, agents, tools, models."""
    body = b'--b\r\nContent-Disposition: form-data; name="files"; filename="../../up.txt"\r\n\r\nwool\r\n--b--\r\n'
    kind = {"Content-Type": "multipart/form-data; boundary=b"}
    assert ok(world.send("POST", "/files", headers=kind, raw=body), 201) == {"paths": ["uploads/up.txt"]}
    assert ok(world.send("POST", "/files", headers=kind, raw=body), 201) == {"paths": ["uploads/up-2.txt"]}
    run = world.run({"goal": "Paint it", "agent": "clarification", "files": ["uploads/up.txt"]})
    world.until(run, "waiting")
    assert ok(world.send("POST", f"/runs/{run}/files", headers=kind, raw=body), 201) == {"paths": ["uploads/up-3.txt"]}
    told = [event for event in ok(world.send("GET", f"/runs/{run}/events?limit=1000"))["events"] if event["type"] == "told"]
    assert "uploads/up-3.txt" in json.dumps(told), told
    ok(world.send("POST", f"/runs/{run}/cancel"))
    assert world.send("POST", f"/runs/{run}/files", headers=kind, raw=body).status == 409

    ok(world.send("POST", "/memory", {"text": "The dye is blue.", "pinned": True}), 204)
    memory = ok(world.send("GET", "/memory"))[0]
    assert memory["text"] == "The dye is blue." and memory["pinned"], memory
    ok(world.send("PUT", f"/memory/{memory['id']}", {"text": "The dye is red."}), 204)
    assert ok(world.send("GET", "/memory"))[0]["text"] == "The dye is red."
    ok(world.send("DELETE", f"/memory/{memory['id']}"), 204)
    assert ok(world.send("GET", "/memory")) == []

    found = ok(world.send("GET", "/knowledge/search?query=what+weaves+cloth"))
    assert found[0]["path"] == "notes.md", found
    assert any(entry["path"] == "notes.md" for entry in ok(world.send("GET", "/knowledge/documents")))
    assert any(agent["name"] == "researcher" for agent in ok(world.send("GET", "/agents")))
    assert any(tool["name"] == "read_file" for tool in ok(world.send("GET", "/tools")))
    assert "weaves" in ok(world.send("POST", "/tools/read_file", {"path": "notes.md"}))["text"]
    assert world.send("POST", "/tools/read_file", {"path": "../script.json"}).status == 409, "it is outside of the workspace"
    assert ok(world.send("GET", "/models"))["usual"].startswith("scripted/")
    assert ok(world.send("GET", "/doctor")) and ok(world.send("GET", "/webhooks")) == []


def frames(connection):
    """The messages of a WebSocket until it is closed, and the code of the end."""
    def read(count):
        data = b""
        while len(data) < count:
            part = connection.recv(count - len(data))
            assert part, "the connection ended without a close frame"
            data += part
        return data

    found = []
    while True:
        first, length = read(2)
        if length == 126:
            length = struct.unpack(">H", read(2))[0]
        elif length == 127:
            length = struct.unpack(">Q", read(8))[0]
        data = read(length)
        if first & 15 == 8:
            return found, struct.unpack(">H", data[:2])[0]
        if first & 15 == 1:
            found.append(json.loads(data))


def websocket(world):
    """The events of a run over a WebSocket, from the middle on."""
    run = world.run({"goal": "Paint it", "agent": "researcher"})
    key = base64.b64encode(os.urandom(16)).decode()
    with socket.create_connection(("127.0.0.1", world.port), timeout=SECONDS) as connection:
        connection.sendall((f"GET /api/v1/runs/{run}/socket?after=2 HTTP/1.1\r\nHost: 127.0.0.1:{world.port}\r\n"
                            f"Authorization: Bearer {world.token}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n").encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += connection.recv(1)
        assert b" 101 " in head, head
        found, code = frames(connection)
    stored = ok(world.send("GET", f"/runs/{run}/events?limit=1000"))["events"]
    assert (found, code) == (stored[2:], 1000), (len(found), len(stored), code)
    assert world.send("GET", f"/runs/{run}/socket").status == 426


def check(world):
    for part in (plans, copies, surroundings, websocket):
        part(world)

"""What must outlive kill -9 of the server: the place in a stream, the runs of keys, and messages to other servers."""

import base64
import hashlib
import hmac
import http.client
import http.server
import json
import threading
import time

from world import SECONDS, is_problem

SECRET = b"a secret of twenty-four b"
SECRET_TEXT = "whsec_" + base64.b64encode(SECRET).decode()


def events(world, run, after=None, most=None):
    """The events of a stream: number, type, data; all, or the first few."""
    connection = http.client.HTTPConnection("127.0.0.1", world.port, timeout=SECONDS)
    headers = {"Authorization": f"Bearer {world.token}"}
    if after is not None:
        headers["Last-Event-ID"] = str(after)
    connection.request("GET", f"/api/v1/runs/{run}/stream", headers=headers)
    answer = connection.getresponse()
    if answer.status == 204:
        return []
    assert answer.status == 200 and answer.headers["content-type"] == "text/event-stream", answer.status
    found, current = [], {}
    while most is None or len(found) < most:
        try:
            line = answer.readline().decode().rstrip("\n")
        except (ConnectionError, http.client.HTTPException):
            break
        if not line and not answer.isclosed():
            if "id" in current:
                found.append((int(current["id"]), current["event"], json.loads(current["data"])))
            current = {}
        elif not line:
            break
        elif not line.startswith(":"):
            name, value = line.split(": ", 1)
            current[name] = value
    connection.close()
    return found


def stream(world):
    """A client that is cut off again and again, once by kill -9, sees each event once and in order."""
    run = world.run({"goal": "Paint it", "agent": "clarification"})
    seen = events(world, run, most=2)
    world.kill()
    world.start()
    waiting = world.until(run, "waiting")
    while seen[-1][0] < 5:
        seen += events(world, run, after=seen[-1][0], most=1)
    world.send("POST", f"/runs/{run}/answer", {"question": waiting["waits"][0]["id"], "text": "red"})
    world.until(run, "done")
    seen += events(world, run, after=seen[-1][0])
    stored = world.send("GET", f"/runs/{run}/events?limit=1000").json()["events"]
    assert [number for number, _, _ in seen] == list(range(1, len(stored) + 1)), [number for number, _, _ in seen]
    assert [data for _, _, data in seen] == stored
    assert all(kind == data["type"] for _, kind, data in seen)
    assert events(world, run, after=seen[-1][0]) == [], "there is nothing after the end"
    refused = world.send("GET", f"/runs/{run}/stream", headers={"Last-Event-ID": "x"})
    assert refused.status == 400 and is_problem(refused)


def keys(world):
    """The same key leads to the same run, also after kill -9; with another body it is refused."""
    goal, key = {"goal": "Paint it", "agent": "researcher"}, {"Idempotency-Key": "order-1"}
    first = world.run(goal, headers=key)
    assert world.run(goal, headers=key) == first
    assert world.run(goal, headers={"Idempotency-Key": "order-2"}) != first
    found = [None] * 8

    def start(n):
        found[n] = world.run(goal, headers={"Idempotency-Key": "order-3"})

    threads = [threading.Thread(target=start, args=(n,)) for n in range(len(found))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1 and found[0] != first, found
    world.kill()
    world.start()
    assert world.run(goal, headers=key) == first
    # A request that was refused has not used its key up.
    fresh = {"Idempotency-Key": "order-4"}
    refused = world.send("POST", "/runs", {**goal, "agent": "nobody"}, headers=fresh)
    assert refused.status == 409, refused.body
    mended = world.run(goal, headers=fresh)
    assert world.run(goal, headers=fresh) == mended
    assert world.send("POST", "/runs", {**goal, "agent": "nobody"}, headers=fresh).status == 422
    other = world.send("POST", "/runs", {"goal": "Paint something else"}, headers=key)
    assert other.status == 422 and is_problem(other), (other.status, other.body)
    user = world.user("steer")
    assert world.run(goal, token=user, headers=key) != first, "a key belongs to whoever made it"
    world.until(first, "done")
    at = len(world.send("GET", f"/runs/{first}/events?limit=1000").json()["events"]) // 2
    fork = {"at": at, "message": "In blue"}
    copies = [world.send("POST", f"/runs/{first}/fork", fork, headers={"Idempotency-Key": "copy-1"}) for _ in range(2)]
    assert [copy.status for copy in copies] == [201, 201], [copy.body for copy in copies]
    assert copies[0].json() == copies[1].json(), [copy.json() for copy in copies]
    world.send("DELETE", "/users/a-steer")
    other = world.beside().start()
    try:
        two_servers(world, other, goal)
        messages(world, other)
    finally:
        other.close()


def at_once(servers, request):
    """The answers to the same request at all of these servers in the same moment."""
    found = []
    threads = [threading.Thread(target=lambda one=one: found.append(request(one))) for one in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == len(servers), "a request was not answered"
    return found


def two_servers(world, other, goal):
    """The same key at two servers: one run, and whoever comes second is told to ask again."""
    for n in range(8):
        key = {"Idempotency-Key": f"both-{n}"}
        found = at_once((world, other) * 2, lambda one: one.send("POST", "/runs", goal, headers=key))
        assert {answer.status for answer in found} <= {201, 409}, [(answer.status, answer.body) for answer in found]
        assert all(answer.status == 201 or is_problem(answer) for answer in found)
        runs = {answer.json()["id"] for answer in found if answer.status == 201}
        assert runs == {one.run(goal, headers=key) for one in (world, other)} and len(runs) == 1, runs


def messages(world, other):
    """A message with a key is told once, also by two servers at the same moment, and after kill -9."""
    run, key = world.run({"goal": "Paint it", "agent": "clarification"}), {"Idempotency-Key": "tell-1"}
    world.until(run, "waiting")
    told = lambda: [event for event in world.send("GET", f"/runs/{run}/events?limit=1000").json()["events"] if event["type"] == "told"]
    tell = lambda one: one.send("POST", f"/runs/{run}/tell", {"message": "In blue"}, headers=key)
    found = at_once((world, other) * 2, tell)
    statuses = {answer.status for answer in found}
    assert 200 in statuses and statuses <= {200, 409}, [(answer.status, answer.body) for answer in found]
    world.kill()
    world.start()
    assert tell(world).status == 200 and len(told()) == 1, told()
    refused = world.send("POST", f"/runs/{run}/tell", {"message": "In red"}, headers=key)
    assert refused.status == 422 and is_problem(refused), refused.body


class Receiver(http.server.BaseHTTPRequestHandler):
    """Takes messages, if their signature is right."""

    def do_POST(self):  # noqa: N802
        body = self.rfile.read(int(self.headers["content-length"]))
        id, at, sent = (self.headers[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
        right = base64.b64encode(hmac.new(SECRET, f"{id}.{at}.".encode() + body, hashlib.sha256).digest()).decode()
        is_right = sent == f"v1,{right}" and abs(time.time() - int(at)) < 300
        refuses = self.server.refusals > 0
        self.server.refusals -= refuses
        if is_right and not refuses:
            self.server.taken.append((id, json.loads(body)))
        self.send_response(503 if refuses else 204 if is_right else 400)
        self.end_headers()

    def log_message(self, *_):
        pass


def receiver(port=0, taken=None, refusals=0):
    server = http.server.HTTPServer(("127.0.0.1", port), Receiver)
    server.taken, server.refusals = [] if taken is None else taken, refusals
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def settings(port):
    return f'[[webhooks]]\nurl = "http://127.0.0.1:{port}/hook"\nsecret_env = "HOOK_SECRET"\n'


def webhooks(world, port):
    """A receiver that is down for a while gets each message once, in order and signed, over kill -9 of the server."""
    expected = []

    def paint(by=world):
        run = by.run({"goal": "Paint it", "agent": "clarification"})
        waits = by.until(run, "waiting")["waits"]
        expected.append(("run.needs_person", run))
        by.send("POST", f"/runs/{run}/answer", {"question": waits[0]["id"], "text": "red"})
        by.until(run, "done")
        expected.append(("run.ended", run))

    # The receiver is down, the server is killed twice, and the receiver refuses at first.
    paint()
    world.kill()
    world.start()
    paint()
    # All that wait are counted, also those behind the first.
    hook = until(lambda: [hook for hook in world.send("GET", "/webhooks").json() if hook["waiting"] == 4])[0]
    assert hook["sends"] and hook["last_failure"], hook
    world.kill()
    taken = []
    up = receiver(port, taken, refusals=2)
    world.start()
    until(lambda: len(taken) >= 4)
    # It goes down again, and comes back while the server goes on.
    up.shutdown()
    up.server_close()
    paint()
    up = receiver(port, taken)
    until(lambda: len(taken) >= 6)
    # What was taken in the very moment of a kill would come again, with the same id.
    until(lambda: world.send("GET", "/webhooks").json()[0]["waiting"] == 0)
    world.kill()
    world.start()
    paint()
    until(lambda: len(taken) >= 8)
    # Of two servers one sends, and the other when the first is gone.
    second = world.beside().start()
    assert [by.send("GET", "/webhooks").json()[0]["sends"] for by in (world, second)] == [True, False]
    paint(second)
    paint()
    until(lambda: len(taken) >= 12)
    until(lambda: world.send("GET", "/webhooks").json()[0]["waiting"] == 0)
    world.kill()
    paint(second)
    until(lambda: len(taken) >= 14)
    second.close()
    up.shutdown()
    up.server_close()
    assert [(body["type"], body["data"]["run"]) for _, body in taken] == expected, (taken, expected)
    assert len({id for id, _ in taken}) == len(taken), "each has an id of its own"
    ended = taken[1][1]["data"]
    assert (ended["status"], ended["answer"], ended["goal"]) == ("done", "Painted.", "Paint it"), ended
    assert taken[0][1]["data"]["wait"]["text"] == "Which colour?", taken[0]


def until(is_so):
    for _ in range(SECONDS * 20):
        if found := is_so():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen in time")

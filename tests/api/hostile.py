"""Hostile requests to every operation of the document: lesser roles, no token, wrong types, other paths, huge and slow
bodies. Each is refused with problem details, and the server goes on with little memory."""

import socket
import threading
import time

from world import ROLES, is_problem

GIGABYTE = 1 << 30
# How much more memory the server may need than before: what it reads of a body is bounded.
MORE_MEMORY = 200 << 20
PATHS = ["..%2f..%2f..%2fetc%2fpasswd", "..", "%2e%2e", "%00", "%ff%fe", "a" * 5000, "x;y", "%0d%0aX:%20y"]


def filled(path, value):
    """A path with this in place of its parameters."""
    parts = [value if part.startswith("{") else part for part in path.split("/")]
    return "/".join(parts)


def bodies(operation):
    return list(operation.get("requestBody", {}).get("content", {}))


def roles(world, operations):
    """Each token may do what its role says and no more."""
    tokens = {role: world.user(role) for role in ROLES}
    for method, path, operation in operations:
        needed = operation["x-role"]
        for role, token in tokens.items():
            body = {} if bodies(operation) == ["application/json"] else None
            # Whoever may do it is told that there is no such thing, or that the body does not fit.
            answer = world.send(method, filled(path, "nobody"), body, token)
            is_refused = ROLES.index(role) < ROLES.index(needed)
            assert (answer.status == 403) == is_refused, (method, path, role, answer.status, answer.body)
            assert not is_refused or is_problem(answer), (method, path, answer.body)
        for wrong in ("", "x", tokens["see"][:-1]):
            answer = world.send(method, filled(path, "nobody"), None, None, {"Authorization": f"Bearer {wrong}"})
            assert answer.status == 401 and is_problem(answer), (method, path, answer.status)


def malformed(world, operations):
    """Other methods, paths that lead elsewhere, bodies of another type or form."""
    methods = {}
    for method, path, operation in operations:
        methods.setdefault(path, set()).add(method)
        if "{" in path:
            for value in PATHS:
                answer = world.send(method, filled(path, value), {} if bodies(operation) else None)
                assert 400 <= answer.status < 500, (method, path, value, answer.status, answer.body)
        if not bodies(operation):
            continue
        place = filled(path, "nobody")
        wrong = [("text/plain", b"x"), ("application/json", b"{"), ("application/json", b"[]"), ("application/json", b"7"),
                 ("application/json", b'{"\xff": 1}'), ("application/json", b'{"no_such_field_at_all": 1}'),
                 ("application/json", b"[" * 100_000), ("multipart/form-data", b"x"),
                 ("multipart/form-data; boundary=b", b"--b\r\n\r\nx"), ("", b"")]
        for kind, raw in wrong:
            answer = world.send(method, place, headers={"Content-Type": kind} if kind else {}, raw=raw)
            assert 400 <= answer.status < 500 and is_problem(answer), (method, path, kind, raw[:40], answer.status, answer.body)
    for path, known in methods.items():
        for method in {"GET", "POST", "PUT", "DELETE", "PATCH"} - known:
            answer = world.send(method, filled(path, "nobody"))
            assert answer.status == 405 and is_problem(answer) and answer.headers["allow"], (method, path, answer.status)
    answer = world.send("GET", "/no/such/place")
    assert answer.status == 404 and is_problem(answer)


def head(world, method, path, kind, more):
    return (f"{method} /api/v1{path} HTTP/1.1\r\nHost: 127.0.0.1:{world.port}\r\nAuthorization: Bearer {world.token}\r\n"
            f"Content-Type: {kind}\r\n{more}\r\n").encode()


def status_after(connection):
    """The status that a server answers with, or None if it has only closed the connection."""
    connection.settimeout(60)
    said = b""
    try:
        while b"\r\n\r\n" not in said:
            part = connection.recv(4096)
            if not part:
                break
            said += part
    except (ConnectionError, TimeoutError):
        pass
    return int(said.split()[1]) if said else None


def huge(world, operations):
    """A gigabyte, announced or not, to everything that takes a body."""
    before = world.memory()
    for method, path, operation in operations:
        for kind in bodies(operation):
            place = filled(path, "nobody")
            with socket.create_connection(("127.0.0.1", world.port)) as connection:
                connection.sendall(head(world, method, place, kind, f"Content-Length: {GIGABYTE}\r\n"))
                status = status_after(connection)
                assert status in (404, 413), (method, path, status)
    # What does not say its size is read up to the limit and no further.
    boundary = b"--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"x\"\r\n\r\n"
    for path, kind, first in (("/runs", "application/json", b'{"goal": "'), ("/files", "multipart/form-data; boundary=b", boundary)):
        with socket.create_connection(("127.0.0.1", world.port)) as connection:
            connection.sendall(head(world, "POST", path, kind, "Transfer-Encoding: chunked\r\n"))
            connection.sendall(b"%x\r\n%s\r\n" % (len(first), first))
            chunk, sent = b"100000\r\n" + b"x" * (1 << 20) + b"\r\n", 0
            try:
                while sent < GIGABYTE:
                    connection.sendall(chunk)
                    sent += 1 << 20
            except ConnectionError:
                pass
            assert sent < GIGABYTE // 4, f"{path} has taken {sent} bytes"
    grown = world.memory() - before
    assert grown < MORE_MEMORY, f"the server needs {grown >> 20} MB more than before"


def slow(world, operations):
    """Bodies that stop in the middle, at everything that takes one, all at once; others are served meanwhile."""
    ended = {}

    def stall(method, path, kind, more):
        with socket.create_connection(("127.0.0.1", world.port)) as connection:
            connection.sendall(head(world, method, path, kind, "Content-Length: 1000\r\n") + more)
            ended[method, path] = status_after(connection)

    run = world.run({"goal": "Paint it", "agent": "clarification"})
    threads = []
    for method, path, operation in operations:
        for kind in bodies(operation):
            more = b"--b\r\n" if kind.startswith("multipart") else b'{"a":'
            kind = f"{kind}; boundary=b" if kind.startswith("multipart") else kind
            place = filled(path, run)
            threads.append(threading.Thread(target=stall, args=(method, place, kind, more)))
    for thread in threads:
        thread.start()
    assert world.send("GET", "/health").status == 200
    for thread in threads:
        thread.join()
    for (method, path), status in ended.items():
        assert status in (404, 408), (method, path, status)
    world.send("POST", f"/runs/{run}/cancel")


def check(world):
    operations = list(world.operations())
    assert len(operations) > 30, operations
    for part in (malformed, roles, huge, slow):
        began = time.monotonic()
        part(world, operations)
        print(f"  {part.__name__}: {len(operations)} operations ({time.monotonic() - began:.1f} s)")
    assert world.server.poll() is None and world.send("GET", "/health").json()["status"] == "ok"

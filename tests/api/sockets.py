"""WebSockets by hand: a close is answered, and a user who is removed hears nothing more, however busy the connection is."""

import base64
import os
import socket
import struct
import threading
import time

from world import SECONDS


def opened(world, run, token):
    """A WebSocket of a run, after its handshake."""
    key = base64.b64encode(os.urandom(16)).decode()
    connection = socket.create_connection(("127.0.0.1", world.port), timeout=SECONDS)
    connection.sendall((f"GET /api/v1/runs/{run}/socket HTTP/1.1\r\nHost: 127.0.0.1:{world.port}\r\n"
                        f"Authorization: Bearer {token}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n").encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += connection.recv(1)
    assert b" 101 " in head, head
    return connection


def frame(kind, data=b""):
    """A frame of a client: short, and masked with zeros."""
    return bytes([0x80 | kind, 0x80 | len(data)]) + b"\0\0\0\0" + data


def kinds_until_end(connection):
    """The kinds of the frames that come until the connection ends, and the data of the last."""
    rest, found, data = b"", [], b""
    while True:
        try:
            part = connection.recv(65536)
        except ConnectionError:
            part = b""
        rest += part
        while len(rest) >= 2:
            length, at = rest[1] & 127, 2
            if length == 126:
                length, at = struct.unpack(">H", rest[2:4].ljust(2, b"\0"))[0], 4
            if len(rest) < at + length:
                break
            found.append(rest[0] & 15)
            data, rest = rest[at:at + length], rest[at + length:]
        if not part:
            return found, data


def check(world):
    run = world.run({"goal": "Paint it", "agent": "clarification"})
    world.until(run, "waiting")
    with opened(world, run, world.token) as connection:
        connection.sendall(frame(8, struct.pack(">H", 1000)))
        kinds, data = kinds_until_end(connection)
        assert kinds[-1] == 8 and data == struct.pack(">H", 1000), (kinds, data)

    token, is_over = world.user("see"), threading.Event()
    with opened(world, run, token) as connection:

        def chatter():
            while not is_over.is_set():
                try:
                    connection.sendall(frame(9))
                except OSError:
                    return
                time.sleep(0.2)

        thread = threading.Thread(target=chatter)
        thread.start()
        assert world.send("DELETE", "/users/a-see").status == 204
        kinds, _ = kinds_until_end(connection)
        is_over.set()
        thread.join()
        assert kinds[-1] == 8, "a user who was removed is disconnected"
    world.send("POST", f"/runs/{run}/cancel")

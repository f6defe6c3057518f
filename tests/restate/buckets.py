"""Keeps large values of several workers in a bucket of a real S3-compatible store: it is killed in the middle, refuses, and is tampered with.

buckets.py UPDRAFT PACKAGES PYTHON

PACKAGES is what packages.py prints for package.json here, PYTHON what environment.py prints for requirements.txt. No network: everything is on
loopback. Ends with 0 only if all went well.
"""

import json
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from node import free_ports
from run import RULES, command, on, script, until_over
from store import ADMIN, READER, SECRETS, WEAVER, Store
from workers import SharedServer, environment, refused, says, signing_node, try_shared
from workload import faketime
from world import SECONDS

PLACE = "s3://looms/warp/and weft"
# Each prints something that no other run has printed, so that it has to be stored.
OWN_RULES = [on("Print while the store is away", command("seq 40000 70000")), on("Print what is changed", command("seq 170000 199999"))]


def keys(store, name=WEAVER, **more):
    return {"AWS_ENDPOINT_URL": store.url, "AWS_ACCESS_KEY_ID": name, "AWS_SECRET_ACCESS_KEY": SECRETS[name], **more}


def check_refused(updraft, folder, store):
    """What cannot be used is said before anything begins, with what to do; `doctor` says the same."""
    cases = [
        (keys(store, AWS_SECRET_ACCESS_KEY=""), PLACE, "there are no credentials", "AWS_SECRET_ACCESS_KEY"),
        (keys(store, AWS_SECRET_ACCESS_KEY="none-of-theirs"), PLACE, "the secret key is not the one", "AWS_SECRET_ACCESS_KEY"),
        (keys(store, AWS_ACCESS_KEY_ID="NOBODY"), PLACE, "does not know the access key", "AWS_ACCESS_KEY_ID"),
        (keys(store, ADMIN), "s3://absent/warp", "there is no such bucket", "make the bucket"),
        (keys(store, READER), PLACE, "refuses to write an object: AccessDenied", "s3:PutObject"),
        (keys(store), "s3://looms2/warp", "AccessDenied", "s3:PutObject"),
        (keys(store, AWS_ENDPOINT_URL="http://10.0.0.1:9000"), PLACE, "not encrypted", "AWS_ALLOW_HTTP"),
        (keys(store, AWS_ENDPOINT_URL="store"), PLACE, "not the address of a store", "https://"),
        (keys(store), "s3://x", "does not name a bucket", "s3://BUCKET/PREFIX"),
    ]
    if faketime():
        cases.append((keys(store, LD_PRELOAD=faketime(), FAKETIME="-2h"), PLACE, "the clocks differ too much: the one here is 7", "NTP"))
    else:
        print("  SKIP  clocks are not set: no libfaketime (apt install libfaketime)")

    def refuse(case):
        given, place, *words = case
        with tempfile.TemporaryDirectory(dir=folder) as own:
            home = environment(Path(own)) | given
            done = says(updraft, home, own, "worker", "--blobs", place)
            refused(done, *words)
            assert given["AWS_SECRET_ACCESS_KEY"] == "" or given["AWS_SECRET_ACCESS_KEY"] not in done[1] + done[2], done
            lines = says(updraft, home, own, "doctor", "--json", "--restate", "http://127.0.0.1:1", "--blobs", place)[1].splitlines()
            (said,) = [line for line in map(json.loads, lines) if line["check"] == "blobs"]
            assert said["status"] == "fail" and words[0] in said["found"] and words[1] in said["advice"], said

    def unknown():
        """Encrypted, but by a store that nobody vouches for."""
        given = environment(Path(folder) / "home of one who trusts nobody") | keys(store, AWS_ENDPOINT_URL=store.secure_url)
        code, _, said = says(updraft, given, folder, "worker", "--blobs", PLACE)
        assert code == 1 and "cannot be reached" in said and "SSL_CERT_FILE" in said, (code, said)

    def away():
        given = environment(Path(folder) / "home of one without a store") | keys(store, AWS_ENDPOINT_URL=f"http://127.0.0.1:{free_ports(1)[0]}")
        code, _, said = says(updraft, given, folder, "worker", "--blobs", PLACE)
        assert code == 1 and "cannot be reached" in said and "start the store" in said, (code, said)

    with ThreadPoolExecutor(4) as threads:
        # Both are waited for, for a while.
        waiting = [threads.submit(away), threads.submit(unknown)]
        list(threads.map(refuse, cases))
        given = environment(Path(folder) / "home of a doctor") | keys(store)
        said = says(updraft, given, folder, "doctor", "--restate", "http://127.0.0.1:1", "--blobs", PLACE)[1]
        assert f"{PLACE}: written, read and deleted" in said, said
        said = says(updraft, given, folder, "doctor", "--restate", "http://127.0.0.1:1", "--blobs", folder)[1]
        assert f"{folder}: written, read and deleted" in said, said
        given |= keys(store, AWS_ENDPOINT_URL=store.secure_url, SSL_CERT_FILE=str(store.certificate))
        said = says(updraft, given, folder, "doctor", "--restate", "http://127.0.0.1:1", "--blobs", PLACE)[1]
        assert f"{PLACE}: written, read and deleted" in said, said
        for one in waiting:
            one.result()


def check_kept(updraft, packages, folder, store, others):
    """Two workers find each other's values in the bucket, and a third takes the place of one of them. `others` use the store too."""
    node, key = signing_node(packages, folder)
    work = folder / "work"
    work.mkdir()
    (work / "notes.md").write_text("# Looms\nA loom weaves cloth.\n")
    more = ["--shared", "--blobs", PLACE]
    one = SharedServer(updraft, folder / "one", work, "s1", node, key, more)
    two = SharedServer(updraft, folder / "two", work, "s2", node, key, [*more, "--labels", "gpu"])
    three = SharedServer(updraft, folder / "three", work, "s2", node, key, more)
    for server in (one, two, three):
        server.environment |= keys(store)
        (server.folder / "script.json").write_text(script(RULES + OWN_RULES))
    # Everything there is, so that it would be seen if a key were in it.
    one.environment["UPDRAFT_LOG"] = "trace"
    node.start()
    try:
        one.start()
        two.start()
        assert f"large values are also in {PLACE} at {store.url}" in one.log.read_text()
        try_shared(one, two, node)
        try_other_places(updraft, folder, one, node, key, store)
        others.result()  # Nobody else may need the store while it is away.
        try_store_away(one, two, store)
        try_taking_over(two, three)
        try_changed(one, three, store)
        # On its disk it is compressed.
        (folder / "state of restate").write_text(json.dumps(node.query("select * from state") + node.query("select * from sys_journal")))
    except BaseException:
        for server in (one, two, three):
            print(server.log.read_text()[-2500:] if server.log.exists() else "", file=sys.stderr)
        print(store.said(), file=sys.stderr)
        raise
    finally:
        for server in (one, two, three):
            if server.server:
                server.close()
        node.close()
    check_secrets(folder, store)


def try_other_places(updraft, folder, one, node, key, store):
    """A worker that keeps its large values elsewhere is refused."""
    given = environment(folder / "home of s9") | keys(store)
    place = ["worker", "--restate", node.ingress, "--restate-admin", node.admin, "--identity-key", key, "--worker-name", "s9",
             "--worker-listen", f"127.0.0.1:{free_ports(1)[0]}", "--yes", "--shared", "--blobs"]
    for other in ("s3://looms/other", folder / "blobs"):
        refused(says(updraft, given, one.work, *place, other), "keeps large values elsewhere", "--blobs")


def try_store_away(one, two, store):
    """The store is killed, and is back after the seconds that its start takes: a run waits for it, and nothing is missing."""
    store.kill()
    with ThreadPoolExecutor() as threads:
        begun = threads.submit(one.run, {"goal": "Print while the store is away", "agent": "coder"})
        time.sleep(1)
        if begun.done():
            status = one.send("GET", f"/runs/{begun.result()}").json()["status"]
            assert status not in ("done", "failed"), status
        store.start()
        run = begun.result()
    until_over(one, run)
    for server in (one, two):
        server.until(run, "done")
        code, _, said = server.says("replay", run)
        assert code == 0, said
    assert one.events(run) == two.events(run)
    assert holding(store, b"\n54321\n"), store.objects()


def try_taking_over(two, three):
    """A worker whose machine is gone: another one has all its runs, from Restate and the bucket alone."""
    runs = {run["id"]: two.events(run["id"]) for run in two.send("GET", "/runs").json()["runs"]}
    two.kill()
    shutil.rmtree(two.home)
    two.server, three.options = None, [*three.options, "--take-over"]
    three.start()
    for run, events in runs.items():
        for _ in range(SECONDS * 10):
            # Those of the other worker follow a moment later.
            if three.send("GET", f"/runs/{run}").status == 200:
                break
            time.sleep(0.1)
        assert three.events(run) == events, run
        code, _, said = three.says("replay", run)
        assert code == 0, said


def holding(store, words):
    """The objects with these words."""
    return [name for name in store.objects() if words in store.read(name)]


def try_changed(one, two, store):
    """An object with other content is not taken for the value; the worker that has not seen it before says so."""
    two.kill()
    run = one.run({"goal": "Print what is changed", "agent": "coder"})
    until_over(one, run)
    changed = holding(store, b"\n198765\n")
    assert changed, store.objects()
    for name in changed:
        store.change(name, b"TAMPERED " * 1000)
    two.start()
    two.until(run, "done")
    said = "".join(log.read_text() for log in two.home.rglob("general.log*"))
    assert all(name.rsplit("/", 1)[1] in said for name in changed) and "does not match its name" in said, changed
    assert one.events(run) == two.events(run)
    assert not [file for file in two.home.rglob("*") if file.is_file() and b"TAMPERED" in file.read_bytes()]


def check_secrets(folder, store):
    """No key is in any journal, any log, or in what Restate keeps."""
    told = set()
    for file in folder.rglob("*"):
        if file.is_file() and store.folder not in file.parents:
            content = file.read_bytes()
            for word in (WEAVER, SECRETS[WEAVER], "AWS4-HMAC-SHA256"):
                assert word.encode() not in content, (word, file)
            if b"Print what is changed" in content:
                told.add(file.name)
    # The goal is in all of them, so a key would have been found as well.
    assert {"state of restate", "journal.db"} <= told, told


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    updraft, packages, python = str(Path(sys.argv[1]).resolve()), sys.argv[2], sys.argv[3]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        store = Store(python, folder).start()
        try:
            places = [Path(folder) / name for name in ("refused", "kept")]
            for place in places:
                place.mkdir()
            with ThreadPoolExecutor() as threads:
                others = threads.submit(check_refused, updraft, places[0], store)
                parts = [others, threads.submit(check_kept, updraft, packages, places[1], store, others)]
                for place, part in zip(places, parts):
                    part.result()
                    print(f"{place.name}: ok (after {time.monotonic() - began:.1f} s)", flush=True)
            objects = store.objects()
            assert "warp/and weft/updraft-blobs" in objects and not [name for name in objects if "check" in name], objects
            print(f"  {len(objects) - 3} large values in the bucket")
        finally:
            store.close()


if __name__ == "__main__":
    main()

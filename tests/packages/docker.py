"""The Dockerfile's steps in order, without a daemon: what each names must be there, and the last ones are really done.

The first stage is not built here, which takes long: it is checked that the context holds every file that the program was
compiled from. The second stage is laid out in a folder, in which the program is started as the image would start it.
"""

import fnmatch
import json
import os
import re
import shutil
import subprocess

import debian
from world import ROOT, Skip


def instructions():
    """The instructions of the Dockerfile as (NAME, rest), with lines that go on joined."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.M)
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    return [tuple(line.split(maxsplit=1)) for line in lines if line.strip()]


def stages():
    """Each stage's instructions, its FROM first."""
    found = []
    for name, rest in instructions():
        if name == "FROM":
            found.append([])
        found[-1].append((name, rest))
    return found


def rest_of(stage, wanted):
    return [rest for name, rest in stage if name == wanted]


def is_ignored(path):
    """Whether .dockerignore keeps the path out of the context."""
    patterns = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    above = ["/".join(path.split("/")[:length]) for length in range(1, path.count("/") + 2)]
    return any(
        part == pattern.lstrip("/") or (pattern.startswith("**/") and fnmatch.fnmatch(part.split("/")[-1], pattern[3:]))
        for pattern in patterns
        for part in above
    )


def test_there_are_two_stages_and_the_second_is_not_root(world):
    build, final = stages()
    assert rest_of(build, "FROM")[0].endswith(" AS build") and " AS " not in rest_of(final, "FROM")[0]
    names = [name for name, _ in final]
    [user] = rest_of(final, "USER")
    assert user == "updraft" and names.index("USER") > max(at for at, name in enumerate(names) if name in ("RUN", "COPY"))
    rust = re.search(r'rust-version = "(.*)"', (ROOT / "Cargo.toml").read_text())[1]
    assert f"rust:{rust}-" in rest_of(build, "FROM")[0], "the image's Rust is not the one in Cargo.toml"
    # The program needs the glibc of the system that it was linked on.
    assert rest_of(build, "FROM")[0].split()[0].split("-")[-1] in rest_of(final, "FROM")[0]


def test_the_context_holds_all_that_the_program_is_made_of(world):
    build, _ = stages()
    assert rest_of(build, "COPY") == [". ."] and rest_of(build, "WORKDIR") == ["/src"]
    tracked = world.run("git", "-C", ROOT, "ls-files").splitlines()
    context = {path for path in tracked if not is_ignored(path)}
    assert {"Cargo.toml", "Cargo.lock", ".cargo/config.toml", "xtask/Cargo.toml"} <= context
    assert is_ignored("target/debug/updraft") and is_ignored("crates/cli/.env") and not is_ignored("crates/cli/tests/a")
    # `include_str!` and its like name files outside of their crate.
    needed = set()
    for path in tracked:
        if path.endswith(".rs") and "/src/" in path:
            for name in re.findall(r'include(?:_str|_bytes|_dir)?!\(\s*"([^"]+)"', (ROOT / path).read_text()):
                needed.add(os.path.normpath(os.path.join(os.path.dirname(path), name)))
    missing = {path for path in needed if (ROOT / path).exists()} - context
    assert len(needed) > 20 and not missing, (len(needed), missing)
    # What cargo itself asks of the context: every member's manifest, and a lock file that fits.
    copy = world.folder / "context"
    for path in context:
        if path.endswith(("Cargo.toml", "Cargo.lock")) or path.endswith((".rs", ".toml")) and path.count("/") < 5:
            (copy / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, copy / path)
    [command] = rest_of(build, "RUN")
    assert command == "cargo build --locked --profile dist -p updraft"
    home = {name: os.environ[name] for name in ("CARGO_HOME", "RUSTUP_HOME") if name in os.environ}
    home.setdefault("CARGO_HOME", os.path.expanduser("~/.cargo"))
    home.setdefault("RUSTUP_HOME", os.path.expanduser("~/.rustup"))
    about = world.run("cargo", "metadata", "--locked", "--offline", "--no-deps", "--format-version", "1", cwd=copy, **home)
    assert '"name":"updraft"' in about


def test_the_second_stage_step_by_step(world):
    _, final = stages()
    root = debian.machine(world)
    environment, folder, uid = {"PATH": "/usr/local/bin:/usr/bin"}, "/", None
    for name, rest in final:
        if name == "ARG":
            uid = int(rest.split("=")[1])
        elif name == "RUN":
            run_step(root, rest, uid)
        elif name == "COPY":
            copy_step(world, root, rest.split())
        elif name == "ENV":
            environment.update([rest.split("=")])
        elif name == "WORKDIR":
            folder = rest
            assert (root / folder[1:]).is_dir()
    assert (json.loads(rest_of(final, "ENTRYPOINT")[0]), json.loads(rest_of(final, "VOLUME")[0])) == (["updraft"], ["/data"])
    assert environment["UPDRAFT_HOME"] == "/data"
    command = json.loads(rest_of(final, "ENTRYPOINT")[0]) + json.loads(rest_of(final, "CMD")[0])
    said = serve(root, command, uid, folder, environment)
    assert "MCP at http://127.0.0.1:" in said and "token: in /data/serve.token" in said, said
    owner = {path.stat().st_uid for path in (root / "data").rglob("*")}
    assert owner == {uid} and any((root / "data").glob("journal.db")), owner
    assert (root / "usr/local/share/doc/updraft/env.sample").is_file()


def run_step(root, command, uid):
    """What a RUN does to the file system; packages of Debian are named here as they are there."""
    for part in command.split("&&"):
        words = part.split()
        part = " ".join(words)
        if words[0] == "useradd":
            assert words == ["useradd", "--uid", '"$UID"', "--create-home", "updraft"], part
            (root / "home/updraft").mkdir(parents=True)
            os.chown(root / "home/updraft", uid, uid)
        elif words[0] == "install":
            assert words[:7] == ["install", "-d", "-o", "updraft", "-g", "updraft", "-m"], part
            for path in words[8:]:
                (root / path[1:]).mkdir(int(words[7], 8))
                os.chown(root / path[1:], uid, uid)
        else:
            assert part in (
                "apt-get update",
                "apt-get install -y --no-install-recommends ca-certificates git python3",
                "rm -rf /var/lib/apt/lists/*",
            ), f"a step that this test does not know: {part}"


def copy_step(world, root, words):
    if words[0].startswith("--from=build"):
        # Where the first stage's command leaves the program.
        assert words[1:] == ["/src/target/dist/updraft", "/usr/local/bin/updraft"], words
        sources = [world.binary]
    else:
        assert not any(is_ignored(path) for path in words[:-1]), words
        sources = [ROOT / path for path in words[:-1]]
    place = root / words[-1][1:]
    (place if words[-1].endswith("/") else place.parent).mkdir(parents=True, exist_ok=True)
    for source in sources:
        shutil.copy(source, place)


def serve(root, command, uid, folder, environment):
    """What the program says at its start, as this user and with this root; then it is told to end."""
    command = [shutil.which("chroot"), f"--userspec={uid}:{uid}", root, "/bin/sh", "-c", f'cd {folder} && exec "$@"', "sh", *command]
    if command[-1] == "serve":
        command += ["--listen", "127.0.0.1:0"]
    serving = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        said = serving.stderr.readline() + serving.stderr.readline()
        serving.terminate()
        said += serving.stderr.read()
        assert serving.wait(30) == 143, said
    finally:
        serving.kill()
    return said


def test_the_compose_file_is_read_by_docker(world):
    if not shutil.which("docker") or subprocess.run(["docker", "compose", "version"], capture_output=True).returncode:
        raise Skip("no docker compose")
    read = json.loads(world.run("docker", "compose", "-f", ROOT / "compose.yaml", "config", "--format", "json"))
    service = read["services"]["updraft"]
    assert [volume["target"] for volume in service["volumes"]] == ["/data", "/workspace"], service
    assert service["cap_drop"] == ["ALL"] and service["read_only"] and service["build"]["args"] == {"UID": "10001"}
    assert set(read["volumes"]) == {"data", "workspace"}

"""install.sh: twice gives the same state, uninstall leaves nothing, and what is wrong is said."""

import contextlib
import functools
import http.server
import os
import shutil
import tarfile
import threading

from world import ROOT, Skip, state, version

INSTALLED = [
    "bin/updraft",
    "share/bash-completion/completions/updraft",
    "share/doc/updraft/env.sample",
    "share/fish/vendor_completions.d/updraft.fish",
    "share/man/man1/updraft-run.1",
    "share/man/man1/updraft.1",
    "share/systemd/user/updraft@.service",
    "share/doc/updraft/installed",
    "share/zsh/site-functions/_updraft",
]


def install(world, *options, code=0, script=ROOT / "install.sh", **environment):
    return world.run("sh", script, *options, code=code, **environment)


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def served(folder):
    """A server for the files of a folder; its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietHandler, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def unpack(packages):
    """Unpacks the archive beside the packages, once for all tests."""
    [archive] = packages.glob("updraft-*.tar.gz")
    with tarfile.open(archive) as archive:
        archive.extractall(packages / "unpacked", filter="tar")


def unpacked(world):
    """The script in the unpacked archive, which takes what is beside it."""
    [script] = (world.packages / "unpacked").glob("*/install.sh")
    return script


def test_from_an_archive_twice_then_uninstalled(world):
    archive = world.package("updraft-*.tar.gz")
    prefix, project = world.folder / "a prefix", world.folder / "project"
    project.mkdir()
    prefix.mkdir()  # was there before, so it stays
    (prefix / "mine").write_text("kept")
    before = state(world.folder)
    options = ["--prefix", prefix, "--archive", archive, "--workspace", project]

    said = install(world, "--prefix", prefix, "--workspace", project, "--dry-run", script=unpacked(world))
    assert f"put   {prefix}/bin/updraft" in said and state(world.folder) == before, said

    said = install(world, *options)
    assert "checked the archive" in said and "add it to your PATH" in said, said
    assert all((prefix / path).is_file() for path in INSTALLED), said
    assert world.run(prefix / "bin/updraft", "--version").strip() == version()
    unit = (prefix / "share/systemd/user/updraft@.service").read_text()
    assert f'ExecStart="{prefix}/bin/updraft" serve' in unit, unit
    assert oct((project / ".env").stat().st_mode) == "0o100600" and (project / "artifacts").is_dir()

    once = state(world.folder)
    if shutil.which("curl") or shutil.which("wget"):  # the second time by its address, and by the environment
        with served(world.packages) as address:
            said = install(world, UPDRAFT_ARCHIVE=f"{address}/{archive.name}", UPDRAFT_PREFIX=prefix)
            assert f"fetching {address}/" in said, said
            assert "could not fetch" in install(world, "--archive", f"{address}/no.tar.gz", code=1)
    else:
        said = install(world, *options)
    assert state(world.folder) == once, "the second time changed something"
    assert f"same  {prefix}/bin/updraft" in said and "  put " not in said, said

    install(world, "--prefix", prefix, "--uninstall", "--dry-run")
    assert state(world.folder) == once, "a dry run removed something"
    install(world, "--prefix", prefix, "--uninstall")
    assert state(world.folder, times=False) == {k: v[:2] + (0,) for k, v in before.items()}, "uninstall left something"
    said = install(world, "--prefix", prefix, "--uninstall", code=1)
    assert "nothing is installed" in said, said


def test_what_is_the_users_stays(world):
    prefix, project = world.folder / "prefix", world.folder / "project"
    project.mkdir()
    options = ["--prefix", prefix, "--workspace", project]
    install(world, *options, script=unpacked(world))
    (project / ".env").write_text("OPENAI_API_KEY=mine\n")
    (project / "artifacts/report.md").write_text("found")
    (prefix / "bin/other").write_text("another program")
    assert f"keep  {project}/.env" in install(world, *options, script=unpacked(world))
    said = install(world, "--prefix", prefix, "--uninstall")
    left = [path for path, (mode, *_) in state(world.folder).items() if mode.startswith("0o100")]
    assert left == ["prefix/bin/other", "project/.env", "project/artifacts/report.md"], (left, said)
    assert (project / ".env").read_text() == "OPENAI_API_KEY=mine\n"


def test_an_upgrade_removes_what_only_the_old_version_had(world):
    prefix = world.folder / "prefix"
    install(world, "--prefix", prefix, script=unpacked(world))
    old = prefix / "share/man/man1/updraft-gone.1"
    old.write_text("a command that no longer exists")
    with open(prefix / "share/doc/updraft/installed", "a") as listed:
        listed.write(f"file {old}\n")
    (prefix / "bin/updraft").write_text("an old program")
    install(world, "--prefix", prefix, script=unpacked(world))
    assert not old.exists() and world.run(prefix / "bin/updraft", "--version").strip() == version()
    install(world, "--prefix", prefix, "--uninstall")
    assert not prefix.exists(), state(prefix)


def test_the_home_folder_is_the_usual_place_and_an_unpacked_archive_is_enough(world):
    install(world, script=unpacked(world))
    assert (world.home / ".local/bin/updraft").is_file()
    install(world, "--uninstall", script=unpacked(world))
    assert state(world.home) == {}


def test_a_wrong_or_missing_checksum_installs_nothing(world):
    archive = world.package("updraft-*.tar.gz")
    prefix = world.folder / "prefix"
    said = install(world, "--prefix", prefix, "--archive", archive, "--sha256", "0" * 64, code=1)
    assert "the archive is damaged or another one" in said, said
    damaged = world.folder / archive.name
    damaged.write_bytes(archive.read_bytes()[:-1] + b"x")
    said = install(world, "--prefix", prefix, "--archive", damaged, code=1)
    assert f"there is no checksum {damaged}.sha256" in said and "--sha256" in said, said
    shutil.copy(f"{archive}.sha256", f"{damaged}.sha256")
    assert "damaged" in install(world, "--prefix", prefix, "--archive", damaged, code=1)
    assert not prefix.exists()


def test_wrong_usage_is_said(world):
    assert "`--colour` is not an option" in install(world, "--colour", code=1)
    assert "--prefix needs a value" in install(world, "--prefix", code=1)
    assert "there is no file nowhere.tar.gz" in install(world, "--archive", "nowhere.tar.gz", code=1)
    said = install(world, "--workspace", "nowhere", script=unpacked(world), code=1)
    assert "there is no folder nowhere" in said and state(world.home) == {}, said
    alone = world.folder / "alone"
    alone.mkdir()
    shutil.copy(ROOT / "install.sh", alone)
    (alone / "Cargo.toml").write_text("[package]\n")  # another project, as with `curl … | sh` in its folder
    assert "nothing to install from" in install(world, script=alone / "install.sh", code=1)


def test_odd_paths(world):
    """Quotes, spaces, signs that shells and tar read, and a file name with a colon."""
    folder = world.folder / "it's $HOME & \\ * (50%)"
    folder.mkdir()
    shutil.copy(world.package("updraft-*.tar.gz"), folder / "a:b.tar.gz")
    shutil.copy(f"{world.package('updraft-*.tar.gz')}.sha256", folder / "a:b.tar.gz.sha256")
    prefix, project = folder / "-prefix", folder / "-project"
    project.mkdir()
    before = state(folder, times=False)
    options = ["--prefix", prefix, "--archive", "a:b.tar.gz", "--workspace", "-project"]
    world.run("sh", ROOT / "install.sh", *options, cwd=folder)
    assert world.run(prefix / "bin/updraft", "--version").strip() == version() and (project / ".env").is_file()
    assert f"keep  {project}/.env" in world.run("sh", ROOT / "install.sh", *options, cwd=folder)
    world.run("sh", ROOT / "install.sh", "--prefix", "-prefix", "--uninstall", cwd=folder)
    assert state(folder, times=False) == before


def test_a_checkout_is_built_with_what_it_needs(world):
    """With a `cargo` that hands out the program instead of building it for minutes."""
    checkout, bin = world.folder / "checkout", world.folder / "bin"
    for name in ("deploy", "crates/cli"):
        shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("src", "tests"))
    for name in ("install.sh", "Cargo.toml", "LICENSE"):
        shutil.copy(ROOT / name, checkout)
    bin.mkdir()

    def cargo(release):
        program = f"""#!/bin/sh
case "$*" in
--version) echo "cargo {release} (0000000 2026-01-01)" ;;
"build --locked --profile release -p updraft") mkdir -p target/release && cp "{world.packed}" target/release/updraft ;;
metadata*) printf '{{"packages":[],"target_directory":"%s"}}' "$PWD/target" ;;
*) echo "unexpected: $*" >&2; exit 9 ;;
esac
"""
        (bin / "cargo").write_text(program)
        (bin / "cargo").chmod(0o755)

    path = f"{bin}:{os.environ['PATH']}"
    cargo("1.80.0")
    said = install(world, script=checkout / "install.sh", PATH=path, code=1)
    assert "cargo is 1.80.0, and 1.95 is needed" in said, said
    cargo("1.100.0")
    said = install(world, "--dry-run", script=checkout / "install.sh", PATH=path)
    assert "cargo build --locked --profile release -p updraft" in said and state(world.home) == {}, said
    install(world, script=checkout / "install.sh", PATH=path)
    assert all((world.home / ".local" / path).is_file() for path in INSTALLED)
    install(world, "--uninstall", script=checkout / "install.sh", PATH=path)
    assert state(world.home) == {}


def test_shellcheck_finds_nothing(world):
    if not shutil.which("shellcheck"):
        raise Skip("no shellcheck; install it, e.g. apt install shellcheck")
    world.run("shellcheck", ROOT / "install.sh", *sorted((ROOT / "deploy/debian").glob("p*")))

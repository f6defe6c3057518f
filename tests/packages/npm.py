"""The packages for npm, by `npm install` and `npx`."""

import os
import shutil
import signal
import subprocess

from world import Skip, state, version

QUIET = ["--offline", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]


def packages(world):
    if not shutil.which("npm"):
        raise Skip("no npm")
    return [world.package("updraft-run-*.tgz"), world.package("updraft-[0-9]*.tgz")]


def test_npm_installs_starts_and_removes(world):
    both = packages(world)
    project = world.folder / "project"
    project.mkdir()
    (project / "package.json").write_text("{}\n")
    world.run("npm", "install", *QUIET, *both, cwd=project)
    program = project / "node_modules/.bin/updraft"
    assert world.run(program, "--version").strip() == version()
    assert "unexpected argument" in world.run(program, "runs", "--no-such", code=2)
    ended_by_signals(world, program)
    installed = [f"@updraft-run/{path.name}" for path in (project / "node_modules/@updraft-run").iterdir()]
    assert len(installed) == 1, installed
    world.run("npm", "uninstall", *QUIET, "updraft", *installed, cwd=project)
    left = [path for path, (mode, *_) in state(project).items() if mode.startswith("0o100")]
    assert set(left) <= {"package.json", "package-lock.json", "node_modules/.package-lock.json"}, left


def ended_by_signals(world, program):
    """A signal reaches the program, and the launcher ends as the program does."""
    command = [program, "serve", "--listen", "127.0.0.1:0", "--workspace", world.folder]
    environment = {"PATH": os.environ["PATH"], "HOME": str(world.home), "UPDRAFT_HOME": str(world.folder / "data")}
    for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
        running = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            assert "MCP at http://127.0.0.1:" in running.stderr.readline()
            running.send_signal(number)
            running.stderr.read()
            assert running.wait(30) == code, running.returncode
        finally:
            running.kill()


def test_npx_runs_it_from_nothing(world):
    wanted = [part for package in packages(world) for part in ("--package", package)]
    ran = world.run("npx", "--yes", *QUIET, *wanted, "updraft", "--version")
    assert ran.strip() == version(), ran


def test_a_platform_without_program_is_told_what_to_do(world):
    _, launcher = packages(world)
    (world.folder / "package.json").write_text("{}\n")
    world.run("npm", "install", *QUIET, "--omit=optional", launcher)
    said = world.run("node_modules/.bin/updraft", "--version", code=1)
    assert "there is no program for linux-" in said and "docs/install.md" in said, said

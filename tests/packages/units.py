"""systemd's own opinion of our units, and the release workflow's use of what is tested here."""

import os
import re
import shlex
import shutil
import tempfile
from pathlib import Path

from world import ROOT, Skip

UNITS = [Path("system/updraft.service"), Path("system/updraft-worker.service"), Path("system/restate-server.service"), Path("user/updraft@.service")]
# Where npm puts the program, if it is told to install to /opt/restate.
RESTATE = "/opt/restate/node_modules/@restatedev/restate-server-linux-x64/bin/restate-server"


def units(world):
    """A root folder with the units and a program at the place they name."""
    if not shutil.which("systemd-analyze"):
        raise Skip("no systemd-analyze")
    place = world.folder / "units"
    place.mkdir()
    for unit in UNITS:
        text = (ROOT / "deploy/systemd" / unit).read_text()
        [program] = re.findall(r"^ExecStart=(\S+) ", text, re.M)
        assert program in ("/usr/bin/updraft", RESTATE), program
        (place / unit.name).write_text(text.replace(f"ExecStart={program} ", f"ExecStart={world.binary} "))
    return place


def test_systemd_accepts_the_units(world):
    place = units(world)
    for unit in UNITS[:3]:
        said = world.run("systemd-analyze", "verify", "--recursive-errors=no", "--man=no", place / unit.name)
        assert unit.stem not in said, said
    (place / "updraft@.service").rename(place / "updraft@tmp.service")
    said = world.run(
        "systemd-analyze", "--user", "verify", "--recursive-errors=no", "--man=no", place / "updraft@tmp.service",
        XDG_RUNTIME_DIR=world.folder,
    )
    assert "updraft" not in said, said


def test_the_system_units_are_hardened(world):
    place = units(world)
    for unit, most in zip(UNITS, (4, 4, 2)):
        said = world.run("systemd-analyze", "security", "--offline=true", "--no-pager", place / unit.name)
        [level] = re.findall(rf"Overall exposure level for {unit.name}: ([0-9.]+)", said)
        assert float(level) < most, said


def test_workers_are_started_with_options_that_exist(world):
    known = set(re.findall(r"--[a-z-]+", world.run(world.binary, "worker", "--help")))
    unit = (ROOT / "deploy/systemd/system/updraft-worker.service").read_text()
    commands = re.findall(r"^ExecStart=/usr/bin/updraft worker (.*)$", unit, re.M)
    commands += re.findall(r"^ +command: worker (.*)$", (ROOT / "deploy/restate/compose.yaml").read_text(), re.M)
    assert len(commands) == 4, commands
    for command in commands:
        used = {word for word in shlex.split(command) if word.startswith("--")}
        assert used <= known, used - known


# What systemd does for the unit, as far as mounts, users and capabilities go.
CONFINE = """set -e
mount --make-rprivate /
mount --bind {state} {state}
mount -o remount,bind,ro /
mount -t tmpfs -o mode=000,ro tmpfs /home
mount -t tmpfs -o mode=000,ro tmpfs /root
mount -t tmpfs -o mode=1777 tmpfs /tmp
cd {state}/workspace
exec setpriv --reuid 61234 --regid 61234 --clear-groups --bounding-set -all --inh-caps -all --no-new-privs \\
    env -i PATH=/usr/bin:/bin UPDRAFT_HOME={state}/home {state}/updraft sandbox exec --level full -- uname -n
"""


def test_commands_are_fully_confined_within_the_hardened_service(world):
    if os.geteuid() != 0 or not (shutil.which("unshare") and shutil.which("setpriv")):
        raise Skip("mounts can be made only as root, with unshare and setpriv")
    if "level     full" not in world.run(world.binary, "sandbox", "probe"):
        raise Skip("no full sandbox on this machine")
    settings = {line.split("=")[0] for line in (ROOT / "deploy/systemd/system/updraft.service").read_text().splitlines()}
    assert {"ProtectSystem", "ProtectHome", "NoNewPrivileges", "CapabilityBoundingSet"} <= settings
    breaking = {"ProtectProc", "ProcSubset", "ProtectKernelTunables", "ProtectKernelLogs", "ProtectHostname", "RestrictNamespaces"}
    assert not breaking & settings, breaking & settings
    # Not below the temporary folder of the tests, which only its owner may enter.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as state:
        shutil.copy(world.binary, state)
        for folder in ("", "home", "workspace"):
            os.makedirs(f"{state}/{folder}", exist_ok=True)
            os.chown(f"{state}/{folder}", 61234, 61234)
        said = world.run("unshare", "--mount", "sh", "-c", CONFINE.format(state=state))
        assert said.strip() == "sandbox", said


def test_the_workflow_packages_as_the_tests_do(world):
    text = (ROOT / ".github/workflows/release.yml").read_text()
    for line in (
        "cargo build --locked --profile dist -p updraft",
        "cargo xtask package all --binary target/dist/updraft --out packages",
        "python3 tests/packages/run.py target/dist/updraft target/debug/xtask --packages packages",
    ):
        assert f"run: {line}\n" in text, line
    patterns = re.findall(r"^ +packages/(\*\.\S+)$", text, re.M)
    made = [path for path in world.packages.iterdir() if path.is_file() and path.suffix != ".sha256" and path.name != "SHA256SUMS"]
    attested = [path for path in made if any(path.match(pattern) for pattern in patterns)]
    assert attested == made, f"no provenance for {set(made) - set(attested)}"

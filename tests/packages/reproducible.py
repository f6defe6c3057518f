"""Packages as files: checksums that `sha256sum` accepts, and archives that other programs read the same way."""

import subprocess
import tarfile
import zipfile


def test_checksums_are_right(world):
    world.run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=world.packages)
    listed = (world.packages / "SHA256SUMS").read_text().splitlines()
    made = [path.name for path in world.packages.iterdir() if path.is_file() and path.suffix != ".sha256" and path.name != "SHA256SUMS"]
    assert sorted(line.split("  ")[1] for line in listed) == sorted(made), (listed, made)


def test_archives_have_fixed_times_sorted_entries_and_the_program(world):
    program = world.binary.read_bytes()
    with tarfile.open(world.package("updraft-*-linux-*.tar.gz")) as archive:
        members = archive.getmembers()
        names = [member.name for member in members]
        assert names == sorted(names) and {member.mtime for member in members} == {315532800}, names
        assert {(member.uid, member.uname) for member in members} == {(0, "root")}
        [inside] = [member for member in members if member.name.endswith("/updraft")]
        assert inside.mode == 0o755 and archive.extractfile(inside).read() == program
        assert sum(name.endswith(".1") for name in names) > 40, names
    with zipfile.ZipFile(world.package("*.whl")) as wheel:
        assert wheel.testzip() is None
        assert {entry.date_time for entry in wheel.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        [name] = [name for name in wheel.namelist() if name.endswith("/scripts/updraft")]
        assert wheel.getinfo(name).external_attr >> 16 == 0o100755 and wheel.read(name) == program


def test_the_same_program_gives_the_same_bytes(world):
    """The package for npm that has no program in it is quick to make a second time, and has all the rest."""
    again = world.folder / "again"
    xtask = world.xtask
    command = [xtask, "package", "npm", "--binary", world.binary, "--out", again, "--level", "1"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    for made in again.glob("*.tgz"):
        assert made.read_bytes() == (world.packages / made.name).read_bytes(), made.name


def test_what_cannot_be_packaged_is_refused(world):
    no_program = world.folder / "script"
    no_program.write_text("#!/bin/sh\necho updraft 0.0.1\n")
    no_program.chmod(0o755)
    refused = world.run(world.xtask, "package", "deb", "--binary", no_program, "--out", world.folder / "out", code=1)
    assert "not a program for Linux, macOS or Windows" in refused, refused
    other = [world.xtask, "package", "deb", "--binary", world.binary, "--manual-from", no_program, "--out", world.folder / "out"]
    refused = world.run(*other, code=1)
    assert "the program is `updraft 0.0.1`" in refused and not (world.folder / "out").exists(), refused

"""Packages as files: checksums that `sha256sum` accepts, and archives that other programs read the same way."""

import shutil
import tarfile
import zipfile


def test_checksums_are_right(world):
    world.run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=world.packages)
    listed = (world.packages / "SHA256SUMS").read_text().splitlines()
    made = [path.name for path in world.packages.iterdir() if path.is_file() and path.suffix != ".sha256" and path.name != "SHA256SUMS"]
    assert sorted(line.split("  ")[1] for line in listed) == sorted(made), (listed, made)


def test_archives_have_fixed_times_sorted_entries_and_the_program(world):
    program, names = world.packed.read_bytes(), []
    with tarfile.open(world.package("updraft-*-linux-*.tar.gz"), "r|gz") as archive:
        for member in archive:
            names.append(member.name)
            assert (member.mtime, member.uid, member.uname) == (315532800, 0, "root"), member.name
            if member.name.endswith("/updraft"):
                assert member.mode == 0o755 and archive.extractfile(member).read() == program
    assert names == sorted(names) and sum(name.endswith(".1") for name in names) > 40, names
    with zipfile.ZipFile(world.package("*.whl")) as wheel:
        read = {entry.filename: wheel.read(entry) for entry in wheel.infolist()}
        assert {entry.date_time for entry in wheel.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        [name] = [name for name in read if name.endswith("/scripts/updraft")]
        assert wheel.getinfo(name).external_attr >> 16 == 0o100755 and read[name] == program


def test_the_same_program_gives_the_same_bytes(world):
    """With a small program, which is quick to pack twice."""
    small = shutil.which("true")
    made = []
    for folder in (world.folder / "one", world.folder / "two"):
        world.run(world.xtask, "package", "all", "--binary", small, "--manual-from", world.binary, "--out", folder)
        made.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert len(made[0]) == 11 and made[0] == made[1], sorted(made[0])


def test_what_cannot_be_packaged_is_refused(world):
    no_program = world.folder / "script"
    no_program.write_text("#!/bin/sh\necho updraft 0.0.1\n")
    no_program.chmod(0o755)
    refused = world.run(world.xtask, "package", "deb", "--binary", no_program, "--out", world.folder / "out", code=1)
    assert "not a program for Linux, macOS or Windows" in refused, refused
    other = [world.xtask, "package", "deb", "--binary", world.binary, "--manual-from", no_program, "--out", world.folder / "out"]
    refused = world.run(*other, code=1)
    assert "the program is `updraft 0.0.1`" in refused and not (world.folder / "out").exists(), refused

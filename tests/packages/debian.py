"""The Debian package, by dpkg, in a root folder of its own with a shell and the libraries."""

import os
import shutil

from world import Skip, state, version

STATUS = """Package: {name}
Status: install ok installed
Maintainer: somebody
Architecture: {architecture}
Version: 99
Description: in the root folder of this test

"""


def machine(world):
    """A root folder in which the maintainer scripts and the program can run; Debian's own packages count as installed."""
    if not shutil.which("dpkg"):
        raise Skip("no dpkg")
    if os.geteuid() != 0:
        raise Skip("dpkg changes root only as root")
    root = world.folder / "root"
    for folder in ("var/lib/dpkg/updates", "var/lib/dpkg/info", "var/lib/dpkg/triggers", "dev", "etc", "tmp", "usr/bin", "run/systemd/system"):
        (root / folder).mkdir(parents=True)
    (root / "bin").symlink_to("usr/bin")
    os.mknod(root / "dev/null", 0o20666, os.makedev(1, 3))
    for name in ("sh", "rm"):
        copy_program(world, root, shutil.which(name))
    copy_libraries(world, root, world.binary)
    # Notes what it is asked to do.
    (root / "usr/bin/systemctl").write_text('#!/bin/sh\necho "$*" >>/tmp/systemctl\n')
    (root / "usr/bin/systemctl").chmod(0o755)
    architecture = world.run("dpkg", "--print-architecture").strip()
    libraries = "".join(STATUS.format(name=name, architecture=architecture) for name in ("libc6", "libgcc-s1"))
    (root / "var/lib/dpkg/status").write_text(libraries)
    (root / "var/lib/dpkg/available").touch()
    return root


def copy_program(world, root, path):
    shutil.copy(path, root / "usr/bin" / os.path.basename(path))
    copy_libraries(world, root, path)


def copy_libraries(world, root, program):
    for word in world.run("ldd", program).split():
        if word.startswith("/"):
            place = root / word[1:]
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(word, place)


def dpkg(world, root, *options, code=0):
    return world.run("dpkg", f"--root={root}", *options, code=code)


def test_dpkg_installs_removes_and_purges(world):
    root, package = machine(world), world.package("*.deb")
    before = state(root, times=False)
    dpkg(world, root, "--install", package)
    assert world.run("chroot", root, "/usr/bin/updraft", "--version").strip() == version()
    assert "install ok installed" in world.run("dpkg-query", f"--admindir={root}/var/lib/dpkg", "--status", "updraft")
    for path in (
        "usr/share/man/man1/updraft.1.gz",
        "usr/share/bash-completion/completions/updraft",
        "usr/share/doc/updraft/copyright",
        "usr/lib/systemd/system/updraft.service",
        "usr/lib/systemd/user/updraft@.service",
    ):
        assert (root / path).is_file(), path
    assert dpkg(world, root, "--verify", "updraft") == "", "a file differs from what dpkg unpacked"
    once = state(root / "usr", times=False)
    dpkg(world, root, "--install", package)
    assert state(root / "usr", times=False) == once, "the second time changed something"

    (root / "var/lib/updraft/home").mkdir(parents=True)
    dpkg(world, root, "--remove", "updraft")
    assert (root / "var/lib/updraft/home").is_dir() and not (root / "usr/bin/updraft").exists()
    dpkg(world, root, "--purge", "updraft")
    asked = (root / "tmp/systemctl").read_text().splitlines()
    assert "disable --now updraft.service" in asked and asked[0] == "daemon-reload", asked
    left = {path for path in state(root, times=False).keys() - before.keys() if not path.startswith(("var/lib/dpkg/", "tmp/"))}
    assert left == set(), left


def test_the_control_file_says_what_the_program_needs(world):
    if not shutil.which("dpkg-deb"):
        raise Skip("no dpkg-deb")
    package = world.package("*.deb")
    depends = world.run("dpkg-deb", "--field", package, "Depends")
    needed = world.run("ldd", world.binary)
    assert "libc6 (>= 2." in depends and ("libgcc-s1" in depends) == ("libgcc_s.so.1" in needed), depends
    listed = world.run("dpkg-deb", "--contents", package).splitlines()
    assert all(" root/root " in line for line in listed), listed
    program = [line for line in listed if line.endswith("./usr/bin/updraft")]
    assert program and program[0].startswith("-rwxr-xr-x"), program

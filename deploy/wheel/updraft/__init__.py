"""Updraft's program, installed with this package: `find_program()` says where it is."""

import os
import sys
import sysconfig

__all__ = ["find_program"]


def find_program():
    """The path of the program: where this installation's scripts are, or the user's, or beside this package (pip --target)."""
    name = "updraft.exe" if sys.platform == "win32" else "updraft"
    user = sysconfig.get_preferred_scheme("user") if hasattr(sysconfig, "get_preferred_scheme") else None
    beside = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin")
    folders = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", user) if user else None, beside]
    paths = [os.path.join(folder, name) for folder in folders if folder]
    for path in paths:
        if os.path.isfile(path):
            return path
    raise FileNotFoundError(f"the program updraft is not there; looked for {', '.join(paths)}")

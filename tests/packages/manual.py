"""Manual pages and completions, as the programs that read them see them."""

import re
import shutil

from installer import unpacked
from world import Skip

COMPLETE = """
source "$1"
COMP_WORDS=(updraft "$2") COMP_CWORD=1 COMP_LINE="updraft $2" COMP_POINT=${#COMP_LINE}
_updraft updraft "$2" updraft
printf '%s\\n' "${COMPREPLY[@]}"
"""


def test_every_page_is_good_roff_and_names_pages_that_exist(world):
    if not shutil.which("groff"):
        raise Skip("no groff")
    pages = {page.name: page for page in (unpacked(world).parent / "man").iterdir()}
    assert len(pages) > 40 and {"updraft.1", "updraft-run.1", "updraft-mcp-add.1"} <= pages.keys(), sorted(pages)
    complaints = world.run("groff", "-Kutf8", "-man", "-Tutf8", "-ww", "-z", *pages.values())
    assert complaints == "", complaints
    for name, page in pages.items():
        named = {found.replace("\\-", "-") for found in re.findall(r"^updraft[\w\\-]*(?=\(1\))", page.read_text(), re.M)}
        assert all(f"{other}.1" in pages for other in named), (name, named)
    assert len(re.findall(r"^updraft\\-\w+\(1\)", pages["updraft.1"].read_text(), re.M)) > 30


def test_bash_completes_commands(world):
    if not shutil.which("bash"):
        raise Skip("no bash")
    script = unpacked(world).parent / "completions/updraft.bash"
    offered = world.run("bash", "-c", COMPLETE, "bash", script, "ru").split()
    assert {"run", "runs"} <= set(offered) and all(word.startswith("ru") for word in offered), offered

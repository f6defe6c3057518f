"""Compares `updraft skills` with the validator of the package skills-ref on the same folders.

    PYTHON=$(python3 tests/judges/environment.py tests/skills/requirements.txt)
    $PYTHON tests/skills/compare.py target/debug/updraft

Both must say of each folder whether it is a skill, and agree on its name and description. Prints the cases they disagree on.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import skills_ref.parser
import skills_ref.validator

PLAIN = "---\nname: {name}\ndescription: Does a thing.\n---\n\n# Body\n"


def front(name, *lines):
    return "---\nname: " + name + "\n" + "\n".join(lines) + "\n---\nBody\n"


# Folder, text of SKILL.md (None: no file), and the file's name.
CASES = [
    ("plain", PLAIN.format(name="plain"), "SKILL.md"),
    ("lower-file", PLAIN.format(name="lower-file"), "skill.md"),
    ("no-file", None, ""),
    ("other-name", PLAIN.format(name="another"), "SKILL.md"),
    ("Upper", PLAIN.format(name="Upper"), "SKILL.md"),
    ("-first", PLAIN.format(name="-first"), "SKILL.md"),
    ("last-", PLAIN.format(name="last-"), "SKILL.md"),
    ("two--hyphens", PLAIN.format(name="two--hyphens"), "SKILL.md"),
    ("under_score", PLAIN.format(name="under_score"), "SKILL.md"),
    ("with space", PLAIN.format(name="with space"), "SKILL.md"),
    ("dot.name", PLAIN.format(name="dot.name"), "SKILL.md"),
    ("123", PLAIN.format(name="123"), "SKILL.md"),
    ("a", PLAIN.format(name="a"), "SKILL.md"),
    ("a" * 64, PLAIN.format(name="a" * 64), "SKILL.md"),
    ("a" * 65, PLAIN.format(name="a" * 65), "SKILL.md"),
    ("技能", PLAIN.format(name="技能"), "SKILL.md"),
    ("мой-навык", PLAIN.format(name="мой-навык"), "SKILL.md"),
    ("Мой", PLAIN.format(name="Мой"), "SKILL.md"),
    ("straße", PLAIN.format(name="straße"), "SKILL.md"),
    ("caf\u00e9", PLAIN.format(name="cafe\u0301"), "SKILL.md"),
    ("cafe\u0301-two", PLAIN.format(name="caf\u00e9-two"), "SKILL.md"),
    ("ﬁle", PLAIN.format(name="file"), "SKILL.md"),
    ("null", PLAIN.format(name="null"), "SKILL.md"),
    ("true", PLAIN.format(name="true"), "SKILL.md"),
    ("quoted", front('"quoted"', "description: 'It''s quoted: yes.'"), "SKILL.md"),
    ("no-front", "# Only a body\n", "SKILL.md"),
    ("unclosed", "---\nname: unclosed\ndescription: x\n", "SKILL.md"),
    ("empty-front", "---\n---\nbody\n", "SKILL.md"),
    ("empty-file", "", "SKILL.md"),
    ("space-before", " " + PLAIN.format(name="space-before"), "SKILL.md"),
    ("list-front", "---\n- a\n- b\n---\n", "SKILL.md"),
    ("text-front", "---\njust text\n---\n", "SKILL.md"),
    ("broken-yaml", "---\nname: [broken\ndescription: x\n---\n", "SKILL.md"),
    ("colon", front("colon", "description: one: two"), "SKILL.md"),
    ("twice", front("twice", "description: one", "description: two"), "SKILL.md"),
    ("tab", "---\nname: tab\ndescription:\n\tx\n---\n", "SKILL.md"),
    ("no-name", "---\ndescription: x\n---\n", "SKILL.md"),
    ("no-description", "---\nname: no-description\n---\n", "SKILL.md"),
    ("empty-description", front("empty-description", "description: "), "SKILL.md"),
    ("blank-description", front("blank-description", 'description: "  "'), "SKILL.md"),
    ("list-description", front("list-description", "description:", "  - a"), "SKILL.md"),
    ("map-description", front("map-description", "description:", "  a: b"), "SKILL.md"),
    ("list-name", "---\nname:\n  - a\ndescription: x\n---\n", "SKILL.md"),
    ("folded", front("folded", "description: >", "  one", "  two"), "SKILL.md"),
    ("literal", front("literal", "description: |", "  one", "  two"), "SKILL.md"),
    ("long-1024", front("long-1024", "description: " + "x" * 1024), "SKILL.md"),
    ("long-1025", front("long-1025", "description: " + "x" * 1025), "SKILL.md"),
    ("wide-1024", front("wide-1024", "description: " + "é" * 1024), "SKILL.md"),
    ("unknown-field", front("unknown-field", "description: x", "colour: blue"), "SKILL.md"),
    ("all-fields", front("all-fields", "description: x", "license: MIT", "compatibility: any", "allowed-tools: Bash Read",
                         "metadata:", "  author: Ann", "  version: 1.0"), "SKILL.md"),
    ("long-compat", front("long-compat", "description: x", "compatibility: " + "y" * 501), "SKILL.md"),
    ("fit-compat", front("fit-compat", "description: x", "compatibility: " + "y" * 500), "SKILL.md"),
    ("list-compat", front("list-compat", "description: x", "compatibility:", "  - linux"), "SKILL.md"),
    ("comment", front("comment", "# a comment", "description: x # not all of it"), "SKILL.md"),
    ("dashes", front("dashes", "description: one --- two"), "SKILL.md"),
    ("crlf", PLAIN.format(name="crlf").replace("\n", "\r\n"), "SKILL.md"),
    ("anchor", front("anchor", "description: &a x", "license: *a"), "SKILL.md"),
    ("flow", front("flow", "description: x", "allowed-tools: [Bash, Read]"), "SKILL.md"),
    ("flow-map", front("flow-map", "description: x", "metadata: {a: b}"), "SKILL.md"),
    ("tag", front("tag", "description: !!str x"), "SKILL.md"),
]


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    wrong = 0
    with tempfile.TemporaryDirectory() as home:
        folders = []
        for at, (name, text, file) in enumerate(CASES):
            folder = pathlib.Path(home) / str(at) / name
            folder.mkdir(parents=True)
            if text is not None:
                (folder / file).write_bytes(text.encode())
            folders.append(folder)
        folders.append(pathlib.Path(home) / "missing")
        ran = subprocess.run([program, "skills", "--json", *map(str, folders)], capture_output=True, text=True)
        ours = [json.loads(line) for line in ran.stdout.splitlines()]
        for folder, our in zip(folders, ours, strict=True):
            theirs = skills_ref.validator.validate(folder)
            same = bool(theirs) == bool(our["faults"])
            if same and not theirs:
                read = skills_ref.parser.read_properties(folder)
                same = read.description == our["description"]
            if not same:
                wrong += 1
                print(f"{folder.name}: skills-ref says {theirs or 'valid'}, updraft {our['faults'] or our}")
    print(f"{len(folders) - wrong} of {len(folders)} cases agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

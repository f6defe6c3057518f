"""Reads docstrings: the first paragraph, and the descriptions of parameters in Google, NumPy and reST style."""
import re

SECTION = re.compile(
    r"^(args|arguments|parameters|params|keyword args|keyword arguments|attributes|other parameters|returns?|yields?|"
    r"raises|notes?|examples?|see also|todo|warnings?)\s*:?\s*$",
    re.IGNORECASE,
)
DESCRIBES = {"args", "arguments", "parameters", "params", "keyword args", "keyword arguments", "attributes", "other parameters"}
GOOGLE = re.compile(r"^\*{0,2}(\w+)\s*(?:\(([^)]*)\))?\s*:\s*(.*)$")
NUMPY = re.compile(r"^\*{0,2}(\w+(?:\s*,\s*\w+)*)\s*(?::.*)?$")
REST = re.compile(r"^:(?:param|parameter|arg|argument|key|keyword|ivar|cvar)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)$")
ANNOTATIONS = re.compile(r"^annotations\s*:\s*(.*)$", re.IGNORECASE)


def first_paragraph(text):
    lines = []
    for line in text.strip().splitlines():
        line = line.strip()
        if not line or SECTION.match(line) or line.startswith(":") or ANNOTATIONS.match(line):
            if lines:
                break
            if line:
                return ""
            continue
        lines.append(line)
    return " ".join(lines)[:4000]


def annotations_of(text):
    """The words of the line `Annotations: read-only, idempotent`."""
    for line in text.splitlines():
        found = ANNOTATIONS.match(line.strip())
        if found:
            return [word.strip().lower().rstrip(".") for word in found.group(1).split(",") if word.strip()]
    return []


def parameters_of(text):
    """The description of each parameter, by its name."""
    texts, section, names, inner = {}, None, [], None
    lines = text.expandtabs().splitlines()
    for number, line in enumerate(lines):
        bare, indent = line.strip(), len(line) - len(line.lstrip())
        rest = REST.match(bare)
        if rest:
            section, names, inner = "rest", [rest.group(1)], indent + 1
            texts[names[0]] = [rest.group(2)]
            continue
        underlined = number + 1 < len(lines) and set(lines[number + 1].strip()) in ({"-"}, {"="})
        heading = SECTION.match(bare)
        if heading and (underlined or bare.endswith(":")):
            is_wanted = heading.group(1).lower() in DESCRIBES
            section = ("numpy" if underlined else "google") if is_wanted else None
            names, inner = [], None
            continue
        if section is None or (bare and set(bare) in ({"-"}, {"="})):
            continue
        if not bare:
            if section == "rest":
                section = None
            continue
        inner = indent if inner is None else inner
        if section == "rest":
            if indent >= inner and not bare.startswith(":"):
                texts[names[0]].append(bare)
            else:
                section = None
        elif section == "google" and indent <= inner:
            found = GOOGLE.match(bare)
            names = [found.group(1)] if found else []
            if found:
                texts[names[0]] = [found.group(3)]
        elif section == "numpy" and indent <= inner:
            found = NUMPY.match(bare)
            names = [name.strip() for name in found.group(1).split(",")] if found else []
            texts.update({name: [] for name in names})
        else:
            for name in names:
                texts[name].append(bare)
    joined = {name: " ".join(part for part in parts if part)[:2000] for name, parts in texts.items()}
    return {name: text for name, text in joined.items() if text}

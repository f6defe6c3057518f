"""How well files are read: word F1 against Docling's reviewed Markdown, by kind of file.

    python3 tests/reading/measure.py DOCLING READ [-v] [--kind docx] [--save FOLDER]

DOCLING is a clone of github.com/docling-project/docling, READ a program that prints a file as Markdown, such as the
example `read` of the crate `reader`. The score of a file is the F1 of its bag of words (`\\w+`, small letters, comments
left out); the score of a kind is the mean over its files. Exit code 1 if a kind is not above markitdown 0.1.9.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys
import time

# markitdown 0.1.9, measured the same way.
ANCHORS = {"docx": 0.878, "html": 0.933, "xlsx": 0.683, "csv": 0.999, "pptx": 0.689, "pdf": 0.688}


def words(markdown):
    without_comments = re.sub(r"<!--.*?-->", "", markdown, flags=re.S)
    return collections.Counter(re.findall(r"\w+", without_comments.lower()))


def f1(one, other):
    if not one and not other:
        return 1.0
    common = (one & other).total()
    return 2 * common / (one.total() + other.total()) if common else 0.0


def files(data, kind):
    """Sources with their reviewed Markdown. What a clone lacks is left out."""
    for truth in sorted((data / kind / "groundtruth").glob("*.md")):
        name = truth.name.removesuffix(".md")
        source = data / kind / "sources" / (name + ".pdf" if kind == "pdf" else name)
        if source.is_file():
            yield source, truth


def read(program, source):
    try:
        result = subprocess.run([*program, str(source)], capture_output=True, timeout=60)
    except subprocess.TimeoutExpired:
        return "", "took longer than a minute"
    return result.stdout.decode("utf-8", "replace"), result.stderr.decode("utf-8", "replace").strip()


def difference(found, wanted):
    def some(counter):
        return " ".join(f"{word}×{count}" if count > 1 else word for word, count in counter.most_common(12))

    return f"      too much: {some(found - wanted)}\n      missing:  {some(wanted - found)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("docling", type=pathlib.Path)
    parser.add_argument("program", nargs="+")
    parser.add_argument("-v", action="store_true", help="each file, and which words differ")
    parser.add_argument("--kind", choices=ANCHORS)
    parser.add_argument("--save", type=pathlib.Path, help="keep what the program printed")
    options = parser.parse_args()
    everything, is_below = [], False
    for kind, anchor in ANCHORS.items():
        if options.kind not in (None, kind):
            continue
        scores, started = [], time.monotonic()
        for source, truth in files(options.docling / "tests" / "data", kind):
            markdown, fault = read(options.program, source)
            found, wanted = words(markdown), words(truth.read_text("utf-8"))
            scores.append(f1(found, wanted))
            if options.save:
                options.save.mkdir(parents=True, exist_ok=True)
                (options.save / f"{source.name}.md").write_text(markdown, "utf-8")
            if options.v:
                print(f"  {scores[-1]:.3f} {source.name} {fault}")
                if scores[-1] < 0.97:
                    print(difference(found, wanted))
        if not scores:
            print(f"{kind}: no files")
            continue
        mean = sum(scores) / len(scores)
        is_below |= mean <= anchor and mean < 0.9995
        everything += scores
        print(f"{kind:5} {mean:.3f}  markitdown {anchor:.3f}  {len(scores)} files, {time.monotonic() - started:.1f} s")
    print(f"all   {sum(everything) / len(everything):.3f}  {len(everything)} files")
    return 1 if is_below else 0


if __name__ == "__main__":
    sys.exit(main())

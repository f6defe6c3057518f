"""The browser's driver (crates/browser/examples/driver.rs) from Python: operations, and what `read` says as objects."""

import json
import re
import struct
import subprocess
import zlib

LINE = re.compile(r'^(?P<indent> *)(?P<word>[\w-]+)(?: (?P<name>"(?:[^"\\]|\\.)*"))?(?: \[(?P<ref>e\d+)\])?(?P<rest>.*)$')
BOX = re.compile(r"@(-?\d+),(-?\d+),(-?\d+),(-?\d+)")
FIELD = re.compile(r'(?:^| )([\w-]*)=("(?:[^"\\]|\\.)*"|\S+)')


class Failed(Exception):
    """An operation that was answered with an error."""


class Element:
    """A line of a reading."""

    def __init__(self, line):
        found = LINE.match(line)
        self.line = line
        self.indent = len(found["indent"]) // 2
        self.word = found["word"]
        self.name = json.loads(found["name"]) if found["name"] else ""
        self.ref = found["ref"]
        rest = found["rest"]
        place = BOX.search(rest)
        self.box = tuple(int(number) for number in place.groups()) if place else (0, 0, 0, 0)
        self.rest = rest
        unquoted = lambda text: json.loads(text) if text.startswith('"') else text
        self.fields = {key: unquoted(value) for key, value in FIELD.findall(BOX.sub("", rest))}

    @property
    def value(self):
        return self.fields.get("", "")

    @property
    def middle(self):
        left, top, width, height = self.box
        return left + width / 2, top + height / 2

    def has(self, flag):
        return flag in self.rest.split()

    def get(self, key, default=""):
        return self.fields.get(key, default)

    def __repr__(self):
        return self.line


class Browser:
    def __init__(self, driver, *arguments):
        self.process = subprocess.Popen([driver, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, op, **fields):
        self.process.stdin.write(json.dumps({"op": op, **fields}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise Failed(f"{op}: {answer['error']}")
        return answer["ok"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def read(self, everything=True, boxes=True, **options):
        text = self("read", everything=everything, boxes=boxes, **options)
        lines = [line for line in text.splitlines()[1:] if line and not line.startswith("[cut")]
        return [Element(line) for line in lines]

    def text(self):
        return " ".join(self("text").split())

    def find(self, name=None, word=None, where=lambda element: True):
        """The first element with this name and word."""
        for element in self.read():
            if (name is None or element.name == name) and (word is None or element.word == word) and where(element):
                return element
        raise Failed(f"no {word or 'element'} {name!r}")

    def all(self, word=None, where=lambda element: True):
        return [one for one in self.read() if (word is None or one.word == word) and where(one)]

    def click(self, target, **options):
        if isinstance(target, Element):
            target = target.ref
        return self("click", ref=target, **options)

    def click_at(self, x, y, **options):
        return self("click", x=x, y=y, **options)

    def button(self, name):
        return self.click(self.find(name, "button"))

    def fill(self, target, text):
        return self("fill", ref=target.ref, text=text)

    def drag(self, *points):
        spot = lambda point: {"ref": point.ref} if isinstance(point, Element) else {"x": point[0], "y": point[1]}
        return self("drag", path=[spot(point) for point in points])

    def press(self, *keys):
        return self("press", keys=list(keys))


def png_pixels(path):
    """Width, height and rows of (r, g, b) of an 8-bit PNG."""
    data = open(path, "rb").read()
    at, packed, head = 8, b"", None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        if kind == b"IHDR":
            head = struct.unpack(">IIBBBBB", data[at + 8 : at + 21])
        elif kind == b"IDAT":
            packed += data[at + 8 : at + 8 + length]
        at += 12 + length
    width, height, channels = head[0], head[1], {2: 3, 6: 4}[head[3]]
    raw, rows, last = zlib.decompress(packed), [], bytearray(width * channels)
    for y in range(height):
        start = y * (width * channels + 1)
        kind, line = raw[start], bytearray(raw[start + 1 : start + 1 + width * channels])
        for x in range(len(line)):
            left = line[x - channels] if x >= channels else 0
            up, corner = last[x], last[x - channels] if x >= channels else 0
            if kind == 1:
                line[x] = (line[x] + left) & 255
            elif kind == 2:
                line[x] = (line[x] + up) & 255
            elif kind == 3:
                line[x] = (line[x] + (left + up) // 2) & 255
            elif kind == 4:
                guess = left + up - corner
                near = min((left, up, corner), key=lambda one: (abs(guess - one), (left, up, corner).index(one)))
                line[x] = (line[x] + near) & 255
        rows.append([tuple(line[x * channels : x * channels + 3]) for x in range(width)])
        last = line
    return width, height, rows

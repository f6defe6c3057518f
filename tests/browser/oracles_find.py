"""Oracles for tasks of MiniWoB++ about shapes: seen, counted, or found by where they are."""

import math
import os
import re
import tempfile

from page import Failed, png_pixels


def kind_of(one):
    if one.word == "text":
        return "number" if one.name.isdigit() else "letter"
    return {"rect": "rectangle", "circle": "circle", "polygon": "triangle"}[one.word]


def is_large(one):
    if one.word == "text":
        return float(one.get("font-size").rstrip("px")) > 15
    return max(one.box[2:]) > 14


def shapes(b):
    return [one for one in b.read() if one.word in ("text", "rect", "circle", "polygon") and one.ref and one.get("fill")]


def fits(one, words):
    """Whether a shape is as described: `large black item`, `small letters`, `triangle`."""
    for word in words:
        # Several of them: `letters`, `Ks`.
        word = word[:-1] if word.endswith("s") and len(word) > 1 else word
        if len(word) == 1:
            if one.name != word:
                return False
            continue
        if word in ("large", "small"):
            if is_large(one) != (word == "large"):
                return False
        elif word in ("letter", "number", "digit", "rectangle", "circle", "triangle"):
            if kind_of(one) != {"digit": "number"}.get(word, word):
                return False
        elif word not in ("item", "shape", "figure", "a", "an") and one.get("fill") != word:
            return False
    return True


def click_shape(b):
    text = b.find(where=lambda one: one.box[1] < 50).name
    words = text.replace("Click on a", "").split()
    b.click(next(one for one in shapes(b) if fits(one, words)))


def count_shape(b):
    text = b.find(where=lambda one: one.box[1] < 50 and "How many" in one.name).name
    words = re.search(r"How many (.*?) are there", text)[1].split()
    count = sum(1 for one in shapes(b) if fits(one, words))
    b.button(str(count))


def identify_shape(b):
    one = shapes(b)[0]
    b.button(kind_of(one).capitalize())


def count_sides(b):
    canvas = b.all("canvas")[0]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "canvas.png")
        b("screenshot", ref=canvas.ref, path=path)
        width, height, rows = png_pixels(path)
    far = [0.0] * 360
    for y in range(height):
        for x in range(width):
            if sum(rows[y][x]) < 300:
                angle = int(math.degrees(math.atan2(y - 50, x - 75))) % 360
                far[angle] = max(far[angle], math.hypot(x - 75, y - 50))
    # Every corner has a distance of 35 or more; sides are nearer.
    near = lambda sides: 35 * math.cos(math.pi / sides)
    smallest = sorted(one for one in far if one)[10]
    sides = min(range(3, 8), key=lambda sides: abs(near(sides) + 1 - smallest))
    b.button(str(sides))


def find_greatest(b):
    cards = [one for one in b.all("clickable") if re.fullmatch(r"-?\d+", one.name)]
    if not cards:
        raise Failed("no cards")
    b.click(max(cards, key=lambda one: int(one.name)))
    b.button("Submit")


def circle_center(b):
    x, y = b.all("circle")[0].middle
    b.click_at(x, y)
    b.button("Submit")


def midpoint(b):
    one, other = (circle.middle for circle in b.all("circle"))
    b.click_at((one[0] + other[0]) / 2, (one[1] + other[1]) / 2)
    b.button("Submit")


def bisect(b):
    circles = b.all("circle")
    corner = next(one.middle for one in circles if one.get("fill") == "blue")
    ends = [one.middle for one in circles if one.get("fill") == "black"]
    angles = [math.atan2(y - corner[1], x - corner[0]) for x, y in ends]
    between = math.atan2(sum(math.sin(angle) for angle in angles), sum(math.cos(angle) for angle in angles))
    click_inside(b, corner, [between])


def right_angle(b):
    circles = b.all("circle")
    corner = next(one.middle for one in circles if one.get("fill") == "blue")
    end = next(one.middle for one in circles if one.get("fill") == "black")
    angle = math.atan2(end[1] - corner[1], end[0] - corner[0])
    click_inside(b, corner, [angle + math.pi / 2, angle - math.pi / 2])


def click_inside(b, corner, angles):
    """Clicks as far from the corner as the drawing goes, in one of these directions."""
    for length in (60, 40, 30, 20, 12):
        for angle in angles:
            x, y = corner[0] + length * math.cos(angle), corner[1] + length * math.sin(angle)
            if 6 < x < 148 and 56 < y < 172:
                b.click_at(x, y)
                return b.button("Submit")
    raise Failed("no room")


DIGITS = """0110 1001 1001 1001 1001 1001 0110|0010 0110 0010 0010 0010 0010 0010|0110 1001 1001 0010 0100 1000 1111|
0110 1001 0001 0110 0001 1001 0110|1000 1010 1010 1111 0010 0010 0010|1111 1000 1000 1110 0001 1001 0110|
0110 1001 1000 1110 1001 1001 0110|1111 1001 0001 0010 0010 0100 0100|0110 1001 1001 0110 1001 1001 0110|
0110 1001 1001 0111 0001 1001 0110"""


def number_checkboxes(b):
    digit = int(re.search(r'number "(\d)"', b.text())[1])
    wanted = "".join(DIGITS.split("|")[digit].split())
    boxes = [one for one in b.all("checkbox") if one.box[0] < 84]
    for one, mark in zip(boxes, wanted):
        if mark == "1":
            b.click(one)
    b.button("Submit")


ORACLES = {
    "bisect-angle": bisect, "circle-center": circle_center, "click-shape": click_shape, "count-shape": count_shape,
    "count-sides": count_sides, "find-greatest": find_greatest, "find-midpoint": midpoint,
    "identify-shape": identify_shape, "number-checkboxes": number_checkboxes, "right-angle": right_angle,
}  # fmt: skip

"""Oracles for tasks of MiniWoB++ in which the mouse is moved: drags, sliders, things that move themselves."""

import math
import re
import time

from oracles_find import fits
from page import Failed

WAYS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}


def drag_box(b):
    small, large = b.find("s", "clickable"), b.find("L", "clickable")
    b.drag(small.middle, large.middle)
    b.button("Submit")


def drag_way(b):
    way = WAYS[re.search(r"Drag the \w+ (\w+) then", b.text())[1]]
    one = next(one for one in b.read() if one.word in ("circle", "polygon", "rect") and one.has("clickable"))
    x, y = one.middle
    b.drag((x, y), (x + 12 * way[0], y + 12 * way[1]), (x + 25 * way[0], y + 25 * way[1]))
    b.button("Submit")


def items(b):
    """Names and middles of list items in reading order."""
    found = []
    for one in b.read():
        if one.word == "listitem":
            found.append([None, one])
        if one.name and found and one.word in ("box", "text", "listitem") and not found[-1][0]:
            found[-1][0] = one.name
    return found


def drag_to(b, name, at):
    """Drags an item of a list to a position."""
    listed = items(b)
    here = next(number for number, (other, _) in enumerate(listed) if other == name)
    if here == at:
        return
    (x, y), (to_x, to_y) = listed[here][1].middle, listed[at][1].middle
    beyond = 6 if at > here else -6
    to = (to_x + (beyond if to_y == y else 0), to_y + (beyond if to_y != y else 0))
    b.drag((x, y), ((x + to[0]) / 2, (y + to[1]) / 2), to, to)
    time.sleep(0.6)


def drag_items(b):
    name, way = re.search(r"Drag (\S+) (.*?)\.", b.text()).groups()
    listed = [one for one, _ in items(b)]
    here = listed.index(name)
    if found := re.search(r"(\d)", way):
        at = int(found[1]) - 1
    else:
        at = {"to the top": 0, "to the bottom": len(listed) - 1, "down by one position": here + 1, "up by one position": here - 1}[way]
    drag_to(b, name, at)


def drag_items_grid(b):
    name, way = re.search(r"Drag (\S+) (.*?)\.", b.text()).groups()
    here = [one for one, _ in items(b)].index(name)
    steps = {"up by one": -3, "down by one": 3, "left by one": -1, "right by one": 1}
    places = ["top left", "top center", "top right", "center left", "center", "center right", "bottom left", "bottom center", "bottom right"]
    at = here + steps[way] if way in steps else places.index(way.replace("to the ", ""))
    drag_to(b, name, at)


def sort_numbers(b):
    listed = sorted((one for one, _ in items(b)), key=int)
    for at, name in enumerate(listed):
        for _ in range(3):
            if [one for one, _ in items(b)].index(name) == at:
                break
            drag_to(b, name, at)
    b.button("Submit")


def drag_shapes(b):
    words = re.search(r"Drag all (\w+)", b.text())[1]
    target = next(one for one in b.all("rect") if one.get("id") == "shape-container")
    place(b, [one for one in movable(b) if fits(one, [words])], target)
    b.button("Submit")


def movable(b):
    return [one for one in b.read() if one.word in ("rect", "circle", "polygon") and one.get("id") != "shape-container"]


def place(b, shapes, target):
    left, top, width, height = target.box
    for number, one in enumerate(shapes):
        column, row = number % 3, number // 3
        to = (left + width * (column + 1) / 4, top + 12 + row * 11)
        b.drag(one.middle, ((one.middle[0] + to[0]) / 2, (one.middle[1] + to[1]) / 2), to)


def drag_shapes_2(b):
    word = re.search(r"Drag all (\w+)", b.text())[1]
    boxes = sorted((one for one in b.all("rect") if one.get("id") == "shape-container"), key=lambda one: one.box[0])
    shapes = movable(b)
    first = [one for one in shapes if fits(one, [word])]
    place(b, first, boxes[0])
    place(b, [one for one in shapes if one not in first], boxes[1])
    b.button("Submit")


def drag_cube(b):
    wanted = re.search(r'so that "(\d)"', b.text())[1]
    # The top is shown first. Which way a side comes to the front is found by trying.
    for turn in range(40):
        if front(b) == wanted:
            return b.button("Submit")
        if wanted in "16":
            b.drag((80, 130), (80, 125), (80, 120), (80, 115), (80, 110))
        elif front(b) in "16":
            b.drag((80, 100), (80, 105), (80, 110), (80, 115), (80, 120))
        else:
            b.drag((60, 110), (66, 110), (72, 110), (78, 110), (84, 110))
        time.sleep(0.8)
    raise Failed("no such side")


def front(b):
    """The side that is nearest: the largest."""
    sides = [one for one in b.read() if re.fullmatch(r"[1-6]", one.name) and one.box[1] > 45]
    return max(sides, key=lambda one: one.box[2] * one.box[3]).name


def draw_circle(b):
    x, y = b.all("circle")[0].middle
    radius = 20
    points = [(x + radius * math.cos(turn * math.pi / 12), y + radius * math.sin(turn * math.pi / 12)) for turn in range(25)]
    b.drag(*points)
    b.button("Submit")


def draw_line(b):
    x, y = b.all("circle")[0].middle
    way = re.search(r"Draw a (\w+) line", b.text())[1]
    dx, dy = (1, 0) if way == "horizontal" else (0, 1)
    b.drag(*[(x + step * dx, y + step * dy) for step in range(-24, 25, 4)])
    b.button("Submit")


def paragraphs(b):
    return [one for one in b.read() if one.word in ("box", "text") and one.box[1] > 48 and len(one.name) > 10]


def highlight(b):
    select(b, paragraphs(b)[0])


def highlight_2(b):
    select(b, paragraphs(b)[int(re.search(r"the (\d)", b.text())[1]) - 1])


def select(b, one):
    left, top, width, height = one.box
    b.drag((left - 1, top + 3), (left + 20, top + 3), (left + width / 2, top + height - 3), (left + width + 1, top + height - 3))
    b.button("Submit")


def hot_cold(b):
    field = b.find(where=lambda one: one.get("id") == "touch-area")
    left, top, width, height = field.box
    best, spot = 0, None
    rank = {"ICE COLD": 0, "COLD": 1, "WARM": 2, "HOT": 3}
    look = lambda x, y: (b("hover", x=x, y=y), rank.get(re.search(r"area\. ?(.*)$", b.text())[1].strip(), 0))[1]
    for step in (30, 8, 4):
        around = [(x, y) for x in range(left + 3, left + width - 2, step) for y in range(top + 3, top + height - 2, step)]
        if spot:
            around = [(x, y) for x, y in around if math.hypot(x - spot[0], y - spot[1]) < (45 if step == 8 else 14)]
        for x, y in around:
            heat = look(x, y)
            if heat > best:
                best, spot = heat, (x, y)
            if heat == 3:
                return b.click_at(x, y)
    b.click_at(*spot)


def chase(b):
    end = time.monotonic() + 14
    while time.monotonic() < end:
        circles = b.all("circle")
        if not circles or b.all("clickable", lambda one: one.name == "START"):
            return
        b("hover", x=circles[0].middle[0], y=circles[0].middle[1])


def moving(b):
    end = time.monotonic() + 30
    while time.monotonic() < end:
        circles = [one for one in b.all("circle") if 10 < one.middle[0] < 150 and 60 < one.middle[1] < 200]
        if b.all("clickable", lambda one: one.name == "START"):
            return
        for one in circles[:1]:
            b.click_at(*one.middle)
    raise Failed("it never ends")


def slider_to(b, slider, wanted, shown):
    """Moves a slider with the arrow keys until the number beside it is right."""
    handle = next(one for one in b.read() if "ui-slider-handle" in one.get("class") and inside(one, slider))
    b("click", x=handle.middle[0], y=handle.middle[1])
    for _ in range(120):
        now = shown()
        if now == wanted:
            return
        b.press(*["ArrowRight" if now < wanted else "ArrowLeft"] * min(20, abs(now - wanted)))
    raise Failed("the slider does not get there")


def inside(one, other):
    x, y = one.middle
    left, top, width, height = other.box
    return left - 15 <= x <= left + width + 15 and top - 15 <= y <= top + height + 15


def slider(b):
    wanted = int(re.search(r"Select (-?\d+) with the slider", b.text())[1])
    one = b.find(where=lambda one: one.get("id") == "slider")
    shown = lambda: int(re.search(r"Submit\. (-?\d+)", b.text())[1])
    slider_to(b, one, wanted, shown)
    b.button("Submit")


def slider_2(b):
    wanted = [int(number) for number in re.search(r"\[(.*?)\]", b.text())[1].split(",")]
    for number, target in enumerate(wanted):
        one = b.find(where=lambda one, number=number: one.get("id") == f"slider-{number + 1}")
        shown = lambda number=number: int(re.findall(r"-?\d+", b.text().split("submit.")[1])[number])
        slider_to(b, one, target, shown)
    b.button("Submit")


def form_sequence(b):
    text = b.text()
    wanted = int(re.search(r"Select (-?\d+) with the slider", text)[1])
    number = int(re.search(r"click the (\d)", text)[1])
    one = b.find(where=lambda one: one.get("id") == "slider")
    slider_to(b, one, wanted, lambda: int(re.search(r"Submit\. (-?\d+)", b.text())[1]))
    b.click(b.all("checkbox")[number - 1])
    b.button("Submit")


def form_sequence_2(b):
    text = b.text()
    radio = int(re.search(r"(\d)\w\w radio", text)[1])
    number, field = re.search(r'number "(-?\d+)" into the (\d)', text).groups()
    b.click(b.all("radio")[radio - 1])
    b.fill(b.all("textbox")[int(field) - 1], number)
    b.button("Submit")


def form_sequence_3(b):
    choice, button = re.search(r'Choose (.*?) from the dropdown, then click the button labeled "(.*?)"', b.text()).groups()
    b.click(b.find(where=lambda one: one.word == "clickable" and "▾" in one.name))
    time.sleep(0.4)
    b.click(b.find(where=lambda one: one.name == choice and one.word != "combobox" and one.box[1] > 55))
    time.sleep(0.3)
    b.button(button)


def resize(b):
    what, way = re.search(r"so that the (\w+) is (\w+) than", b.text()).groups()
    grip = next(one for one in b.read() if "ui-resizable-se" in one.get("class"))
    x, y = grip.middle
    by = 12 if way == "larger" else -12
    to = (x + by, y) if what == "width" else (x, y + by)
    b.drag((x, y), ((x + to[0]) / 2, (y + to[1]) / 2), to, to)
    b.button("Submit")


NAMED = {
    "red": "FF0000", "lime": "00FF00", "blue": "0000FF", "yellow": "FFFF00", "cyan": "00FFFF", "magenta": "FF00FF",
    "green": "008000", "orange": "FFA500", "purple": "800080", "white": "FFFFFF", "black": "000000", "pink": "FFC0CB",
    "gray": "808080", "grey": "808080", "brown": "A52A2A", "aqua": "00FFFF", "olive": "808000", "teal": "008080",
}  # fmt: skip


def colorwheel(b):
    name = re.search(r"Select (\w+) with", b.text())[1]
    pick_color(b, NAMED[name])


def colorwheel_2(b):
    shown = b.find(where=lambda one: one.get("class") == "cc").get("color")
    pick_color(b, "".join(f"{int(part):02X}" for part in re.findall(r"\d+", shown)[:3]))


def pick_color(b, code):
    b.fill(b.all("textbox")[0], code)
    b.press("Tab")
    b.click(b.find("Submit", "button"))


QUILL = {
    "red": "230,0,0", "orange": "255,153,0", "yellow": "255,255,0", "green": "0,138,0", "blue": "0,102,204", "purple": "153,51,255",
}  # fmt: skip


def text_editor(b):
    text = b.text()
    whole = "everything" in text.split("Submit")[0]
    found = re.search(r"(?:style|color) (\w+)", text.split("press Submit")[0])[1]
    area = b.find(where=lambda one: one.get("class").startswith("ql-editor") or one.word == "editable" or (one.word == "textbox" and one.box[3] > 40))
    b.click(area)
    b.press("Control+Home")
    if whole:
        b.press("Control+a")
    else:
        word = re.search(r"give the text (.*?) the (?:style|color)", text)[1]
        content = text.split("press Submit. ")[-1].replace(" Submit", "")
        at = content.index(word)
        b.press(*["ArrowRight"] * at)
        b.press(*["Shift+ArrowRight"] * len(word))
    if found in QUILL:
        b.click(b.find(where=lambda one: "ql-picker-label" in one.get("class")))
        time.sleep(0.3)
        b.click(b.find(where=lambda one: one.get("color") == f"rgb({QUILL[found]})"))
    else:
        css = {"bold": "ql-bold", "italics": "ql-italic", "underlined": "ql-underline"}[found]
        b.click(b.find(where=lambda one: css in one.get("class").split() and one.word == "button"))
    b.button("Submit")


ORACLES = {
    "chase-circle": chase, "drag-box": drag_box, "drag-circle": drag_way, "drag-cube": drag_cube, "drag-items": drag_items,
    "drag-items-grid": drag_items_grid, "drag-shapes": drag_shapes, "drag-shapes-2": drag_shapes_2,
    "drag-single-shape": drag_way, "drag-sort-numbers": sort_numbers, "draw-circle": draw_circle, "draw-line": draw_line,
    "form-sequence": form_sequence, "form-sequence-2": form_sequence_2, "form-sequence-3": form_sequence_3,
    "highlight-text": highlight, "highlight-text-2": highlight_2, "hot-cold": hot_cold,
    "moving-items": moving, "resize-textarea": resize, "text-editor": text_editor, "use-colorwheel": colorwheel,
    "use-colorwheel-2": colorwheel_2, "use-slider": slider, "use-slider-2": slider_2,
}  # fmt: skip

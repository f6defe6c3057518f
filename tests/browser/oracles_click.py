"""Oracles for tasks of MiniWoB++ that are clicked through."""

import re
import time

from page import Failed

SHADES = {"red": 0, "green": 1, "blue": 2}


def quoted(text):
    return re.search(r'"([^"]*)"', text)[1]


def click_named(b):
    b.click(b.find(quoted(b.text()), where=lambda one: one.word in ("button", "clickable", "link")))


def click_test(b):
    b.click(b.all("button")[0])


def click_one(b):
    b.button("ONE")


def click_both(b):
    b.button("ONE")
    b.button("TWO")


def button_delay(b):
    seconds = float(re.search(r"wait (\d+(?:\.\d+)?) second", b.text())[1])
    b.button("ONE")
    time.sleep(seconds + 0.3)
    b.button("TWO")


def chosen(text):
    names = re.search(r"Select (.*?) and click Submit", text)[1]
    return [] if names == "nothing" else names.split(", ")


def checkboxes(b):
    for name in chosen(b.text()):
        b.click(b.find(name, "checkbox"))
    b.button("Submit")


SYNONYMS = """big large huge enormous gigantic|small tiny little mini petite|red scarlet crimson vermillion|happy cheerful
joyful gleeful delighted|sad unhappy sorrowful miserable tragic|angry mad furious irritated|evil wicked immoral sinful corrupt
depraved|wrong incorrect mistaken erroneous|real genuine actual|strange odd peculiar unusual weird|stop cease halt end finish|
scared terrified panicked fearful frightened afraid|quiet calm peaceful serene mild|old aged archaic|love like adore favor|kill
murder assassinate|keep retain preserve sustain maintain|hide conceal camouflage|hate despise loathe detest dislike|funny
humorous amusing comical laughable|fat fleshy plump chubby|stupid dumb dull unwise|delicious savory delectable appetizing|cut
slice carve chop|brave courageous fearless|begin start initiate launch|answer reply response|television televisions TV TVs|house
home houses homes|fire flame fires flames|pig pork swine|rabbit rabbits bunny bunnies|car cars automobile automobiles vehicle
vehicles|water"""


def checkboxes_soft(b):
    groups = [group.split() for group in SYNONYMS.split("|")]
    names = re.search(r"similar to (.*?) and click Submit", b.text())[1].split(", ")
    similar = {word for group in groups for word in group if any(name in group for name in names)}
    for one in b.all("checkbox"):
        if one.name in similar:
            b.click(one)
    b.button("Submit")


def option(b):
    b.click(b.find(chosen(b.text())[0], "radio"))
    b.button("Submit")


def choose_list(b):
    name = re.search(r"Select (.*?) from the list", b.text())[1]
    b("select", ref=b.all("combobox")[0].ref, options=[name])
    b.button("Submit")


def scroll_list(b):
    names = re.search(r"Select (.*?) from the scroll list", b.text())[1].split(", ")
    b("select", ref=b.all("listbox")[0].ref, options=names)
    b.button("Submit")


def collapsible(b):
    b.click(b.all("tab")[0])
    time.sleep(0.5)
    b.button("Submit")


def collapsible_2(b):
    wanted = quoted(b.text())
    for number in range(len(b.all("tab"))):
        links = b.all("clickable", lambda one: one.name == wanted)
        if links:
            break
        b.click(b.all("tab")[number])
        time.sleep(0.5)
    b.click(b.find(wanted, "clickable"))


def tab(b):
    b.click(b.find(re.search(r"Tab #\d+", b.text())[0], "link"))


def tab_2(b):
    wanted = quoted(b.text())
    for number in range(len(b.all("tab"))):
        links = b.all("clickable", lambda one: one.name == wanted)
        if links:
            return b.click(links[0])
        tabs = b.all("tab")
        if number + 1 < len(tabs):
            b.click(tabs[number + 1])
    raise Failed("no link")


COLORS = {
    "black": "0,0,0", "magenta": "255,0,255", "green": "0,128,0", "red": "255,0,0", "blue": "0,0,255", "yellow": "255,255,0",
    "white": "255,255,255", "grey": "128,128,128", "gray": "128,128,128", "orange": "255,165,0", "aqua": "0,255,255",
    "pink": "255,192,203", "lime": "0,255,0", "olive": "128,128,0", "purple": "128,0,128", "cyan": "0,255,255",
}  # fmt: skip


def color(b):
    boxes = b.all("clickable", lambda one: one.get("class") == "color" or "color" in one.fields)
    query = next((one for one in boxes if one.get("id") == "query-color"), None)
    others = [one for one in boxes if one is not query]
    if query and query.get("color"):
        wanted = query.get("color")
    else:
        name = re.search(r"Click on the (\w+) colored box", b.text())[1]
        wanted = f"rgb({COLORS[name]})"
    b.click(next(one for one in others if one.get("color") == wanted))


def shades(b):
    wanted = SHADES[re.search(r"shades of (\w+)", b.text())[1]]
    for one in b.all("clickable"):
        parts = [int(part) for part in re.findall(r"\d+", one.get("color"))]
        if parts and parts[wanted] == max(parts) and parts.count(max(parts)) == 1:
            b.click(one)
    b.button("Submit")


def dialog(b):
    b.button("Close")


def dialog_2(b):
    name = quoted(b.text())
    b.button("Close" if name == "x" else name)


def menu(b):
    path = re.search(r"Select (\S+)", b.text())[1].split(">")
    for name in path[:-1]:
        b("hover", ref=b.find(name, "menuitem").ref)
        time.sleep(0.5)
    b.click(b.find(path[-1], "menuitem"))


def menu_2(b):
    text = b.text()
    b.button("Menu")
    labelled = re.search(r'labeled "([^"]*)"', text)
    b("wait", text="Playback")
    time.sleep(0.4)
    if labelled:
        name = labelled[1]
    else:
        # The icon in the task is a class such as `ui-icon-disk`.
        icons = [one.get("class") for one in b.read() if "ui-icon-" in one.get("class") and one.box[1] < 50]
        name = icon_name(icons[0])
    b.click(deep_item(b, name))


def icon_name(classes):
    known = {
        "disk": "Save", "zoomin": "Zoom In", "zoomout": "Zoom Out", "print": "Print...", "seek-start": "Prev", "stop": "Stop",
        "play": "Play", "seek-end": "Next",
    }  # fmt: skip
    return known[re.search(r"ui-icon-([\w-]+)", classes)[1]]


def deep_item(b, name):
    items = b.all("menuitem")
    for item in items:
        if item.name == name:
            return item
    for item in items:
        b("hover", ref=item.ref)
        time.sleep(0.5)
        for inner in b.all("menuitem"):
            if inner.name == name:
                return inner
    raise Failed(f"no item {name}")


def pie(b):
    wanted = quoted(b.text()).strip()
    centre = max(b.all("path"), key=lambda one: one.box[2] * one.box[3])
    b.click_at(*centre.middle)
    time.sleep(1)
    b.click(b.find(wanted, "text"))


def size_of(one):
    return one.box[2] * one.box[3]


def widget(b):
    kind = quoted(b.text())
    role = {"text": "textbox", "textarea": "textbox", "radio": "radio", "checkbox": "checkbox", "button": "button"}[kind]
    found = b.all(role)
    if kind in ("text", "textarea"):
        # One line has a height of 21.
        found = [one for one in found if (one.box[3] > 23) == (kind == "textarea")]
    b.click(found[0])


def tree(b):
    wanted = quoted(b.text())
    opened = set()
    for _ in range(40):
        elements = b.read()
        for one in elements:
            if one.name == wanted and one.word in ("clickable", "box") and one.box[1] > 45:
                return b.click(one)
        closed = [
            one for one in elements if "expandable-hitarea" in one.get("class") and one.ref not in opened and one.box[3]
        ]
        opened.add(closed[0].ref)
        b.click(closed[0])
        time.sleep(0.2)
    raise Failed("not in the tree")


def ascending(b):
    # They are hidden after the first click, so the places are kept in mind.
    numbers = b.all("text", lambda one: one.name.isdigit() and one.ref)
    for one in sorted(numbers, key=lambda one: int(one.name)):
        b.click_at(*one.middle)


def focus(b):
    b.click(b.all("textbox")[0])


def focus_2(b):
    b.click(b.all("textbox")[int(re.search(r"(\d)\w\w input", b.text())[1]) - 1])


def grid(b):
    wanted = re.search(r"\(-?\d,-?\d\)", b.text())[0]
    b.click(b.find(word="circle", where=lambda one: one.get("id") == wanted))


def odd_or_even(b):
    buttons = b.all("button")
    for one in b.read():
        if one.word == "box" and re.fullmatch(r"-?\d+", one.name):
            kind = "Odd" if int(one.name) % 2 else "Even"
            b.click(next(button for button in buttons if button.name == kind and abs(button.box[1] - one.box[1]) < 12))
    b.button("Submit")


def simon(b):
    buttons = {one.ref for one in b.all("button")}
    order, lit, last = [], None, time.monotonic()
    while time.monotonic() - last < 1.6:
        now = next((one.ref for one in b.all("button") if one.get("class") == "push" or one.has("push")), None)
        if now and now != lit:
            order.append(now)
        if now:
            last = time.monotonic()
        lit = now
    assert buttons
    for ref in order:
        b.click(ref)


def phone_book(b):
    found = re.search(r"Find (\w+) in the contact book and click on their (.*?)\.", b.text())
    name, what = found[1], {"phone number": "Phone:", "email": "Email:", "address": "Address:"}[found[2]]
    for _ in range(30):
        elements = b.read()
        if any(one.word == "heading" and one.name == name for one in elements):
            label = next(at for at, one in enumerate(elements) if one.name == what)
            return b.click(elements[label + 1])
        b.click(b.find(">", "link"))
    raise Failed("not in the book")


def generate_number(b):
    found = re.search(r"Generate (?:a|an) (.*?), then press submit", b.text())[1]
    for _ in range(400):
        b.button("Generate")
        shown = next(one.name for one in b.read() if one.box[1] > 60 and re.fullmatch(r"-?\d+|-", one.name))
        if shown != "-" and fits(int(shown), found):
            return b.button("Submit")
    raise Failed("no such number")


def fits(number, rule):
    if "odd" in rule:
        return number % 2 == 1
    if "even" in rule:
        return number % 2 == 0
    bound = int(re.search(r"-?\d+", rule)[0])
    return number > bound if "greater" in rule else number < bound


def stock(b):
    bound = float(re.search(r"less than \$([\d.]+)", b.text())[1].rstrip("."))
    buy = b.find("Buy", "button")
    for _ in range(2000):
        price = re.search(r"Stock price: \$([\d.]+)", b.text())
        # The price moves on while we click.
        if price and float(price[1]) < bound - 1:
            return b.click(buy)
    raise Failed("never cheap enough")


SOCIAL = {"Reply": "reply", "Retweet": "retweet", "Like": "like", "Share": "share"}


def posts_of(b, user):
    """For each post of the user, the pictures to click below its name."""
    found, current = [], None
    for one in b.read():
        if one.box[1] < 50:
            continue
        if one.name.startswith("@"):
            current = [] if one.name == user else None
            if current is not None:
                found.append(current)
        elif current is not None and one.word in ("img", "clickable"):
            current.append(one)
    return found


def social(b):
    found = re.search(r'For the user (@\S+), click on the "(.*?)" button', b.text())
    user, action = found[1], found[2]
    time.sleep(0.4)
    post = posts_of(b, user)[0]
    if action in SOCIAL:
        return b.click(next(one for one in post if SOCIAL[action] in one.get("class").split()))
    b.click(next(one for one in post if "more" in one.get("class").split()))
    name = f"{action} {user}" if action in ("Mute", "Block") else action
    b.click(b.find(where=lambda one: one.name == name and one.box[1] > 50))


def social_many(b):
    text = b.text()
    found = re.search(r'Click the "(\w+)" button on (?:all|(\d+)) posts? by (@\S+)', text)
    count = int(found[2]) if found[2] else 1000
    time.sleep(0.4)
    wanted = [next(one for one in post if SOCIAL[found[1]] in one.get("class").split()) for post in posts_of(b, found[3])]
    for one in wanted[:count]:
        b.click(one)
    b.button("Submit")


def order_food(b):
    text = b.text()
    listed = re.search(r"Order one of each item: (.*?) Appetizers", text)
    if listed:
        wanted = [(name.strip(), 1) for name in listed[1].split(",")]
        choose = lambda name, kinds: any(name == one for one, _ in wanted)
        count = len(wanted)
    else:
        found = re.search(r"Order (\d+) items? that (?:are|is) (.*?) Appetizers", text)
        kind = found[2].strip().rstrip(".")
        count = int(found[1])
        choose = lambda name, kinds: kind in kinds
    ordered = 0
    items, current = [], None
    for one in b.read():
        if one.word == "box" and one.box[1] > 55 and len(one.name) > 3:
            current = [one.name, [], None]
            items.append(current)
        elif one.word == "img" and current:
            current[1].append(one.name)
        elif one.name == "+" and current:
            current[2] = one
    for name, kinds, plus in items:
        if ordered < count and plus and choose(name, kinds):
            b.click(plus)
            ordered += 1
    b.button("Order!")


def tic_tac_toe(b):
    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
    for _ in range(9):
        elements = b.read()
        cells, marks, at = [None] * 9, [""] * 9, None
        for one in elements:
            if re.fullmatch(r"ttt-\d", one.get("id")):
                at = int(one.get("id")[4:])
                cells[at] = one
                marks[at] = "O" if "mark-o" in one.get("class") else "X" if "mark-x" in one.get("class") else ""
            elif at is not None and one.indent > cells[at].indent:
                kind = one.get("class") + one.name.lower()
                marks[at] = marks[at] or ("O" if "o" in kind.split("-")[-1] or "mark-o" in kind else "X" if kind else "")
        if not any(cells):
            return
        move = best(marks, lines)
        if move is None:
            return
        b.click(cells[move])
        time.sleep(0.1)


def best(marks, lines):
    free = [at for at, mark in enumerate(marks) if not mark]
    for mark in "XO":
        for line in lines:
            held = [marks[at] for at in line]
            if held.count(mark) == 2 and held.count("") == 1:
                return line[held.index("")]
    return next((at for at in (4, 0, 2, 6, 8, 1, 3, 5, 7) if at in free), None)


ORACLES = {
    "ascending-numbers": ascending, "button-delay": button_delay, "choose-list": choose_list,
    "click-button": click_named, "click-button-sequence": click_both, "click-checkboxes": checkboxes,
    "click-checkboxes-large": checkboxes, "click-checkboxes-soft": checkboxes_soft, "click-checkboxes-transfer": checkboxes,
    "click-collapsible": collapsible, "click-collapsible-nodelay": collapsible, "click-collapsible-2": collapsible_2,
    "click-collapsible-2-nodelay": collapsible_2, "click-color": color, "click-dialog": dialog, "click-dialog-2": dialog_2,
    "click-link": click_named, "click-menu": menu, "click-menu-2": menu_2, "click-option": option, "click-pie": pie,
    "click-pie-nodelay": pie, "click-scroll-list": scroll_list, "click-shades": shades, "click-tab": tab, "click-tab-2": tab_2,
    "click-tab-2-easy": tab_2, "click-tab-2-hard": tab_2, "click-tab-2-medium": tab_2, "click-test": click_test,
    "click-test-2": click_one, "click-test-transfer": click_one, "click-widget": widget, "focus-text": focus,
    "focus-text-2": focus_2, "generate-number": generate_number, "grid-coordinate": grid, "navigate-tree": tree,
    "odd-or-even": odd_or_even, "order-food": order_food, "phone-book": phone_book, "simon-says": simon,
    "social-media": social, "social-media-all": social_many, "social-media-some": social_many, "stock-market": stock,
    "tic-tac-toe": tic_tac_toe, "unicode-test": click_named,
}  # fmt: skip

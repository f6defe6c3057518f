"""Twelve small goals for a local model, each with the files it begins with and a check of its effect."""

import json
import re
import subprocess
import sys

ORDERS = "order,item,amount\n" + "".join(f"{n},item {n % 7},{n * 3 % 41}\n" for n in range(1, 38))
PAYMENTS = "id,who,amount\n1,Ann,12\n2,Ben,30\n3,Cleo,8\n4,Ann,25\n5,Dan,15\n6,Eva,10\n"
DATES = '''"""Dates as people write them."""

from datetime import date

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]


def month_number(name):
    return MONTHS.index(name[:3].lower()) + 1


def parse_date(text):
    day, month, year = text.split()
    return date(int(year), month_number(month), int(day))
'''
MAIN = '''import sys

from dates import parse_date

if __name__ == "__main__":
    print(parse_date(" ".join(sys.argv[1:])))
'''
SERVER = "# The server\nhost = 127.0.0.1\nport = 8080\nworkers = 4\n"
SHOP = '''def total(prices):
    return sum(prices)


def with_tax(prices):
    return total(prices) * 1.2
'''
TILL = "from shop import total\n\nprint(total([1, 2, 3]))\n"
CALC = "def add(a, b):\n    return a + b\n\n\ndef absolute(n):\n    return n\n"
TEST_CALC = '''import unittest

from calc import absolute, add


class CalcTests(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(1, 2), 3)

    def test_absolute_of_negative(self):
        self.assertEqual(absolute(-2), 2)


if __name__ == "__main__":
    unittest.main()
'''
NOTES = '''# Meeting of 3 March

We talked about moving the office to Lisbon. The lease in Porto ends in June, so the move must be done before that. Clara looks
for a building with a garden. The budget is 40,000 euros, and Tom thinks that it is too small.

Next meeting: 17 March.
'''
PAGES = '''def page_count(items, per_page):
    """How many pages are needed to show this many items."""
    return items // per_page
'''
TEST_PAGES = '''import unittest

from pages import page_count


class PageTests(unittest.TestCase):
    def test_full_pages(self):
        self.assertEqual(page_count(20, 10), 2)

    def test_last_page_is_not_full(self):
        self.assertEqual(page_count(21, 10), 3)

    def test_nothing(self):
        self.assertEqual(page_count(0, 10), 0)


if __name__ == "__main__":
    unittest.main()
'''
PACKAGE = '{\n  "name": "walk",\n  "version": "1.4.2",\n  "license": "MIT"\n}\n'


class Goal:
    def __init__(self, name, text, files, check):
        self.name, self.text, self.files, self.check = name, text, files, check


def read(folder, name):
    file = folder / name
    return file.read_text() if file.is_file() else ""


def python(folder, code):
    """What a piece of Python prints in the folder."""
    done = subprocess.run([sys.executable, "-B", "-c", code], cwd=folder, capture_output=True, text=True, timeout=30)
    return done.stdout.strip() if done.returncode == 0 else f"error: {done.stderr[-200:]}"


def has_number(text, number):
    return re.search(rf"(?<![\d.]){number}(?!\d)", text.replace(",", "")) is not None


def renamed(folder, _):
    is_gone = not any(re.search(r"\btotal\b", read(folder, name)) for name in ("shop.py", "till.py"))
    return is_gone and python(folder, "import till; from shop import sum_of, with_tax; print(with_tax([10]))") == "6\n12.0"


def pages_fixed(folder, _):
    passes = subprocess.run([sys.executable, "-B", "-m", "unittest"], cwd=folder, capture_output=True, timeout=60).returncode == 0
    return passes and read(folder, "test_pages.py") == TEST_PAGES


def version_set(folder, _):
    try:
        return json.loads(read(folder, "package.json")) == {"name": "walk", "version": "2.0.0", "license": "MIT"}
    except ValueError:
        return False


def summarized(_, answer):
    facts = sum(word in answer.lower() for word in ("lisbon", "porto", "june", "40,000", "clara", "budget", "garden"))
    return facts >= 2 and len(answer) < 700 and "We talked about" not in answer


def doubled(folder, _):
    return python(folder, "from calc import add, double; print(double(21), add(1, 2))") == "42 3"


GOALS = [
    Goal("create a file", "Create a file hello.txt with the text hi.", {},
         lambda folder, _: read(folder, "hello.txt").strip() == "hi"),
    Goal("count rows", "How many rows of data are in data/orders.csv, without the header line?", {"data/orders.csv": ORDERS},
         lambda _, answer: has_number(answer, 37)),
    Goal("find a definition", "In which file and on which line is the function parse_date defined?",
         {"dates.py": DATES, "main.py": MAIN}, lambda _, answer: "dates.py" in answer and has_number(answer, 12)),
    Goal("edit a line", "In server.conf, change the port from 8080 to 9090.", {"server.conf": SERVER},
         lambda folder, _: read(folder, "server.conf") == SERVER.replace("8080", "9090")),
    Goal("rename a function", "Rename the function total to sum_of, in shop.py and in till.py.", {"shop.py": SHOP, "till.py": TILL},
         renamed),
    Goal("say what fails", "Run the tests with `python3 -m unittest` and say which test fails.",
         {"calc.py": CALC, "test_calc.py": TEST_CALC},
         lambda _, answer: "test_absolute_of_negative" in answer and not re.search(r"test_add\b[^.\n]*fail", answer)),
    Goal("summarize a file", "Summarize notes.md in two sentences.", {"notes.md": NOTES}, summarized),
    Goal("fix an off-by-one", "A test in test_pages.py fails. Fix the bug in pages.py, and run `python3 -m unittest` to check it.",
         {"pages.py": PAGES, "test_pages.py": TEST_PAGES}, pages_fixed),
    Goal("add a line", "Add the line `milk` to the end of shopping.txt.", {"shopping.txt": "bread\neggs\n"},
         lambda folder, _: read(folder, "shopping.txt").strip() == "bread\neggs\nmilk"),
    Goal("sum a column", "What is the sum of the column amount in payments.csv?", {"payments.csv": PAYMENTS},
         lambda _, answer: has_number(answer, 100)),
    Goal("add a function", "Add a function double(n) to calc.py that returns n times two.", {"calc.py": CALC}, doubled),
    Goal("set a version", "In package.json, set the version to 2.0.0.", {"package.json": PACKAGE}, version_set),
]

"""Runs one piece of code in a fresh process: variables and tools in, result, prints and errors out."""

import ast
import atexit
import builtins
import collections
import datetime
import faulthandler
import functools
import io
import itertools
import keyword
import linecache
import math
import random
import re
import threading
import traceback
import types

NAME = "<code>"
DUMPS = json.dumps  # as it was before any code could replace it
RESULT = 400_000  # bytes of a result as JSON; larger ones are for files
SHOWN = 60_000  # characters of a result as text
FRAMES = 8  # lines of a traceback at its beginning, and as many at its end


class ToolError(Exception):
    """A tool could not be called, or its call failed."""


class Result(dict):
    """The data that a tool returned; `str()` of it is the text that a model would get."""

    @staticmethod
    def of(value, text):
        if value is None:
            return text
        if isinstance(value, dict):
            value = Result(value)
            value.text = text
        return value

    def __str__(self):
        return self.text


class Tools:
    """The tools as functions: `tools.read_file(path="a.txt")`."""

    def __init__(self, call, known):
        self.__dict__.update(_call=call, _known=known)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)

        def function(*args, **kwargs):
            return self._call(name, named(name, self._known.get(name), args, kwargs))

        function.__name__ = function.__qualname__ = name
        return function

    def __dir__(self):
        return sorted(self._known)


def named(tool, parameters, args, kwargs):
    """The arguments by name. Positional ones follow the order of the tool's parameters, the required ones first."""
    if len(args) == 1 and isinstance(args[0], dict) and not kwargs and len(parameters or ()) != 1:
        return dict(args[0])
    if parameters is None and args:
        raise TypeError(f"give the arguments of {tool} by name")
    if len(args) > len(parameters or ()):
        raise TypeError(f"{tool} takes {', '.join(parameters) or 'no arguments'}; {len(args)} values were given")
    given = dict(zip(parameters or (), args))
    twice = sorted(set(given) & set(kwargs))
    if twice:
        raise TypeError(f"{tool} got {twice[0]} twice")
    return {**given, **kwargs}


def prepare(port, crashed):
    """Does everything that can be done before the call arrives."""
    sys.stdout = sys.stderr = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8", "backslashreplace",
                                               newline="\n", line_buffering=True)
    sys.__stdout__ = sys.__stderr__ = sys.stdout
    sys.argv = ["python"]
    faulthandler.enable(crashed, all_threads=False)
    gc.enable()
    # Memory pages that are touched here need not be copied later, while a caller waits.
    warm = {"code": "def f(x):\n  return [x + 1 for _ in 'ab']\nf(y)", "variables": {"y": 1}, "tools": {"t": ["a"]}}
    namespace, given = namespace_of(json.loads(json.dumps(warm)), port)
    encoded(told(warm["code"], namespace, given))
    told("1 / 0", namespace, given)
    namespace.clear()
    threading.enumerate()
    gc.collect()


def run(call, port):
    getpid = os.getpid
    process = getpid()
    namespace, given = namespace_of(call, port)
    try:
        said = told(call["code"], namespace, given)
        said["threads"] = sum(not one.daemon for one in threading.enumerate() if one is not threading.current_thread())
        flush()
        said = encoded(said)
    except BaseException:
        said = b'{"ok": false, "error": "the code replaced a part of Python that is needed to tell its result"}'
    if getpid() != process:
        # This is a process that the code forked; only the original process reports the result.
        return
    port.say(b"V", said)
    # Files that the code left open are closed and its exit handlers run, as when a program ends.
    namespace.clear()
    gc.collect()
    getattr(atexit, "_run_exitfuncs", int)()
    flush()


def namespace_of(call, port):
    """The globals of the code, and which of them it was given."""

    def call_tool(name, arguments=None, **kwargs):
        answer = port.ask({"tool": str(name), "args": {**(arguments or {}), **kwargs}})
        if "error" in answer:
            raise ToolError(answer["error"])
        return Result.of(answer["value"], answer["text"])

    main = types.ModuleType("__main__")
    namespace = main.__dict__
    tools = Tools(call_tool, call.get("tools", {}))
    for name in call.get("tools", {}):
        if is_free(name):
            namespace[name] = getattr(tools, name)
    variables = call.get("variables", {})
    namespace.update(tools=tools, call_tool=call_tool, ToolError=ToolError, reads_data=dict(variables))
    namespace.update((name, value) for name, value in variables.items() if is_free(name))
    sys.modules["__main__"] = main
    return namespace, {name: id(value) for name, value in namespace.items()}


def flush():
    try:
        sys.stdout.flush()
    except (ValueError, OSError, AttributeError):
        pass


def is_free(name):
    return name.isidentifier() and not keyword.iskeyword(name) and not hasattr(builtins, name)


def told(code, namespace, given):
    """The result of the code, as plain data."""
    try:
        return {"ok": True, **shown(execute(tidy(code), namespace, given))}
    except SystemExit as error:
        if error.code is None or error.code == 0:
            return {"ok": True, "exit": 0, **shown(named_result(namespace, given))}
        return {"ok": False, "exit": str(error.code)[:1000], "error": f"the code called sys.exit({error.code!r})"[:1000]}
    except MemoryError as error:
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        namespace.clear()
        gc.collect()
        return {"ok": False, "error": described(error)}
    except BaseException as error:
        return {"ok": False, "error": described(error)}


def tidy(code):
    """Removes a Markdown fence around the code and common indentation. Lines keep their numbers."""
    lines = code.split("\n")
    full = [number for number, line in enumerate(lines) if line.strip()]
    if len(full) >= 2 and lines[full[0]].strip().startswith("```") and lines[full[-1]].strip() == "```":
        lines[full[0]] = lines[full[-1]] = ""
        full = full[1:-1]
    if full:
        first = lines[full[0]]
        indent = first[:len(first) - len(first.lstrip())]
        if indent and all(lines[number].startswith(indent) for number in full):
            lines = [line[len(indent):] if line.startswith(indent) else line for line in lines]
    return "\n".join(lines)


def execute(code, namespace, given):
    linecache.cache[NAME] = (len(code), None, [line + "\n" for line in code.split("\n")], NAME)
    tree = ast.parse(code, NAME)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, NAME, "exec"), namespace)
    value = None
    if last is not None:
        value = eval(compile(ast.Expression(last.value), NAME, "eval"), namespace)
    return named_result(namespace, given) if value is None else value


def named_result(namespace, given):
    """The variable `result` or `output`, if the code itself assigned it."""
    for name in ("result", "output"):
        if name in namespace and given.get(name) != id(namespace[name]):
            return namespace[name]
    return None


def encoded(value):
    """As JSON. Lone surrogates, which Python allows and JSON does not, become question marks."""
    return DUMPS(value, ensure_ascii=False).encode("utf-8", "replace")


def shown(value):
    """A result as JSON if that loses nothing, and as text."""
    text = value if isinstance(value, str) else represented(value)
    if len(text) > SHOWN:
        text = f"{text[:SHOWN // 2]}\n[{len(text) - SHOWN} characters left out]\n{text[-SHOWN // 2:]}"
    try:
        data = DUMPS(value, allow_nan=False) if is_plain(value, 64) else None
    except (TypeError, ValueError, RecursionError, OverflowError):
        data = None
    if data is None or len(data) > RESULT:
        return {"result": None if value is None else text, "shown": text, "is_data": False}
    return {"result": value, "shown": text, "is_data": True}


def is_plain(value, depth):
    """Whether JSON loses nothing: only 64-bit numbers, only text as keys, no lone surrogates, not too deep."""
    kind = type(value)
    if kind is int:
        return -(1 << 63) <= value < 1 << 64
    if kind in (list, tuple):
        return depth > 0 and all(is_plain(one, depth - 1) for one in value)
    if kind in (dict, Result):
        return depth > 0 and all(type(key) is str and is_plain(one, depth - 1) for key, one in value.items())
    if kind is str:
        return value.isascii() or not any("\ud800" <= one <= "\udfff" for one in value)
    return kind in (float, bool, type(None))


def represented(value):
    try:
        return repr(value)
    except BaseException as error:
        return f"<a {type(value).__name__} whose repr raised {type(error).__name__}>"


def described(error):
    """An error for people to read: its message, and the lines of the code, the innermost last."""
    parts = []
    while error is not None and len(parts) < 3:
        parts.append(one_error(error))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\nwhich came of\n".join(parts)


def one_error(error):
    kind = type(error)
    name = kind.__name__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"
    if isinstance(error, SyntaxError) and error.filename == NAME:
        line = (error.text or linecache.getline(NAME, error.lineno or 0)).strip()
        return f"{name}: {error.msg}\n  line {error.lineno}: {line}"
    try:
        message = str(error)
    except BaseException:
        message = "<no message: its own str() failed>"
    lines = []
    for frame, number in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename == NAME:
            where = "" if frame.f_code.co_name == "<module>" else f", in {frame.f_code.co_name}"
            lines.append(f"  line {number}{where}: {linecache.getline(NAME, number).strip()[:200]}")
    if len(lines) > 2 * FRAMES:
        lines[FRAMES:-FRAMES] = [f"  [{len(lines) - 2 * FRAMES} lines left out]"]
    head = f"{name}: {message[:4000]}" if message else name
    return "\n".join([head, *lines])


Server().serve()

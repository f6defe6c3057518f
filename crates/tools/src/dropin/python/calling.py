"""Serves calls of the functions in one file. The file is imported here, in the sandbox, and nowhere else."""
import asyncio
import importlib.machinery
import inspect
import io
import json
import linecache
import os
import struct
import sys
import threading
import traceback

# What the file prints must not reach the pipe for frames.
LINE_IN, LINE_OUT = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
NOTHING = os.open(os.devnull, os.O_RDONLY)
os.dup2(NOTHING, 0)
os.dup2(2, 1)
ZERO = bytes(8)


def encoded(value):
    """As JSON. Lone surrogates, which Python allows and JSON does not, become question marks."""
    return json.dumps(value, allow_nan=False, ensure_ascii=False).encode("utf-8", "replace")


class Talk:
    """Reads and writes the frames of calls. Output from threads that outlive their call is dropped."""

    def __init__(self):
        self.lock, self.nonce, self.asked = threading.Lock(), None, 0

    def send(self, letter, nonce, payload=b""):
        LINE_OUT.write(struct.pack("<I", 9 + len(payload)) + letter + nonce + payload)
        LINE_OUT.flush()

    def say(self, letter, value, ends=False):
        payload = value if isinstance(value, bytes) else encoded(value)
        with self.lock:
            if self.nonce is not None:
                self.send(letter, self.nonce, payload)
                if ends:
                    self.nonce, self.asked = None, 0

    def tell(self, what):
        """Sends a frame and waits until it was received, so that it arrives even if the process crashes next."""
        with self.lock:
            self.asked += 1
            self.send(b"Q", self.nonce, encoded({"id": self.asked, "what": what}))
        self.hear(b"A")

    def hear(self, wanted):
        """The next frame, which must be of this kind: its nonce and payload."""
        head = LINE_IN.read(4)
        if len(head) < 4:
            os._exit(0)
        frame = LINE_IN.read(struct.unpack("<I", head)[0])
        if frame[:1] != wanted:
            os._exit(1)
        return frame[1:9], json.loads(frame[9:] or b"null")


class Printing(io.TextIOBase):
    """Standard output and error of the file, sent as log lines."""

    encoding, errors = "utf-8", "replace"

    def __init__(self, talk):
        self.talk = talk

    def writable(self):
        return True

    def write(self, text):
        text = str(text)
        for start in range(0, len(text), 16384):
            self.talk.say(b"O", text[start:start + 16384].encode("utf-8", "replace"))
        return len(text)


class Known(dict):
    """A part of the context, by key or attribute."""

    @classmethod
    def of(cls, value):
        if isinstance(value, dict):
            return cls((name, cls.of(one)) for name, one in value.items())
        return [cls.of(one) for one in value] if isinstance(value, list) else value

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError("no `%s` here; available: %s" % (name, ", ".join(self))) from None


class Context(dict):
    """The value for a parameter named `context`: information about the run, by key or attribute."""

    def __init__(self, known, talk):
        super().__init__((name, Known.of(value)) for name, value in known.items())
        self._talk = talk

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError("the context has no `%s`; it has %s and log()" % (name, ", ".join(self))) from None

    def log(self, text):
        """Shows a line to people who watch the run."""
        self._talk.say(b"O", (str(text) + "\n").encode("utf-8", "replace"))


class FromSource(importlib.machinery.SourceFileLoader):
    """Ignores `__pycache__`, where anyone who can write could put other code unnoticed."""

    def path_stats(self, path):
        raise OSError("not looked for")


def from_source(folder):
    """Finds modules below a folder, and leaves all others to the other finders."""
    machinery = importlib.machinery
    folder = os.path.realpath(folder)
    loaders = [
        (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES),
        (FromSource, machinery.SOURCE_SUFFIXES),
        (machinery.SourcelessFileLoader, machinery.BYTECODE_SUFFIXES),
    ]

    def find(entry):
        # Compares real paths; archives are left to other finders.
        real = os.path.realpath(entry or ".")
        if not os.path.isdir(real) or (real != folder and not real.startswith(os.path.join(folder, ""))):
            raise ImportError("not a folder below this one", path=entry)
        return machinery.FileFinder(entry, *loaders)

    return find


def load(path):
    """Imports the file as a module, under a name that no other module has."""
    folder, file = os.path.split(path)
    # After the standard library, so that `json.py` among the tools does not replace it; before installed packages.
    packages = [n for n, entry in enumerate(sys.path) if entry.endswith(("site-packages", "dist-packages"))]
    sys.path.insert(packages[0] if packages else len(sys.path), folder)
    sys.path_hooks.insert(0, from_source(folder))
    module = type(sys)("tool_" + os.path.splitext(file)[0])
    module.__file__ = path
    sys.modules[module.__name__] = module
    with open(path, "rb") as source:
        code = compile(source.read(), path, "exec", dont_inherit=True)
    exec(code, vars(module))
    return module


def arguments(function, given, context):
    """The arguments for the function: positional ones, then keyword ones."""
    positional, named = [], {}
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        parameters = {}
    names = getattr(inspect.unwrap(function), "__globals__", {})
    rest = next((one.annotation for one in parameters.values() if one.kind is one.VAR_KEYWORD), None)
    for name, value in given.items():
        parameter = parameters.get(name)
        hint = parameter.annotation if parameter is not None else rest
        named[name] = from_json(value, hint, names, name)
    if context is not None:
        named["context"] = context
    for name, parameter in parameters.items():
        if parameter.kind is parameter.POSITIONAL_ONLY:
            if name not in named:
                break
            positional.append(named.pop(name))
    return positional, named


async def collected(values):
    return [value async for value in values]


def called(function, given, context):
    positional, named = arguments(function, given, context)
    result = function(*positional, **named)
    if inspect.isawaitable(result):
        async def awaited():
            return await result
        result = asyncio.run(awaited())
    if inspect.isasyncgen(result):
        result = asyncio.run(collected(result))
    return to_json(result)


def failure(error, path, doing):
    """A description of the error, with the last line of the file itself in the traceback."""
    frames = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    own = [frame for frame in frames if frame[0] == path] or [
        frame for frame in frames if os.path.dirname(frame[0]) == os.path.dirname(path)]
    file, line = own[-1] if own else (path, None)
    if isinstance(error, SyntaxError) and error.filename:
        file, line = error.filename, error.lineno
    message = str(error)
    if isinstance(error, SystemExit):
        message = "it called sys.exit(%s)" % ("" if error.code is None else repr(error.code))
    return {
        "doing": doing,
        "type": type(error).__name__,
        "message": message[:4000],
        "file": file,
        "line": line,
        "text": linecache.getline(file, line).strip()[:200] if line else "",
    }


def serve(talk, path):
    module = None
    while True:
        nonce, call = talk.hear(b"C")
        with talk.lock:
            talk.nonce = nonce
        doing = "importing"
        try:
            module = module or load(path)
            talk.tell("imported")
            doing = "calling"
            function = getattr(module, call["name"], None)
            if not callable(function):
                raise Unfit("after the import there is no function named `%s`" % call["name"])
            context = Context(call["context"], talk) if call.get("context") is not None else None
            value = encoded(called(function, call["args"], context))
            end = {}
            talk.say(b"V", value)
        except Unfit as unfit:
            end = {"unfit": str(unfit)}
        except BaseException as error:  # Whatever it is, it is told, and the next call is served.
            end = {"failure": failure(error, path, doing)}
            if doing == "importing":
                module, end["spent"] = None, True
        talk.say(b"D", end, ends=True)


def main():
    talk = Talk()
    _, hello = talk.hear(b"H")
    os.chdir(hello["folder"])
    sys.stdout = sys.stderr = Printing(talk)
    talk.send(b"R", ZERO)
    serve(talk, hello["path"])


main()

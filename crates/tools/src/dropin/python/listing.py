"""Lists the tools in Python files without running them. Input: a line of JSON with the lengths, then the bytes of the
files one after the other. Output: a line of JSON for each file."""
import ast
import json
import os
import resource
import signal
import sys
import warnings

# Limits for reading one file. The sandbox has its own limits; these prevent one file from blocking the others.
SECONDS, MEMORY, ANSWER = 10, 1 << 30, 1 << 20
MOST_TOOLS = 100
HINTS = {
    "read-only": "readOnlyHint",
    "idempotent": "idempotentHint",
    "destructive": "destructiveHint",
    "open-world": "openWorldHint",
}


def describe(node, names):
    """A function as a tool, and the warnings about it."""
    types = Types(names)
    spec, doc = node.args, ast.get_docstring(node) or ""
    if spec.vararg is not None:
        raise Refused("takes `*%s`, which has no names to give arguments by; name the parameters" % spec.vararg.arg, node.lineno)
    texts = parameters_of(doc)
    positional = [*getattr(spec, "posonlyargs", []), *spec.args]
    defaults = [None] * (len(positional) - len(spec.defaults)) + list(spec.defaults)
    given = list(zip(positional, defaults)) + list(zip(spec.kwonlyargs, spec.kw_defaults))
    properties, required, wants_context = {}, [], False
    for argument, default in given:
        if argument.arg == "context":
            wants_context = True
            continue
        if argument.annotation is None:
            types.warn("`%s` has no annotation, so anything is accepted" % argument.arg, argument)
            schema = {}
        else:
            schema = types.schema(argument.annotation)
        schema = types.with_default(schema, default)
        if argument.arg in texts and "$ref" not in schema:
            schema["description"] = texts[argument.arg]
        properties[argument.arg] = schema
        if default is None:
            required.append(argument.arg)
    parameters = {"type": "object", "properties": properties, "additionalProperties": False}
    if spec.kwarg is not None:
        more = types.schema(spec.kwarg.annotation) if spec.kwarg.annotation is not None else {}
        parameters["additionalProperties"] = more or True
    if required:
        parameters["required"] = required
    finish(parameters, types)
    output = None
    if node.returns is not None and names.origin(node.returns) not in {"None", "typing.NoReturn"}:
        types.defs, types.recursive = {}, set()
        output = types.schema(node.returns)
        finish(output, types)
    hints = {}
    for word in annotations_of(doc):
        if word in HINTS:
            hints[HINTS[word]] = True
        else:
            types.warn("`%s` is not an annotation; expected one of %s" % (word, ", ".join(HINTS)), node)
    tool = {
        "name": node.name,
        "line": node.lineno,
        "description": first_paragraph(doc),
        "parameters": parameters,
        "output": output or None,
        "annotations": hints,
        "context": wants_context,
    }
    return tool, types.warnings


def describe_any(variants, names):
    """A function that conditions define in several ways. Which one counts is not known, so it accepts anything."""
    tool, _ = describe(variants[-1], names)
    contexts = [describe(node, names)[0]["context"] for node in variants]
    tool.update(parameters={"type": "object", "additionalProperties": True}, output=None, context=all(contexts))
    lines = ", ".join(str(node.lineno) for node in variants)
    return tool, [("it is defined in more than one way (lines %s), so anything is accepted" % lines, variants[-1].lineno)]


def finish(schema, types):
    if types.defs:
        schema["$defs"] = types.defs


def is_overload(node, names):
    return any((names.origin(one) or "").rpartition(".")[2] == "overload" for one in node.decorator_list)


def read(source):
    """Everything found in a file: its tools and its problems."""
    tools, problems = [], []

    def problem(level, line, text, tool=None):
        problems.append({"level": level, "line": line, "text": text, "tool": tool})

    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        problem("error", error.lineno or 1, error.msg)
    except (ValueError, MemoryError, RecursionError) as error:
        problem("error", 1, str(error) or "it is nested too deeply to be read")
    if problems:
        return {"tools": tools, "problems": problems}
    names = Names(tree)
    known = {*names.functions, *names.classes, *names.imports, *names.aliases}
    for name in sorted((names.public or set()) - known):
        problem("warning", names.public_line, "`__all__` names `%s`, which this file does not define" % name[:64])
    for name, node in names.functions.items():
        is_public = not name.startswith("_") if names.public is None else name in names.public
        if not is_public or is_overload(node, names):
            continue
        if not name.isascii() or len(name) > 64:
            problem("error", node.lineno, "the name of a tool has at most 64 letters, digits and `_` of ASCII", name[:64])
            continue
        if len(tools) == MOST_TOOLS:
            problem("error", node.lineno, "only the first %d functions of a file are tools" % MOST_TOOLS)
            break
        try:
            variants = names.variants.get(name)
            tool, said = describe_any(variants, names) if variants else describe(node, names)
        except Refused as refused:
            problem("error", refused.line, refused.text, name)
            continue
        except RecursionError:
            problem("error", node.lineno, "its types are nested too deeply", name)
            continue
        if not tool["description"]:
            said = [("there is no docstring, so a model knows it by its name alone", node.lineno), *said]
        for text, line in said:
            problem("warning", line, text, name)
        tools.append(tool)
    return {"tools": tools, "problems": problems}


def apart(source):
    """Reads a file in its own process, so that a file that crashes the parser does not affect others."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.alarm(SECONDS)
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        try:
            text = json.dumps(read(source))
        except (MemoryError, RecursionError):
            text = fault("it takes too much memory to be read")
        if len(text) > ANSWER:
            text = fault("its definitions take more than %d bytes" % ANSWER)
        with os.fdopen(writer, "w") as out:
            out.write(text)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        text = answer.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        ended = os.WTERMSIG(status)
        why = "took longer than %d s" % SECONDS if ended == signal.SIGALRM else "broke the parser (signal %d)" % ended
        return fault("reading it " + why)
    return text or fault("it could not be read")


def fault(text):
    return json.dumps({"tools": [], "problems": [{"level": "error", "line": 1, "text": text, "tool": None}]})


def main():
    warnings.simplefilter("ignore")
    for length in json.loads(sys.stdin.buffer.readline()):
        print(apart(sys.stdin.buffer.read(length)), flush=True)


main()

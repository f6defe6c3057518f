"""Turns JSON into the types that a function is annotated with, and what it returns back into JSON."""
import collections
import collections.abc
import dataclasses
import datetime
import decimal
import enum
import inspect
import pathlib
import types
import typing
import uuid

# `X | Y` is a type at run time only in Python 3.10 and newer.
UNIONS = {typing.Union, getattr(types, "UnionType", typing.Union)}
SEQUENCES = {
    list: list, set: set, frozenset: frozenset, collections.deque: collections.deque,
    collections.abc.Sequence: list, collections.abc.MutableSequence: list, collections.abc.Iterable: list,
    collections.abc.Iterator: iter, collections.abc.Collection: list, collections.abc.Set: set,
    collections.abc.MutableSet: set,
}
MAPPINGS = {dict, collections.OrderedDict, collections.defaultdict, collections.abc.Mapping, collections.abc.MutableMapping}
WRAPPERS = {"Annotated", "Required", "NotRequired", "ReadOnly", "Final", "ClassVar", "InitVar"}
# Beyond this depth a value probably contains itself.
DEEPEST, MOST_ITEMS = 60, 1_000_000


class Unfit(Exception):
    """A value that does not fit, with the place in it."""


def evaluated(annotation, names):
    """An annotation as a type; None if it is unknown, for instance because it is imported only for type checkers."""
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        try:
            return evaluated(eval(annotation, names), names)  # The file's own words, in the process that runs the file.
        except Exception:
            return None
    return None if annotation is inspect.Parameter.empty else annotation


def names_of(owner):
    """The namespace in which the annotations of a class or function are evaluated."""
    import sys
    module = sys.modules.get(getattr(owner, "__module__", None))
    return vars(module) if module else {}


def from_json(value, hint, names, path):
    hint = evaluated(hint, names)
    if hint is None or hint is typing.Any or hint is object or isinstance(hint, typing.TypeVar):
        return exact(value, path)
    if hasattr(hint, "__supertype__"):
        return from_json(value, hint.__supertype__, names, path)
    if isinstance(hint, dataclasses.InitVar):
        return from_json(value, hint.type, names, path)
    if type(hint).__name__ == "TypeAliasType":
        return from_json(value, hint.__value__, names, path)
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hasattr(hint, "__metadata__") or getattr(origin, "_name", getattr(origin, "__name__", None)) in WRAPPERS:
        return from_json(value, getattr(hint, "__origin__", None) if hasattr(hint, "__metadata__") else inner[0], names, path)
    if origin in UNIONS:
        return from_union(value, inner, names, path)
    if origin is typing.Literal:
        return from_literal(value, inner)
    if origin is None:
        return from_plain(value, hint, names, path)
    return from_container(value, origin, inner, names, path)


def exact(value, path):
    """A value without a known type. A whole number too long for JSON arrives as a float without its last digits."""
    if isinstance(value, float) and abs(value) >= 1 << 63 and len(repr(value).partition("e")[0].replace(".", "")) > 15:
        raise Unfit("`%s`: %r is beyond the whole numbers that arrive exactly; let the tool take it as text, or as `float`" % (path, value))
    if isinstance(value, list):
        return [exact(item, "%s[%d]" % (path, n)) for n, item in enumerate(value)]
    if isinstance(value, dict):
        return {name: exact(item, path + "." + name) for name, item in value.items()}
    return value


def from_literal(value, choices):
    """Enum members are compared by their JSON value, as everywhere."""
    for choice in choices:
        if isinstance(choice, enum.Enum) and value == scalar(choice):
            return choice
    return value


def from_union(value, choices, names, path):
    """The first type that fits; plain types come before types that accept anything."""
    for choice in choices:
        kind = evaluated(choice, names)
        kind = type(None) if kind is None and choice is type(None) else kind
        if kind in (str, int, float, bool, type(None)):
            if type(value) is kind or (kind is float and type(value) is int and int not in choices):
                return from_json(value, kind, names, path)
    kinds = [evaluated(choice, names) for choice in choices]
    if type(value) is float and value.is_integer() and int in kinds and float not in kinds:
        return from_json(value, int, names, path)
    for choice in choices:
        if evaluated(choice, names) in (str, int, float, bool, type(None)):
            continue
        try:
            return from_json(value, choice, names, path)
        except (Unfit, TypeError, ValueError):
            continue
    return value


def from_container(value, origin, inner, names, path):
    if origin is tuple:
        need(value, list, path)
        if len(inner) == 2 and inner[1] is Ellipsis:
            return tuple(from_json(item, inner[0], names, "%s[%d]" % (path, n)) for n, item in enumerate(value))
        kinds = inner if inner and inner != ((),) else [None] * len(value)
        return tuple(from_json(item, kind, names, "%s[%d]" % (path, n)) for n, (item, kind) in enumerate(zip(value, kinds)))
    if origin in SEQUENCES:
        need(value, list, path)
        kind = inner[0] if inner else None
        return SEQUENCES[origin](from_json(item, kind, names, "%s[%d]" % (path, n)) for n, item in enumerate(value))
    if origin in MAPPINGS:
        need(value, dict, path)
        key, kind = inner if len(inner) == 2 else (None, None)
        return {from_key(name, key, names, path): from_json(item, kind, names, path + "." + name) for name, item in value.items()}
    return value


def from_key(name, hint, names, path):
    """Converts a key: JSON keys are text, but a dict may have numbers."""
    hint = evaluated(hint, names)
    return hint(name) if hint in (int, float) else from_json(name, hint, names, path)


def from_plain(value, hint, names, path):
    if not isinstance(hint, type):
        return value
    if hint in SEQUENCES or hint in MAPPINGS or hint is tuple:
        return from_container(value, hint, (), names, path)
    if issubclass(hint, enum.Enum):
        for member in hint:
            if value == scalar(member) and isinstance(value, bool) == isinstance(scalar(member), bool):
                return member
        raise Unfit("`%s`: %r is none of %s" % (path, value, ", ".join(str(scalar(member)) for member in hint)))
    if dataclasses.is_dataclass(hint):
        need(value, dict, path)
        fields = {field.name: field.type for field in dataclasses.fields(hint) if field.init}
        fields.update({name: kind for name, kind in getattr(hint, "__annotations__", {}).items() if name not in fields and name in value})
        return hint(**record(value, fields, names_of(hint), path))
    if issubclass(hint, dict) and hasattr(hint, "__total__"):
        need(value, dict, path)
        fields = {}
        for base in reversed(getattr(hint, "__orig_bases__", ()) or ()):
            fields.update(getattr(base, "__annotations__", {}))
        return record(value, {**fields, **hint.__annotations__}, names_of(hint), path)
    if issubclass(hint, tuple) and hasattr(hint, "_fields"):
        need(value, dict, path)
        return hint(**record(value, getattr(hint, "__annotations__", {}), names_of(hint), path))
    if hint is int and type(value) is float:
        if abs(value) >= 1 << 53:
            raise Unfit("`%s`: %r is beyond the whole numbers that arrive exactly; let the tool take it as text" % (path, value))
        return int(value) if value.is_integer() else value
    if hint is float and type(value) is int:
        return float(value)
    if hint is int and type(value) is float and value.is_integer():
        return int(value)
    if hint in (datetime.datetime, datetime.date, datetime.time):
        return parsed(lambda: hint.fromisoformat(value.replace("Z", "+00:00")), value, hint, path)
    if hint in (pathlib.Path, pathlib.PurePath, uuid.UUID):
        return parsed(lambda: hint(value), value, hint, path)
    if hint is decimal.Decimal:
        return parsed(lambda: hint(str(value)), value, hint, path)
    if hint in (str, int, bool, type(None)) and type(value) is not hint:
        raise Unfit("`%s`: %r is not of the type `%s`" % (path, value, hint.__name__))
    return value


def record(value, fields, names, path):
    unknown = [name for name in value if name not in fields]
    if unknown:
        raise Unfit("`%s` has no field `%s`" % (path, unknown[0]))
    return {name: from_json(item, fields[name], names, path + "." + name) for name, item in value.items()}


def parsed(parse, value, hint, path):
    try:
        return parse()
    except (ValueError, TypeError, AttributeError, decimal.InvalidOperation):
        raise Unfit("`%s`: %r is not of the form of a %s" % (path, value, hint.__name__)) from None


def need(value, kind, path):
    if not isinstance(value, kind):
        raise Unfit("`%s`: %r is not a %s" % (path, value, kind.__name__))


def scalar(member):
    """The JSON value of an enum member: its value, or its name if the value has no JSON form."""
    return member.value if isinstance(member.value, (str, int, float)) else member.name


def to_json(value, path="result", depth=0):
    if depth > DEEPEST:
        raise Unfit("`%s` is nested deeper than %d levels, or contains itself" % (path[:80], DEEPEST))
    if isinstance(value, enum.Enum):
        return scalar(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value if type(value) in (type(None), bool, int, str) else plain(value)
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise Unfit("`%s` is %r, which JSON does not have" % (path, value))
        return float(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name), path + "." + field.name, depth + 1) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: to_json(item, path + "." + name, depth + 1) for name, item in zip(value._fields, value)}
    if isinstance(value, collections.abc.Mapping):
        found = {}
        for key, item in value.items():
            name = to_key(key, path)
            if name in found:
                raise Unfit("`%s` has two keys that are both `%s` as text, and JSON has text only" % (path, name))
            found[name] = to_json(item, "%s.%s" % (path, key), depth + 1)
        return found
    if isinstance(value, (set, frozenset)):
        try:
            value = sorted(value)
        except TypeError:
            value = sorted(value, key=repr)
    if isinstance(value, (list, tuple, collections.deque, collections.abc.Iterator, collections.abc.KeysView,
                          collections.abc.ValuesView, range)):
        return items(value, path, depth)
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (pathlib.PurePath, uuid.UUID, decimal.Decimal)):
        return str(value)
    # numpy arrays, pandas frames and pydantic models can convert themselves to plain types.
    for method in ("tolist", "model_dump", "to_dict"):
        if callable(getattr(value, method, None)) and not isinstance(value, type):
            return to_json(getattr(value, method)(), path, depth + 1)
    kind = type(value).__name__
    hint = "; decode it to text first" if isinstance(value, (bytes, bytearray)) else \
        "; give text, numbers, lists, dicts, dataclasses or enums"
    raise Unfit("`%s` is of the type `%s`, which JSON does not have%s" % (path, kind, hint))


def items(value, path, depth):
    found = []
    for n, item in enumerate(value):
        if n == MOST_ITEMS:
            raise Unfit("`%s` has more than %d items" % (path, MOST_ITEMS))
        found.append(to_json(item, "%s[%d]" % (path, n), depth + 1))
    return found


def plain(value):
    """Converts an instance of a subclass of a plain type to that type."""
    return str(value) if isinstance(value, str) else int(value)


def to_key(key, path):
    if isinstance(key, enum.Enum):
        key = scalar(key)
    if isinstance(key, (str, int, float)) or key is None:
        return str(key)
    if isinstance(key, (datetime.date, datetime.time, pathlib.PurePath, uuid.UUID)):
        return key.isoformat() if hasattr(key, "isoformat") else str(key)
    raise Unfit("`%s` has a key of the type `%s`; JSON has text only" % (path, type(key).__name__))

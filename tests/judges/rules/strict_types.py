"""The request types of a package, made to refuse what they do not know."""

import sys
from contextlib import contextmanager
from importlib import import_module

from pydantic import TypeAdapter, ValidationError
from pydantic_core import core_schema
from typing_extensions import is_typeddict

from .refusal import Refused

NOT_MEANT = ("literal_error", "missing", "extra_forbidden")


def strict(package, params):
    """A check of a body against the TypedDict `params` of the package."""
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{package}.types"):
            for member in list(vars(module).values()):
                if is_typeddict(member) and not is_open(member):
                    member.__pydantic_config__ = {"extra": "forbid", "arbitrary_types_allowed": True}
    with answers_left_out(import_module(package).BaseModel):
        adapter = TypeAdapter(params)

    def check(body):
        try:
            walk(adapter.validate_python(body, strict=True))
        except ValidationError as error:
            raise Refused(in_short(error)) from error

    return check


def is_open(typed_dict):
    """Whether the package itself says that more may stand there, as in a JSON Schema."""
    return getattr(typed_dict, "__pydantic_config__", {}).get("extra") == "allow"


@contextmanager
def answers_left_out(model):
    """Types of answers, which stand beside those of requests and take anything, then match their own objects only."""
    model.__get_pydantic_core_schema__ = classmethod(lambda cls, *_: core_schema.is_instance_schema(cls))
    try:
        yield
    finally:
        del model.__get_pydantic_core_schema__


def walk(value, where=()):
    """Goes to every leaf: what is declared as an `Iterable` is checked only while someone iterates."""
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        return
    members = value.items() if isinstance(value, dict) else enumerate(value)
    try:
        for key, member in members:
            walk(member, (*where, key))
    except ValidationError as error:
        raise Refused(in_short(error, where)) from error


def in_short(error, where=()):
    """The deepest complaints first, and only those about the alternative that was meant: its `role` or `type` fits."""
    complaints = [c for c in error.errors(include_url=False, include_input=False) if c["type"] != "is_instance_of"]
    others = [c["loc"][:-1] for c in complaints if c["loc"][-1] in ("role", "type") and c["type"] in NOT_MEANT]
    is_other = lambda loc: loc[-1] == "str" or any(loc[: len(other)] == other for other in others)  # noqa: E731
    meant = [c for c in complaints if not is_other(c["loc"])]
    deepest = sorted(meant or complaints, key=lambda c: -len(c["loc"]))
    return "; ".join(f"{place(where + c['loc'])}: {c['msg']}" for c in deepest[:3])


def place(keys):
    """A path without the lists of all alternatives."""
    return ".".join(str(key) for key in keys if "[" not in str(key))

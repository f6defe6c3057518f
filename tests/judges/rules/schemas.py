"""Tools and JSON Schemas inside a body."""

import re

import jsonschema

from .refusal import Refused, expect


def check_schema(schema, where):
    """Refuses what is no JSON Schema."""
    expect(isinstance(schema, dict), f"{where}: a schema is an object")
    judge = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        judge.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise Refused(f"{where}: no valid JSON Schema: {error.json_path}: {error.message}") from error


def check_parameters(schema, where):
    """The arguments of a tool: a schema of an object."""
    check_schema(schema, where)
    expect(schema.get("type") == "object", f"{where}: a tool's arguments are of type `object`")


def check_closed(schema, where, *, all_required):
    """What strict output asks of every object inside: nothing but its properties, and perhaps all of them."""
    for node in objects_in(schema):
        expect(node.get("additionalProperties") is False, f"{where}: an object without `additionalProperties: false`")
        missing = set(node.get("properties", {})) - set(node.get("required", []))
        expect(not all_required or not missing, f"{where}: strict, but not required: {sorted(missing)}")


def objects_in(schema):
    """Every schema of an object, this one included, wherever it stands."""
    if isinstance(schema, list):
        for member in schema:
            yield from objects_in(member)
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for member in schema.values():
            yield from objects_in(member)


def check_names(names, pattern, where):
    """Tools have names the service can use, each its own."""
    for name in names:
        expect(name and re.fullmatch(pattern, name), f"{where}: `{name}` is no name for a tool")
    twice = {name for name in names if names.count(name) > 1}
    expect(not twice, f"{where}: named twice: {sorted(twice)}")

"""Turns annotations into JSON Schema, from the source alone: nothing is imported or evaluated."""
import ast
import importlib

PLAIN = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "None": {"type": "null"},
    "object": {},
    "typing.Any": {},
    "typing.Text": {"type": "string"},
    "datetime.datetime": {"type": "string", "description": "A date and time, such as 2026-01-31T12:00:00."},
    "datetime.date": {"type": "string", "description": "A date, such as 2026-01-31."},
    "datetime.time": {"type": "string", "description": "A time of day, such as 12:00:00."},
    "pathlib.Path": {"type": "string"},
    "pathlib.PurePath": {"type": "string"},
    "uuid.UUID": {"type": "string"},
    "decimal.Decimal": {"type": ["number", "string"]},
}
LISTS = {
    "list", "List", "Sequence", "MutableSequence", "Iterable", "Iterator", "Collection", "Generator", "deque", "Deque",
    "AsyncIterator", "AsyncIterable", "AsyncGenerator",
}
SETS = {"set", "frozenset", "Set", "FrozenSet", "AbstractSet", "MutableSet"}
TUPLES = {"tuple", "Tuple"}
MAPPINGS = {"dict", "Dict", "Mapping", "MutableMapping", "defaultdict", "DefaultDict", "OrderedDict"}
HOMES = {"typing", "typing_extensions", "collections", "collections.abc"}
ENUMS = {"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"}
# Modules whose `import *` is resolved by importing them: they come with Python, so this runs no untrusted code.
STARS = {"typing", "collections", "collections.abc", "enum", "dataclasses", "datetime", "decimal", "pathlib", "uuid"}
# A schema with more parts than this when written out would fill a prompt by itself.
MOST_PARTS = 2000


class Refused(Exception):
    """A function that cannot be a tool, with the reason and the line."""

    def __init__(self, text, line):
        super().__init__(text)
        self.text, self.line = text, line


class Names:
    """What the names of a module stand for: imports, classes, aliases."""

    def __init__(self, tree):
        self.imports, self.classes, self.aliases = {}, {}, {}
        self.functions, self.public, self.public_line = {}, None, 1
        # Names that conditions define at run time: functions with all their definitions, and types.
        self.variants, self.varying = {}, set()
        self.body(tree.body, is_real=True)

    def body(self, body, is_real, is_maybe=False):
        for node in body:
            if isinstance(node, ast.Import):
                for name in node.names:
                    self.imports[name.asname or name.name.split(".")[0]] = name.name if name.asname else name.name.split(".")[0]
            elif isinstance(node, ast.ImportFrom):
                home = "." * node.level + (node.module or "")
                for name, own in imported(node, home):
                    self.forget(own)
                    self.imports[own] = home + "." + name
            elif isinstance(node, ast.ClassDef):
                self.vary(node.name, self.classes.get(node.name), node, is_maybe)
                self.forget(node.name)
                self.classes[node.name] = node
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                before = self.variants.get(node.name) or [one for one in [self.functions.get(node.name)] if one]
                self.forget(node.name)
                if is_real:
                    self.functions[node.name] = node
                    if is_maybe and any(signature(one) != signature(node) for one in before):
                        self.variants[node.name] = [*before, node]
            elif isinstance(node, ast.If):
                test = ast.dump(node.test)
                is_told = "TYPE_CHECKING" in test or "'__main__'" in test
                self.body(node.body, is_real and not is_told, is_maybe or not is_told)
                self.body(node.orelse, is_real, is_maybe or not is_told)
            elif isinstance(node, ast.Try):
                for part in (node.body, *(handler.body for handler in node.handlers), node.orelse, node.finalbody):
                    self.body(part, is_real, is_maybe=True)
            elif isinstance(node, ast.With):
                self.body(node.body, is_real, is_maybe)
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                self.assigned(node, is_maybe)
            elif isinstance(node, ast.AugAssign) and getattr(node.target, "id", None) == "__all__":
                more = literal(node.value)
                self.public = None if more is None or self.public is None else self.public | set(more)
            elif type(node).__name__ == "TypeAlias":
                self.aliases[node.name.id] = node.value

    def vary(self, name, before, node, is_maybe):
        """Records a type that has several definitions."""
        if not is_maybe:
            self.varying.discard(name)
        elif before is not None and ast.dump(before) != ast.dump(node):
            self.varying.add(name)

    def assigned(self, node, is_maybe):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Name) and node.value is not None:
                self.vary(target.id, self.aliases.get(target.id), node.value, is_maybe)
                self.forget(target.id)
                self.aliases[target.id] = node.value
                if target.id == "__all__":
                    public = literal(node.value)
                    self.public, self.public_line = None if public is None else set(public), node.lineno

    def forget(self, name):
        """A later definition replaces an earlier one."""
        for names in (self.imports, self.classes, self.functions, self.aliases, self.variants):
            names.pop(name, None)

    def origin(self, node):
        """The full name of what an expression names: `typing.Optional`, `str`, `.helper.Frame`; None if it names nothing."""
        if isinstance(node, ast.Constant) and node.value is None:
            return "None"
        if isinstance(node, ast.Name):
            return self.imports.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            home = self.origin(node.value)
            return home and home + "." + node.attr
        return None

    def is_imported(self, node):
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self.imports


def imported(node, home):
    """The names that an import defines: each with its name in the module and its name here."""
    for name in node.names:
        if name.name != "*":
            yield name.name, name.asname or name.name
            continue
        known = "typing" if home == "typing_extensions" else home
        if known in STARS:
            module = importlib.import_module(known)
            for one in getattr(module, "__all__", None) or [one for one in vars(module) if not one.startswith("_")]:
                yield one, one


def literal(node):
    """The names in a literal list; None for anything else."""
    try:
        names = ast.literal_eval(node)
    except (ValueError, TypeError):
        return None
    return [name for name in names if isinstance(name, str)] if isinstance(names, (list, tuple, set)) else None


def signature(node):
    """The parts of a function that determine its schema."""
    return (ast.dump(node.args), node.returns and ast.dump(node.returns))


def generic(origin):
    """`List` for `typing.List`, `list`, or None if it is not a known container."""
    home, _, name = (origin or "").rpartition(".")
    return name if home in HOMES or (home == "" and name in {"list", "set", "frozenset", "tuple", "dict"}) else None


class Types:
    """The schemas of one function. An unknown type becomes a schema that accepts anything, with a warning."""

    def __init__(self, names):
        self.names, self.warnings = names, []
        self.defs, self.active, self.recursive, self.parts = {}, [], set(), 0

    def warn(self, text, node):
        if (text, node.lineno) not in self.warnings:
            self.warnings.append((text, node.lineno))

    def open(self, why, node):
        self.warn(why, node)
        return {}

    def schema(self, node):
        self.parts += 1
        if self.parts > MOST_PARTS:
            raise Refused("its types are too large when written out as a schema", node.lineno)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return self.quoted(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return self.union([node.left, node.right])
        if isinstance(node, ast.Subscript):
            return self.subscript(node)
        if isinstance(node, ast.Name) and node.id in self.names.varying:
            return self.open("`%s` is defined in more than one way, so anything is accepted" % node.id, node)
        origin = self.names.origin(node)
        if origin is None:
            return self.open("the annotation is computed, so anything is accepted", node)
        if origin in PLAIN and not (isinstance(node, ast.Name) and node.id in self.names.classes):
            return dict(PLAIN[origin])
        if isinstance(node, ast.Name) and node.id in self.names.classes:
            return self.local_class(self.names.classes[node.id])
        if generic(origin):
            return self.container(generic(origin), [], node)
        if isinstance(node, ast.Name) and node.id in self.names.aliases:
            return self.alias(node)
        if self.names.is_imported(node):
            home = origin.rpartition(".")[0]
            shown = node.id if isinstance(node, ast.Name) else origin
            return self.open("`%s` is imported from `%s`, so anything is accepted" % (shown, home), node)
        return self.open("`%s` is not defined in this file, so anything is accepted" % origin, node)

    def quoted(self, node):
        try:
            inner = ast.parse(node.value.strip(), mode="eval").body
        except (SyntaxError, ValueError):
            return self.open("the annotation `%s` is not a type, so anything is accepted" % node.value[:60], node)
        for part in ast.walk(inner):
            if hasattr(part, "lineno"):
                part.lineno = node.lineno
        return self.schema(inner)

    def alias(self, node):
        """A name that stands for a type: `Vector = list[float]`, `Id = NewType("Id", int)`, `T = TypedDict("T", {...})`."""
        if node.id in self.active:
            return self.open("`%s` refers to itself, so anything is accepted" % node.id, node)
        value = self.names.aliases[node.id]
        self.active.append(node.id)
        try:
            if isinstance(value, ast.Call):
                made = (self.names.origin(value.func) or "").rpartition(".")[2]
                if made == "NewType" and len(value.args) == 2:
                    return self.schema(value.args[1])
                if made == "TypedDict" and len(value.args) == 2 and isinstance(value.args[1], ast.Dict):
                    return self.functional(value)
                return self.open("`%s` is computed, so anything is accepted" % node.id, node)
            return self.schema(value)
        finally:
            self.active.pop()

    def subscript(self, node):
        origin = self.names.origin(node.value)
        inner = node.slice
        if type(inner).__name__ == "Index":
            inner = inner.value
        items = list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
        name = (origin or "").rpartition(".")[2]
        if generic(origin) is None:
            return self.open("`%s` is not a known type, so anything is accepted" % (origin or "this"), node)
        if name == "Optional":
            return self.union(items + [ast.copy_location(ast.Constant(value=None), node)])
        if name == "Union":
            return self.union(items)
        if name == "Literal":
            return self.literal(items, node)
        if name == "Annotated":
            schema = self.schema(items[0])
            for note in items[1:]:
                if isinstance(note, ast.Constant) and isinstance(note.value, str):
                    schema["description"] = note.value
                    break
            return schema
        if name in {"Final", "Required", "NotRequired", "ReadOnly", "ClassVar", "Awaitable", "Coroutine"}:
            return self.schema(items[-1])
        return self.container(name, items, node)

    def container(self, name, items, node):
        if name in LISTS:
            return {"type": "array", "items": self.schema(items[0]) if items else {}}
        if name in SETS:
            return {"type": "array", "items": self.schema(items[0]) if items else {}, "uniqueItems": True}
        if name in TUPLES:
            return self.tuple(items)
        if name in MAPPINGS:
            return self.mapping(items)
        return self.open("`%s` has no form in JSON, so anything is accepted" % name, node)

    def tuple(self, items):
        if not items or (isinstance(items[-1], ast.Constant) and items[-1].value is Ellipsis):
            return {"type": "array", "items": self.schema(items[0]) if items else {}}
        if len(items) == 1 and isinstance(items[0], ast.Tuple):
            items = []
        schemas = [self.schema(item) for item in items]
        sized = {"type": "array", "minItems": len(schemas), "maxItems": len(schemas)}
        if schemas and all(schema == schemas[0] for schema in schemas):
            return {**sized, "items": schemas[0]}
        return {**sized, "prefixItems": schemas, "items": {}}

    def mapping(self, items):
        if len(items) < 2:
            return {"type": "object", "additionalProperties": True}
        key, value = self.schema(items[0]), self.schema(items[1])
        schema = {"type": "object", "additionalProperties": value or True}
        if key.get("type") == "integer":
            schema["propertyNames"] = {"pattern": "^-?[0-9]+$"}
        elif "enum" in key:
            schema["propertyNames"] = {"enum": key["enum"]}
        return schema

    def union(self, nodes):
        schemas = []
        for node in nodes:
            schema = self.schema(node)
            parts = schema["anyOf"] if set(schema) == {"anyOf"} else [schema]
            schemas.extend(part for part in parts if part not in schemas)
        if {} in schemas:
            return {}
        return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}

    def literal(self, items, node):
        values = []
        for item in items:
            try:
                values.append(ast.literal_eval(item))
            except ValueError:
                member = self.member(item)
                if member is None:
                    return self.open("a value in `Literal` is computed, so anything is accepted", node)
                values.append(member[0])
        if not all(value is None or isinstance(value, (str, int, float)) for value in values):
            return self.open("a value in `Literal` is none that JSON has, so anything is accepted", node)
        return enum_of(values)

    def member(self, node):
        """The JSON value of `Color.RED`, in a list; None for anything else."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = self.names.classes.get(node.value.id)
            if owner is not None and self.kind(owner) == "enum":
                values = self.members(owner)
                if node.attr in values:
                    return [values[node.attr]]
        return None

    def local_class(self, node):
        kind = self.kind(node)
        if kind == "enum":
            values = list(self.members(node).values())
            if not values or any(value is None for value in values):
                return self.open("a value of the enum `%s` is computed, so anything is accepted" % node.name, node)
            return described(enum_of(values), node)
        if kind is None:
            why = "`%s` is a class that JSON cannot become (no dataclass, TypedDict or enum), so anything is accepted"
            return self.open(why % node.name, node)
        if node.name in self.active:
            self.recursive.add(node.name)
            return {"$ref": "#/$defs/" + node.name}
        if node.name in self.defs:
            return {"$ref": "#/$defs/" + node.name}
        self.active.append(node.name)
        try:
            schema = described(self.record(self.fields(node, kind)), node)
        finally:
            self.active.pop()
        if node.name in self.recursive:
            self.defs[node.name] = schema
            return {"$ref": "#/$defs/" + node.name}
        return schema

    def record(self, fields):
        properties = {name: schema for name, (schema, _) in fields.items()}
        required = [name for name, (_, needed) in fields.items() if needed]
        schema = {"type": "object", "properties": properties, "additionalProperties": False}
        if required:
            schema["required"] = required
        return schema

    def kind(self, node, seen=()):
        """`enum`, `dataclass`, `typeddict`, `namedtuple`, or None."""
        if node.name in seen:
            return None
        for decorator in node.decorator_list:
            made = self.names.origin(decorator.func if isinstance(decorator, ast.Call) else decorator)
            if made in {"dataclasses.dataclass", "dataclass"}:
                return "dataclass"
        for base in node.bases:
            name = (self.names.origin(base) or "").rpartition(".")[2]
            if name in ENUMS:
                return "enum"
            if name in {"TypedDict", "NamedTuple"}:
                return name.lower()
            if isinstance(base, ast.Name) and base.id in self.names.classes:
                kind = self.kind(self.names.classes[base.id], (*seen, node.name))
                if kind in {"enum", "typeddict"}:
                    return kind
        return None

    def bases(self, node, seen=()):
        """The names of all base classes of a class, and whether one of them defines the values of `auto()`."""
        names, own = set(), any(getattr(line, "name", None) == "_generate_next_value_" for line in node.body)
        for base in node.bases:
            names.add((self.names.origin(base) or "").rpartition(".")[2])
            if isinstance(base, ast.Name) and base.id in self.names.classes and base.id not in seen:
                more, others = self.bases(self.names.classes[base.id], (*seen, base.id))
                names, own = names | more, own or others
        return names, own

    def members(self, node):
        """The members of an enum by name: their values, their names where the value is no JSON scalar, None if computed."""
        bases, counts_itself = self.bases(node)
        values, last = {}, 0
        for line in node.body:
            if not (isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name)):
                continue
            name = line.targets[0].id
            if name.startswith("_"):
                continue
            try:
                value = ast.literal_eval(line.value)
                value = value if isinstance(value, (str, int, float)) else None if "str" in bases else name
            except ValueError:
                made = self.names.origin(line.value.func) if isinstance(line.value, ast.Call) else None
                if made not in {"enum.auto", "auto"} or counts_itself:
                    value = None
                elif "StrEnum" in bases:
                    value = name.lower()
                elif bases & {"Flag", "IntFlag"}:
                    value = 1 << last.bit_length()
                else:
                    value = last + 1
            last = value if isinstance(value, int) else last
            # An enum that also derives from `str` has text values.
            values[name] = str(value) if value is not None and "str" in bases else value
        return values

    def fields(self, node, kind):
        """The fields of a class and of its bases in the same file: the schema, and whether the field is required."""
        fields = {}
        for base in node.bases:
            if isinstance(base, ast.Name) and base.id in self.names.classes and base.id != node.name:
                parent = self.names.classes[base.id]
                if self.kind(parent) == kind and base.id not in self.active:
                    self.active.append(base.id)
                    fields.update(self.fields(parent, kind))
                    self.active.pop()
            elif self.names.is_imported(base) and (self.names.origin(base) or "").rpartition(".")[0] not in HOMES:
                self.warn("the base `%s` of `%s` is imported; its fields are not known" % (self.names.origin(base), node.name), node)
        total = not any(word.arg == "total" and getattr(word.value, "value", True) is False for word in node.keywords)
        texts = parameters_of(ast.get_docstring(node) or "")
        for line in node.body:
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                field = self.field(line, kind, total)
                if field:
                    name = line.target.id
                    if name in texts:
                        field[0].setdefault("description", texts[name])
                    fields[name] = field
        return fields

    def field(self, line, kind, total):
        annotation = line.annotation
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            try:
                annotation = ast.parse(annotation.value.strip(), mode="eval").body
                for part in ast.walk(annotation):
                    part.lineno = line.lineno
            except (SyntaxError, ValueError):
                pass
        outer = annotation.value if isinstance(annotation, ast.Subscript) else annotation
        name = (self.names.origin(outer) or "").rpartition(".")[2]
        if name in {"ClassVar", "KW_ONLY"}:
            return None
        if name == "InitVar" and isinstance(annotation, ast.Subscript):
            annotation = annotation.slice.value if type(annotation.slice).__name__ == "Index" else annotation.slice
        schema = self.schema(annotation)
        if kind == "typeddict":
            return schema, name == "Required" or (total and name != "NotRequired")
        needed, default = True, line.value
        if isinstance(default, ast.Call) and (self.names.origin(default.func) or "").rpartition(".")[2] == "field":
            words = {word.arg: word.value for word in default.keywords}
            if getattr(words.get("init"), "value", True) is False:
                return None
            needed = not ("default" in words or "default_factory" in words)
            default = words.get("default")
        elif default is not None:
            needed = False
        return self.with_default(schema, default), needed

    def with_default(self, schema, default):
        """The schema with its default, if that is known without running code."""
        if default is None:
            return schema
        try:
            value = [ast.literal_eval(default)]
        except (ValueError, TypeError, MemoryError, RecursionError):
            value = self.member(default)
        if value is None or not is_json(value[0]):
            return schema
        if value[0] is None and schema and not accepts_null(schema):
            schema = {"anyOf": [schema, {"type": "null"}]}
        # Older validators ignore keywords beside a `$ref`, so the default is left out there.
        return schema if "$ref" in schema else {**schema, "default": value[0]}


def is_json(value, depth=0):
    if depth > 8:
        return False
    if isinstance(value, list):
        return all(is_json(part, depth + 1) for part in value)
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_json(part, depth + 1) for key, part in value.items())
    if isinstance(value, float):
        return value == value and value not in (float("inf"), float("-inf"))
    return value is None or isinstance(value, (str, int))


def accepts_null(schema):
    return schema.get("type") == "null" or None in schema.get("enum", ()) or {"type": "null"} in schema.get("anyOf", ())


def enum_of(values):
    schema = {"enum": values}
    kinds = {type(value) for value in values}
    if len(kinds) == 1 and kinds <= {str, int, bool, float}:
        schema["type"] = {str: "string", int: "integer", bool: "boolean", float: "number"}[kinds.pop()]
    return schema


def described(schema, node):
    text = first_paragraph(ast.get_docstring(node) or "")
    return {**schema, "description": text} if text else schema

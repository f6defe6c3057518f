"""Judges what the server sent by OpenAI's OpenAPI file (openapi.json of openai/openai-openapi), where there is one.

The file says that it is OpenAPI 3.1, but has `nullable` of 3.0 in places: that is read as it was meant.
"""

import json
from pathlib import Path

import jsonschema

ROUTES = {
    ("GET", "/v1/models"): "/models",
    ("POST", "/v1/chat/completions"): "/chat/completions",
    ("POST", "/v1/responses"): "/responses",
}


def meant(node):
    """A schema in which `nullable` is a choice of null."""
    if isinstance(node, list):
        return [meant(member) for member in node]
    if not isinstance(node, dict):
        return node
    node = {key: meant(value) for key, value in node.items()}
    if node.pop("nullable", None) is True:
        return {"anyOf": [node, {"type": "null"}]}
    return node


class SchemaJudge:
    def __init__(self, file):
        self.document = meant(json.loads(Path(file).read_text()))
        self.judges = {}

    def judge(self, name):
        if name not in self.judges:
            schema = {"$ref": f"#/components/schemas/{name}", "components": self.document["components"]}
            self.judges[name] = jsonschema.Draft202012Validator(schema)
        return self.judges[name]

    def route(self, exchange):
        if (exchange.method, exchange.path) in ROUTES:
            return ROUTES[exchange.method, exchange.path]
        if exchange.path.startswith("/v1/models/"):
            return "/models/{model}"
        end = exchange.path.removeprefix("/v1/responses/").partition("/")[2]
        return "/responses/{response_id}" + (f"/{end}" if end else "")

    def named(self, exchange, kind):
        """The schema that the file gives for an answer, by the last part of its reference."""
        operation = self.document["paths"][self.route(exchange)][exchange.method.lower()]
        content = operation["responses"]["200"].get("content", {})
        # Streams of a stored response are those of a new one.
        if kind == "text/event-stream" and kind not in content:
            return "ResponseStreamEvent"
        return content[kind]["schema"]["$ref"].rpartition("/")[2] if kind in content else None

    def check(self, exchange):
        """Looks at all that came back in an exchange; gives the number of bodies and events."""
        if exchange.status >= 400:
            self.expect("ErrorResponse", exchange.body())
            return 1
        name = self.named(exchange, exchange.kind)
        if name is None:
            return 0
        bodies = exchange.events() if exchange.kind == "text/event-stream" else [exchange.body()]
        for body in bodies:
            self.expect("ErrorResponse" if "error" in body and "id" not in body and "type" not in body else name, body)
        return len(bodies)

    def expect(self, name, body):
        if name == "ResponseStreamEvent":
            name = self.event(body["type"])
        faults = sorted(self.judge(name).iter_errors(body), key=lambda fault: -len(fault.absolute_path))
        if faults:
            deepest = jsonschema.exceptions.best_match(faults)
            raise AssertionError(f"{name}: {deepest.json_path}: {deepest.message[:300]}\n{json.dumps(body)[:1000]}")

    def event(self, kind):
        """The schema of an event: the one of the union whose `type` is this."""
        schemas = self.document["components"]["schemas"]
        for choice in schemas["ResponseStreamEvent"]["anyOf"]:
            name = choice["$ref"].rpartition("/")[2]
            if kind in schemas[name]["properties"]["type"].get("enum", []):
                return name
        raise AssertionError(f"OpenAI has no event `{kind}`")

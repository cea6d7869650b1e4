"""GitHub's OpenAPI description, cut to what the test forge serves: which operation a request is, and what is wrong.

`filled` completes an answer: facts are given, and every other required field gets a neutral value of its schema.
"""

import gzip
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import jsonschema_rs

DATA = Path(__file__).parent / "description.json.gz"
ERROR = {"$ref": "#/schemas/basic-error"}
NEUTRAL = {"uri": "https://example.invalid/", "date-time": "2026-01-01T00:00:00Z"}
"""Values of formats."""

Json = dict[str, Any]
NOT_LISTED: Json = {"not": {}}


@dataclass(frozen=True)
class Operation:
    id: str
    method: str
    path: str
    query: Mapping[str, Json]
    body: Json | None
    answers: Mapping[str, Json | None]

    def parameters(self, path: str) -> dict[str, str] | None:
        """Return the values in a path; None if it is not one of this operation."""
        names = re.findall(r"\{(\w+)\}", self.path)
        parts = re.split(r"\{\w+\}", self.path)
        # Only a reference and a branch may contain a slash.
        values = [r"(.+)" if name in ("ref", "branch") else r"([^/]+)" for name in names]
        pattern = "".join(re.escape(part) + value for part, value in zip(parts, [*values, ""], strict=True))
        found = re.fullmatch(pattern, path)
        return dict(zip(names, found.groups(), strict=True)) if found else None

    def answer_schema(self, status: int) -> Json | None:
        """Return the schema of an answer. What the description does not list is a plain error, or not allowed."""
        return self.answers.get(str(status), ERROR if status >= 300 else NOT_LISTED)


@cache
def content() -> Json:
    return json.loads(gzip.decompress(DATA.read_bytes()))


@cache
def operations() -> tuple[Operation, ...]:
    found = cast("dict[str, Json]", content()["operations"])
    return tuple(Operation(id=id, **given) for id, given in found.items())


def operation_for(method: str, path: str) -> tuple[Operation, dict[str, str]] | None:
    for operation in operations():
        values = operation.parameters(path) if operation.method == method else None
        if values is not None:
            return operation, values
    return None


@cache
def _validator(schema: str) -> Any:
    whole = {"allOf": [json.loads(schema)], "schemas": content()["schemas"]}
    return jsonschema_rs.Draft202012Validator(whole, validate_formats=True)


def problems(schema: Json | None, value: Any) -> list[str]:
    """Return what is wrong with a value."""
    if schema is None:
        return []
    found = _validator(json.dumps(schema)).iter_errors(value)
    return [f"{'/'.join(map(str, one.instance_path))}: {one.message[:300]}" for one in found]


def query_problems(operation: Operation, query: Mapping[str, str]) -> list[str]:
    wrong = [f"unknown parameter {name}" for name in query if name not in operation.query]
    for name, text in query.items():
        schema = operation.query.get(name, {})
        is_number = schema.get("type") == "integer" and text.isdigit()
        value: Any = int(text) if is_number else text
        if schema.get("type") == "boolean" and text in ("true", "false"):
            value = text == "true"
        wrong += [f"parameter {name}: {problem}" for problem in problems(schema, value)]
    return wrong


def body_problems(operation: Operation, body: Any) -> list[str]:
    """Return what is wrong with a body. The description allows unknown keys; the test forge does not."""
    if operation.body is None:
        return ["a body"] if body is not None else []
    known = _properties(operation.body)
    given = cast("Json", body) if isinstance(body, dict) else {}
    unknown = [f"unknown key {key}" for key in given if key not in known]
    return [*problems(operation.body, body), *unknown]


def _properties(schema: Json) -> set[str]:
    whole = _resolved(schema)
    inner = [*whole.get("anyOf", ()), *whole.get("oneOf", ()), *whole.get("allOf", ())]
    return {*whole.get("properties", {})}.union(*map(_properties, inner))


def _resolved(schema: Json) -> Json:
    while "$ref" in schema:
        schema = content()["schemas"][schema["$ref"].removeprefix("#/schemas/")]
    return schema


MISSING = object()


def filled(schema: Json | None, given: Any = MISSING) -> Any:
    """Return a value of a schema that has the given facts."""
    whole = _resolved(schema or {})
    kinds = whole.get("type", ())
    if isinstance(given, dict):
        return _object(whole, cast("Json", given))
    if isinstance(given, list):
        return [filled(whole.get("items", {}), one) for one in cast("list[Any]", given)]
    if given is not MISSING:
        return given
    for key in ("anyOf", "oneOf", "allOf"):
        if key in whole and "type" not in whole:
            choices = [_resolved(one) for one in whole[key]]
            return None if any(one.get("type") == "null" for one in choices) else filled(choices[0])
    if "null" in kinds:
        return None
    if "enum" in whole:
        return whole["enum"][0]
    if kinds == "object":
        return _object(whole, {})
    return _neutral(whole, kinds)


def _neutral(schema: Json, kind: str) -> Any:
    if kind == "string":
        return NEUTRAL.get(schema.get("format", ""), "x" * schema.get("minLength", 0))
    neutral: Json = {"integer": schema.get("minimum", 0), "number": 0, "boolean": False, "array": []}
    return neutral.get(kind)


def _object(schema: Json, given: Json) -> Json:
    """Return an object with what the schema requires."""
    objects = [schema]
    for key in ("anyOf", "oneOf", "allOf"):
        inner = [_resolved(one) for one in schema.get(key, ())]
        fit = [one for one in inner if one.get("properties")]
        objects += fit if key == "allOf" else fit[:1]
    known: Json = {}
    required: list[str] = []
    for one in objects:
        known |= one.get("properties", {})
        required += one.get("required", [])
    return {name: filled(known.get(name), given.get(name, MISSING)) for name in dict.fromkeys([*required, *given])}

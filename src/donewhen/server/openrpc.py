"""The OpenRPC document: all methods with their parameters, results, rights and errors, made from the types.

`donewhen serve --schema` prints it. pydantic makes the JSON schemas, and it is loaded on use.
"""

import inspect
from collections.abc import Callable
from typing import Any, cast

from donewhen import __version__
from donewhen.server.error_kinds import ErrorKind
from donewhen.server.methods.method import Method
from donewhen.server.methods.subscriptions import SUBSCRIPTIONS
from donewhen.server.methods.table import TABLE
from donewhen.server.parameters import GREATEST, MethodParameter, parameters_of, result_type

OPENRPC = "1.3.2"
OUR_ERROR = -32000
"""The code of every error that is not one of JSON-RPC itself. `data.kind` tells them apart."""
WRONG_PARAMETERS = -32602

Schema = dict[str, Any]
SchemaOf = Callable[[Any], Schema]


def document() -> dict[str, Any]:
    """Return the description of all methods, also of those that a connection provides."""
    from pydantic import TypeAdapter

    schemas: Schema = {}

    def schema_of(kind: Any) -> Schema:
        """Return the schema of a type. Objects are defined once, and referred to."""
        # As an item of a list, an object is made a reference: `json_schema` writes out only what is outermost.
        made = TypeAdapter(cast("Any", list)[kind]).json_schema(ref_template="#/components/schemas/{model}")
        schemas.update(made.pop("$defs", {}))
        return made["items"]

    return {
        "openrpc": OPENRPC,
        "info": {
            "title": "donewhen",
            "version": __version__,
            "description": "A coding agent is done when your checks say so.",
            "license": {"name": "Apache-2.0"},
        },
        "methods": [_method(one, schema_of) for one in (*TABLE.values(), *SUBSCRIPTIONS.values())],
        "components": {
            "schemas": schemas,
            "errors": {
                "wrong_parameters": {"code": WRONG_PARAMETERS, "message": "A parameter is unknown, missing or wrong."},
                **{kind.value: _error(kind) for kind in ErrorKind},
            },
        },
    }


def _error(kind: ErrorKind) -> Schema:
    return {"code": OUR_ERROR, "message": kind.meaning, "data": {"kind": kind.value}}


def _method(method: Method, schema_of: SchemaOf) -> Schema:
    from donewhen.server.methods.results import Begun

    text = inspect.getdoc(method.function) or ""
    summary, _, rest = text.partition("\n\n")
    result = Begun if method.begins else result_type(method.function)
    return {
        "name": method.name,
        "summary": " ".join(summary.split()),
        **({"description": " ".join(rest.split())} if rest else {}),
        "paramStructure": "by-name",
        "params": [_parameter(one, schema_of) for one in parameters_of(method.function)],
        "result": {"name": "result", "schema": schema_of(result)},
        "errors": [{"$ref": f"#/components/errors/{name}"} for name in ("wrong_parameters", *ErrorKind)],
        "x-right": method.right.value,
        "x-begins": method.begins,
    }


def _parameter(parameter: MethodParameter, schema_of: SchemaOf) -> Schema:
    schema = schema_of(parameter.kind)
    if schema.get("type") in ("integer", "number"):
        schema = {**schema, "minimum": 0, "maximum": GREATEST}
    if not parameter.is_required and parameter.default is not None:
        schema = {**schema, "default": parameter.default}
    return {
        "name": parameter.name,
        **({"description": parameter.description} if parameter.description else {}),
        "required": parameter.is_required,
        "schema": schema,
    }

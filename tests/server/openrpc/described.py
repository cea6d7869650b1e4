"""The OpenRPC document of the methods for tests: the meta schemas it must fit, and the schemas it gives for results.

`meta_schema.json` is that of the OpenRPC project, and `json_schema_tools.json` the schema of JSON schemas to which it
refers (`@json-schema-tools/meta-schema` 1.8.0). LICENSE.md is the licence of both packages.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

from donewhen.server.openrpc import document

HERE = Path(__file__).parent


@cache
def described() -> dict[str, Any]:
    """Return the document as a program reads it."""
    return json.loads(json.dumps(document()))


def faults(found: dict[str, Any]) -> list[str]:
    """Return what the meta schema of the OpenRPC project has against a document."""
    of_schemas = json.loads((HERE / "json_schema_tools.json").read_text())
    of_documents = json.loads((HERE / "meta_schema.json").read_text())
    for schema in (of_schemas, of_documents):
        schema["$schema"] = "http://json-schema.org/draft-07/schema#"  # what `meta.json-schema.tools` is based on
    registry = jsonschema_rs.Registry([(f"https://meta.json-schema.tools{end}", of_schemas) for end in ("", "/")])
    validator = jsonschema_rs.Draft7Validator(of_documents, registry=registry)
    return [f"{list(error.instance_path)}: {error.message[:200]}" for error in validator.iter_errors(found)]


def misfits(method: str, result: object) -> list[str]:
    """Return where a result differs from the schema of its method."""
    (schema,) = [one["result"]["schema"] for one in described()["methods"] if one["name"] == method]
    validator = jsonschema_rs.Draft202012Validator({**schema, "components": described()["components"]})
    plain = json.loads(json.dumps(result))
    return [f"{method} {list(error.instance_path)}: {error.message[:200]}" for error in validator.iter_errors(plain)]

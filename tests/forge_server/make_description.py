"""Makes description.json.gz: the operations of GitHub's OpenAPI description that the test forge serves, and no other.

    python tests/forge_server/make_description.py

It fetches the npm package @octokit/openapi with npm, and keeps its licence beside the data. Texts for people are left
out. The schemas become JSON Schema: OpenAPI's `nullable` becomes the type null.
"""

import gzip
import json
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Any, cast

PACKAGE = "@octokit/openapi@23.0.2"
HERE = Path(__file__).parent
DATA = HERE / "description.json.gz"
LICENCE = HERE / "description.LICENSE"
OPERATIONS = [
    "users/get-authenticated", "repos/get", "repos/get-branch", "repos/list-pull-requests-associated-with-commit",
    "pulls/list", "pulls/get", "pulls/create", "pulls/update",
    "issues/list-for-repo", "issues/get", "issues/create", "issues/update",
    "issues/list-comments", "issues/create-comment",
    "issues/list-labels-for-repo", "issues/create-label", "issues/list-labels-on-issue", "issues/add-labels",
    "git/get-ref", "git/list-matching-refs", "actions/list-workflow-runs-for-repo", "checks/list-for-ref",
    "repos/get-combined-status-for-ref",
]  # fmt: skip
FOR_PEOPLE = {"description", "example", "examples", "title", "externalDocs", "deprecated", "default", "readOnly"}
SCHEMAS = "#/components/schemas/"

Json = dict[str, Any]


def fetched() -> tuple[Json, str]:
    """Return the description and the licence of the package."""
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=place, check=True, stdout=subprocess.DEVNULL)
        (archive,) = Path(place).glob("*.tgz")
        with tarfile.open(archive) as package:
            members = [package.extractfile(f"package/{name}") for name in ("generated/api.github.com.json", "LICENSE")]
            texts = [member.read().decode() for member in members if member is not None]
    return json.loads(texts[0]), texts[1]


def schema_of(value: Any, is_schema: bool = True) -> Any:
    """Return a schema without texts for people, with `nullable` as JSON Schema has it."""
    if isinstance(value, list):
        return [schema_of(one) for one in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    given = cast("Json", value)
    if not is_schema:  # the names in it are those of properties
        return {name: schema_of(one) for name, one in given.items()}
    kept: Json = {
        key: one if key in ("enum", "required", "const") else schema_of(one, is_schema=key != "properties")
        for key, one in given.items()
        if key not in FOR_PEOPLE and not key.startswith("x-") and key != "nullable"
    }
    if "$ref" in kept:
        kept["$ref"] = kept["$ref"].replace(SCHEMAS, "#/schemas/")
    return or_null(kept) if given.get("nullable") else kept


def or_null(schema: Json) -> Json:
    if isinstance(schema.get("type"), str):
        values = {"enum": [*schema["enum"], None]} if "enum" in schema and None not in schema["enum"] else {}
        return {**schema, "type": [schema["type"], "null"], **values}
    return {"anyOf": [schema, {"type": "null"}]}


def operation_of(whole: Json, method: str, path: str, operation: Json) -> Json:
    query: Json = {}
    for given in operation.get("parameters", []):
        parameter = resolved(whole, given)
        if parameter["in"] == "query":
            query[parameter["name"]] = schema_of(parameter["schema"])
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    answers = {status: resolved(whole, answer) for status, answer in operation["responses"].items()}
    return {
        "method": method.upper(),
        "path": path,
        "query": query,
        "body": schema_of(body),
        "answers": {
            status: schema_of(answer.get("content", {}).get("application/json", {}).get("schema"))
            for status, answer in answers.items()
        },
    }


def resolved(whole: Json, value: Json) -> Json:
    for name in value["$ref"].removeprefix("#/").split("/") if "$ref" in value else ():
        whole = whole[name]
    return whole if "$ref" in value else value


def used_schemas(whole: Json, start: Any) -> Json:
    """Return every schema that is named in a value, or in another such schema."""
    found: Json = {}
    waiting = [start]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += cast("list[Any]", value)
        elif isinstance(value, dict):
            named = cast("Json", value)
            waiting += named.values()
            name = str(named.get("$ref", "")).removeprefix("#/schemas/")
            if name and name not in found:
                found[name] = schema_of(whole["components"]["schemas"][name])
                waiting.append(found[name])
    return dict(sorted(found.items()))


def main() -> None:
    whole, licence = fetched()
    operations: Json = {}
    for path, methods in whole["paths"].items():
        for method, operation in methods.items():
            if isinstance(operation, dict) and cast("Json", operation).get("operationId") in OPERATIONS:
                operations[operation["operationId"]] = operation_of(whole, method, path, cast("Json", operation))
    assert set(OPERATIONS) == set(operations), set(OPERATIONS) - set(operations)
    schemas = used_schemas(whole, [operations, {"$ref": "#/schemas/basic-error"}])
    content = {"source": PACKAGE, "operations": operations, "schemas": schemas}
    text = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
    DATA.write_bytes(gzip.compress(text, mtime=0))
    LICENCE.write_text(licence)


if __name__ == "__main__":
    main()

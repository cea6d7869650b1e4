"""The OpenRPC document: it is one by the OpenRPC project's own meta schema, and it names all that is promised."""

import json
import subprocess
from typing import Any

import pytest

from donewhen.server.methods.subscriptions import SUBSCRIPTIONS
from donewhen.server.methods.table import TABLE
from donewhen.server.parameters import parameters_of
from donewhen.session.settings import schema
from program import PROGRAM
from server.openrpc.described import described, faults

PROMISED = {
    "session": "start list get events diff answer approve deny cancel resume land discard subscribe",
    "board": "subscribe",
    "contract": "propose revise check",
    "union": "run",
    "receipt": "get verify",
    "doctor": "run",
    "loop": "add list show run pause resume history",
    "inbox": "list",
    "agents": "list",
    "models": "list",
    "memory": "recall list",
}
"""The methods of the public interface."""
CLEAR = {
    "id",
    "text",
    "name",
    "repo",
    "limit",
    "base",
    "subscription",
    "log",
    "check",
    "command",
    "tag",
    "ids",
    "words",
}
"""Names that say what is meant, together with the name of the method."""
TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array"}


def by_name() -> dict[str, dict[str, Any]]:
    return {method["name"]: method for method in described()["methods"]}


def test_the_document_fits_the_meta_schema_of_the_openrpc_project() -> None:
    assert faults(described()) == []


@pytest.mark.parametrize(
    "broken",
    [
        {"openrpc": "9.9.9"},
        {"methods": [{"name": "session.get"}]},
        {"methods": [{"name": "x", "params": [{"name": "id", "schema": {"type": "letters"}}]}]},
        {"unknown": 1},
    ],
    ids=lambda broken: str(next(iter(broken.values())))[:40],
)
def test_a_document_that_is_none_is_refused_by_the_meta_schema(broken: dict[str, Any]) -> None:
    assert faults({**described(), **broken}) != []


def test_every_method_of_the_public_interface_is_described() -> None:
    promised = {f"{noun}.{verb}" for noun, verbs in PROMISED.items() for verb in verbs.split()}
    assert promised - by_name().keys() == set()
    assert by_name().keys() == {*TABLE, *SUBSCRIPTIONS}


def test_every_method_says_what_it_does_and_which_right_it_needs() -> None:
    methods = {**TABLE, **SUBSCRIPTIONS}
    for name, method in by_name().items():
        assert method["summary"].endswith("."), name
        assert method["x-right"] == methods[name].right.value
        assert method["x-begins"] == methods[name].begins


def test_every_parameter_is_described_or_has_a_clear_name() -> None:
    unclear = [
        f"{name} {one['name']}"
        for name, method in by_name().items()
        for one in method["params"]
        if one["name"] not in CLEAR
        and not one.get("description")
        and f"`{one['name']}`" not in f"{method['summary']} {method.get('description', '')}"
    ]
    assert unclear == []


def test_every_option_of_run_is_a_parameter_of_session_start() -> None:
    known = {one.name: one for one in parameters_of(TABLE["session.start"].function)}
    described_types = {
        one["name"]: one["schema"]["type"] for one in by_name()["session.start"]["params"] if "type" in one["schema"]
    }
    for flag, key in schema.flags().items():
        name = flag.removeprefix("--").replace("-", "_")
        assert known[name].description == key.help
        assert described_types[name] == TYPES[key.python_type], name
    without_key = {"intent", "repo", "base", "dirty", "checks", "contract", "max_iterations", "yes", "ask", "plan"}
    assert known.keys() - {flag.removeprefix("--").replace("-", "_") for flag in schema.flags()} == without_key


def test_what_begins_answers_with_the_id_and_all_errors_have_a_kind() -> None:
    beginning = {name for name, method in by_name().items() if method["x-begins"]}
    assert beginning == {"session.start", "session.resume", "session.replay", "loop.run", "loop.run_stated"}
    assert {by_name()[name]["result"]["schema"]["$ref"] for name in beginning} == {"#/components/schemas/Begun"}
    errors = described()["components"]["errors"]
    assert {name for name, error in errors.items() if error["code"] == -32000} == {
        error["data"]["kind"] for error in errors.values() if error["code"] == -32000
    }


@pytest.mark.promise("serve.schema")
def test_serve_prints_the_methods_and_starts_nothing() -> None:
    printed = subprocess.run([PROGRAM, "serve", "--schema"], capture_output=True, text=True, check=True)
    assert json.loads(printed.stdout) == described()
    assert printed.stderr == ""

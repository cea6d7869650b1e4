"""Which names of donewhen are public, that importing them costs little, and that their examples run."""

import ast
import inspect
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

import donewhen
from donewhen import api
from runs.scenes import RIGHT, scene, script

PACKAGE = Path(donewhen.__file__).parent
PUBLIC = {
    "connect", "run", "Client", "ClientSession", "RunResult", "Loop", "LoopReport", "CallFailed", "DonewhenError",
}  # fmt: skip
METHODS = {
    "Client": {"run", "session", "sessions", "check", "inbox", "loops", "run_loop", "loop", "call"},
    "ClientSession": {
        "events", "result", "details", "diff", "answer", "approve", "deny", "cancel", "resume", "land", "id",
    },
    "Loop": {"run", "rounds"},
    "RunResult": {"id", "outcome", "reason", "exit_code", "needs_you", "verified"},
    "LoopReport": {"session", "outcome", "reason", "waits", "decision", "action", "event"},
}  # fmt: skip
HEAVY = ("pydantic", "pjrpc", "starlette", "uvicorn", "mcp", "acp", "sqlite3", "rich", "tomlkit", "tree_sitter")
LOADED = "import sys; print(*sys.modules, sep='\\n')"


def modules_after(statement: str) -> set[str]:
    text = f"{statement}; {LOADED}"
    return {*subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout.split()}


def test_these_names_are_public_and_no_others() -> None:
    assert set(api.__all__) == PUBLIC
    for name in PUBLIC:
        assert getattr(donewhen, name) is getattr(api, name)
    for name in ("annotations", "server", "contextlib", "frozen", "nonsense"):
        assert name not in api.__all__
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = donewhen.nonsense  # pyright: ignore[reportAttributeAccessIssue] - it does not exist


def test_type_checkers_are_told_the_same_names() -> None:
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text())
    told = {alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert told == PUBLIC
    assert (PACKAGE / "py.typed").exists()


def test_these_methods_and_fields_are_public_and_each_says_what_it_is() -> None:
    undescribed: list[str] = []
    for name, known in METHODS.items():
        kind: type = getattr(api, name)
        fields: set[str] = {*getattr(kind, "__dataclass_fields__", {}), *(["id"] if name == "ClientSession" else [])}
        found: set[str] = {one for one in vars(kind) if not one.startswith("_")} | fields
        assert found == known, name
        undescribed += [f"{name}.{one}" for one in found - fields if not inspect.getdoc(getattr(kind, one))]
    undescribed += [name for name in PUBLIC if not inspect.getdoc(getattr(api, name))]
    assert undescribed == []


def test_importing_donewhen_loads_nothing_and_its_names_load_nothing_heavy() -> None:
    plain = modules_after("pass")
    assert modules_after("import donewhen") - plain == {"donewhen"}
    loaded = {name.split(".")[0] for name in modules_after("import donewhen; donewhen.connect; donewhen.Loop")}
    assert not loaded & {*HEAVY}


def examples() -> Iterator[tuple[str, str]]:
    """Yield the indented text of each public docstring, and where it is."""
    for name in sorted(PUBLIC):
        kind = getattr(api, name)
        objects = {name: kind, **{f"{name}.{one}": getattr(kind, one) for one in sorted(METHODS.get(name, ()))
                                  if hasattr(kind, one) and inspect.isroutine(getattr(kind, one))}}  # fmt: skip
        for place, one in objects.items():
            yield from ((place, block) for block in indented(inspect.getdoc(one) or ""))


def indented(text: str) -> Iterator[str]:
    block: list[str] = []
    for line in [*text.splitlines(), "end"]:
        if line.startswith("    ") or (block and not line):
            block.append(line)
        elif block:
            yield textwrap.dedent("\n".join(block)).strip() + "\n"
            block = []


EXAMPLES = [*examples()]


def test_there_are_examples() -> None:
    assert {"connect", "Client", "Client.run", "ClientSession.events", "Loop"} <= {place for place, _ in EXAMPLES}


@pytest.mark.parametrize(("place", "text"), EXAMPLES, ids=[place for place, _ in EXAMPLES])
def test_an_example_of_a_docstring_runs(
    place: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    repo = scene(tmp_path / "repo")
    monkeypatch.chdir(repo)
    monkeypatch.setenv("DONEWHEN__MODEL__USE", script(tmp_path / "script.json", RIGHT))

    async def run() -> None:
        given: dict[str, Any] = {"donewhen": donewhen}
        body = textwrap.indent(text, "    ")
        exec(compile(f"async def example(client, session):\n{body}", place, "exec"), given)
        async with donewhen.connect() as client:
            session = await client.run("say right")
            await session.result()
            await given["example"](client, session)

    anyio.run(run)
    if place == "Loop":
        assert "escalated" in capsys.readouterr().out


def test_the_example_of_the_module_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = scene(tmp_path / "repo")
    monkeypatch.chdir(repo)
    monkeypatch.setenv("DONEWHEN__MODEL__USE", script(tmp_path / "script.json", RIGHT))
    (text,) = indented(inspect.getdoc(api) or "")
    given: dict[str, Any] = {"donewhen": donewhen}
    exec(f"async def example():\n{textwrap.indent(text, '    ')}", given)
    anyio.run(given["example"])
    head = subprocess.run(["git", "show", "main:answer.txt"], capture_output=True, text=True, check=True).stdout
    assert head == "right\n"

"""The gate of a loop: what proceeds by itself, and why everything else waits for a person."""

import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loop_scene import FIX, LoopScene, loop

from donewhen.errors import BadInput
from donewhen.loops.gate import ActionProposal, GateOpinion, decide, read_rules
from donewhen.loops.spec import LoopSpec, spec_of
from donewhen.workspace.process.launch import Launcher
from repositories import git, write

PROPOSAL = ActionProposal(
    loop="fixer",
    session="0123abcd",
    level="unattended",
    action="branch",
    summary="add() is right",
    verified=True,
    unverified_reason="",
    paths=("docs/a.md", "src/calc.py"),
    insertions=3,
    deletions=2,
    usd=0.5,
    tokens=100,
    tree="t",
    base="b",
    finding="f",
)
NO_LAUNCHER = cast("Launcher", None)
"""For gates that start no program."""


def spec(**keys: Any) -> LoopSpec:
    given = {"level": "unattended", "action": "branch", "allow": ["branch"], **keys}
    return spec_of({"name": "fixer", "intent": "keep main green", **given}, "")


def opinion(top: Path, spec: LoopSpec, proposal: ActionProposal = PROPOSAL) -> GateOpinion:
    async def decided() -> GateOpinion:
        return await decide(spec, proposal, top, NO_LAUNCHER)

    return anyio.run(decided)


@pytest.fixture
async def launcher() -> AsyncGenerator[Launcher]:
    async with Launcher.open() as launcher:
        yield launcher


# -- what proceeds --


def test_listed_and_verified_work_of_an_unattended_loop_proceeds(tmp_path: Path) -> None:
    assert opinion(tmp_path, spec()) == GateOpinion(True, "")


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "not verified: works is fail": ({}, {"verified": False, "unverified_reason": "works is fail"}),
    "the level is assisted: a person decides": ({"level": "assisted"}, {}),
    "the gate always asks a person": ({"gate": "ask"}, {}),
    "the gate always asks a person ": ({"allow": []}, {}),
    "the action apply-patch is not in 'allow'": ({"action": "apply-patch"}, {}),
    "it changes src/calc.py, which the loop must never touch": ({"never": ["src"]}, {}),
    "it changes donewhen.toml, which decides what the loop does": ({}, {"paths": ("a", "donewhen.toml")}),
    "it changes sub/donewhen.toml, which decides what the loop does": ({}, {"paths": ("sub/donewhen.toml",)}),
    "it changes .donewhen/x/y, which decides what the loop does": ({}, {"paths": (".donewhen/x/y",)}),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_each_refusal_has_its_own_reason(tmp_path: Path, reason: str) -> None:
    keys, changes = REFUSED[reason]
    assert opinion(tmp_path, spec(**keys), replace(PROPOSAL, **changes)) == GateOpinion(False, reason.strip())


@pytest.mark.parametrize(
    ("keys", "changed"),
    [
        ({"gate": "rules:./ci/gate.toml"}, "ci/gate.toml"),
        ({"gate": "rules:rules of [us].toml"}, "rules of [us].toml"),
        ({"gate": "command:python3 ci/gate.py --strict"}, "ci/gate.py"),
        ({"action": "command:./publish --now", "allow": ["command"]}, "publish"),
        ({"action": "command:cd . && sh 'tools/publish';true", "allow": ["command"]}, "tools/publish"),
        ({"action": "command:make publish", "allow": ["command"]}, "Makefile"),
    ],
)
def test_work_on_the_files_of_the_gate_or_the_action_waits(tmp_path: Path, keys: dict[str, Any], changed: str) -> None:
    write(
        tmp_path,
        {"ci/gate.toml": "[[rule]]\ndecide = 'proceed'\n", "rules of [us].toml": "[[rule]]\ndecide = 'proceed'\n"},
    )
    refused = opinion(tmp_path, spec(**keys), replace(PROPOSAL, paths=(changed,)))
    assert refused == GateOpinion(False, f"it changes {changed}, which decides what the loop does")
    if "command:" not in str(keys.get("gate")):
        other = replace(PROPOSAL, paths=("docs/a.md",))
        assert opinion(tmp_path, spec(**keys), other).proceeds  # other work is not concerned


def test_a_file_that_the_action_only_shows_is_not_a_part_of_it(tmp_path: Path) -> None:
    command = replace(PROPOSAL, action="command")
    for text in ("./mail; cat src/calc.py", "{ cat; head -3 docs/a.md; } > /tmp/out"):
        assert opinion(tmp_path, spec(action=f"command:{text}", allow=["command"]), command).proceeds
    for text in ("cat src/calc.py | python3", "python3 < src/calc.py", "run-it src/calc.py"):
        assert not opinion(tmp_path, spec(action=f"command:{text}", allow=["command"]), command).proceeds


# -- rules --


def rules(top: Path, *tables: str) -> LoopSpec:
    write(top, {"gate.toml": "\n".join(f"[[rule]]\n{table}" for table in tables)})
    return spec(gate="rules:gate.toml", allow=[])


@pytest.mark.parametrize(
    ("conditions", "matches"),
    [
        ("kinds = ['branch', 'command']", True),
        ("kinds = ['apply-patch']", False),
        ("paths = ['docs/**', 'src/*.py']", True),
        ("paths = ['docs/**']", False),
        ("max_files = 2", True),
        ("max_files = 1", False),
        ("max_lines = 5", True),
        ("max_lines = 4", False),
        ("max_usd = 0.5", True),
        ("max_usd = 0.4", False),
        ("kinds = ['branch']\nmax_lines = 4", False),
        ("", True),
    ],
)
def test_every_condition_of_a_rule_must_hold(tmp_path: Path, conditions: str, matches: bool) -> None:
    found = opinion(tmp_path, rules(tmp_path, f"decide = 'proceed'\n{conditions}\n"))
    assert found == GateOpinion(matches, "rule 1 of gate.toml says so" if matches else "no rule of gate.toml matches")


def test_an_unknown_price_is_above_every_limit_of_money(tmp_path: Path) -> None:
    spec = rules(tmp_path, "decide = 'proceed'\nmax_usd = 1000\n")
    assert not opinion(tmp_path, spec, replace(PROPOSAL, usd=None)).proceeds


def test_the_first_rule_that_matches_decides_and_gives_its_reason(tmp_path: Path) -> None:
    rest = "decide = 'proceed'\nreason = 'the rest'\n"
    spec = rules(tmp_path, "decide = 'escalate'\npaths = ['src/**']\nreason = 'code is read by people'\n", rest)
    assert opinion(tmp_path, spec) == GateOpinion(False, "code is read by people")  # one path is enough to escalate
    assert opinion(tmp_path, spec, replace(PROPOSAL, paths=("docs/a.md",))) == GateOpinion(True, "the rest")


def test_a_rule_about_paths_says_nothing_about_work_without_files(tmp_path: Path) -> None:
    spec = rules(tmp_path, "decide = 'proceed'\npaths = ['docs/**']\n")
    assert not opinion(tmp_path, spec, replace(PROPOSAL, action="comment", paths=())).proceeds


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("rule = 1", "only [[rule]] is allowed here"),
        ("[[rules]]\n", "only [[rule]] is allowed here"),
        ("[[rule]]\ndecide = 'maybe'\n", "'rule[0].decide' must be proceed or escalate"),
        ("[[rule]]\n", "'rule[0].decide' must be proceed or escalate"),
        ("[[rule]]\ndecide = 'proceed'\n[[rule]]\ndecide = 'proceed'\nmax = 1\n", "'rule[1].max' is unknown"),
        ("[[rule]]\ndecide = 'proceed'\nmax_files = -1\n", "'rule[0].max_files' has a wrong value: -1"),
        ("[[rule]]\ndecide = 'proceed'\nmax_files = true\n", "'rule[0].max_files' has a wrong value: True"),
        ("[[rule]]\ndecide = 'proceed'\nkinds = ['merge']\n", "'rule[0].kinds' must name actions"),
        ("[[rule]]\ndecide = 'proceed'\npaths = []\n", "'rule[0].paths' must not be empty"),
        ("[[rule]]\ndecide = 'proceed'\nkinds = []\n", "'rule[0].kinds' must not be empty"),
        ("[[rule]]\ndecide = 'proceed'\npaths = [1]\n", "'rule[0].paths' must be a list of texts"),
        ("[[rule]]\ndecide = 'proceed'\npaths = ['../x']\n", "rule[0].paths"),
        ("rule =", "gate.toml: "),
    ],
)
def test_a_wrong_file_of_rules_is_named_with_its_key_and_lets_nothing_proceed(
    tmp_path: Path, content: str, problem: str
) -> None:
    write(tmp_path, {"gate.toml": content})
    with pytest.raises(BadInput) as refused:
        read_rules(tmp_path, "gate.toml")
    assert problem in str(refused.value) and "\n" not in str(refused.value)
    assert str(tmp_path / "gate.toml") in str(refused.value)
    found = opinion(tmp_path, spec(gate="rules:gate.toml"))
    assert not found.proceeds and found.reason.startswith("the rules cannot be used: ")


def test_a_file_of_rules_may_lie_outside_the_repository(tmp_path: Path) -> None:
    write(tmp_path, {"mine.toml": "[[rule]]\ndecide = 'proceed'\n", "repo/a": ""})
    assert opinion(tmp_path / "repo", spec(gate="rules:../mine.toml")).proceeds
    assert opinion(tmp_path / "repo", spec(gate=f"rules:{tmp_path}/mine.toml")).proceeds
    with pytest.raises(BadInput, match="No such file"):
        read_rules(tmp_path / "repo", "mine.toml")


# -- whatever is stated --

VIOLATIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "level": ({"level": "assisted"}, {}),
    "verified": ({}, {"verified": False, "unverified_reason": "works is fail"}),
    "never": ({"never": ["src/*.py"]}, {}),
    "own files": ({}, {"paths": ("docs/a.md", "src/calc.py", "sub/donewhen.toml")}),
    "ask": ({"gate": "ask"}, {}),
}
PATTERNS = st.sampled_from(["docs/**", "src/auth/**", "**", "src/**/*.py"])
RULE = st.fixed_dictionaries(
    {"decide": st.sampled_from(["proceed", "proceed", "proceed", "escalate"])},
    optional={
        "kinds": st.lists(st.sampled_from(["branch", "apply-patch"]), min_size=1, max_size=2),
        "paths": st.lists(PATTERNS, min_size=1, max_size=2),
        "max_files": st.integers(0, 3),
        "max_lines": st.integers(0, 9),
    },
)
GATES = st.sampled_from(["allow-list", "rules:gate.toml"])


@given(st.sets(st.sampled_from(sorted(VIOLATIONS)), max_size=2), GATES, st.lists(RULE, max_size=3), st.integers(0, 9))
def test_nothing_proceeds_unless_it_is_unattended_verified_and_away_from_every_never_path(
    tmp_path_factory: pytest.TempPathFactory, violated: set[str], gate: str, tables: list[dict[str, Any]], lines: int
) -> None:
    top = tmp_path_factory.getbasetemp()
    rules = [("[[rule]]", *(f"{key} = {json.dumps(value)}" for key, value in table.items()), "") for table in tables]
    write(top, {"gate.toml": "\n".join(line for table in rules for line in table)})
    keys: dict[str, Any] = {"gate": gate}
    proposal = replace(PROPOSAL, insertions=lines)
    for name in violated:
        keys, proposal = {**keys, **VIOLATIONS[name][0]}, replace(proposal, **VIOLATIONS[name][1])
    found = opinion(top, spec(**keys), proposal)
    if violated:
        assert not found.proceeds and found.reason
    elif gate == "allow-list":
        assert found.proceeds


# -- a program --


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("echo proceed", GateOpinion(True, "the gate program says so")),
        ("echo 'Proceed: small and tested'", GateOpinion(True, "small and tested")),
        ("printf 'escalate  it is\\nnight\\n'", GateOpinion(False, "it is night")),
        ("echo proceed; exit 1", GateOpinion(False, "the gate program gave no decision (exited with 1)")),
        ("echo yes", GateOpinion(False, "the gate program gave no decision (exited with 0)")),
        ("echo proceed-not", GateOpinion(False, "the gate program gave no decision (exited with 0)")),
        ("true", GateOpinion(False, "the gate program gave no decision (exited with 0)")),
        ("echo proceed >&2", GateOpinion(False, "the gate program gave no decision (exited with 0)")),
        ("./missing", GateOpinion(False, "the gate program gave no decision (exited with 127)")),
    ],
)
@pytest.mark.anyio
async def test_a_program_decides_and_anything_unclear_waits(
    tmp_path: Path, launcher: Launcher, program: str, expected: GateOpinion
) -> None:
    assert await decide(spec(gate=f"command:{program}"), PROPOSAL, tmp_path, launcher) == expected


@pytest.mark.anyio
async def test_a_program_that_takes_too_long_lets_nothing_proceed(tmp_path: Path, launcher: Launcher) -> None:
    slow = spec(gate="command:echo proceed; exec sleep 600")
    found = await decide(slow, PROPOSAL, tmp_path, launcher, program_secs=0.1)
    assert not found.proceeds and found.reason.startswith("the gate program gave no decision")


@pytest.mark.anyio
async def test_a_program_reads_the_proposal_as_data_and_not_as_words_of_a_shell(
    tmp_path: Path, launcher: Launcher
) -> None:
    hostile = replace(PROPOSAL, summary="$(touch spliced)'\"\n`touch spliced`", paths=("a $(touch spliced)", "b\udcff"))
    found = await decide(spec(gate="command:cat > seen.json; echo proceed"), hostile, tmp_path, launcher)
    assert found.proceeds and [file.name for file in tmp_path.iterdir()] == ["seen.json"]
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert (seen["summary"], tuple(seen["paths"])) == (hostile.summary, hostile.paths)
    assert (seen["action"], seen["verified"], seen["tree"], seen["insertions"]) == ("branch", True, "t", 3)


# -- in a round --


def test_a_round_proceeds_by_its_rules_and_a_bad_file_starts_nothing(tmp_path: Path) -> None:
    keys = {"level": "unattended", "gate": "rules:gate.toml"}
    rule = {"gate.toml": "[[rule]]\ndecide = 'proceed'\nkinds = ['branch']\npaths = ['calc.py']\n"}
    scene = LoopScene.made(tmp_path, loop(**keys), files=rule)
    code, finished, _ = scene.run()
    assert (code, finished["outcome"], finished["reason"]) == (0, "proceeded", "rule 1 of gate.toml says so")
    assert scene.branches() == [f"donewhen/{scene.session()}", "main"]
    (scene.root / "gate.toml").write_text("[[rule]]\ndecide = 'proceed'\npaths = []\n")
    before = scene("list", "--json").out
    refused = scene("loop", "run", "fixer")
    assert refused.code == 2 and "'rule[0].paths' must not be empty" in refused.one_line
    assert scene("list", "--json").out == before


@pytest.mark.parametrize(("never", "outcome"), [("calc.*", "escalated"), ("docs/**", "proceeded")])
def test_a_round_that_changes_a_path_of_never_waits_for_a_person(tmp_path: Path, never: str, outcome: str) -> None:
    scene = LoopScene.made(tmp_path, loop(level="unattended", allow=["branch"], never=[never]))
    _, finished, _ = scene.run()
    assert finished["outcome"] == outcome and finished["checker"]["status"] == "confirmed"
    assert (finished["reason"] == "it changes calc.py, which the loop must never touch") == (outcome == "escalated")


def test_protected_paths_do_not_count_so_that_work_on_the_loop_itself_is_not_landed(tmp_path: Path) -> None:
    widened = {"path": "donewhen.toml", "content": "[[loop]]\nname='x'\n"}
    own = {"path": ".donewhen/loops/more.toml", "content": "intent = 'more'\n"}
    scene = LoopScene.made(tmp_path, loop(level="unattended", allow=["branch"]))
    edits = [{"tool": {"name": "write_file", "input": one}} for one in (widened, own)]
    scene.script([FIX, *edits, {"text": "Fixed, and more."}])
    code, finished, _ = scene.run()
    assert (code, finished["outcome"], finished["reason"]) == (0, "proceeded", "")
    assert git(scene.root, "diff", "--name-only", "main", f"donewhen/{scene.session()}").split() == ["calc.py"]

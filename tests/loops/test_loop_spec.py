"""The specification of a loop: defaults, every key, and tables that no round could carry out."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.errors import BadInput, NeedsPerson
from donewhen.loops.spec import ActionKind, LoopGateKind, LoopLevel, Overlap, spec_of
from donewhen.loops.spec_files import StatedLoop, loop_named, usable_loops
from donewhen.session.settings import schema
from donewhen.session.settings.trust import TrustBook
from repositories import write

LEAST = {"name": "sweeper", "intent": "keep main green"}
WHOLE = """
name = "ci-sweeper"
intent = "keep main green"
level = "unattended"
schedule = "*/10 * * * *"
timezone = "Europe/Berlin"
on = ["commit:main", "file:CHANGELOG.md", "check-red:tests"]
overlap = "queue"
inputs = [{ name = "failing", command = "gh run list", network = true, env = ["GH_TOKEN"] }]
checks = ["tests"]
check = [{ name = "own", command = "make own" }]
maker = "Fix it."
checker = "Show that it is wrong."
never = ["src/auth/**"]
action = "command:./publish --now"
allow = ["branch", "command"]
gate = "rules:gate.toml"
max_open = 2
draft = false
signoff = true
expires_days = 3
deliver = ["stdout", "file:report.md", "webhook:http://localhost/"]
engine = "external:codex"
checker_engine = "native"
checker_model = "openai:x"
jitter_secs = 30
budget = { turns = 3, usd = 1.5 }
"""


def test_a_name_and_an_intent_are_enough() -> None:
    spec = spec_of(LEAST, "")
    assert (spec.level, spec.schedule.text, spec.overlap) == (LoopLevel.REPORT, "daily 09:00", Overlap.SKIP)
    assert (spec.action.kind, spec.gate.kind, spec.deliver) == (ActionKind.REPORT, LoopGateKind.ASK, ("stdout",))
    assert (spec.max_open, spec.draft, spec.expires_days) == (1, True, 14)
    assert (spec.budget.turns, spec.budget.tokens, spec.budget.minutes) == (12, 400_000, 30)
    assert (spec.budget.usd, spec.budget.usd_per_day, spec.budget.usd_lifetime) == (0, 5, 100)


def test_every_key_is_read() -> None:
    entry = tomllib.loads(WHOLE)
    assert set(schema.LOOP) - set(entry) == {"model"}
    spec = spec_of(entry, "")
    assert (spec.level, spec.overlap, str(spec.schedule.zone)) == (LoopLevel.UNATTENDED, Overlap.QUEUE, "Europe/Berlin")
    assert (str(spec.action), spec.allow) == ("command:./publish --now", (ActionKind.BRANCH, ActionKind.COMMAND))
    assert (spec.gate.kind, spec.gate.argument, str(spec.gate)) == (LoopGateKind.RULES, "gate.toml", "rules:gate.toml")
    assert [(one.name, one.network, one.env) for one in spec.inputs] == [("failing", True, ("GH_TOKEN",))]
    assert [check.command for check in spec.own_checks] == ["make own"]
    assert (spec.budget.turns, spec.budget.usd, spec.budget.tokens) == (3, 1.5, 400_000)


def test_where_allow_is_set_the_gate_is_the_list() -> None:
    assert spec_of({**LEAST, "allow": ["branch"]}, "").gate.kind is LoopGateKind.ALLOW_LIST
    assert spec_of({**LEAST, "allow": ["branch"], "gate": "ask"}, "").gate.kind is LoopGateKind.ASK


WRONG: dict[str, dict[str, Any]] = {
    "name": {"name": ""},
    "intent": {"intent": "  "},
    "schedule": {"schedule": "sometimes"},
    "timezone": {"timezone": "Mars"},
    "on": {"on": ["push:main"]},
    "deliver": {"deliver": ["mail:me"]},
    "action": {"action": "merge"},
    "action' must not end in ';'": {"action": "command:publish;"},
    "action' must not end in '&'": {"action": "command: publish & "},
    "allow": {"allow": ["merge"]},
    "gate": {"gate": "rules:"},
    "never": {"never": ["../x"]},
    "engine": {"engine": "nothing"},
    "checker_engine": {"checker_engine": "nothing"},
    "inputs[0].command": {"inputs": [{"name": "a"}]},
    "inputs[1].name": {"inputs": [{"name": "a", "command": "b"}, {"name": "a", "command": "c"}]},
    "check[0].command": {"check": [{"name": "a"}]},
    "checks": {"checks": ["a", "b", "a"]},
    "check[0].name": {"checks": ["a"], "check": [{"name": "a", "command": "b"}]},
    "check[1].name": {"check": [{"name": "a", "command": "b"}, {"name": "a", "command": "c"}]},
    "expires_days": {"expires_days": 1e9},
    "check[1].dir": {"check": [{"name": "a", "command": "b"}, {"name": "b", "command": "b", "dir": ".."}]},
}


@pytest.mark.parametrize("key", WRONG)
def test_a_table_that_no_round_could_carry_out_is_refused_with_its_key(key: str) -> None:
    with pytest.raises(BadInput) as refused:
        spec_of({**LEAST, **WRONG[key]}, "loop[3].")
    assert str(refused.value).startswith(f"'loop[3].{key}") and "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["A", "a b", "-a", "a-", "a/b", "ä", "x" * 65, "..", "a\nb"])
def test_a_name_that_cannot_be_part_of_a_branch_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="name' must be 1 to 64 small letters"):
        spec_of({**LEAST, "name": name}, "")


TEXTS = st.text(max_size=12)
ENTRIES = st.fixed_dictionaries(
    {"name": TEXTS, "intent": TEXTS},
    optional={
        "schedule": TEXTS,
        "timezone": TEXTS,
        "action": TEXTS,
        "gate": TEXTS,
        "engine": TEXTS,
        "on": st.lists(TEXTS, max_size=2),
        "never": st.lists(TEXTS, max_size=2),
        "allow": st.lists(TEXTS, max_size=2),
        "deliver": st.lists(TEXTS, max_size=2),
        "inputs": st.lists(st.fixed_dictionaries({}, optional={"name": TEXTS, "command": TEXTS}), max_size=2),
    },
)


@given(ENTRIES)
def test_any_texts_give_a_loop_or_one_line(entry: dict[str, Any]) -> None:
    try:
        assert spec_of(entry, "").name == entry["name"]
    except BadInput as refused:
        assert "\n" not in str(refused)


# -- files --


@pytest.fixture
def trust(tmp_path: Path) -> TrustBook:
    return TrustBook(tmp_path)


def sound_loops(top: Path, trust: TrustBook) -> tuple[StatedLoop, ...]:
    """Return the loops of a repository. Raise what is wrong with one of them."""
    loops, errors = usable_loops(top, trust)
    if errors:
        raise errors[0]
    return loops


def loops(top: Path, trust: TrustBook, files: dict[str, str]) -> tuple[StatedLoop, ...]:
    write(top, files)
    return sound_loops(top, trust)


OWN = ".donewhen/loops/own.toml"


def test_loops_are_read_from_donewhen_toml_and_from_files_of_their_own(tmp_path: Path, trust: TrustBook) -> None:
    found = loops(tmp_path / "repo", trust, {
        "donewhen.toml": "[[loop]]\nname = 'second'\nintent = 'a'\n[[loop]]\nname = 'first'\nintent = 'b'\n",
        OWN: "intent = 'c'\n",
        ".donewhen/loops/other.toml": "name = 'named'\nintent = 'd'\n",
        ".donewhen/loops/README.md": "not a loop\n",
    })  # fmt: skip
    assert [loop.spec.name for loop in found] == ["first", "named", "own", "second"]
    assert loop_named(found, "own").file == tmp_path / "repo" / OWN
    with pytest.raises(BadInput, match=r"there is no loop 'nope'; there are: first, named, own, second"):
        loop_named(found, "nope")


def test_a_repository_without_loops_has_none(tmp_path: Path, trust: TrustBook) -> None:
    assert loops(tmp_path / "repo", trust, {"a": ""}) == ()


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({OWN: "intent = 'a'\ncolour = 'red'\n"}, "unknown key 'colour'"),
        ({OWN: "intent = 'a'\nbudget = { dollars = 1 }\n"}, "unknown key 'budget.dollars'"),
        ({OWN: "intent = 'a'\ninputs = [{ name = 'a', shell = 'b' }]\n"}, "unknown key 'inputs[0].shell'"),
        ({OWN: "intent = 'a'\ninputs = ['a']\n"}, "'inputs[0]' must be a table"),
        ({OWN: "intent = 1\n"}, "'intent' must be text"),
        ({OWN: "intent ="}, ""),
        ({"donewhen.toml": "[[loop]]\nname = 'own'\nintent = 'a'\nschedule = 'x'\n"}, "'loop[0].schedule' must be"),
        ({"donewhen.toml": "[[loop]]\nname = 'own'\nintent = 'a'\n", OWN: "intent = 'b'\n"}, "is also in"),
    ],
)
def test_a_wrong_file_is_named_with_its_key_in_one_line(
    tmp_path: Path, trust: TrustBook, files: dict[str, str], problem: str
) -> None:
    with pytest.raises(BadInput) as refused:
        loops(tmp_path / "repo", trust, files)
    assert problem in str(refused.value) and "\n" not in str(refused.value)
    assert str(tmp_path / "repo") in str(refused.value)


def test_a_link_out_of_the_repository_is_not_followed(tmp_path: Path, trust: TrustBook) -> None:
    write(tmp_path, {"outside.toml": "intent = 'a'\n", "repo/.donewhen/loops/x": ""})
    (tmp_path / "repo" / OWN).symlink_to(tmp_path / "outside.toml")
    with pytest.raises(BadInput, match="is a link out of the repository"):
        sound_loops(tmp_path / "repo", trust)


@pytest.mark.parametrize(
    "line",
    [
        "inputs = [{ name = 'a', command = 'b' }]", "action = 'branch'", "allow = ['branch']",
        "engine = 'external:codex'", "model = 'openai:x'", "checker_model = 'openai:x'", "checker_engine = 'external'",
        "gate = 'command:x'", "deliver = ['webhook:http://x']", "max_open = 2", "budget = { tokens = 400001 }",
        "budget = { usd_per_day = 0 }",
    ],
)  # fmt: skip
def test_a_loop_that_asks_for_more_waits_for_trust_in_its_file(tmp_path: Path, trust: TrustBook, line: str) -> None:
    (loop,) = loops(tmp_path / "repo", trust, {OWN: f"intent = 'a'\n{line}\n"})
    assert loop.widening == (line.partition(" ")[0],)
    with pytest.raises(NeedsPerson, match=rf"{OWN}: '{loop.widening[0]}' asks for more .* donewhen trust"):
        loop.require_trust()
    trust.accept(tmp_path / "repo" / OWN, (tmp_path / "repo" / OWN).read_bytes())
    (loop,) = sound_loops(tmp_path / "repo", trust)
    loop.require_trust()


def test_a_loop_within_the_defaults_needs_no_trust(tmp_path: Path, trust: TrustBook) -> None:
    lines = "intent = 'a'\nlevel = 'unattended'\nschedule = 'every 1h'\nbudget = { tokens = 1, usd_per_day = 5 }\n"
    (loop,) = loops(tmp_path / "repo", trust, {OWN: f"{lines}never = ['x']\ndeliver = ['stdout']\ngate = 'ask'\n"})
    loop.require_trust()

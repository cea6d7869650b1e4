"""The built-in rules as data: each holds for its own examples, and the page lists them all."""

import re
import time
from dataclasses import replace
from pathlib import Path

import pytest

from donewhen.workspace.policy import Decision, Policy
from donewhen.workspace.policy.paths import NOWHERE
from donewhen.workspace.policy.policy import steps_of
from donewhen.workspace.policy.rules.built_in import BUILT_IN
from donewhen.workspace.policy.rules.rule import Rule
from donewhen.workspace.policy.step import WorkingDir

PAGE = Path(__file__).parents[3] / "docs" / "policy.md"
BY_ID = {rule.id: rule for rule in BUILT_IN}


def broken(rule: Rule) -> list[str]:
    """Return the examples of a rule that it does not decide as it says."""
    working_dir = WorkingDir(NOWHERE, NOWHERE)
    matched = {
        example
        for example in (*rule.hits, *rule.misses)
        if any(
            (not rule.names or step.name in rule.names) and rule.matches(step)
            for step in steps_of(example, working_dir)
        )
    }
    return [*sorted(set(rule.hits) - matched), *sorted(set(rule.misses) & matched)]


@pytest.mark.parametrize("rule", BUILT_IN, ids=lambda rule: rule.id)
def test_every_rule_has_examples_on_both_sides_and_they_hold(rule: Rule) -> None:
    assert rule.hits and rule.misses
    assert not broken(rule)


def test_an_example_that_a_rule_contradicts_is_found() -> None:
    push = BY_ID["git-push"]
    assert broken(replace(push, hits=("ls",))) == ["ls"]
    assert broken(replace(push, misses=("git push",))) == ["git push"]


@pytest.mark.parametrize("rule", BUILT_IN, ids=lambda rule: rule.id)
def test_a_command_named_by_a_rule_is_never_allowed(rule: Rule) -> None:
    policy = Policy.load()
    for example in rule.hits:
        assert policy.decide(example).decision.strictness >= rule.decision.strictness


def test_every_rule_denies_or_asks_under_a_unique_name() -> None:
    assert len(BY_ID) == len(BUILT_IN)
    for rule in BUILT_IN:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.id)
        assert rule.decision is not Decision.ALLOW
        assert rule.reason and not rule.reason.endswith(".")


def test_the_page_about_the_policy_lists_exactly_these_rules() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (deny|ask) \| (.+) \|$", PAGE.read_text(), re.MULTILINE)
    assert rows == [(rule.id, rule.decision.value, rule.reason) for rule in BUILT_IN]


def test_the_policy_page_says_that_the_sandbox_is_the_real_isolation() -> None:
    assert "the [sandbox](sandbox.md) is what confines a command" in " ".join(PAGE.read_text().split())


def test_a_typical_command_is_decided_within_a_millisecond_of_cpu() -> None:
    policy = Policy.load(root="/home/me/project")
    command = "cd src && git status --short | head -20; grep -rn 'def main' . > out.txt"
    spent: list[float] = []
    for _ in range(50):
        before = time.process_time()
        policy.decide(command)
        spent.append(time.process_time() - before)
    assert min(spent) < 0.001

"""The user's own patterns: they only narrow, the matching one is named, and a bad one is one line."""

from typing import cast

import pytest

from donewhen.errors import BadInput
from donewhen.workspace.policy import Decision, Policy


@pytest.mark.parametrize(
    ("pattern", "command", "matches"),
    [
        ("terraform", "terraform plan", True),
        ("terraform plan", "terraform plan -out x", True),
        ("terraform plan", "terraform", False),
        ("terraform plan", "terraform -chdir=x plan", False),
        ("terraform plan", "/usr/bin/terraform plan", True),
        ("terraform plan", "cd infra && env A=b terraform plan", True),
        ("terraform plan", "sh -c 'terraform plan'", True),
        ("terraform plan", "echo terraform plan", False),
        ("terraform plan", "terraform planet", False),
        ("terraform pl*", "terraform planet", True),
        ("* --force", "tool --force", True),
        ("make 'a b'", "make 'a b'", True),
        ("make 'a b'", "make a b", False),
        ("git diff", "git -C sub --no-pager diff", True),
        ("./tool", "./tool", True),
        ("/opt/tool", "tool", False),
        ("re:prod.*apply", "kind prod && tool apply", True),
        ("re:^tool$", "tool x", False),
        ("re:(?i)PROD", "tool Prod", True),
    ],
)
def test_a_pattern_matches_by_words_or_by_expression(pattern: str, command: str, matches: bool) -> None:
    ruling = Policy.load(deny=["unused", pattern]).decide(command)
    assert (ruling.rule == "policy.deny[1]") is matches
    assert (ruling.decision is Decision.DENY) is matches


def test_the_strictest_answer_wins() -> None:
    asking = Policy.load(ask=["git", "pytest"])
    assert asking.decide("git push").decision is Decision.DENY
    assert asking.decide("git status").rule == "policy.ask[0]"
    assert asking.decide("pytest").decision is Decision.ASK
    both = Policy.load(deny=["pytest"], ask=["pytest"])
    assert both.decide("pytest").decision is Decision.DENY
    assert Policy.load(deny=["curl"]).decide("curl https://example.com").decision is Decision.DENY


def test_an_unknown_word_may_match_a_pattern() -> None:
    policy = Policy.load(deny=["tool apply now"])
    assert policy.decide("tool $x now").decision is Decision.ASK
    assert policy.decide('tool "$@"').decision is Decision.ASK
    assert policy.decide("tool plan $x").decision is Decision.ALLOW


def test_the_reason_names_the_pattern() -> None:
    ruling = Policy.load(deny=["tool x"]).decide("ls; tool x y")
    assert ruling.reason == "matches the operator's rule 'tool x'"
    assert ruling.command == "tool x y"


def test_an_expression_is_searched_even_in_unparsed_text() -> None:
    assert Policy.load(deny=["re:secret"]).decide("echo 'secret").decision is Decision.DENY


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        ("", "policy.deny[1]: the pattern is empty"),
        ("  ", "policy.deny[1]: the pattern is empty"),
        ("re:", "policy.deny[1]: the pattern is empty"),
        ("re:(", "policy.deny[1]: bad pattern 're:(': missing ), unterminated subpattern"),
        ("re:*", "policy.deny[1]: bad pattern 're:*': nothing to repeat"),
        ("tool 'x", 'policy.deny[1]: bad pattern "tool \'x": No closing quotation'),
        (cast("str", 7), "policy.deny[1]: must be a string, not int"),
        (cast("str", ["a"]), "policy.deny[1]: must be a string, not list"),
    ],
)
def test_a_bad_pattern_is_one_line_that_names_its_place(entry: str, line: str) -> None:
    with pytest.raises(BadInput) as caught:
        Policy.load(deny=["fine", entry])
    assert str(caught.value) == line


@pytest.mark.parametrize("entry", ["re:" + "(" * 5000 + ")" * 5000, "re:a{99999999999999999999}"])
def test_an_oversized_expression_is_bad_input(entry: str) -> None:
    with pytest.raises(BadInput):
        Policy.load(ask=[entry])

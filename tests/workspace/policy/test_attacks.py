"""Unwanted commands, plain and in disguise. The texts are only judged, nothing runs."""

import shlex
from collections.abc import Callable
from itertools import product

import pytest
from attack_commands import DENIED, DOUBTED, UNWANTED
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.workspace.policy import Decision, Policy
from tables import every_row
from tiers import examples

POLICY = Policy.load(root="/home/me/project")


@every_row(DENIED)
def test_an_unwanted_command_is_denied(command: str) -> None:
    ruling = POLICY.decide(command)
    assert ruling.decision is Decision.DENY, ruling


@every_row(DOUBTED)
def test_a_command_that_hides_something_is_at_least_asked_about(command: str) -> None:
    ruling = POLICY.decide(command)
    assert ruling.decision is not Decision.ALLOW, ruling
    assert ruling.rule != "none" and ruling.reason


def test_there_are_many_attacks_without_duplicates() -> None:
    attacks = [*DENIED, *DOUBTED]
    assert len(attacks) == len(set(attacks)) >= 150


WRAPPERS: dict[str, Callable[[str], str]] = {
    "subshell": lambda c: f"( {c} )",
    "group": lambda c: f"{{ {c}; }}",
    "negated": lambda c: f"! {c}",
    "second in a list": lambda c: f"true && {c}",
    "after a semicolon": lambda c: f"true; {c}",
    "on the next line": lambda c: f"true\n{c}",
    "in the background": lambda c: f"{{ {c}; }} & wait",
    "last of a pipe": lambda c: f"true | {{ {c}; }}",
    "substitution": lambda c: f"echo $( {c} )",
    "quoted substitution": lambda c: f'echo "a $( {c} ) b"',
    "process substitution": lambda c: f"cat <( {c} )",
    "assignment": lambda c: f"x=$( {c} )",
    "condition": lambda c: f"if {c}; then :; fi",
    "branch": lambda c: f"if true; then {c}; fi",
    "loop": lambda c: f"for i in 1 2; do {c}; done",
    "function": lambda c: f"f() {{ {c}; }}; f",
    "case": lambda c: f"case a in a) {c} ;; esac",
    "sh -c": lambda c: f"sh -c {shlex.quote(c)}",
    "bash -lc": lambda c: f"/usr/bin/env bash -lc {shlex.quote(c)}",
    "sudo sh -c": lambda c: f"sudo -E sh -c {shlex.quote(c)}",
    "timeout": lambda c: f"timeout -k 1 5 nice -n 5 sh -c {shlex.quote(c)}",
    "eval": lambda c: f"eval {shlex.quote(c)}",
    "echo to a shell": lambda c: f"echo {shlex.quote(c)} | sh",
    "printf to a shell": lambda c: f"printf '%s\\n' {shlex.quote(c)} | bash -s",
    "here-string": lambda c: f"bash <<< {shlex.quote(c)}",
    "trap": lambda c: f"trap {shlex.quote(c)} EXIT",
    "xargs": lambda c: f"echo a | xargs -n 1 sh -c {shlex.quote(c)}",
    "find": lambda c: f"find . -exec sh -c {shlex.quote(c)} \\;",
    "watch": lambda c: f"watch -n 1 {shlex.quote(c)}",
    "a variable": lambda c: f'x={shlex.quote(c)}; sh -c "$x"',
}


@every_row(list(product(WRAPPERS, UNWANTED)))
def test_a_denied_command_stays_denied_in_every_wrapper(row: tuple[str, str]) -> None:
    wrapper, command = row
    ruling = POLICY.decide(WRAPPERS[wrapper](command))
    assert ruling.decision is Decision.DENY, ruling


@settings(max_examples=examples(150))
@given(st.sampled_from(UNWANTED), st.lists(st.sampled_from(sorted(WRAPPERS)), min_size=2, max_size=5))
def test_nested_wrappers_never_make_a_command_allowed(command: str, wrappers: list[str]) -> None:
    for wrapper in wrappers:
        command = WRAPPERS[wrapper](command)
    assert POLICY.decide(command).decision is not Decision.ALLOW


@every_row(UNWANTED)
def test_a_heredoc_fed_to_a_shell_is_examined(command: str) -> None:
    for script in (f"bash <<'EOF'\n{command}\nEOF", f"cat <<'EOF' | sh\n{command}\nEOF", f"bash <<EOF\n{command}\nEOF"):
        assert POLICY.decide(script).decision is Decision.DENY


def test_a_heredoc_written_to_a_file_is_not_examined() -> None:
    assert POLICY.decide("cat <<'EOF' > deploy.sh\ngit push\nEOF").decision is Decision.ALLOW


@pytest.mark.parametrize(
    "text",
    ["echo git push", "echo 'rm -rf /'", "grep -rn 'git push' .", "# git push", "printf 'sudo\\n'", "ls 'git push'"],
)
def test_a_command_that_is_only_mentioned_is_not_denied(text: str) -> None:
    assert POLICY.decide(text).decision is Decision.ALLOW


def test_the_ruling_names_the_part_that_offends() -> None:
    ruling = POLICY.decide("make && (cd docs && git push origin main) || true")
    assert (ruling.rule, ruling.command) == ("git-push", "git push origin main")


def test_the_first_denial_is_reported_even_after_many_asks() -> None:
    ruling = POLICY.decide("curl https://example.com; $x; git push; rm -rf /")
    assert (ruling.decision, ruling.rule) == (Decision.DENY, "git-push")


def test_a_part_that_is_not_understood_does_not_hide_a_denial_next_to_it() -> None:
    assert POLICY.decide("$x y; git push").rule == "git-push"
    assert POLICY.decide("sh -c 'echo (' ; git push").rule == "git-push"

"""Ordinary work is allowed without a question: a false alarm stops an agent."""

import pytest
from ordinary_commands import ORDINARY

from donewhen.workspace.policy import Decision, Policy
from tables import every_row

ROOT = "/home/me/project"
POLICY = Policy.load(root=ROOT)


@every_row(ORDINARY)
def test_an_ordinary_command_is_allowed(command: str) -> None:
    ruling = POLICY.decide(command)
    assert (ruling.decision, ruling.rule) == (Decision.ALLOW, "none"), ruling


def test_there_are_many_ordinary_commands_without_duplicates() -> None:
    assert len(ORDINARY) == len(set(ORDINARY)) >= 80


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /home/me/project/build",
        "sed -i s/a/b/ /home/me/project/src/a.py",
        "cd /home/me/project/src && rm -rf ../build",
        "cd src && cd .. && rm -rf build",
        "echo x > /home/me/project/a.txt",
        "cat /home/me/project/.npmrc",
    ],
)
def test_an_absolute_path_below_the_root_is_inside_the_tree(command: str) -> None:
    assert Policy.load(root=ROOT).decide(command).decision is Decision.ALLOW
    assert Policy.load(root=ROOT + "/").decide(command).decision is Decision.ALLOW


@pytest.mark.parametrize("root", ["/", "", ".", "relative/tree"])
def test_a_root_that_would_hold_everything_holds_no_absolute_path(root: str) -> None:
    policy = Policy.load(root=root)
    assert policy.decide("rm -rf /etc").decision is Decision.DENY
    assert policy.decide("rm -rf build").decision is Decision.ALLOW


def test_a_tree_below_the_scratch_directory_protects_what_is_above_it() -> None:
    policy = Policy.load(root="/tmp/work/tree")
    assert policy.decide("rm -rf ..").decision is Decision.DENY
    assert policy.decide("rm -rf /tmp").decision is Decision.DENY
    assert policy.decide("rm -rf /tmp/other").decision is Decision.ALLOW


def test_a_long_file_written_through_a_heredoc_is_allowed() -> None:
    lines = "if (a[i] && b) { c(`${d}`) | e; } // don't; rm -rf / && git push\n" * 1500
    command = f"cat > src/a.js <<'EOF'\n{lines}EOF\nnpm test"
    assert Policy.load(root=ROOT).decide(command).decision is Decision.ALLOW
    assert Policy.load(root=ROOT).decide(f"{command}\ngit push").rule == "git-push"


@pytest.mark.parametrize("program", ["./service start", "scripts/mount all", "./pass --quick", "tools/at now"])
def test_a_program_of_the_tree_is_not_mistaken_for_another_of_the_same_name(program: str) -> None:
    assert Policy.load(root=ROOT).decide(program).decision is Decision.ALLOW

"""Any text gets an answer: no exception, no wait, the same one every time."""

import resource

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from donewhen.workspace.policy import Decision, Policy
from tiers import examples

ROOT = "/home/me/project"
POLICY = Policy.load(root=ROOT)

PIECES = [
    *"abx19 \t\n;&|<>(){}$`'\"\\[]=!#*?~+-/%^@:,.",
    *("if ", "then ", "fi", "for i in ", "do ", "done", "case x in ", "esac", "while ", "function f ", "[[ ", " ]]"),
    *(
        "((",
        "))",
        "$((",
        "$(",
        "${",
        "<(",
        "<<E\n",
        "\nE\n",
        "<<-'E'\n",
        "<<<",
        "$'\\x",
        "&&",
        "||",
        ";;",
        "|&",
        ">&",
        "2>",
    ),
    *(
        "rm -rf ",
        "git push ",
        "sudo ",
        "env ",
        "sh -c ",
        "eval ",
        "xargs -I{} ",
        "find . -exec ",
        "echo ",
        "printf '%s' ",
    ),
    *("cd ..", "x=", "$x", '"$@"', "read x", "trap ", "alias a=", "base64 -d", "parallel ", "-c core.pager=", "é"),
]
shell_like = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@settings(max_examples=examples(400))
@given(st.text(max_size=200) | shell_like)
@example("\0")
@example("\ud800")
@example("for x in $y; do $x; done")
@example("f() { a; } > b")
def test_any_text_gets_the_same_answer_twice(text: str) -> None:
    first = POLICY.decide(text)
    assert first == POLICY.decide(text)
    assert (first.decision is Decision.ALLOW) == (first.rule == "none")
    assert len(first.command) <= 400


@settings(max_examples=examples(150))
@given(shell_like, st.lists(st.sampled_from(["git", "git push", "*", "rm *", "re:x", "echo a"]), max_size=3))
@pytest.mark.promise("policy.narrows-only")
def test_rules_of_the_user_never_relax_a_decision(text: str, entries: list[str]) -> None:
    plain = POLICY.decide(text).decision.strictness
    for narrowed in (Policy.load(deny=entries, root=ROOT), Policy.load(ask=entries, root=ROOT)):
        assert narrowed.decide(text).decision.strictness >= plain


@pytest.mark.parametrize(
    "text",
    [
        "x" * (1 << 20),
        "git push " * (1 << 17),
        "(" * 10_000,
        "(" * 10_000 + ")" * 10_000,
        "(" * 10_000 + "git push" + ")" * 10_000,
        "$(" * 400 + "git push" + ")" * 400,
        "{ " * 300 + "git push; " + "}; " * 300,
        "`" * 10_000,
        "`>&." * 10_000,
        "${" * 10_000,
        "?a" * 10_000,
        "<<A " * 30_000,
        "cat <<'E'\n" * 10_000,
        "true <E<" + "| true " * 60 + "| x= git push",
        "<< E=~" + "|a b " * 60 + "|git push 2>",
        "a | b | c | true <E<" + "| true \n" * 60 + "| x= git push",
        "a | b | c | true <E <" + "| true " * 20 + "| x=",
        "\0" * 10_000,
        "git push \0",
        "\ud800\udfff",
        "\r\n" * 100 + "git push",
        "\x1b]0;title\x07 git push",
        "{a,b}" * 12 + " git push",
        "echo " + "{a,b}" * 200,
        "eval " * 300 + "git push",
        "timeout --x 5 " * 40 + "git push",
        "x0=aaaaaaaa; " + "; ".join(f"x{n + 1}=$x{n}$x{n}" for n in range(60)) + "; $x60",
        "printf '" + "%s" * 100 + "' " + "a " * 5000 + "| sh",
        "true && " * 900 + "git push",
        "true; " * 3000 + "git push",
    ],
    ids=lambda text: ascii(text)[:30],
)
def test_overlong_or_deeply_nested_commands_are_answered_without_a_crash_or_a_wait(text: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF)
    assert POLICY.decide(text).decision is not Decision.ALLOW or "git push" not in text
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert after.ru_utime - before.ru_utime < 3
    assert after.ru_maxrss - before.ru_maxrss < 300 * 1024


@pytest.mark.parametrize("joint", ["; ", " && ", " || ", " | ", "\n"])
def test_sixty_commands_before_it_do_not_hide_the_last_one(joint: str) -> None:
    assert POLICY.decide(joint.join(["true"] * 60 + ["git push"])).rule == "git-push"

"""The ready-made loops whose agents only read: they report, or they propose comments on a forge."""

import shlex

from donewhen.errors import BadInput
from donewhen.loops.catalogue.draft import DraftInput, Filled, LoopDraft, ReadyLoop
from donewhen.loops.catalogue.facts import RepositoryFacts
from donewhen.loops.spec import ActionKind, LoopLevel, Reading

RECENT = 'git log -n 30 --date=short --stat=100 --format="%n%h %ad %an: %s"'
LEFTOVERS = (
    'notes=$(git grep -n -I -E "(TODO|FIXME|XXX|HACK)|^(<<<<<<<|>>>>>>>) ") || [ $? -eq 1 ] || exit 2\n'
    "printf '%s\\n' \"$notes\" | cut -c 1-200 | head -n 100"
)
"""git grep exits with 1 if it finds nothing, and with more if it cannot look."""
TEST_RUNS = 5
TEST_SECS = 900

CHECK_REPORT = "Look for statements that the data does not support, and for something urgent that is missing."
CHECK_COMMENTS = (
    "Look for comments that are wrong, that repeat what is there, that jump into a discussion of people, or that "
    "nobody needs. If one of them should not be written, refute."
)


def forge_input(facts: RepositoryFacts, reading: Reading) -> DraftInput:
    name, what = {
        Reading.OPEN_ISSUES: ("issues", f"open issues of {facts.forge}"),
        Reading.OPEN_PULLS: ("pulls", f"open pull requests of {facts.forge}, with what failed on them"),
        Reading.FAILED_CI: ("ci", f"checks that failed at the newest commit of {facts.forge}"),
    }[reading]
    comment = f"{what}; donewhen reads them with {facts.token_env}, which no agent sees"
    return DraftInput(name=name, read=reading, comment=comment)


def forge_filled(facts: RepositoryFacts, key: str, value: str) -> Filled:
    if facts.forge:
        return Filled(key, value, f"the remote is {facts.forge}, and {facts.token_env} is set")
    return Filled(key, value, f"local git only, because {facts.no_forge}")


def _daily_triage(facts: RepositoryFacts) -> LoopDraft:
    readings = (Reading.OPEN_ISSUES, Reading.OPEN_PULLS, Reading.FAILED_CI) if facts.forge else ()
    of_forge = tuple(forge_input(facts, reading) for reading in readings)
    recent = DraftInput(name="commits", command=RECENT, comment="the newest commits")
    names = ", ".join(facts.names_of_checks)
    why = "all checks of donewhen.toml: the report says which are red" if names else "no check is known"
    return LoopDraft(
        intent="Say what in this repository needs a person today.",
        level=LoopLevel.REPORT,
        action=ActionKind.REPORT,
        maker=(
            "Write a short report for the person who starts to work now: at most ten points, the most urgent first.\n"
            "For each point: what it is (a path, a check or a number), why it matters, and the next step.\n"
            "Write only what the data and the files show. Leave out what needs no one, and old commits."
        ),
        checker=CHECK_REPORT,
        inputs=(recent, *of_forge),
        checks=facts.names_of_checks,
        filled=(
            Filled("checks", names or "none", why),
            forge_filled(facts, "inputs", ", ".join(one.name for one in (recent, *of_forge))),
        ),
    )


def _pr_babysitter(facts: RepositoryFacts) -> LoopDraft:
    if not facts.forge:
        return LoopDraft(
            intent="Say which branches are stuck, and what would move each of them on.",
            level=LoopLevel.REPORT,
            action=ActionKind.REPORT,
            maker=(
                "Report the branches that have commits of their own and did not move for some days.\n"
                "For each: its name, what it is for, how far it is behind, and the next step.\n"
                "Leave out branches that are merged, and those that somebody works on now."
            ),
            checker=CHECK_REPORT,
            inputs=(_branches(),),
            filled=(forge_filled(facts, "action", "report"),),
        )
    return LoopDraft(
        intent="Move open pull requests on.",
        level=LoopLevel.ASSISTED,
        action=ActionKind.COMMENT,
        maker=(
            "Write a comment on a pull request only if it is stuck and the comment would move it on: a check that "
            "failed (name it, and its cause as far as the data and the files show it), a description that does not "
            "say what the change is for, a question of its author that has no answer.\n"
            "Write nothing where people discuss, and nothing that is there already. Be brief, kind and concrete."
        ),
        checker=CHECK_COMMENTS,
        inputs=(forge_input(facts, Reading.OPEN_PULLS),),
        filled=(forge_filled(facts, "action", "comment"),),
    )


def _issue_triage(facts: RepositoryFacts) -> LoopDraft:
    if not facts.forge:
        return LoopDraft(
            intent="Sort the notes about open work that are in the files.",
            level=LoopLevel.REPORT,
            action=ActionKind.REPORT,
            maker=(
                "Sort the notes below: which describe a bug, which a missing feature, which are out of date.\n"
                "Name for each of the ten most important ones the place, what is wrong, and how large the work is.\n"
                "Read the code around a note before you judge it."
            ),
            checker=CHECK_REPORT,
            inputs=(_leftovers(),),
            filled=(forge_filled(facts, "action", "report"),),
        )
    return LoopDraft(
        intent="Give each new issue a first answer.",
        level=LoopLevel.ASSISTED,
        action=ActionKind.COMMENT,
        maker=(
            "Read each issue below and what the files say about it. Write a comment only if it helps its author:\n"
            "- the place in the code, if you found the cause (path and function)\n"
            "- what is missing to reproduce it (version, steps, output), if it cannot be understood without it "
            "- the number of the other issue, if the same is open already "
            "Promise nothing, close nothing, and write nothing where you are not sure."
        ),
        checker=CHECK_COMMENTS,
        inputs=(forge_input(facts, Reading.OPEN_ISSUES),),
        filled=(forge_filled(facts, "action", "comment"),),
    )


def _post_merge_cleanup(facts: RepositoryFacts) -> LoopDraft:
    return LoopDraft(
        intent="Say what merged work has left behind.",
        level=LoopLevel.REPORT,
        action=ActionKind.REPORT,
        maker=(
            "Report what can be cleaned up, with the command for it where there is one:\n"
            "- branches that are merged (a squashed merge shows as commits of its own whose change is in the files)\n"
            "- notes, dead code and flags that belong to work that is finished "
            "- marks of merge conflicts "
            "Delete nothing. Leave out a branch that somebody may still work on."
        ),
        checker="Look for branches that hold work that is not merged, and for notes that are not out of date.",
        inputs=(_branches(), _leftovers()),
        filled=(Filled("inputs", "branches, notes", f"compared with {facts.branch or 'HEAD'}; nothing is deleted"),),
    )


def _branches() -> DraftInput:
    comment = "all branches, compared with the one that is checked out; donewhen reads them"
    return DraftInput(name="branches", read=Reading.BRANCHES, comment=comment)


def _leftovers() -> DraftInput:
    return DraftInput(name="notes", command=LEFTOVERS, comment="notes in the files, and marks of merge conflicts")


def _flaky_test_hunter(facts: RepositoryFacts) -> LoopDraft:
    check = facts.test_check
    if check is None:
        raise BadInput("needs a check that runs the tests; run: donewhen init")
    evidence = DraftInput(
        name="evidence", read=Reading.FLAKY_CHECKS, comment="checks that were flaky in sessions of donewhen"
    )
    runs = DraftInput(
        name="runs",
        command=_repeated(check.at_root),
        timeout_secs=TEST_SECS,
        comment=f"the tests, {TEST_RUNS} times on the same files: a run that differs from the others is flaky",
    )
    return LoopDraft(
        intent="Find tests that pass and fail on the same files, and say why.",
        level=LoopLevel.REPORT,
        action=ActionKind.REPORT,
        maker=(
            "A test is flaky only if it both passed and failed on the same files: see the runs and the evidence.\n"
            "For each one: its name, what it depends on (time, order, randomness, network, another test), the lines "
            "that show it, and the smallest change that would make it reliable.\n"
            "A test that fails in every run is broken and not flaky: name it in one line."
        ),
        checker="Look for tests that are called flaky without a run that passed and one that failed on the same files.",
        inputs=(evidence, runs),
        filled=(Filled("inputs", check.at_root, f"the command of the check {check.name}, {TEST_RUNS} times"),),
    )


def _repeated(command: str) -> str:
    """Return a command line that runs another one some times, and prints the end of what a failed run printed."""
    numbers = " ".join(map(str, range(1, TEST_RUNS + 1)))
    return "\n".join(
        [
            f"for n in {numbers}; do",
            f"  if out=$(sh -c {shlex.quote(command)} 2>&1); then",
            '    echo "run $n: passed"',
            "  else",
            '    echo "run $n: exit code $?"',
            "    printf '%s\\n' \"$out\" | tail -n 40",
            "  fi",
            "done",
        ]
    )


READING_LOOPS = (
    ReadyLoop(
        name="daily-triage",
        what="reports what needs a person today: checks, commits, issues, pull requests",
        schedule="daily 09:00",
        turns=10,
        tokens=150_000,
        tokens_per_day=300_000,
        minutes=15,
        usd_per_day=2.0,
        draft=_daily_triage,
    ),
    ReadyLoop(
        name="pr-babysitter",
        what="proposes comments that move stuck pull requests on, or reports stuck branches",
        schedule="every 10m",
        turns=8,
        tokens=150_000,
        tokens_per_day=1_500_000,
        minutes=15,
        usd_per_day=5.0,
        draft=_pr_babysitter,
    ),
    ReadyLoop(
        name="post-merge-cleanup",
        what="reports what merged work left behind: branches, notes, marks of conflicts",
        schedule="every 6h",
        turns=10,
        tokens=150_000,
        tokens_per_day=600_000,
        minutes=15,
        usd_per_day=2.0,
        draft=_post_merge_cleanup,
    ),
    ReadyLoop(
        name="issue-triage",
        what="proposes a first answer to new issues, or sorts the notes in the files",
        schedule="every 2h",
        turns=8,
        tokens=150_000,
        tokens_per_day=1_000_000,
        minutes=15,
        usd_per_day=5.0,
        draft=_issue_triage,
    ),
    ReadyLoop(
        name="flaky-test-hunter",
        what="runs the tests several times and reports flaky ones with their cause",
        schedule="weekly mon 05:00",
        turns=16,
        tokens=300_000,
        tokens_per_day=300_000,
        minutes=30,
        usd_per_day=5.0,
        draft=_flaky_test_hunter,
    ),
)

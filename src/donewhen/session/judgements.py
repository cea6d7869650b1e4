"""The judgements of a session as the memory looks at them: which checks were how, on which tree, by which failure.

Folded from the story; nothing is decided or kept here.
"""

import datetime
from collections.abc import Iterator, Mapping

from donewhen.judge.contract import Contract
from donewhen.records import frozen
from donewhen.session.story import Plain, Story


@frozen
class Judgement:
    """How one tree was judged."""

    tree: str
    statuses: Mapping[str, str]
    """By check."""
    signatures: Mapping[str, Plain]
    """By check, of those that failed and may be spoken of."""


def judgements(story: Story, up_to: int | None = None) -> Iterator[Judgement]:
    """The newest first, that of the baseline at last; trees that could not be judged are passed over."""
    for one in reversed(story.rounds):
        judged = one.judged or {}
        if "results" in judged and (up_to is None or one.n <= up_to):
            yield Judgement(str(judged["tree"]), statuses(judged), judged.get("signatures", {}))
    if story.before_work:
        signatures = story.before_work["signatures"]
        yield Judgement(str(story.before_work["tree"]), statuses(story.baseline or {}), signatures)


def statuses(judged: Plain) -> dict[str, str]:
    return {str(one["name"]): str(one["status"]) for one in judged.get("results", ())}


def is_worse(now: Judgement, before: Judgement, contract: Contract) -> bool:
    """Whether some check that decides passed before and does not now."""
    today = datetime.datetime.now().astimezone().date()
    deciding = [check.name for check in contract.checks if not check.in_quarantine(today)]
    return any(before.statuses.get(name) == "pass" and now.statuses.get(name) != "pass" for name in deciding)


def is_flaky(story: Story, check: str) -> bool:
    """Whether it was seen to be: then its turning says nothing about the work."""
    return any(one.statuses.get(check) == "flaky" for one in judgements(story))


def spent(story: Story) -> Iterator[tuple[str, str]]:
    """The repairs whose hints were shown in this session and did not help, each with the check that it was for."""
    for one in story.rounds:
        if one.hint and one.hint["text"] and one.judged and "results" in one.judged:
            check = str(one.hint["check"])
            if statuses(one.judged).get(check) != "pass":
                yield str(one.hint["repair"]), check

"""Result of judging a tree, as this package uses it: the delta of each check against the base.

This package does not import the judge. `Judging` is the interface to it.
"""

from collections.abc import Sequence
from typing import Literal, Protocol

from donewhen.records import frozen

DeltaKind = Literal["kept", "gained", "turned", "open", "unknown"]
"""`kept`: green on both, or red on both while every test that passed on the base passes · `gained`: green, but red on
the base · `turned`: worse than on the base · `open`: red as on the base, or in quarantine: decides nothing ·
`unknown`: no reliable result."""
Gains = frozenset[tuple[str, str]]
"""(check, test) pairs that were red on the base and are green now. An empty test means the whole check."""


@frozen(kw_only=True)
class CheckDelta:
    """The result of one check on one tree, compared with the base."""

    name: str
    kind: DeltaKind
    status: str
    """The check status, as a value of `judge.verdict.CheckStatus`."""
    detail: str = ""
    """One line: the reason for `kind`."""
    exit_code: int | None = None
    duration_ms: int = 0
    quarantined: bool = False
    passed: frozenset[str] = frozenset()
    """Names of the tests that passed, if the check was red on the base and its runner names tests."""

    @property
    def gains(self) -> Gains:
        """The check if it is green now, else the tests that pass in it. Only reliable results count."""
        if self.kind == "gained":
            return frozenset({(self.name, "")})
        return frozenset((self.name, test) for test in self.passed) if self.status == "fail" else frozenset()

    def lacks(self, gains: Gains) -> bool:
        """Return whether the check is no better than on the base and lacks one of these gains."""
        red = self.kind in ("open", "kept")
        return red and any(name == self.name and test not in self.passed for name, test in gains)

    @property
    def has_changed(self) -> bool:
        """Whether the check is better or worse than on the base."""
        return self.kind in ("gained", "turned")


@frozen
class CheckDeltas:
    deltas: tuple[CheckDelta, ...]
    restored: tuple[str, ...] = ()
    """Protected paths that the tree changes, each with its rule. These changes are not part of the judged tree."""

    @property
    def broken(self) -> tuple[str, ...]:
        return tuple(delta.name for delta in self.deltas if delta.kind == "turned")

    @property
    def unknown(self) -> tuple[CheckDelta, ...]:
        return tuple(delta for delta in self.deltas if delta.kind == "unknown")

    @property
    def gains(self) -> Gains:
        return frozenset[tuple[str, str]]().union(*(delta.gains for delta in self.deltas))

    def lacking(self, gains: Gains) -> tuple[str, ...]:
        """Return the checks that are no better than on the base and lack one of these gains."""
        return tuple(delta.name for delta in self.deltas if delta.lacks(gains))

    @property
    def has_evidence(self) -> bool:
        """Whether there is positive evidence: something that could have been red and was green."""
        return any(delta.kind in ("kept", "gained") for delta in self.deltas)


class Judging(Protocol):
    """Judges a tree and compares the result with the base."""

    async def __call__(
        self,
        tree: str,
        phase: Literal["gate", "union"],
        first: Sequence[str] = (),
        *,
        fresh: bool = False,
        proven: bool = True,
    ) -> CheckDeltas:
        """With `first`, run these checks before the others, and the others only if none of these got worse.

        `fresh`: bypass every cache. Not `proven`: run the checks alone, without the defences that prove a green.
        """
        ...

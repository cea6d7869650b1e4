"""Landings that stop before their n-th change to the user's repository or to our notes about it.

The interpreter itself reports changes: an audit hook sees every file that is opened for writing, renamed, linked,
removed or made. What git does in our own directories happens between two of them. As a program this file is a
process that is really killed at that point. Inside a test, a landing is stopped there and can change nothing more,
not even while it cleans up.
"""

import os
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

import anyio
from landing_scenes import DIGEST, WORK, Rejudging, tree_with

from donewhen.session.conclude.land import LandingPlan, branch_name, discard, land_apply, land_branch, land_onto
from donewhen.session.workplace import Workplace, open_workplace
from donewhen.workspace.git.landing.branches import tip

DIRECTORIES = {
    "os.rename": (2, 3), "os.link": (2, 3), "os.remove": (1,), "os.mkdir": (2,), "os.rmdir": (1,), "os.chmod": (2,),
    "os.symlink": (2,), "os.truncate": (),
}  # fmt: skip
"""Events that change a file, and which of their arguments name the directory of a relative path."""
Operation = Callable[[Workplace, LandingPlan], Awaitable[object]]


async def onto_main(place: Workplace, plan: LandingPlan) -> object:
    again = Rejudging()
    return await land_onto(place, plan, "main", again.judge, again.write_receipt)


async def second_commit(place: Workplace, plan: LandingPlan) -> object:
    """Land left-out edits on top of the work, which is landed at the commit of the branch `first`."""
    first = tip(place.repo, "first") or ""
    tree = await tree_with(place, {**WORK, b"edited": b"e\n"}, plan.base)
    at = "2025-06-08T08:09:10+00:00"
    amended = replace(plan, tree=tree, parent=first, at=at, amended=True, only_on=first)
    again = Rejudging()
    return await land_onto(place, amended, branch_name(plan.session), again.judge, again.write_receipt)


async def throw_away(place: Workplace, plan: LandingPlan) -> object:
    return await discard(place, plan.session)


OPERATIONS: dict[str, Operation] = {
    "branch": land_branch, "apply": land_apply, "onto": onto_main, "amend": second_commit, "discard": throw_away,
}  # fmt: skip


async def plan_from_tag(place: Workplace) -> LandingPlan:
    """The plan of a session that started at the commit which the repository calls `base`."""
    base = await place.store.resolve("base")
    tree = await tree_with(place, WORK, base)
    at = "2025-06-07T08:09:10+00:00"
    return LandingPlan(session="s1", intent="Change", base=base, tree=tree, parent=base, receipt_digest=DIGEST, at=at)


class Stopped(BaseException):
    """As if the process had been killed: no code catches it, and clean-up meets it again."""


def stop() -> NoReturn:
    raise Stopped


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class Reaper:
    """Stop the process, or its work, at the n-th change below some directories and at every later one."""

    end: Callable[[], None]
    places: tuple[str, ...] = ()
    nth: int = 0
    seen: int = 0

    def install(self) -> "Reaper":
        """Lives as long as the interpreter; it does nothing until it is armed."""
        sys.addaudithook(self._hook)
        return self

    def arm(self, nth: int, *places: Path) -> None:
        self.places, self.nth, self.seen = tuple(f"{place}/" for place in places), nth, 0

    def disarm(self) -> bool:
        """True if the n-th change was reached."""
        met = self.seen >= self.nth
        self.nth = 0
        return met

    def _hook(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.nth and any(path.startswith(self.places) for path in changed(event, arguments)):
            self.seen += 1
            if self.seen >= self.nth:
                self.end()


def changed(event: str, arguments: tuple[object, ...]) -> list[str]:
    """The paths that an event is about to change."""
    if event == "open":
        is_writing = isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        return named(arguments[:1], "/") if is_writing else []
    if event not in DIRECTORIES:
        return []
    descriptors = [arguments[at] for at in DIRECTORIES[event]]
    above = next((os.readlink(f"/proc/self/fd/{fd}") for fd in descriptors if isinstance(fd, int) and fd >= 0), "/")
    return named(arguments[:2], above)


def named(paths: tuple[object, ...], above: str) -> list[str]:
    texts = [path for path in paths if isinstance(path, str | bytes)]
    texts += [str(path) for path in paths if isinstance(path, Path)]
    return [os.path.join(above, os.fsdecode(path), "") for path in texts]


async def main(operation: str, root: Path, nth: int) -> None:
    async with open_workplace(root) as place:
        plan = await plan_from_tag(place)
        Reaper(die).install().arm(nth, root, place.store.bare.directory / "applying")
        await OPERATIONS[operation](place, plan)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))

"""Runs that crash around the notes of the memory: `python memory_driver.py REPO MODEL`, JSON lines.

A first run learns a repair. Then a run is killed before and after the last of each kind of note, and resumes. At the
end everything is forgotten, and a run crashes between its verdict and its learning.
"""

import sys
from functools import partial
from pathlib import Path
from typing import Any

from driver import NEVER, in_a_process, rehearse, session_of, tell

from donewhen.session.settings.run_options import RunOptions
from donewhen.session.verbs.memory import memory_forget, memory_list, memory_show
from donewhen.session.verbs.start import resume, start

KINDS = ("round", "attempted", "judged", "landing")


def main() -> None:
    repo, model = sys.argv[1:]
    options = RunOptions(intent="rehearsal", repo=Path(repo), values={"--model": model})
    rehearse(options)
    moments = in_a_process(partial(start, options), NEVER)["moments"]
    for point in points(moments):
        tell(died_and_went_on(RunOptions(intent=f"dies at {point}", repo=Path(repo), values={"--model": model}), point))
    (known,) = memory_list()
    tell({"offers": memory_show(known["id"])["offers"]})
    memory_forget([], every=True)
    point = max(number for number, moment in enumerate(moments, 1) if moment.startswith("after judged"))
    tell(
        died_and_went_on(
            RunOptions(intent="dies before it has learnt", repo=Path(repo), values={"--model": model}), point
        )
    )


def points(moments: list[str]) -> list[int]:
    """Before and after the last note of each kind."""
    begun = [tuple(moment.split()[:2]) for moment in moments]
    wanted = [(when, kind) for kind in KINDS for when in ("before", "after")]
    return [max(number for number, name in enumerate(begun, 1) if name == one) for one in wanted]


def died_and_went_on(options: RunOptions, point: int) -> dict[str, Any]:
    died = in_a_process(partial(start, options), point)
    session = session_of(options.intent)
    known = [len(memory_list())]
    again = in_a_process(partial(resume, session), NEVER)
    return {**died, "session": session, "recovered": again["code"], "known": [*known, len(memory_list())]}


if __name__ == "__main__":
    main()

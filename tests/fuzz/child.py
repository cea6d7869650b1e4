"""Call functions of the registry with hostile texts in a separate process. Print one line of JSON per offence."""

import json
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from donewhen.errors import BadInput

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.hostile_texts import LARGE, SIZE, against, damaged, large, plain
from fuzz.registry import ALSO_RAISES, DOCUMENTED, Call, calls, function_of, most
from house.patterns import held

CPU_SECS = 2.0
CPU_SECS_PER_MB = 6.0
"""Additional time for each million bytes beyond SIZE. Quadratic time needs 400 times as long for LARGE."""
MEMORY = 4 << 30
UNDOCUMENTED = (
    ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, OSError, RuntimeError, TypeError,
    ValueError,
)  # fmt: skip
"""Any other error ends the process, which is an offence too."""


class TookTooLong(BaseException):
    """The limit of CPU time for one call."""


def stop(number: int, frame: FrameType | None) -> None:
    raise TookTooLong


def offence(call: Call, content: bytes, also: type[Exception] = BadInput, cpu_secs: float = CPU_SECS) -> str:
    """Return what is wrong with a function's handling of a text; empty if nothing."""
    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, cpu_secs)
    try:
        call(content)
    except (*DOCUMENTED, also):
        return ""
    except TookTooLong:
        return f"more than {cpu_secs} s of CPU time"
    except UNDOCUMENTED as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return ""


def offence_of(name: str, content: bytes) -> str:
    return offence(calls()[name], content, ALSO_RAISES.get(name, BadInput), allowed_secs(len(content)))


def allowed_secs(size: int) -> float:
    return CPU_SECS + CPU_SECS_PER_MB * max(0, size - SIZE) / 1_000_000


def texts(name: str, share: int) -> Iterator[bytes]:
    """One in `share` of the plain texts, more of those from the patterns of its module, damaged records, large texts.

    The large texts take the most time: all of them, or one.
    """
    start = sum(name.encode()) % share
    yield from list(plain())[start::share]
    patterns = list(held(function_of(name)))
    made = [one for pattern in patterns for one in against(pattern)]
    yield from made[start % max(1, share // 4) :: max(1, share // 4)]
    for seed in range(start, start + 64, share):
        yield damaged(seed)
    if most(name) > SIZE:
        made_when_called = large(patterns, min(most(name), LARGE))
        one = sum(name.encode()) % len(made_when_called)
        yield from (make() for make in (made_when_called if share == 1 else [made_when_called[one]]))


def main() -> None:
    share, *names = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    for name in names:
        for content in texts(name, int(share)):
            if wrong := offence_of(name, content):
                print(json.dumps([name, wrong, repr(content[:80]), len(content)]), flush=True)  # noqa: T201 - its output is its answer
    print("done")  # noqa: T201 - its output is its answer


if __name__ == "__main__":
    main()

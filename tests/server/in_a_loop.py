"""Runs an asynchronous test in an event loop of its own."""

import functools
from collections.abc import Callable, Coroutine
from typing import Any

import anyio

MOST_SECS = 120


def in_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Not by anyio's plugin for pytest: it fails a test when a stream of anyio is cancelled in the moment in which it
    becomes ready, which a closed connection does, and which harms nothing.
    """

    async def limited(**given: Any) -> None:
        with anyio.fail_after(MOST_SECS):
            await test(**given)

    @functools.wraps(test)
    def run(**given: Any) -> None:
        anyio.run(functools.partial(limited, **given))

    return run

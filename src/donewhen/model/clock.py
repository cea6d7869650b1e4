"""Clocks, random numbers and pauses for models, in one record so that tests can replace them."""

import random
import time
from collections.abc import Awaitable, Callable

import anyio

from donewhen.records import frozen


@frozen
class Clock:
    now: Callable[[], float] = time.time
    """Seconds since the epoch, for dates that a server sends."""
    monotonic: Callable[[], float] = time.monotonic
    random_fraction: Callable[[], float] = random.random
    """A random number between 0 and 1."""
    pause: Callable[[float], Awaitable[None]] = anyio.sleep

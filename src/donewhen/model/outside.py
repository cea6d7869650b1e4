"""What a model needs of the world besides the network: clocks, chance and pauses, together so that tests own them."""

import random
import time
from collections.abc import Awaitable, Callable

import anyio

from donewhen.records import frozen


@frozen
class Outside:
    now: Callable[[], float] = time.time
    """Seconds since the epoch: for dates that a server names."""
    monotonic: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random
    """Between 0 and 1."""
    pause: Callable[[float], Awaitable[None]] = anyio.sleep

"""Whether this machine has more to do than it can: then a time limit that ran out says little about the work."""

import os

MANY = 2.0
"""So many processes that want to run, for each CPU."""


def is_overloaded() -> bool:
    """By the load of the last minute."""
    return os.getloadavg()[0] > MANY * (os.cpu_count() or 1)

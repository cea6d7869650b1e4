"""Registry of all test runners. Modules are imported on use: a verdict from cached runs needs none of them."""

from functools import cache
from importlib import import_module

from donewhen.judge.runners.runner import Runner
from donewhen.readers import runner_names


def runners(order: tuple[str, ...] = runner_names.RUNNERS) -> tuple[Runner, ...]:
    """Return the runners whose results are read."""
    return tuple(import_module(f"donewhen.judge.runners.{name}").RUNNER for name in order)


@cache
def all_runners() -> tuple[Runner, ...]:
    """Return also the runners that are only recognised and protected."""
    from donewhen.judge.runners.unread import UNREAD  # running a check does not need them

    return (*runners(), *UNREAD)

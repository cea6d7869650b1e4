"""One call of a test runner in a command."""

from donewhen.records import frozen


@frozen
class RunnerCall:
    runner: str
    arguments: tuple[str, ...]
    joint: str | None
    """The text between the command and arguments added at its end; None if they would not reach the runner."""

"""Settings for time limits and retries of model requests. Other modules enforce them."""

from donewhen.records import frozen


@frozen(kw_only=True)
class Deadlines:
    """Time limits of one request, in seconds."""

    connect: float = 10.0
    first_event: float = 300.0
    """Reasoning models may be silent for minutes before their first output."""
    silence: float = 180.0
    total: float = 1200.0


@frozen(kw_only=True)
class RetryBudget:
    per_turn: int = 5
    """Maximum number of retries of one turn."""
    secs_per_turn: float = 180.0
    """Maximum total waiting time between the requests of one turn."""
    per_run: int = 100
    secs_per_run: float = 1800.0

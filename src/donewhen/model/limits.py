"""How long a model may take and how often it may be asked again: settings, without anything that keeps them."""

from donewhen.records import frozen


@frozen(kw_only=True)
class Deadlines:
    """Seconds."""

    connect: float = 10.0
    first_event: float = 300.0
    """Models that think first may be silent for minutes."""
    silence: float = 180.0
    total: float = 1200.0


@frozen(kw_only=True)
class RetryBudget:
    per_turn: int = 5
    """How many times one turn may be asked again."""
    secs_per_turn: float = 180.0
    """How long one turn may wait between its requests, in sum."""
    per_run: int = 100
    secs_per_run: float = 1800.0

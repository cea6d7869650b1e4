"""The error of a second decision: a gate was decided already, or a question was answered already."""

from donewhen.errors import BadInput

QUESTION = "question"
ANSWERED, EXPIRED = "answered", "expired"


class AlreadyDecided(BadInput):
    """Somebody else was faster, or time was. It says what has happened, so that nobody has to guess."""

    def __init__(self, message: str, *, gate: str, decision: str, by: str = "") -> None:
        super().__init__(message)
        self.gate = gate
        """The kind of the gate, or `question`."""
        self.decision = decision
        """The decision at the gate, or `answered` or `expired` for a question."""
        self.by = by
        """Who decided; empty if that is not known."""

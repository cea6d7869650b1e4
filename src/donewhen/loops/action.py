"""What every action of a loop gets and returns. Data, and no rules."""

from donewhen.errors import DonewhenError
from donewhen.events import RoundFinished
from donewhen.loops.spec import LoopSpec
from donewhen.records import Stored, frozen
from donewhen.session.conclude import land as landing
from donewhen.session.session import SessionParts


class ActionFailed(DonewhenError):
    """An action could not be carried out; the message says why."""


class ActionReceipt(Stored):
    """What an action did."""

    kind: str
    summary: str
    branch: str = ""
    commit: str = ""
    """The commit that was made; empty if the action made none."""
    url: str = ""
    number: int = 0
    """The number of a pull request or an issue."""
    output: str = ""
    """The end of what a command printed."""


@frozen(kw_only=True)
class ActionContext:
    parts: SessionParts
    spec: LoopSpec
    plan: landing.LandingPlan
    finished: RoundFinished
    """The report of the round, as it is so far."""
    finding: str
    onto: str
    """The branch that the action is for; empty if none was checked out."""
    is_repeated: bool = False
    """True if an earlier process may have carried it out before it was killed."""

    @property
    def session(self) -> str:
        return self.parts.start_record.session

"""Receivers of what happens during a call of a method, and the person who may be asked. The caller provides them."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from donewhen.events import Emit
from donewhen.records import frozen

if TYPE_CHECKING:
    from donewhen.session.check.init_contract import ContractProposal, Keys
    from donewhen.session.check.judge_tree import VerdictView
    from donewhen.session.person.watch import SessionWatcher


def ignore(fact: object) -> None:
    del fact


def nobody(question: object) -> bool:
    """Answer no: there is no person."""
    del question
    return False


@frozen(kw_only=True)
class ContractViews:
    """Views of a verdict and of a proposed contract, and the person who may accept what is proposed."""

    judging: "Callable[[], AbstractContextManager[VerdictView]] | None" = None
    """Is entered while checks run. `show` of its view is called with the verdict afterwards."""
    proposed: "Callable[[ContractProposal], None]" = ignore
    accepts: "Callable[[ContractProposal], bool]" = nobody
    """Shows a proposed contract and returns True if a person accepts it for this run."""
    allows: "Callable[[Keys], bool]" = nobody
    """Returns True if a person lets the checks have these keys of `[workspace]`."""


@frozen(kw_only=True)
class CallContext:
    """Every receiver is silent unless it is given."""

    say: Callable[[str], None] = ignore
    """Receives one line for a person."""
    watch: "SessionWatcher | None" = None
    """Receives the records of a session on which the call works."""
    emit: Emit = ignore
    """Receives the events of work that is no session: a check, a union."""
    views: ContractViews = ContractViews()

    @property
    def watcher(self) -> "SessionWatcher":
        from donewhen.session.log.writer import ignore_record  # loaded on use: most methods work on no session
        from donewhen.session.person.watch import SessionWatcher

        return self.watch or SessionWatcher(on_record=ignore_record, say=self.say)

    def judging(self) -> "AbstractContextManager[VerdictView]":
        from donewhen.session.check.judge_tree import VerdictView  # loaded on use: few methods judge a tree

        return self.views.judging() if self.views.judging else nullcontext(VerdictView(self.emit, ignore))


SILENT = CallContext()

"""The errors of methods as programs see them: one kind for each, and what has already happened."""

from enum import StrEnum
from typing import Any

from donewhen.errors import BadInput, DonewhenError, MachineryBroke, NeedsPerson
from donewhen.server.call_errors import CallFailed, CallRefused
from donewhen.server.parameters import WrongParameters
from donewhen.session.person.already_decided import AlreadyDecided
from donewhen.session.settings.contract_file import NothingToPropose
from donewhen.storage.owner import Owned


class ErrorKind(StrEnum):
    BAD_INPUT = "bad_input"
    NEEDS_PERSON = "needs_person"
    MACHINERY = "machinery"
    ALREADY_DECIDED = "already_decided"
    NOTHING_TO_PROPOSE = "nothing_to_propose"
    OWNED = "owned"
    NOT_ALLOWED = "not_allowed"
    TOO_MANY = "too_many"
    INVALID_PARAMS = "invalid_params"
    OTHER_STORAGE = "other_storage"
    STOPPING = "stopping"

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    ErrorKind.BAD_INPUT: "A parameter, the settings, the contract or the repository is wrong; nothing was started.",
    ErrorKind.NEEDS_PERSON: "A person must decide first: trust, a contract, a gate.",
    ErrorKind.MACHINERY: "A model, an agent, the disk or the sandbox failed.",
    ErrorKind.ALREADY_DECIDED: (
        "The gate was decided already, or the question was answered. `data` has `gate`, `decision` and `by`."
    ),
    ErrorKind.NOTHING_TO_PROPOSE: "Nothing was found to make a contract from. `data.offers` has texts to start from.",
    ErrorKind.OWNED: "Another process works on the session.",
    ErrorKind.NOT_ALLOWED: "The caller has no right to call this method.",
    ErrorKind.TOO_MANY: "Too much is going on at once; try again later.",
    ErrorKind.INVALID_PARAMS: "A parameter is unknown or missing, or its value has another type.",
    ErrorKind.OTHER_STORAGE: "The repository keeps its sessions in another database than the daemon.",
    ErrorKind.STOPPING: "The daemon is stopping and begins nothing.",
}


def error_data(error: DonewhenError) -> dict[str, Any]:
    """Return what a program needs to know about an error besides its message."""
    if isinstance(error, CallRefused | CallFailed):
        return {"kind": error.kind, "exit_code": error.exit_code, **error.data}
    return {"kind": kind_of(error).value, "exit_code": error.exit_code, **_details(error)}


def kind_of(error: DonewhenError) -> ErrorKind:
    match error:
        case AlreadyDecided():
            return ErrorKind.ALREADY_DECIDED
        case NothingToPropose():
            return ErrorKind.NOTHING_TO_PROPOSE
        case Owned():
            return ErrorKind.OWNED
        case WrongParameters():
            return ErrorKind.INVALID_PARAMS
        case BadInput():
            return ErrorKind.BAD_INPUT
        case NeedsPerson():
            return ErrorKind.NEEDS_PERSON
        case MachineryBroke():
            return ErrorKind.MACHINERY
        case _:
            return ErrorKind.MACHINERY


def _details(error: DonewhenError) -> dict[str, Any]:
    match error:
        case AlreadyDecided(gate=gate, decision=decision, by=by):
            return {"gate": gate, "decision": decision, "by": by}
        case NothingToPropose(offers=offers):
            return {"offers": list(offers)}
        case _:
            return {}

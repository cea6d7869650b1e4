"""A forge for tests: GitHub's documented behaviour over HTTP, in front of a real bare repository.

`running_forge()` starts it. Every request and every answer is validated against GitHub's OpenAPI description
(`description`, made by `make_description`); a violation fails the test at the end of the block. Heads, branches and
pushes are git's own (`git_http`). A request is validated whoever asks and whatever is answered; an answer that is wrong
on purpose says so (`Answers.is_wrong`). Faults are switched on per test with `ForgeServer.fail`.
"""

from .faults import Answers, Drops, Fault, Hangs
from .server import ForgeServer, Received, running_forge
from .world import BOT, ME, PERSON, User

__all__ = [
    "BOT",
    "ME",
    "PERSON",
    "Answers",
    "Drops",
    "Fault",
    "ForgeServer",
    "Hangs",
    "Received",
    "User",
    "running_forge",
]

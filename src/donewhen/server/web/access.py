"""Who may call: the tokens of two files, one-time codes and cookies for a browser, and tokens of agents.

    with open_access(state) as access:
        caller = access.authenticate("Bearer …")      # None: nobody

Secrets are 256 bits and new at each start. The daemon keeps their hashes only, and compares in constant time. Whoever
can read the files of this user can read its tokens: see docs/daemon.md, "Authentication".
"""

import contextlib
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Generator
from pathlib import Path

import anyio

from donewhen.errors import MachineryBroke
from donewhen.server.methods.method import Right
from donewhen.server.rpc.rate import Rate
from donewhen.server.service import Caller
from donewhen.workspace.files import write_atomically
from donewhen.workspace.state_dir import private_directory

TOKEN_FILE, DECIDE_FILE = "token", "decide_token"
CODE_SECS = 600.0
CODE_TRIES = 5
LOGIN_SECS = 12 * 3600.0
"""A login of a browser that is not used for so long ends."""
MOST_LOGINS = 16
LONGEST_SECRET = 200
FAILURES_PER_MINUTE = 10
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Without the letters and digits that look alike."""


class Login:
    """One browser that has exchanged a code. `ended` is set when it logs out."""

    def __init__(self, digest: bytes, now: float) -> None:
        self.digest = digest
        self.used_at = now
        self.ended = anyio.Event()


@contextlib.contextmanager
def open_access(state: Path) -> "Generator[Access]":
    """Write new token files; remove them at the end."""
    directory = private_directory(state / "daemon")
    access = Access(directory)
    try:
        yield access
    finally:
        for name in (TOKEN_FILE, DECIDE_FILE):
            (directory / name).unlink(missing_ok=True)


class Access:
    def __init__(self, directory: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.directory = directory
        self._clock = clock
        submitting = Caller(name="the token", rights=frozenset({Right.OBSERVE, Right.SUBMIT}))
        deciding = Caller(name="the decide token", rights=frozenset(Right))
        self._owners = [
            (_written(directory / TOKEN_FILE), submitting),
            (_written(directory / DECIDE_FILE), deciding),
        ]
        self._agents: dict[bytes, Caller] = {}
        self._logins: dict[bytes, Login] = {}
        self._code = b""
        self._code_until = 0.0
        self._tries_left = 0
        self._failures = Rate(FAILURES_PER_MINUTE / 60, FAILURES_PER_MINUTE, clock)

    def authenticate(self, authorization: str | None) -> Caller | None:
        """Return the caller that a header `Authorization` stands for; None if it stands for nobody."""
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not 0 < len(token) <= LONGEST_SECRET:
            return None
        digest, found = _digest(token), None
        for known, caller in (*self._owners, *self._agents.items()):
            if hmac.compare_digest(known, digest):
                found = caller
        return found

    def is_failing_too_often(self) -> bool:
        """Count a failed login. Return True if there were too many in the last minute."""
        return not self._failures.take()

    # -- agents --

    def issue_agent_token(self, session: str) -> str:
        """Return a new token for the agent of a session: it may only read this session. What an agent may do beyond
        that, the tools of MCP decide."""
        token = secrets.token_urlsafe(32)
        rights = frozenset({Right.OBSERVE})
        self._agents[_digest(token)] = Caller(name=f"an agent of {session}", rights=rights, session=session)
        return token

    def revoke_agent_tokens(self, session: str) -> None:
        self._agents = {digest: caller for digest, caller in self._agents.items() if caller.session != session}

    # -- browsers --

    def login_code(self) -> str:
        """Return a new code for a browser. It can be used once, for ten minutes, and replaces the one before."""
        code = "".join(secrets.choice(_LETTERS) for _ in range(8))
        self._code = _digest(code)
        self._code_until = self._clock() + CODE_SECS
        self._tries_left = CODE_TRIES
        return f"{code[:4]}-{code[4:]}"

    def log_in(self, code: str) -> str | None:
        """Exchange a code for the value of a cookie. Return None for a code that is wrong, used or too old."""
        given = code.replace("-", "").replace(" ", "").upper()
        is_right = hmac.compare_digest(_digest(given[:LONGEST_SECRET]), self._code)
        if self._tries_left < 1 or self._clock() > self._code_until:
            return None
        self._tries_left = 0 if is_right else self._tries_left - 1
        if not is_right:
            return None
        cookie = secrets.token_urlsafe(32)
        login = Login(_digest(cookie), self._clock())
        self._logins[login.digest] = login
        while len(self._logins) > MOST_LOGINS:
            self.log_out(min(self._logins.values(), key=lambda one: one.used_at))
        return cookie

    def login_of(self, cookie: str) -> Login | None:
        """Return the login that a cookie stands for; None if there is none, or it has not been used for too long."""
        digest, found = _digest(cookie[:LONGEST_SECRET]), None
        for known, login in self._logins.items():
            if hmac.compare_digest(known, digest):
                found = login
        if found is None:
            return None
        if self._clock() - found.used_at > LOGIN_SECS:
            self.log_out(found)
            return None
        found.used_at = self._clock()
        return found

    def log_out(self, login: Login) -> None:
        """End a login and the connections that it has opened."""
        self._logins.pop(login.digest, None)
        login.ended.set()


BROWSER = Caller(name="the browser", rights=frozenset(Right))


def _written(path: Path) -> bytes:
    """Write a new token to a file that only its owner can read. Return the hash of the token."""
    token = secrets.token_urlsafe(32)
    try:
        write_atomically(path, f"{token}\n")
    except OSError as error:
        raise MachineryBroke(f"cannot write the token file {path}: {error.strerror}") from error
    return _digest(token)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()

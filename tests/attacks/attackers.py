"""The users who attack: the user who runs the tests and, if that is root, an ordinary user made for it.

Each runs a program of this directory. All code that it needs is copied to a directory that every user may read.
"""

import contextlib
import os
import pwd
import secrets
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from needs import leave_out
from world_readable import world_readable_code

HERE = Path(__file__).parent
NOBODY = 65534
SECONDS = 600


@dataclass(frozen=True)
class Attacker:
    """A user and the directory it attacks from."""

    account: pwd.struct_passwd
    home: Path
    world: Path
    python: str

    @property
    def name(self) -> str:
        return "root" if self.account.pw_uid == 0 else "user"

    def start(self, program: Path, *words: str) -> subprocess.Popen[str]:
        argv = [self.python, "-B", str(program), str(self.home), str(self.world), *words]
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "PYTHONPATH": str(program.parent)}
        return subprocess.Popen(
            [*self.becoming(), *argv], env=env, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def becoming(self) -> list[str]:
        if self.account.pw_uid == os.geteuid():
            return []
        return ["setpriv", f"--reuid={self.account.pw_uid}", f"--regid={self.account.pw_gid}", "--clear-groups", "--"]


@contextlib.contextmanager
def another_user() -> Generator[pwd.struct_passwd]:
    """Make an ordinary user for the time of the tests. Needs root."""
    name = f"stranger-{secrets.token_hex(4)}"
    subprocess.run(["useradd", "--create-home", "--shell", "/bin/sh", name], check=True)
    try:
        yield pwd.getpwnam(name)
    finally:
        subprocess.run(["userdel", "--force", "--remove", name], check=True, stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def attacker(account: pwd.struct_passwd) -> Generator[Attacker]:
    public = "/srv" if os.geteuid() == 0 else "/var/tmp"
    with (
        tempfile.TemporaryDirectory(dir=account.pw_dir) as home,
        tempfile.TemporaryDirectory(dir=public, prefix="world-") as world,
    ):
        lay_out(Path(world))
        for place in (home, world):
            os.chown(place, account.pw_uid, account.pw_gid)
        Path(world).chmod(0o755)
        who = Attacker(account, Path(home), Path(world), sys.executable)
        yield who if can_run(who) else Attacker(account, who.home, who.world, "/usr/bin/python3")


def lay_out(world: Path) -> None:
    """Things that only root can prepare: a device file and a setuid program."""
    if os.geteuid() == 0:
        os.mknod(world / "node", stat.S_IFCHR | 0o666, os.makedev(1, 11))
        (world / "node").chmod(0o666)
        shutil.copy("/usr/bin/id", world / "owners-id")
        os.chown(world / "owners-id", NOBODY, NOBODY)
        (world / "owners-id").chmod(0o4755)


def can_run(who: Attacker) -> bool:
    """True if that user may run this interpreter, which is often in somebody's home, and start it a second time."""
    program = "import subprocess, sys; sys.exit(sys.version_info < (3, 11) or subprocess.call([sys.executable, '-V']))"
    command = [*who.becoming(), who.python, "-c", program]
    return subprocess.run(command, cwd="/", check=False, capture_output=True).returncode == 0


def run_as_every_user(program: str, *words: str) -> dict[str, str]:
    """Return the output of a program of this directory for each kind of user. All users run it at the same time."""
    with contextlib.ExitStack() as stack:
        accounts = [pwd.getpwuid(os.geteuid())]
        if os.geteuid() == 0:
            accounts.append(stack.enter_context(another_user()))
        attackers = [stack.enter_context(attacker(account)) for account in accounts]
        if not all(map(can_run, attackers)):
            leave_out("a python3 of 3.11 or later that every user may run")
        code = stack.enter_context(world_readable_code(HERE.glob("*.py")))
        programs = {who.name: stack.enter_context(who.start(code / program, *words)) for who in attackers}
        return {name: printed(process) for name, process in programs.items()}


def printed(process: subprocess.Popen[str]) -> str:
    try:
        output, complaints = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        output, complaints = process.communicate()
    assert process.returncode == 0, complaints
    return output

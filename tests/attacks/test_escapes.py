"""No attack gets out of the sandbox: each is run without a wall, where it must succeed, and behind every wall.

The attacks run in a program of their own (`arms`): once as whoever runs the tests, and, when that is root, a second
time as an ordinary user made for it. The table of all results is printed at the end.
"""

import contextlib
import importlib.util
import json
import os
import pwd
import secrets
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probes import ATTACKS

from needs import leave_out, needs

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src"
IMPORTED = ("anyio", "idna", "sniffio", "typing_extensions", "exceptiongroup")
"""What of the installed packages the attacks' program needs."""
NOBODY = 65534
SECONDS = 300
BEHIND_BUBBLEWRAP = ("overlay", "plain")
NAMES_OF_WALLS = {"overlay": "bubblewrap, layered tree", "plain": "bubblewrap, plain tree", "landlock": "landlock"}


@dataclass(frozen=True)
class Attacker:
    """A user, and where it attacks from."""

    account: pwd.struct_passwd
    home: Path
    world: Path
    python: str

    @property
    def name(self) -> str:
        return "root" if self.account.pw_uid == 0 else "user"

    def start(self, code: Path) -> subprocess.Popen[str]:
        argv = [self.python, "-B", str(code / "arms.py"), str(self.home), str(self.world)]
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "PYTHONPATH": str(code)}
        return subprocess.Popen(
            [*self.becoming(), *argv], env=env, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def becoming(self) -> list[str]:
        if self.account.pw_uid == os.geteuid():
            return []
        return ["setpriv", f"--reuid={self.account.pw_uid}", f"--regid={self.account.pw_gid}", "--clear-groups", "--"]


@contextlib.contextmanager
def somebody_else() -> Generator[pwd.struct_passwd]:
    """An ordinary user that exists only here. Only for root."""
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
    """What only root can prepare: a device that lies around, and a program that runs as its owner."""
    if os.geteuid() == 0:
        os.mknod(world / "node", stat.S_IFCHR | 0o666, os.makedev(1, 11))
        (world / "node").chmod(0o666)
        shutil.copy("/usr/bin/id", world / "owners-id")
        os.chown(world / "owners-id", NOBODY, NOBODY)
        (world / "owners-id").chmod(0o4755)


def can_run(who: Attacker) -> bool:
    """Whether that user may run this interpreter, which often lives in somebody's home, and start it once more."""
    program = "import subprocess, sys; sys.exit(sys.version_info < (3, 11) or subprocess.call([sys.executable, '-V']))"
    command = [*who.becoming(), who.python, "-c", program]
    return subprocess.run(command, cwd="/", check=False, capture_output=True).returncode == 0


@contextlib.contextmanager
def code_for_everybody() -> Generator[Path]:
    """All the code that attacks need, where every user may read it."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="attacks-") as name:
        code = Path(name)
        for package in (SOURCE / "donewhen", *map(installed, IMPORTED)):
            if package is not None:
                copy = shutil.copytree if package.is_dir() else shutil.copy
                copy(package, code / package.name)
        for module in HERE.glob("*.py"):
            shutil.copy(module, code)
        subprocess.run(["chmod", "-R", "u=rwX,go=rX", name], check=True)
        yield code


def installed(name: str) -> Path | None:
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent if found.submodule_search_locations else Path(found.origin)


def results() -> dict[str, list[dict[str, Any]]]:
    """What became of every attack, by the kind of user; all users attack at the same time."""
    with contextlib.ExitStack() as stack:
        accounts = [pwd.getpwuid(os.geteuid())]
        if os.geteuid() == 0:
            accounts.append(stack.enter_context(somebody_else()))
        attackers = [stack.enter_context(attacker(account)) for account in accounts]
        if not all(map(can_run, attackers)):
            leave_out("a python3 of 3.11 or later that every user may run")
        code = stack.enter_context(code_for_everybody())
        programs = {who.name: stack.enter_context(who.start(code)) for who in attackers}
        return {name: rows_of(program) for name, program in programs.items()}


def rows_of(program: subprocess.Popen[str]) -> list[dict[str, Any]]:
    try:
        output, complaints = program.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        program.kill()
        output, complaints = program.communicate()
    assert program.returncode == 0, complaints
    rows: list[dict[str, Any]] = json.loads(output)
    order = [(attack.id, attack.name) for attack in ATTACKS]
    return sorted(rows, key=lambda row: order.index((row["id"], row["name"])))


# -- the table --


def table(found: dict[str, list[dict[str, Any]]]) -> str:
    columns = [f"{user}: {column}" for user in found for column in ("none", "bubblewrap", "landlock")]
    lines = [f"{'id':<5}{'attack':<60}{''.join(f'{column:<18}' for column in columns)}"]
    for rows in zip(*found.values(), strict=True):
        cells = [f"{cell:<18}" for row in rows for cell in cells_of(row)]
        lines.append(f"{rows[0]['id']:<5}{rows[0]['name']:<60}{''.join(cells)}".rstrip())
    for user, rows in found.items():
        lines += ["", *summary(user, rows)]
    return "\n".join(lines)


def cells_of(row: dict[str, Any]) -> tuple[str, str, str]:
    if not row["control"]:
        return "does not run", "", ""
    return "out", cell(row, BEHIND_BUBBLEWRAP), cell(row, ("landlock",))


def cell(row: dict[str, Any], walls: tuple[str, ...]) -> str:
    tried = [row["walls"][wall] for wall in walls if wall in row["walls"]]
    return ("OUT" if any(tried) else "held") if tried else ""


def summary(user: str, rows: list[dict[str, Any]]) -> Iterator[str]:
    ran = [row for row in rows if row["control"]]
    yield f"as {user}: {len(ran)} of {len(rows)} attacks run here; without a wall all of those get out"
    for wall, name in NAMES_OF_WALLS.items():
        tried = [row for row in ran if wall in row["walls"]]
        yield f"as {user}, {name}: {len(escapes(ran, wall))} of {len(tried)} get out"
    for row in rows:
        if not row["control"]:
            yield f"as {user}, does not run here: {row['id']} {row['name']} ({row['reason'][:70]})"


def escapes(rows: list[dict[str, Any]], wall: str) -> list[str]:
    return [f"{row['id']} {row['name']}: {row['walls'][wall]}" for row in rows if row["walls"].get(wall)]


def test_no_attack_gets_out_of_bubblewrap_as_root_or_as_an_ordinary_user(show_table: Callable[[str], None]) -> None:
    for program in ("bwrap", "unshare", "setpriv"):
        needs(program)
    found = results()
    show_table(table(found))
    for rows in found.values():
        ran = [row for row in rows if row["control"]]
        assert len(ran) >= 55
        assert all(set(row["walls"]) & set(BEHIND_BUBBLEWRAP) for row in ran)
        assert [escapes(ran, wall) for wall in BEHIND_BUBBLEWRAP] == [[], []]


def test_every_attack_has_a_name_of_its_own_and_stays_on_this_machine() -> None:
    names = [(attack.id, attack.name) for attack in ATTACKS]
    assert len(set(names)) == len(names)
    programs = "\n".join(attack.program for attack in ATTACKS)
    assert "://" not in programs.replace("http://127.0.0.1", "")

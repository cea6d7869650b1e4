"""Everything outside the sandbox for one attack, and the signs that show an escape.

Every run gets a new `Outside`: files, secrets, listeners, a victim process. The attack gets the paths but not the
secret. Its own report is only one sign among others.
"""

import contextlib
import ctypes
import fcntl
import os
import secrets
import shutil
import signal
import stat
import subprocess
from enum import Enum
from pathlib import Path

from listeners import Listeners

PAUSE = "import os, signal, sys; os.mkdir(sys.argv[1]); signal.pause()"
"""A program that makes a directory when it has started, and keeps running."""
HOME_SECRETS = (
    ".ssh/id_ed25519", ".aws/credentials", ".netrc", ".config/gh/hosts.yml", ".cargo/credentials.toml", ".npmrc",
    ".docker/config.json", ".git-credentials", ".bash_history",
)  # fmt: skip
MARKED_PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/etc", "/usr/local/lib", "/sys/fs/cgroup", "/sys/fs/cgroup/pids")
"""Directories in which an attack may leave a file with its mark in the name."""
IPC_CREAT, IPC_RMID = 0o1000, 0
IOPRIO_GET = {"x86_64": 252, "aarch64": 31}
TOOL = ".cargo/bin/tool"
"""A program of the user in a toolchain. A command may read and run it."""

libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p


class Sign(Enum):
    """How an attack shows that it escaped."""

    SAID = "it says so: the call that must fail did not"
    READ = "a secret is in its output"
    CHANGED = "something outside is different"
    HEARD = "a listener outside heard from it"
    HURT = "a process outside died, stopped, is traced or runs under other settings"
    LEFT = "a process of it is alive after its end"


class Outside:
    """The environment of one attack. `home` and `world` belong to the attacking user, `tree` receives its writes.

    Everybody may enter `world`. It is not one of the directories that are empty inside the sandbox.
    """

    def __init__(self, home: Path, world: Path, tree: Path) -> None:
        self.home, self.world, self.tree = home, world, tree
        self.secret = f"secret-{secrets.token_hex(12)}"
        self.token = f"token-{secrets.token_hex(12)}"
        self.mark = f"mark{secrets.token_hex(8)}"
        self.out = world / "out"
        self.hidden = world / "state"
        self.base = world / "base"
        self.key = secrets.randbelow(1 << 30) + 1
        self._undo = contextlib.ExitStack()
        self._before: dict[str, str] = {}
        self._victim_before = ""

    def __enter__(self) -> "Outside":
        self._lay_out_files()
        self.listeners = Listeners(self.home, self.world, self.mark)
        self._undo.callback(self.listeners.close)
        self._start_victim()
        self._share_memory()
        self._before = self._picture()
        self._victim_before = settings_of(self.victim.pid)
        return self

    def __exit__(self, *_: object) -> None:
        for pid in self.left():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._undo.close()
        for place in self._marked():
            with contextlib.suppress(OSError):
                place.rmdir() if place.is_dir() and not place.is_symlink() else place.unlink()
        for place in (self.base, self.out, self.hidden, self.world / "deep"):
            shutil.rmtree(place, ignore_errors=True)

    # -- targets --

    def _lay_out_files(self) -> None:
        for path in (self.out / "dir", self.hidden / "other-session", self.world / "deep/er/than/any/scan"):
            path.mkdir(parents=True)
        write_bait(self.base)
        (self.out / "f").write_text("untouched\n")
        (self.out / "dir" / "g").write_text("untouched\n")
        os.mkfifo(self.out / "fifo")
        self._fifo = os.open(self.out / "fifo", os.O_RDWR | os.O_NONBLOCK)
        self._undo.callback(os.close, self._fifo)
        (self.hidden / "other-session" / "file").write_text(self.secret)
        self._write_private(self.world / "deep/er/than/any/scan/key")
        for name in HOME_SECRETS:
            self._write_private(self.home / name)
        self._write_private(self.home / TOOL)
        (self.home / TOOL).write_text("a program\n")
        (self.home / TOOL).chmod(0o755)
        self._write_private(Path(f"/dev/shm/{self.mark}-outside"))
        locked = self._undo.enter_context((self.out / "dir" / "g").open())
        fcntl.flock(locked, fcntl.LOCK_EX)
        self.inherited = os.open(self.out / "f", os.O_RDWR)
        os.set_inheritable(self.inherited, True)
        self._undo.callback(os.close, self.inherited)

    def _write_private(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{self.secret}\n")
        path.chmod(0o600)
        self._undo.callback(path.unlink, missing_ok=True)

    def _start_victim(self) -> None:
        held = self._undo.enter_context((self.hidden / "other-session" / "file").open())
        self.victim = subprocess.Popen(
            [f"victim-{self.secret}", "1000"],
            executable="/usr/bin/sleep",
            env={"API_KEY": self.secret},
            cwd=self.out,
            stdin=held,
            start_new_session=True,
        )
        self._undo.callback(self.victim.wait)
        self._undo.callback(self.victim.kill)

    def _share_memory(self) -> None:
        """A shared memory segment and message queues of both kinds, all with the secret inside."""
        number = libc.shmget(self.key, 4096, IPC_CREAT | 0o600)
        if number >= 0:
            self._undo.callback(libc.shmctl, number, IPC_RMID, None)
            address = libc.shmat(number, None, 0)
            ctypes.memmove(address, self.secret.encode(), len(self.secret))
            libc.shmdt(ctypes.c_void_p(address))
        self.segment, self.messages = number, libc.msgget(self.key, IPC_CREAT | 0o600)
        if self.messages >= 0:
            libc.msgsnd(self.messages, (1).to_bytes(8, "little") + self.secret.encode(), len(self.secret), 0)
            self._undo.callback(libc.msgctl, self.messages, IPC_RMID, None)
        name = f"/{self.mark}".encode()
        queue = libc.mq_open(name, os.O_CREAT | os.O_RDWR, 0o600, None)
        if queue >= 0:
            libc.mq_send(queue, self.secret.encode(), len(self.secret), 0)
            self._undo.callback(libc.mq_unlink, name)
            self._undo.callback(libc.mq_close, queue)

    def variables(self) -> dict[str, str]:
        """The variables that an attack gets."""
        told = {
            "OUT": self.out, "WORLD": self.world, "HIDDEN": self.hidden, "TOKEN": self.token, "MARK": self.mark,
            "VICTIM": self.victim.pid, "SHM_KEY": self.key, "ABSTRACT": self.mark, "REAL_HOME": self.home.resolve(),
            "DEEP": self.world / "deep/er/than/any/scan/key", "BASE": self.base, "TOOL": self.home / TOOL,
            "SHM_ID": self.segment, "MSG_ID": self.messages, **self.listeners.variables(),
        }  # fmt: skip
        return {name: str(value) for name, value in told.items()}

    def only_outside(self) -> dict[str, str]:
        """Variables of the harness that must not be passed on."""
        return {"AWS_SECRET_ACCESS_KEY": self.secret, "SSH_AUTH_SOCK": f"/nowhere/{self.secret}", "LD_PRELOAD": ""}

    # -- results --

    def signs(self, output: bytes) -> set[Sign]:
        in_tree = [path for path in self.tree.rglob("*") if not path.is_symlink()]
        seen = {
            Sign.SAID: self.token.encode() in output,
            Sign.READ: self.secret.encode() in output,
            Sign.CHANGED: self._picture() != self._before or bool(self._marked()) or any(map(is_trick, in_tree)),
            Sign.HEARD: self.listeners.heard() or has_input(self._fifo),
            Sign.HURT: self._victim_state() not in "SR" or settings_of(self.victim.pid) != self._victim_before,
            Sign.LEFT: bool(self.left()),
        }
        return {sign for sign, there in seen.items() if there}

    def _picture(self) -> dict[str, str]:
        roots = [
            self.base,
            self.out,
            self.hidden,
            self.world / "deep",
            *(self.home / name for name in (TOOL, *HOME_SECRETS)),
        ]
        return {str(path): described(path) for root in roots for path in (root, *sorted(root.rglob("*")))}

    def _marked(self) -> list[Path]:
        places = {*map(Path, MARKED_PLACES), self.home, self.tree.parent}
        ours = {f"/dev/shm/{self.mark}-outside", *map(str, self.listeners.files.values())}
        found = [f"{place}/{name}" for place in places if place.is_dir() for name in os.listdir(place)]
        return [Path(path) for path in found if self.mark in path and path not in ours]

    def _victim_state(self) -> str:
        """The kernel's state letter; `D` for a process that is traced or has a pending signal."""
        status = Path(f"/proc/{self.victim.pid}/status").read_text()
        fields = dict(line.split(":", 1) for line in status.splitlines())
        undisturbed = all(int(fields[name], 16) == 0 for name in ("TracerPid", "SigPnd", "ShdPnd"))
        return fields["State"].split()[0] if undisturbed else "D"

    def left(self) -> list[int]:
        """Return the processes with the mark in their arguments."""
        return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if self.mark in command_line(pid)]


def settings_of(pid: int) -> str:
    """Limits, scheduling, processors, disk priority and memory score of a process."""
    place = Path(f"/proc/{pid}")
    fields = (place / "stat").read_text().rpartition(")")[2].split()
    priority, nice, policy = fields[15], fields[16], fields[38]
    allowed = [line for line in (place / "status").read_text().splitlines() if line.startswith("Cpus_allowed:")]
    disk = libc.syscall(IOPRIO_GET[os.uname().machine], 1, pid)
    score = (place / "oom_score_adj").read_text()
    return f"{priority} {nice} {policy} {allowed} {disk} {score} {(place / 'limits').read_text()}"


def command_line(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def described(path: Path) -> str:
    """All properties of a file that an attack could change."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return "absent"
    content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
    attributes = [] if path.is_symlink() else [(n, os.getxattr(path, n)) for n in os.listxattr(path)]
    times = "" if stat.S_ISDIR(status.st_mode) else status.st_mtime_ns
    return f"{status.st_mode:o} {status.st_uid}:{status.st_gid} {status.st_nlink} {times} {attributes} {content!r}"


def has_input(fifo: int) -> bool:
    try:
        return bool(os.read(fifo, 1))
    except BlockingIOError:
        return False


def write_bait(tree: Path) -> None:
    """The content of a repository before any work."""
    (tree / "dir").mkdir(parents=True)
    (tree / "dir" / "below").write_text("from base\n")
    (tree / "file").write_text("from base\n")


def is_trick(path: Path) -> bool:
    """A change of a layer that would change how the next tree on top of it is read."""
    status = path.lstat()
    attributes = [] if stat.S_ISCHR(status.st_mode) else os.listxattr(path)
    return path.name == "gone" or "user.overlay.redirect" in attributes

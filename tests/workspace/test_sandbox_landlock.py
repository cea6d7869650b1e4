"""The Landlock level in one sandbox: what a command may do, what is denied, and who decides about processes.

Escapes, and what ordinary programs can do as root and as an ordinary user, are in tests/attacks.
"""

import json
import os
import shlex
import stat
import subprocess
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest
from sandbox_scenes import SandboxScene, output, run, sandbox_scene, write

import donewhen
from donewhen.errors import MachineryBroke
from donewhen.workspace.process.command import End
from donewhen.workspace.process.launcher import kernel
from donewhen.workspace.sandbox import seccomp
from donewhen.workspace.sandbox.level import Level
from donewhen.workspace.sandbox.sandbox import SandboxConfig
from needs import needs_root

pytestmark = pytest.mark.anyio


@pytest.fixture
async def place(tmp_path: Path) -> AsyncGenerator[SandboxScene]:
    async with sandbox_scene(tmp_path) as found:
        yield found


@pytest.fixture
def victim() -> Generator[int]:
    """A process of the same user that no command has started."""
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process.pid
        process.kill()


async def test_landlock_lets_a_command_work_in_its_tree_and_in_its_scratch_directory(place: SandboxScene) -> None:
    write(place.checkout, {"file": "from the checkout"})
    room = place.plain_room(Level.LANDLOCK)
    assert (
        await output(room, 'cat file; echo x > file; f=$(mktemp); echo x > "$f"; ls /etc > /dev/null')
        == "from the checkout"
    )
    assert not (await run(room, f"echo x > {place.checkout}/file")).ok


async def test_landlock_removes_the_capabilities_of_root(place: SandboxScene) -> None:
    needs_root()
    room = place.plain_room(Level.LANDLOCK)
    assert await output(room, "grep CapEff /proc/self/status") == "CapEff:\t0000000000000000"


async def test_landlock_refuses_settings_that_it_cannot_enforce(place: SandboxScene) -> None:
    with pytest.raises(MachineryBroke, match="need bubblewrap"):
        await run(place.plain_room(Level.LANDLOCK, SandboxConfig(sockets=("/run/x",))), "true")


async def test_landlock_allows_only_regular_files_and_safe_devices(place: SandboxScene) -> None:
    finished = await run(place.plain_room(Level.LANDLOCK), "mknod node c 1 3")
    assert not finished.ok
    assert not any(stat.S_ISCHR(path.lstat().st_mode) for path in place.state.rglob("node"))


# -- the filter --

CALLS = """
import ctypes, errno, json, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def tried(number, *words):
    ctypes.set_errno(0)
    got = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(word) for word in words])
    return errno.errorcode[ctypes.get_errno()] if got < 0 else "nothing"
numbers, victim = json.loads(sys.argv[1]), int(sys.argv[2])
found = {name: tried(number, *[-1] * 6) for name, number in numbers.items() if name in sys.argv[3].split()}
found |= {name: tried(numbers[name], victim, 7, 0, 0) for name in sys.argv[4].split()}
for name, group, user in ("setpriority", 1, 2), ("ioprio_set", 2, 3):
    found[f"{name} of a user"] = tried(numbers[name], user, 0, 0)
    found[f"{name} of a group"] = tried(numbers[name], group, victim, 0)
found["one that is not known"] = tried(470, 0)
found["a much later one"] = tried(4000, 0)
found["datagrams"] = tried(numbers["socketpair"], 1, 2 | socket.SOCK_CLOEXEC, 0, 0)
found["file flags"] = tried(numbers["ioctl"], 0, 0x40086602, 0)
print(json.dumps(found))
"""
"""Try what is denied with shared namespaces, with arguments that no call accepts, or on another process."""


async def test_every_call_on_shared_resources_fails_only_because_of_the_filter(
    place: SandboxScene, victim: int
) -> None:
    table = seccomp.TABLES[kernel.machine()].numbers
    named = seccomp.SHARED_MEMORY | seccomp.ATTRIBUTES
    write(place.checkout, {"calls.py": CALLS})
    words = [json.dumps(table), str(victim), " ".join(named), " ".join(seccomp.BY_PROCESS)]
    command = shlex.join(["/usr/bin/python3", "calls.py", *words])
    filtered = json.loads(await output(place.plain_room(Level.LANDLOCK), command))
    users = dict.fromkeys((f"{name} of a {who}" for name in seccomp.BY_KIND for who in ("user", "group")), "EPERM")
    others = {
        "one that is not known": "ENOSYS",
        "a much later one": "ENOSYS",
        "datagrams": "ESOCKTNOSUPPORT",
        "file flags": "ENOTSUP",
    }
    denied = dict.fromkeys(seccomp.SHARED_MEMORY | seccomp.BY_PROCESS, "EPERM")
    assert filtered == {**denied, **dict.fromkeys(seccomp.ATTRIBUTES, "ENOTSUP"), **users, **others}

    bare = await output(place.plain_room(Level.NONE), command)
    unfiltered: dict[str, str] = json.loads(bare)
    same = {name for name, failure in unfiltered.items() if failure == filtered[name]}
    assert same <= {"one that is not known", "a much later one"}


async def test_a_call_on_a_missing_process_says_so(place: SandboxScene) -> None:
    program = "import os, resource; pid = os.fork() or os._exit(0); os.waitpid(pid, 0); resource.prlimit(pid, 7)"
    finished = await run(place.plain_room(Level.LANDLOCK), f"/usr/bin/python3 -c '{program}'")
    assert b"ProcessLookupError" in finished.stdout.whole()


async def test_the_parents_of_a_command_cannot_be_changed(place: SandboxScene) -> None:
    text = "exec /usr/bin/python3 -c 'import os; os.setpriority(os.PRIO_PROCESS, {}, 19)'"
    for parent in ("os.getppid()", str(os.getpid()), "1"):
        finished = await run(place.plain_room(Level.LANDLOCK), text.format(parent))
        assert b"PermissionError" in finished.stdout.whole()


CALLERS = """
import os, signal
def call(): os.setpriority(os.PRIO_PROCESS, os.getpid(), 0)
def call_for_ever():
    while True: call()
for _ in range(20):
    children = [os.fork() or call_for_ever() for _ in range(5)]
    for _ in range(10): call()
    for pid in children: os.kill(pid, signal.SIGKILL)
    for pid in children: os.waitpid(pid, 0)
print("done")
"""


async def test_processes_killed_while_their_calls_wait_do_not_block_others(place: SandboxScene) -> None:
    write(place.checkout, {"callers.py": CALLERS})
    assert await output(place.plain_room(Level.LANDLOCK), "/usr/bin/python3 callers.py") == "done"


async def test_a_filter_within_a_filter_still_starts_and_denies(place: SandboxScene, victim: int) -> None:
    """A process that already has a listener cannot get another one: passing one fails."""
    nested = """
import resource, sys
sys.path.insert(0, sys.argv[1])
from donewhen.workspace.process.launcher import kernel
from donewhen.workspace.sandbox import seccomp
print(kernel.load_seccomp(seccomp.program(kernel.machine(), (), own_namespaces=False)))
try: resource.prlimit(int(sys.argv[2]), 7)
except OSError as error: print(error.strerror)
"""
    write(place.checkout, {"nested.py": nested, "donewhen/__init__.py": ""})
    source = Path(donewhen.__file__).parent
    launcher = "workspace/process/launcher"
    modules = [f"{launcher}/{name}.py" for name in ("home_files", "kernel", "messages", "observer")]
    for name in ("records.py", *modules, "workspace/sandbox/seccomp.py"):
        write(place.checkout, {f"donewhen/{name}": (source / name).read_text()})
    printed = await output(place.plain_room(Level.LANDLOCK), f"/usr/bin/python3 nested.py . {victim}")
    assert printed.splitlines() == ["-1", "Function not implemented"]


@pytest.mark.parametrize("level", [Level.LANDLOCK, Level.NONE])
async def test_a_command_that_makes_its_parent_trace_it_is_killed_and_the_next_one_runs(
    place: SandboxScene, level: Level
) -> None:
    program = "import ctypes, os; ctypes.CDLL(None).ptrace(0, 0, 0, 0); os.kill(os.getpid(), 10)"
    room = place.plain_room(level)
    finished = await run(room, f"exec /usr/bin/python3 -c '{program}'")
    assert (finished.end, finished.signal) == (End.SIGNALLED, 9)
    assert await output(room, "echo works") == "works"

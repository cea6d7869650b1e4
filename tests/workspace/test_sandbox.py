"""What the sandbox allows and what it does not, one command at a time.

Attacks are in `tests/attacks`; toolchains and test runners in `test_sandbox_toolchains`.
"""

import json
import os
import shlex
import signal
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from sandbox_scenes import SandboxScene, output, run, sandbox_scene, write

from donewhen.workspace.process.command import Command, End, Finished
from donewhen.workspace.process.launcher import kernel
from donewhen.workspace.sandbox import bubblewrap, machine, relay, seccomp
from donewhen.workspace.sandbox.level import probe
from donewhen.workspace.sandbox.limits import ResourceLimits
from donewhen.workspace.sandbox.sandbox import SandboxConfig, ShellCommand
from needs import leave_out, needs, needs_root

pytestmark = pytest.mark.anyio
MIB = 1 << 20
SOURCE = str(Path(__file__).parents[2] / "src")
ASK = (
    "/usr/bin/python3 -c 'import socket, sys; s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 5); {}' {}"
)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncGenerator[SandboxScene]:
    async with sandbox_scene(tmp_path) as found:
        yield found


# -- the tree and its surroundings --


async def test_files_written_in_the_tree_stay_in_its_layer(place: SandboxScene) -> None:
    write(place.checkout, {"file": "from the checkout", "gone": "x"})
    assert await output(place.room(), "cat file; echo new > file; rm gone; echo more > other") == "from the checkout"
    assert (place.checkout / "file").read_text() == "from the checkout"
    assert sorted(os.listdir(place.checkout)) == ["file", "gone"]
    assert (place.upper / "file").read_text() == "new\n"


async def test_a_tree_in_a_private_directory_outside_every_home_is_usable_and_its_neighbours_are_hidden() -> None:
    with private_directory() as private:
        write(private, {"secret": "what lies beside the tree"})
        async with sandbox_scene(private) as place:
            write(place.checkout, {"file": "from the checkout\n"})
            seen = await output(place.room(), f"cat file; cat {private}/secret 2>&1; echo new > file && cat file")
    assert seen.split("\n") == ["from the checkout", f"cat: {private}/secret: No such file or directory", "new"]


async def test_a_private_directory_may_be_removed_while_commands_start(place: SandboxScene) -> None:
    with private_directory() as private:
        write(private, {"secret": "seen by nobody"})
        machine.private_paths.cache_clear()
        assert str(private) in machine.private_paths()
        assert await output(place.room(), f"ls {private}") == ""
    answers: list[str] = []

    async def ask(sandbox_scene: SandboxScene) -> None:
        answers.append(await output(sandbox_scene.room(), "echo works"))

    # More than one: a sandbox prepared before the directory was removed is used once. Each has a separate tree, because
    # the kernel does not support two mounts of one writable layer at the same time.
    async with anyio.create_task_group() as tasks:
        for number in range(3):
            tasks.start_soon(ask, replace(place, state=place.state / str(number)))
    assert answers == ["works"] * 3


@contextmanager
def private_directory() -> Generator[Path]:
    """A directory that no other user may enter, outside the directories that are emptied anyway."""
    needs_root()
    with tempfile.TemporaryDirectory(dir="/srv") as name:
        yield Path(name)


async def test_the_next_command_sees_the_work_but_not_the_scratch_files_of_the_previous_one(
    place: SandboxScene,
) -> None:
    room = place.room()
    await output(room, "echo work > file; for d in /tmp /var/tmp /dev/shm ~; do echo scratch > $d/file; done")
    assert await output(room, "cat file; cat /tmp/file /var/tmp/file /dev/shm/file ~/file 2>/dev/null; true") == "work"


async def test_a_command_starts_at_the_root_of_the_tree_or_in_a_directory_below(place: SandboxScene) -> None:
    write(place.checkout, {"deep/er/file": "x"})
    room = place.room()
    assert await output(room, "/bin/pwd; echo $PWD") == f"{place.checkout}\n{place.checkout}"
    below = f"{place.checkout}/deep/er"
    assert await output(room, "/bin/pwd; /usr/bin/env | grep ^PWD=", "deep/er") == f"{below}\nPWD={below}"


async def test_a_command_cannot_start_in_a_missing_directory(place: SandboxScene) -> None:
    finished = await run(place.room(), "true", "nowhere")
    assert finished.end is End.COULD_NOT_START
    assert "nowhere" in finished.reason


async def test_only_the_tree_is_visible_in_a_private_directory(place: SandboxScene) -> None:
    place.checkout.parent.chmod(0o700)
    write(place.checkout, {"file": "x"})
    write(place.checkout.parent, {"beside": "x"})
    assert await output(place.room(), "ls; ls ..") == "file\ncheckout"


async def test_a_command_runs_as_an_unprivileged_user(place: SandboxScene) -> None:
    room, home = place.room(), os.environ["HOME"]
    assert await output(room, "id -u; whoami; tty || true") == "1000\ndonewhen\nnot a tty"
    assert await output(room, "getent passwd 1000") == f"donewhen:x:1000:1000::{home}:/bin/sh"
    assert await output(room, "grep ^Cap /proc/self/status | cut -f 2 | sort -u") == "0000000000000000"


async def test_only_the_three_standard_descriptors_are_open(place: SandboxScene) -> None:
    assert await output(place.room(), "for fd in /proc/self/fd/*; do echo ${fd##*/}; done | head -3") == "0\n1\n2"
    assert await output(place.room(), "readlink /proc/$$/fd/3 || readlink /proc/$$/fd/4 || echo none") == "none"


DIVIDED = """
import json, os, subprocess
from donewhen.workspace.sandbox import machine
subprocess.run(["mount", "-t", "tmpfs", "none", "/srv"], check=True)
for name in ("plain", "disk", "window"): os.mkdir(f"/srv/{name}")
subprocess.run(["mount", "-t", "tmpfs", "none", "/srv/disk"], check=True)
subprocess.run(["mount", "-t", "proc", "none", "/srv/window"], check=True)
emptied = machine.volatile_places()
services = machine.services_places(emptied)
print(json.dumps([[place for place in places if place.startswith("/srv")] for places in (emptied, services)]))
"""
"""With a disk and a second /proc mounted in /srv: which of them are hidden, and which become a separate layer."""


def test_a_second_proc_is_hidden_and_a_directory_with_mounts_is_bound_in_parts() -> None:
    command = [
        needs("unshare"),
        "--user",
        "--map-root-user",
        "--mount",
        "--pid",
        "--fork",
        sys.executable,
        "-c",
        DIVIDED,
    ]
    printed = subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": SOURCE}
    )
    emptied, layered = json.loads(printed.stdout)
    assert emptied == ["/srv/window"]
    assert sorted(layered) == ["/srv/disk", "/srv/plain"]


# -- the environment --


async def test_only_named_variables_are_seen_inside(place: SandboxScene, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "API_TOKEN": "secret",
        "WANTED": "yes",
        "LC_TIME": "C",
        "LD_PRELOAD": "",
        "NODE_OPTIONS": "",
    }.items():
        monkeypatch.setenv(name, value)
    names = {line.split("=")[0] for line in (await output(place.room(), "env")).splitlines()}
    assert names & {"API_TOKEN", "WANTED", "LC_TIME", "LD_PRELOAD", "NODE_OPTIONS"} == {"LC_TIME"}
    assert await output(place.room(SandboxConfig(env=("WANTED",))), "echo $WANTED$API_TOKEN") == "yes"


async def test_variables_of_the_tree_are_passed_on(place: SandboxScene) -> None:
    room = place.room(variables={"DONEWHEN_TREE": "ab12", "DONEWHEN_PORT_BASE": "20100"})
    assert await output(room, "echo $DONEWHEN_TREE $DONEWHEN_PORT_BASE") == "ab12 20100"


# -- the network --


@contextmanager
def listening(address: str = "127.0.0.1") -> Generator[tuple[int, list[bytes]]]:
    """A service of the host that greets, reads a word and echoes it; its port, and what it received."""
    heard: list[bytes] = []

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.sendall(b"hello ")
            word = self.request.recv(100)
            heard.extend([word] if word else [])
            self.request.sendall(word)

    class Server(socketserver.ThreadingTCPServer):
        request_queue_size = 500

        def handle_error(self, request: object, client_address: object) -> None:
            """A disconnected client is not an error here."""

    with Server((address, 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server.server_address[1], heard
        finally:
            server.shutdown()
            thread.join()


def ping(host: str, port: int) -> str:
    return ASK.format('s.sendall(b"ping"); print(s.makefile().read())', f"{host} {port}")


async def test_without_the_network_a_command_has_its_own_loopback(place: SandboxScene) -> None:
    with listening() as (port, heard):
        assert not (await run(place.room(), ping("127.0.0.1", port))).ok
        assert heard == []
    assert (
        await output(place.room(), "/usr/bin/python3 -c 'import socket; print(socket.if_nameindex())'") == "[(1, 'lo')]"
    )


async def test_with_the_network_the_services_of_the_host_are_reachable(place: SandboxScene) -> None:
    with listening() as (port, heard):
        assert await output(place.room(SandboxConfig(network=True)), ping("127.0.0.1", port)) == "hello ping"
        assert heard == [b"ping"]


async def test_a_server_and_its_client_find_each_other_on_loopback(place: SandboxScene) -> None:
    server = (
        "import socket; s = socket.create_server(('127.0.0.1', 8000)); print(flush=True); s.accept()[0].send(b'pong')"
    )
    client = "import socket; print(socket.create_connection(('localhost', 8000)).recv(9))"
    write(place.checkout, {"server.py": server, "client.py": client})
    text = "mkfifo up; /usr/bin/python3 server.py > up & read line < up; /usr/bin/python3 client.py"
    assert await output(place.room(), text) == "b'pong'"


def own_address() -> str:
    """An address of this machine that is not loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            leave_out("a network card")
        return probe.getsockname()[0]


def own_name() -> str:
    """A name of this machine other than localhost."""
    try:
        socket.getaddrinfo(socket.gethostname(), 1, socket.AF_INET)
    except OSError:
        leave_out("a name of this machine that it can look up")
    return socket.gethostname()


@pytest.mark.parametrize(
    ("reach", "asked"),
    [
        ("localhost", "localhost"),
        ("localhost", "::1"),
        ("127.0.0.1", "127.0.0.1"),
        ("own address", ""),
        ("own name", ""),
    ],
)
async def test_a_service_named_in_reach_answers_at_its_address(place: SandboxScene, reach: str, asked: str) -> None:
    host = {"own address": own_address, "own name": own_name}.get(reach, lambda: reach)()
    with listening("0.0.0.0") as (port, heard):
        room = place.room(SandboxConfig(services=relay.parse((f"{host}:{port}",))))
        assert await output(room, ping(asked or host, port)) == "hello ping"
        assert heard == [b"ping"]


async def test_reach_opens_one_port_and_no_other(place: SandboxScene) -> None:
    with listening() as (reachable, _), listening() as (other, heard):
        room = place.room(SandboxConfig(services=relay.parse((f"localhost:{reachable}",))))
        assert await output(room, ping("localhost", reachable)) == "hello ping"
        assert not (await run(room, ping("localhost", other))).ok
        assert heard == []


async def test_a_stopped_service_looks_like_a_closed_connection(place: SandboxScene) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    room = place.room(SandboxConfig(services=relay.parse((f"localhost:{port}",))))
    finished = await run(room, ping("localhost", port))
    assert finished.end is End.EXITED
    assert b"hello" not in finished.stdout.whole()


CROWD = """
import select, socket, sys
port, number, most = map(int, sys.argv[1:])
crowd = [socket.create_connection(("localhost", port)) for _ in range(number)]
def served(count):
    found = []
    while len(found) < count:
        found += select.select([s for s in crowd if s not in found], [], [])[0]
    return found
first = served(most)
more = select.select([s for s in crowd if s not in first], [], [], 0.3)[0]
print(len(first), len(more), flush=True)
crowd = [s for s in crowd if s not in first]
for s in first: s.close()
print(len(served(len(crowd))))
"""
"""Open many connections at once, and count how many are served at a time."""


async def test_many_parallel_connections_are_all_served(place: SandboxScene) -> None:
    most = relay.MOST_CONNECTIONS
    write(place.checkout, {"crowd.py": CROWD})
    with listening() as (port, _):
        room = place.room(SandboxConfig(services=relay.parse((f"localhost:{port}",))))
        assert await output(room, f"/usr/bin/python3 crowd.py {port} {most + 30} {most}") == f"{most} 0\n30"


async def test_only_named_sockets_can_be_connected(place: SandboxScene, tmp_path: Path) -> None:
    asking = "/usr/bin/python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' {}"
    with socket.socket(socket.AF_UNIX) as named, socket.socket(socket.AF_UNIX) as other:
        for listener, name in ((named, "named"), (other, "other")):
            listener.bind(str(tmp_path / name))
            listener.listen()
        room = place.room(SandboxConfig(sockets=(str(tmp_path / "named"),)))
        assert (await run(room, asking.format(tmp_path / "named"))).ok
        assert not (await run(room, asking.format(tmp_path / "other"))).ok


# -- ends --


async def test_every_exit_code_is_returned_unchanged(place: SandboxScene) -> None:
    room = place.room()
    codes = [*range(0, 256, 17), 1, 2, 126, 127, 128, 129, 193, 254]
    assert [(await run(room, f"exit {code}")).exit_code for code in codes] == codes


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGPIPE])
async def test_a_death_by_signal_is_reported_as_such(place: SandboxScene, number: signal.Signals) -> None:
    finished = await run(place.room(), f"kill -{number.value} $$")
    assert (finished.end, finished.signal, finished.exit_code) == (End.SIGNALLED, number, 128 + number)


async def test_a_command_over_its_time_is_ended_with_all_its_processes(place: SandboxScene) -> None:
    finished = await place.room().run(ShellCommand(text="setsid sleep 100 & echo begun; sleep 100", timeout_secs=0.5))
    assert finished.end is End.TIMED_OUT
    assert finished.stdout.whole() == b"begun\n"


async def test_output_and_errors_come_in_the_order_they_were_written(place: SandboxScene) -> None:
    text = "for n in 1 2 3 4 5 6 7 8; do echo out $n; echo err $n >&2; done"
    expected = "\n".join(f"{kind} {n}" for n in range(1, 9) for kind in ("out", "err"))
    assert await output(place.room(), text) == expected


async def test_output_and_errors_can_be_separated(place: SandboxScene) -> None:
    finished = await place.room().run(ShellCommand(text="echo out; echo err >&2", merge_stderr=False))
    assert (finished.stdout.whole(), finished.stderr.whole()) == (b"out\n", b"err\n")


async def test_a_command_reads_its_input_to_the_end(place: SandboxScene) -> None:
    room = place.room()
    assert (await room.run(ShellCommand(text="cat", stdin=b"given"))).stdout.whole() == b"given"
    assert await output(room, "cat; echo end") == "end"


# -- limits --

MANY = "import os, signal\nfor n in range({}):\n    if os.fork() == 0: signal.pause()\nsignal.pause()"


async def limited(place: SandboxScene, limits: ResourceLimits, program: str) -> Finished:
    write(place.checkout, {"program.py": program})
    return await run(place.room(SandboxConfig(limits=limits)), "/usr/bin/python3 program.py")


async def test_too_many_processes_end_the_command_with_the_reason(place: SandboxScene) -> None:
    finished = await limited(place, ResourceLimits(processes=60), MANY.format(100))
    assert finished.end is End.LIMIT
    assert "processes" in finished.reason


async def test_too_much_memory_ends_the_command_with_the_reason(place: SandboxScene) -> None:
    finished = await limited(
        place, ResourceLimits(memory=128 * MIB), "import signal\nhog = b'x' * (300 << 20)\nsignal.pause()"
    )
    assert finished.end is End.LIMIT
    assert "memory" in finished.reason


async def test_an_oversized_file_ends_the_command_by_its_signal(place: SandboxScene) -> None:
    finished = await run(
        place.room(SandboxConfig(limits=ResourceLimits(file_bytes=MIB))), "exec head -c 2M /dev/zero > big"
    )
    assert (finished.end, finished.signal) == (End.SIGNALLED, signal.SIGXFSZ)
    assert (place.upper / "big").stat().st_size <= MIB


async def test_the_total_size_of_scratch_directories_is_bounded(place: SandboxScene) -> None:
    room = place.room(SandboxConfig(limits=ResourceLimits(scratch=4 * MIB)))
    assert not (await run(room, "head -c 3M /dev/zero > /tmp/a && head -c 3M /dev/zero > ~/b")).ok
    assert await output(room, "head -c 3M /dev/zero > /tmp/a; echo fits") == "fits"


async def test_a_crash_leaves_no_core_file(place: SandboxScene) -> None:
    assert await output(place.room(), "ulimit -c 2>/dev/null; ulimit -Hc") == "0\n0"


@pytest.mark.parametrize(("on_path", "shown"), [("", ["checkout", "tool"]), ("bin", ["bin", "checkout", "lib"])])
async def test_a_path_directory_above_the_tree_shows_its_programs_and_no_other_project(
    place: SandboxScene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on_path: str, shown: list[str]
) -> None:
    write(tmp_path, {"other/secret": "theirs", "lib/data": "installed", "tool": "#!/bin/sh\necho works\n"})
    write(tmp_path, {"bin/tool": f"#!/bin/sh\ncat {tmp_path}/lib/data > /dev/null && echo works\n"})
    for program in ("tool", "bin/tool"):
        (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / on_path}:{os.environ['PATH']}")
    room = place.room()
    assert await output(room, "tool && echo x > written") == "works"
    assert (await output(room, f"ls {tmp_path}")).split() == shown


async def test_a_bubblewrap_in_a_user_directory_on_path_is_never_run(
    place: SandboxScene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "bin", dict.fromkeys(("bwrap", "sh"), f"#!/bin/sh\ntouch {tmp_path}/ran\n"))
    for program in (tmp_path / "bin").iterdir():
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    found = await probe(place.launcher, tmp_path)
    assert found.bwrap == place.probe.bwrap
    assert await output(place.room(), "echo works") == "works"
    assert not (tmp_path / "ran").exists()


# -- the system-call filter --

CALLS = """
import ctypes, errno, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def tried(number, *words):
    ctypes.set_errno(0)
    got = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(word) for word in words])
    if got == 0 and number == NUMBERS["clone"]: os._exit(0)
    return errno.errorcode[ctypes.get_errno()] if got < 0 else "nothing"
NUMBERS = json.loads(sys.argv[1])
found = {name: tried(number, *[-1] * 6) for name, number in NUMBERS.items() if name not in sys.argv[2]}
found["socket packet"] = tried(NUMBERS["socket"], 17, 3, 0)
found["socketpair inet"] = tried(NUMBERS["socketpair"], 2, 1, 0, 0)
found["ioctl TIOCSTI"] = tried(NUMBERS["ioctl"], 0, 0x5412, 0)
found["ioctl TIOCLINUX"] = tried(NUMBERS["ioctl"], 0, 0xFFFFFFFF0000541C - 2**64, 0)
found["clone NEWUSER"] = tried(NUMBERS["clone"], 0x10000000 | 17, 0, 0, 0, 0)
print(json.dumps(found))
"""
"""Try every call that the filter names, with arguments that no call accepts."""


def by_argument() -> dict[str, str]:
    return {
        "socket packet": "EAFNOSUPPORT",
        "socketpair inet": "EAFNOSUPPORT",
        "ioctl TIOCSTI": "EPERM",
        "ioctl TIOCLINUX": "EPERM",
        "clone NEWUSER": "EPERM",
    }


async def test_every_denied_system_call_fails_only_because_of_the_filter(place: SandboxScene) -> None:
    table = seccomp.TABLES[kernel.machine()].numbers
    passed = seccomp.BY_ARGUMENT | seccomp.IN_SHARED_NAMESPACES
    write(place.checkout, {"calls.py": CALLS})
    arguments = ["/usr/bin/python3", "calls.py", json.dumps(table), " ".join(passed)]
    filtered = json.loads(await output(place.room(), shlex.join(arguments)))
    denied = {name: "ENOSYS" if name in seccomp.ABSENT else "EPERM" for name in table if name not in passed}
    assert filtered == {**denied, **by_argument()}

    bare = [str(place.probe.bwrap), *bubblewrap.flags(), "--chdir", str(place.checkout), *arguments]
    found = await place.launcher.run(Command(argv=bare, cwd="/", env={}))
    unfiltered: dict[str, str] = json.loads(found.stdout.whole())
    because_of_filter = {name for name, failure in unfiltered.items() if failure != filtered[name]}
    assert {"keyctl", "add_key", "io_uring_setup", "clone3", "unshare", "setns", *by_argument()} <= because_of_filter


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_is_a_valid_bpf_program(machine: str) -> None:
    program = seccomp.program(machine)
    assert len(program) % 8 == 0
    assert 8 < len(program) // 8 < 4096
    assert len(seccomp.program(machine, own_namespaces=False)) > len(program)
    assert seccomp.program("unheard-of") == b""

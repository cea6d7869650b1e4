"""How a command ends, what is kept of its output, and what a caller may do in the meantime: real processes, no sandbox.

Damage to the launcher is in `test_launcher`; survivors of a kill are in `attacks/test_survivors`.
"""

import hashlib
import os
import signal
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import pytest

from donewhen.errors import MachineryBroke
from donewhen.workspace.process.command import Command, Confinement, End, OutputListeners
from donewhen.workspace.process.launch import Launcher

ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
MIB = 1 << 20


def shell(
    text: str,
    *,
    cwd: str | Path = "/",
    stdin: bytes = b"",
    timeout_secs: float | None = None,
    merge_stderr: bool = False,
    spool: Path | None = None,
    watch: dict[str, int] | None = None,
) -> Command:
    return Command(
        argv=["/bin/sh", "-c", text],
        cwd=cwd,
        env=ENV,
        stdin=stdin,
        timeout_secs=timeout_secs,
        merge_stderr=merge_stderr,
        spool=spool,
        confinement=Confinement(watch=watch or {}),
    )


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture
async def launcher() -> AsyncGenerator[Launcher]:
    """A launcher that has run something, and must not leave a descriptor behind after the test."""
    before = open_descriptors()
    async with Launcher.open() as launcher:
        await launcher.run(shell(""))
        yield launcher
    assert open_descriptors() <= before


def is_alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


# -- ends --


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("text", "end", "exit_code", "number"),
    [
        ("true", End.EXITED, 0, None),
        ("exit 3", End.EXITED, 3, None),
        ("exit 137", End.EXITED, 137, None),
        ("kill -9 $$", End.SIGNALLED, 137, signal.SIGKILL),
        ("kill -SEGV $$", End.SIGNALLED, 139, signal.SIGSEGV),
        ("ulimit -t 1; while :; do :; done", End.SIGNALLED, 128 + signal.SIGKILL, signal.SIGKILL),
    ],
)
async def test_an_exit_and_a_death_by_signal_are_distinguished(
    launcher: Launcher, text: str, end: End, exit_code: int, number: int | None
) -> None:
    finished = await launcher.run(shell(text))
    assert (finished.end, finished.exit_code, finished.signal) == (end, exit_code, number)
    assert finished.ok is (text == "true")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (Command(argv=["/no/such/program"], cwd="/", env={}), "No such file or directory: /no/such/program"),
        (Command(argv=["/etc/passwd"], cwd="/", env={}), "Permission denied: /etc/passwd"),
        (Command(argv=["/etc"], cwd="/", env={}), "Permission denied: /etc"),
        (Command(argv=["/bin/true"], cwd="/no/such/directory", env={}), "No such file or directory"),
        (Command(argv=["/bin/true", "x" * 200_000], cwd="/", env={}), "Argument list too long: /bin/true"),
        (Command(argv=["/bin/true"], cwd="/", env={"X": "x" * 200_000}), "Argument list too long: /bin/true"),
        (Command(argv=["/bin/true", "a\0b"], cwd="/", env={}), "an argument contains a NUL byte: 'a\\x00b'"),
        (Command(argv=["/bin/true"], cwd="/", env={"X": "a\0b"}), "a variable contains a NUL byte: 'a\\x00b'"),
        (Command(argv=["/bin/true"], cwd="/a\0b", env={}), "the working directory contains a NUL byte: '/a\\x00b'"),
        (Command(argv=["/bin/true", "\ud800"], cwd="/", env={}), "an argument is not valid text: '\\ud800'"),
        (Command(argv=["/bin/true"], cwd="/", env={"A=B": "x"}), "not a valid variable name: 'A=B'"),
        (Command(argv=["/bin/true"], cwd="/", env={"": "x"}), "not a valid variable name: ''"),
        (Command(argv=["/bin/true"], cwd="tree", env={}), "not an absolute path of a working directory: 'tree'"),
        (Command(argv=["true"], cwd="/", env={}), "not an absolute path of a program: 'true'"),
        (Command(argv=[], cwd="/", env={}), "not an absolute path of a program: ''"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
async def test_a_command_that_cannot_start_gives_the_reason(launcher: Launcher, command: Command, reason: str) -> None:
    finished = await launcher.run(command)
    assert (finished.end, finished.exit_code, finished.signal) == (End.COULD_NOT_START, None, None)
    assert reason in finished.reason
    assert (await launcher.run(shell("true"))).ok


@pytest.mark.anyio
@pytest.mark.parametrize(
    "text",
    [
        "trap '' TERM INT HUP; echo up; while :; do sleep 1000; done",
        "echo up; kill -STOP $$",
        "echo up; (trap '' TERM; sleep 1000) & wait",
        "echo up; exec >&- 2>&-; sleep 1000",
    ],
)
async def test_a_deadline_ends_a_command_that_ignores_signals_and_keeps_its_output(
    launcher: Launcher, text: str
) -> None:
    began = time.monotonic()
    finished = await launcher.run(shell(text, timeout_secs=0.2))
    assert (finished.end, finished.exit_code) == (End.TIMED_OUT, None)
    assert finished.stdout.whole() == b"up\n"
    assert 0.2 <= finished.duration_secs <= time.monotonic() - began < 1.2


@pytest.mark.anyio
@pytest.mark.parametrize("secs", [30 * 86400.0, 1e12, float("inf")])
async def test_a_deadline_in_the_far_future_has_no_effect(launcher: Launcher, secs: float) -> None:
    assert (await launcher.run(shell("true", timeout_secs=secs))).ok


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("text", "watch", "reason"),
    [
        ("for n in 1 2 3 4 5 6 7 8 9; do sleep 1000 & done; wait", {"processes": 5}, "processes: more than 5"),
        (
            "x=$(head -c 80000000 /dev/zero | tr '\\0' x); sleep 1000; echo $x",
            {"memory": 40 * MIB},
            "memory: more than 40 MiB",
        ),
        ("sleep 1000", {"disk": "/", "disk_reserve": 1 << 60}, "MiB are kept free"),
    ],
    ids=["processes", "memory", "disk"],
)
async def test_a_command_over_a_limit_is_ended_and_the_limit_named(
    launcher: Launcher, text: str, watch: dict[str, int], reason: str
) -> None:
    finished = await launcher.run(shell(text, watch=watch))
    assert (finished.end, finished.exit_code) == (End.LIMIT, None)
    assert reason in finished.reason
    assert finished.duration_secs < 5


# -- verdict by exit status, not by the end of output --


@pytest.mark.anyio
@pytest.mark.parametrize(
    "text",
    [
        "echo out; sleep 1000 &",
        "echo out; setsid sleep 1000 & sleep 0.1",
        "echo out; (while :; do echo noise >&2; sleep 0.01; done) &",
        "echo out; exec >&- 2>&-; sleep 0.1",
        "echo out; (sleep 1000 & kill -STOP $!) ",
    ],
)
async def test_the_result_is_returned_when_the_command_ends_even_if_another_process_holds_its_output(
    launcher: Launcher, text: str
) -> None:
    finished = await launcher.run(shell(text))
    assert (finished.end, finished.exit_code, finished.stdout.whole()) == (End.EXITED, 0, b"out\n")
    assert finished.duration_secs < 1.2


@pytest.mark.anyio
async def test_processes_left_running_are_counted_and_ended_ones_are_not(launcher: Launcher) -> None:
    assert (await launcher.run(shell("sleep 1000 & sleep 1000 & sleep 1000 &"))).swept == 3
    assert (await launcher.run(shell("(true &); (true &); sleep 0.1"))).swept == 0


# -- input --


@pytest.mark.anyio
async def test_arguments_and_variables_arrive_byte_for_byte(launcher: Launcher) -> None:
    odd = b"\xff\xfe \n'\"$*\\\xc3".decode("utf-8", "surrogateescape")
    argv = ["/bin/sh", "-c", 'printf %s "$1$X"', "sh", odd]
    finished = await launcher.run(Command(argv=argv, cwd="/", env={"X": odd}))
    assert finished.stdout.whole() == 2 * b"\xff\xfe \n'\"$*\\\xc3"


@pytest.mark.anyio
async def test_three_mebibytes_of_input_arrive(launcher: Launcher) -> None:
    given = os.urandom(3 * MIB)
    finished = await launcher.run(shell("sha256sum", stdin=given))
    assert finished.stdout.whole().split()[0].decode() == hashlib.sha256(given).hexdigest()


@pytest.mark.anyio
async def test_standard_input_is_not_writable(launcher: Launcher) -> None:
    finished = await launcher.run(
        shell("echo more >&0; echo $?; truncate -s 1G /proc/self/fd/0; echo $?; cat", stdin=b"x")
    )
    assert finished.stdout.whole() == b"1\n1\nx"


@pytest.mark.anyio
async def test_the_working_directory_and_pwd_agree(launcher: Launcher, tmp_path: Path) -> None:
    command = Command(argv=["/usr/bin/env"], cwd=tmp_path, env={**ENV, "PWD": "/elsewhere"})
    assert f"PWD={tmp_path}\n" in (await launcher.run(command)).stdout.whole().decode()
    assert (await launcher.run(shell("/bin/pwd -P", cwd=tmp_path))).stdout.whole().decode() == f"{tmp_path}\n"


@pytest.mark.anyio
async def test_a_command_inherits_three_descriptors_and_nothing_else(launcher: Launcher) -> None:
    finished = await launcher.run(shell("ls /proc/self/fd"))
    assert finished.stdout.whole() == b"0\n1\n2\n3\n"  # the last is ls reading the directory


# -- output --


@pytest.mark.anyio
async def test_output_and_errors_come_separately_or_in_the_order_of_writing(launcher: Launcher) -> None:
    text = "for n in 1 2 3 4 5; do echo $n; echo $n >&2; done"
    apart = await launcher.run(shell(text))
    assert apart.stdout.whole() == apart.stderr.whole() == b"1\n2\n3\n4\n5\n"
    together = await launcher.run(shell(text, merge_stderr=True))
    assert together.stdout.whole() == b"1\n1\n2\n2\n3\n3\n4\n4\n5\n5\n"
    assert together.stderr.total == 0


@pytest.mark.anyio
async def test_invalid_bytes_are_kept_unchanged(launcher: Launcher) -> None:
    finished = await launcher.run(shell("printf '\\377\\000\\033[31m\\303'"))
    assert finished.stdout.whole() == b"\xff\x00\x1b[31m\xc3"


@pytest.mark.anyio
async def test_output_can_be_discarded(launcher: Launcher) -> None:
    command = Command(argv=["/bin/sh", "-c", "seq 100000"], cwd="/", env=ENV, keep_bytes=0)
    finished = await launcher.run(command)
    assert (finished.stdout.head, finished.stdout.tail, finished.stdout.total) == (b"", b"", 588895)


@pytest.mark.anyio
async def test_spool_files_hold_the_start_of_each_stream(launcher: Launcher, tmp_path: Path) -> None:
    argv = ["/bin/sh", "-c", "seq 1000; seq 10 >&2"]
    command = Command(argv=argv, cwd="/", env=ENV, spool=tmp_path / "log", spool_bytes=100, keep_bytes=1)
    finished = await launcher.run(command)
    printed = "".join(f"{n}\n" for n in range(1, 1001))
    assert (tmp_path / "log.out").read_text() == printed[:100]
    assert (tmp_path / "log.err").read_text() == printed[:21]
    assert finished.stdout.total == len(printed)
    await launcher.run(shell("echo both; echo both >&2", merge_stderr=True, spool=tmp_path / "one"))
    assert (tmp_path / "one").read_text() == "both\nboth\n"


@pytest.mark.anyio
async def test_without_a_spool_file_nothing_starts(launcher: Launcher, tmp_path: Path) -> None:
    (tmp_path / "log.err").touch()
    for _ in range(20):
        with pytest.raises(MachineryBroke, match="File exists"):
            await launcher.run(shell(f"touch {tmp_path}/ran", spool=tmp_path / "log"))
        (tmp_path / "log.out").unlink()
    assert not (tmp_path / "ran").exists()


@pytest.mark.anyio
async def test_endless_output_without_a_newline_takes_no_memory(launcher: Launcher) -> None:
    seen = [0, 0]

    def measure(chunk: bytes) -> None:
        seen[0] += len(chunk)
        seen[1] = max(seen[1], resident())

    before = resident()
    finished = await launcher.run(shell("head -c 300000000 /dev/zero"), OutputListeners(stdout=measure))
    assert seen[0] == finished.stdout.total == 300_000_000
    assert finished.stdout.cut == 300_000_000 - 2 * 65536
    assert seen[1] - before < 16 * MIB


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# -- listeners --


@pytest.mark.anyio
async def test_output_is_reported_while_the_command_runs(launcher: Launcher, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    heard: list[bytes] = []

    def answer(chunk: bytes) -> None:
        heard.append(chunk)
        if len(heard) == 1:
            (tmp_path / "go").write_text("go\n")

    finished = await launcher.run(
        shell("echo first; read go < go; echo $go", cwd=tmp_path), OutputListeners(stdout=answer)
    )
    assert heard == [b"first\n", b"go\n"]
    assert finished.ok


class ListenerFailed(Exception):
    """The exception of a listener in these tests."""


def fall(_: object) -> None:
    raise ListenerFailed


@pytest.mark.anyio
@pytest.mark.parametrize(
    "ears",
    [OutputListeners(stdout=fall), OutputListeners(stderr=fall), OutputListeners(started=fall)],
    ids=["stdout", "stderr", "started"],
)
async def test_an_exception_in_an_output_listener_ends_the_command_and_is_raised(
    launcher: Launcher, tmp_path: Path, ears: OutputListeners
) -> None:
    text = "setsid sleep 1000 & echo $! $$ > pids; sync pids; echo up; echo up >&2; sleep 1000"
    with pytest.raises(ListenerFailed):
        await launcher.run(shell(text, cwd=tmp_path), ears)
    pids = (tmp_path / "pids").read_text().split() if (tmp_path / "pids").exists() else []
    assert not any(is_alive(int(pid)) for pid in pids)
    assert (await launcher.run(shell("true"))).ok


@pytest.mark.anyio
async def test_an_exception_on_the_last_output_is_raised_too(launcher: Launcher) -> None:
    with pytest.raises(ListenerFailed):
        await launcher.run(shell("echo last"), OutputListeners(stdout=fall))


# -- cancelling --


@pytest.mark.anyio
async def test_nothing_starts_in_a_cancelled_scope(launcher: Launcher, tmp_path: Path) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await launcher.run(shell("touch ran", cwd=tmp_path), OutputListeners(started=fall))
    assert scope.cancelled_caught
    assert not (tmp_path / "ran").exists()


@pytest.mark.anyio
@pytest.mark.parametrize("milliseconds", [0, 1, 2, 3, 5, 8, 13, 50])
async def test_cancelling_at_any_moment_kills_everything_within_a_second(
    launcher: Launcher, tmp_path: Path, milliseconds: int
) -> None:
    began = time.monotonic()
    with anyio.move_on_after(milliseconds / 1000) as scope:
        await launcher.run(shell("trap '' TERM; setsid sleep 1000 & echo $! $$ > pids; sleep 1000", cwd=tmp_path))
    assert scope.cancelled_caught
    assert time.monotonic() - began < 1
    pids = (tmp_path / "pids").read_text().split() if (tmp_path / "pids").exists() else []
    assert [pid for pid in pids if is_alive(int(pid))] == []
    assert (await launcher.run(shell("true"))).ok


@pytest.mark.anyio
async def test_cancelling_from_an_output_listener_kills_the_command(
    launcher: Launcher,
) -> None:
    started: list[int] = []
    with anyio.CancelScope() as scope:
        await launcher.run(
            shell("sleep 1000"), OutputListeners(started=lambda pid: (started.append(pid), scope.cancel(), None)[-1])
        )
    assert scope.cancelled_caught
    assert not is_alive(started[0])


@pytest.mark.anyio
async def test_cancelling_after_the_end_keeps_the_result(launcher: Launcher) -> None:
    with anyio.CancelScope() as scope:
        finished = await launcher.run(shell("echo done"))
        scope.cancel()
        assert finished.stdout.whole() == b"done\n"
    assert not scope.cancelled_caught


@pytest.mark.anyio
async def test_a_failure_in_a_nested_group_kills_every_command_of_it(launcher: Launcher) -> None:
    started: list[int] = []

    def fail_at_the_last(pid: int) -> None:
        started.append(pid)
        if len(started) == 6:
            raise ListenerFailed

    async def run() -> None:
        await launcher.run(shell("setsid sleep 1000 & sleep 1000"), OutputListeners(started=fail_at_the_last))

    with pytest.raises(ExceptionGroup) as failure:
        async with anyio.create_task_group() as outer, anyio.create_task_group() as inner:
            for _ in range(3):
                outer.start_soon(run)
                inner.start_soon(run)
    assert failure.group_contains(ListenerFailed)
    assert [pid for pid in started if is_alive(pid)] == []


@pytest.mark.anyio
async def test_fifty_parallel_commands_do_not_mix(launcher: Launcher) -> None:
    outputs: dict[int, bytes] = {}

    async def run(number: int) -> None:
        finished = await launcher.run(shell(f"seq {number} {number + 1000}; echo {number} >&2; cat", stdin=b"in"))
        outputs[number] = finished.stdout.whole() + finished.stderr.whole()

    async with anyio.create_task_group() as tasks:
        for number in range(50):
            tasks.start_soon(run, number)
    assert outputs == {
        number: "".join(f"{n}\n" for n in range(number, number + 1001)).encode() + b"in%d\n" % number
        for number in range(50)
    }


def test_one_launcher_serves_two_event_loops_one_after_the_other() -> None:
    launcher = Launcher()
    try:
        for _ in range(2):
            assert anyio.run(launcher.run, shell("true")).ok
    finally:
        launcher.close()

"""An observer records which programs a command starts, which files they open and which paths they look for."""

import os
import shlex
import signal
import sys
import time
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from sandbox_scenes import PATIENCE_SECS, SandboxScene, sandbox_scene, write

from donewhen.errors import MachineryBroke
from donewhen.workspace.process.command import End, Finished
from donewhen.workspace.process.launcher import kill_tree
from donewhen.workspace.process.launcher.messages import FOUND, LISTED, MISSED, READ, WRITTEN
from donewhen.workspace.process.observed import NO_PARENT, Observed, ProgramRun
from donewhen.workspace.sandbox.sandbox import ShellCommand
from donewhen.workspace.sandbox.seccomp import TABLES, ObservedCalls
from needs import needs
from repositories import repository

pytestmark = pytest.mark.anyio
PYTHON = "/usr/bin/python3 -I -S -c {}"


@pytest.fixture
async def place(tmp_path: Path) -> AsyncGenerator[SandboxScene]:
    async with sandbox_scene(tmp_path) as found:
        yield found


async def watched(place: SandboxScene, text: str, calls: ObservedCalls = "lookups") -> tuple[Finished, Observed]:
    finished = await place.room().run(ShellCommand(text=text, timeout_secs=PATIENCE_SECS, observe=calls))
    assert finished.observed is not None
    return finished, finished.observed


async def observed(place: SandboxScene, text: str, calls: ObservedCalls = "lookups") -> Observed:
    finished, found = await watched(place, text, calls)
    assert finished.ok, finished.stdout.whole()
    assert found.is_complete
    return found


def in_tree(place: SandboxScene, found: Observed) -> dict[str, int]:
    """What was done with each path of the tree, by any program."""
    deeds: dict[str, int] = {}
    for run in found.runs:
        for path, deed in run.seen.items():
            if path.startswith(f"{place.checkout}/"):
                name = path.removeprefix(f"{place.checkout}/")
                deeds[name] = deeds.get(name, 0) | deed
    return deeds


def named(found: Observed, name: str) -> ProgramRun:
    (run,) = [run for run in found.runs if run.program.rpartition("/")[2] == name]
    return run


async def test_every_program_has_its_starter_its_words_and_its_end(place: SandboxScene) -> None:
    write(place.checkout, {"tool.sh": "#!/bin/sh\nenv true\nexit 3\n"})
    (place.checkout / "tool.sh").chmod(0o755)
    found = await observed(place, "./tool.sh one 'two words' || echo")
    shell, tool = found.runs[0], named(found, "tool.sh")
    assert (shell.parent, shell.argv[0], shell.exit_code) == (NO_PARENT, "/bin/sh", 0)
    assert found.runs[tool.parent] is shell
    assert tool.program == str(place.checkout / "tool.sh")
    assert (tool.interpreter, tool.argv, tool.exit_code) == ("/bin/sh", ("./tool.sh", "one", "two words"), 3)
    env = found.runs[named(found, "true").parent]
    assert (env.argv, env.exit_code) == (("env", "true"), 0), "it became another program"
    assert found.runs[env.parent] is tool


async def test_opened_written_listed_and_missing_paths_are_told_apart(place: SandboxScene) -> None:
    write(place.checkout, {"read": "x", "here": "x", "inner/file": "x"})
    found = await observed(
        place, "cat read; echo x > made; ls inner >/dev/null; test -e here; test -e gone; cat inner/gone 2>/dev/null; :"
    )
    deeds = in_tree(place, found)
    assert deeds["read"] & READ
    assert deeds["made"] & WRITTEN
    assert deeds["inner"] & LISTED
    assert (deeds["here"], deeds["gone"], deeds["inner/gone"]) == (FOUND, MISSED, MISSED)


async def test_fewer_calls_are_seen_if_fewer_are_wanted(place: SandboxScene) -> None:
    write(place.checkout, {"read": "x", "here": "x"})
    text = "cat read; test -e here; test -e gone; :"
    assert in_tree(place, await observed(place, text, "executions")) == {}
    assert in_tree(place, await observed(place, text, "opens")) == {"read": READ}
    assert in_tree(place, await observed(place, text)).keys() == {"read", "here", "gone"}


async def test_a_path_has_its_name_without_links_whatever_it_is_relative_to(place: SandboxScene) -> None:
    write(place.checkout, {"a/b/file": "x"})
    (place.checkout / "link").symlink_to("a/b")
    (place.checkout / "absolute").symlink_to(place.checkout / "a")
    python = PYTHON.format(
        shlex.quote(
            "import os; d = os.open('a', os.O_RDONLY); os.open('b/file', os.O_RDONLY, dir_fd=d); "
            "os.chdir('a'); os.fchdir(d); os.path.exists('b/one')"
        )
    )
    for text in ("cat link/file", "cat absolute/b/file", "cd a/b && cat ../../link/./file", python):
        deeds = in_tree(place, await observed(place, text))
        assert deeds["a/b/file"] & READ, text
        assert "link/file" not in deeds, text
    deeds = in_tree(place, await observed(place, "cat link/gone absolute/gone/x 2>/dev/null; :"))
    assert (deeds["a/b/gone"], deeds["a/gone/x"]) == (MISSED, MISSED)
    assert in_tree(place, await observed(place, python))["a/b/one"] == MISSED


async def test_a_path_that_appears_later_is_seen_as_missing_and_as_read(place: SandboxScene) -> None:
    deeds = in_tree(place, await observed(place, "test -e made || { echo x > other; mv other made; cat made; }"))
    assert deeds["made"] & (MISSED | READ) == MISSED | READ


async def test_threads_and_forks_belong_to_the_program_that_started_them(place: SandboxScene) -> None:
    write(place.checkout, {"thread": "x", "fork": "x"})
    python = PYTHON.format(
        shlex.quote(
            "import os, threading; t = threading.Thread(target=lambda: open('thread')); t.start(); t.join()\n"
            "if os.fork() == 0: open('fork'); os._exit(7)\n"
            "os.wait()"
        )
    )
    found = await observed(place, python)
    run = next(run for run in found.runs if "python" in run.program)
    names = {path.rpartition("/")[2] for path, deed in run.seen.items() if deed & READ}
    assert {"thread", "fork"} <= names
    assert run.exit_code == 0


async def test_a_program_that_a_forked_shell_starts_has_the_same_starter_whatever_is_observed(
    place: SandboxScene,
) -> None:
    write(place.checkout, {"settings.sh": "x=1\n"})
    text = "echo | while read -r line; do . ./settings.sh; (/bin/true; :); done"
    everything: tuple[ObservedCalls, ...] = ("executions", "opens", "lookups")
    for calls in everything:
        found = await observed(place, text, calls)
        assert found.runs[named(found, "true").parent] is found.runs[0], calls


INSIDE = """
import struct, sys
from pathlib import Path
import anyio
from donewhen.session.workplace import open_workplace
from donewhen.workspace.process.launcher import kernel
from donewhen.workspace.sandbox.sandbox import ShellCommand
steps = ((0x20, 0, 0, 0), (0x15, 0, 1, int(sys.argv[2])), (0x06, 0, 0, 0x7FC00000), (0x06, 0, 0, 0x7FFF0000))
kept = kernel.load_with_listener(b"".join(struct.pack("=HBBI", *step) for step in steps))

async def main():
    async with open_workplace(Path(sys.argv[1])) as place, place.tree("judge", place.repo.head) as tree:
        finished = await place.sandbox_of(tree.sandbox_tree).run(ShellCommand(text="cat file", observe="lookups"))
        print(finished.exit_code, finished.observed.is_complete, finished.observed.runs)

anyio.run(main)
"""
"""A process with a listener of its own, for a call that nobody makes, runs an observed command."""


async def test_a_command_runs_unobserved_where_an_outer_filter_has_a_listener(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", {"file": "x"})
    never_made = str(TABLES[os.uname().machine].numbers["acct"])
    ran = await anyio.run_process([sys.executable, "-c", INSIDE, str(repo), never_made], check=False)
    assert (ran.stdout, ran.stderr) == (b"0 False ()\n", b"")


async def test_a_program_without_libraries_is_seen(place: SandboxScene) -> None:
    needs("cc")
    source = (
        "#include <fcntl.h>\n#include <sys/syscall.h>\n#include <unistd.h>\n"
        'int main() { syscall(SYS_openat, AT_FDCWD, "data", O_RDONLY); syscall(SYS_execve, "/bin/true", '
        '(char *[]){"odd", 0}, (char *[]){0}); return 1; }\n'
    )
    write(place.checkout, {"main.c": source, "data": "x"})
    found = await observed(place, "cc -static -o main main.c && ./main")
    assert in_tree(place, found)["data"] & READ
    assert named(found, "main").exit_code == 0
    assert [run.argv for run in found.runs if run.program.endswith("/true")] == [("odd",)]


async def test_many_processes_at_once_are_all_seen(place: SandboxScene) -> None:
    write(place.checkout, {f"f{number}": "x" for number in range(200)})
    text = "for n in $(seq 0 199); do cat f$n >/dev/null & done; wait"
    found = await observed(place, text, "opens")
    assert {f"f{number}" for number in range(200)} <= in_tree(place, found).keys()
    assert sum(run.program.endswith("/cat") for run in found.runs) == 200


async def test_an_observed_command_ends_at_its_time_limit(place: SandboxScene) -> None:
    loop = "while :; do test -e gone; done"
    finished = await place.room().run(ShellCommand(text=loop, timeout_secs=1, observe="lookups"))
    assert finished.end is End.TIMED_OUT
    assert finished.observed is not None
    assert in_tree(place, finished.observed).keys() <= {"gone"}


async def test_cancelling_leaves_no_observer(place: SandboxScene) -> None:
    with anyio.move_on_after(0.5):
        await place.room().run(ShellCommand(text="sleep 60", observe="lookups"))
    await anyio.to_thread.run_sync(wait_for, lambda: not observers())


async def test_a_run_whose_observer_dies_ends_at_once_and_has_no_result(place: SandboxScene) -> None:
    printed: list[bytes] = []

    def kill(chunk: bytes) -> None:
        if not printed:
            os.kill(observers()[0], signal.SIGKILL)
        printed.append(chunk)

    command = ShellCommand(text="echo started; while test ! -e gone; do :; done", observe="lookups")
    with pytest.raises(MachineryBroke, match="observer of a command died"):
        await place.room().run(command, stdout=kill)
    assert printed


async def test_a_command_whose_observer_never_starts_has_no_result(place: SandboxScene) -> None:
    async def kill() -> None:
        await anyio.to_thread.run_sync(wait_for, observers)
        os.kill(observers()[0], signal.SIGKILL)

    with pytest.RaisesGroup(pytest.RaisesExc(MachineryBroke, match="observer of a command died")):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(kill)
            await place.room().run(ShellCommand(text="sleep 60", observe="lookups"))


async def test_a_command_after_an_observed_one_is_not_observed(place: SandboxScene) -> None:
    for calls in ("lookups", None, "executions", None):
        finished = await place.room().run(ShellCommand(text="true", timeout_secs=PATIENCE_SECS, observe=calls))
        assert finished.ok
        assert (finished.observed is None) == (calls is None)


def observers() -> list[int]:
    """The observers of this process: the children of its launcher that are no supervisors, which lead a session."""
    servers = [pid for pid in kill_tree.children(os.getpid()) if "launcher.server" in command_line(pid)]
    children = [child for server in servers for child in kill_tree.children(server)]
    return [pid for pid in children if session(pid) not in (0, pid)]


def session(pid: int) -> int:
    """Return the session of a process; 0 if it has ended."""
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return 0


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def wait_for(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_SECS
    while not holds():
        assert time.monotonic() < deadline


async def test_files_that_a_command_leaves_in_its_home_are_recorded(place: SandboxScene) -> None:
    text = "mkdir -p ~/.config/tool ~/closed && echo 1 > ~/.config/tool/rc && ln -s /etc ~/link"
    text += " && touch ~/gone && rm ~/gone"
    found = await observed(place, f"{text} && touch ~/closed/one && chmod 0 ~/closed", "executions")
    assert {".config/tool/rc", "link"} <= found.home.keys()
    assert "gone" not in found.home
    assert found.home.keys() & {"closed", "closed/one"}, "a closed directory is read, or named"


async def test_a_home_with_nothing_new_has_no_record(place: SandboxScene) -> None:
    assert (await observed(place, "true", "executions")).home == {}

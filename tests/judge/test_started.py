"""Which programs a green run must start again, by rules over what was recorded."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from donewhen.judge.check_run import StartedProgram
from donewhen.judge.started import no_longer_started, started_programs
from donewhen.workspace.process.launcher.messages import READ, WRITTEN
from donewhen.workspace.process.observed import NO_PARENT, Observed, ProgramRun

PROTECTED = {"Makefile", "t/a.t", "run.sh"}
SHELL = StartedProgram(name="dash", parent=NO_PARENT, succeeded=True)
MAKE = StartedProgram(name="make", parent=0, succeeded=True, read=("Makefile",))
BUILT = StartedProgram(name="./t", parent=1, succeeded=True)


def is_protected(path: str) -> bool:
    return path in PROTECTED


def missing(base: list[StartedProgram], now: list[StartedProgram]) -> tuple[str, ...]:
    return no_longer_started(base, now, is_protected)


def program(name: str, parent: int = 0, *files: str, succeeded: bool = True) -> StartedProgram:
    return StartedProgram(name=name, parent=parent, succeeded=succeeded, files=files)


def test_a_program_of_the_tree_must_be_started_again() -> None:
    assert missing([SHELL, MAKE, BUILT], [SHELL, MAKE, program("cc", 1)]) == ("./t",)
    assert missing([SHELL, MAKE, BUILT], [SHELL, MAKE, BUILT]) == ()


def test_a_tool_that_started_programs_must_start_some_again() -> None:
    assert missing([SHELL, MAKE, program("pytest", 1)], [SHELL, MAKE]) == ("anything by make",)
    assert missing([SHELL, MAKE, program("pytest", 1)], [SHELL, MAKE, program("python3.11", 1)]) == ()


def test_a_protected_file_must_be_given_to_a_program_again() -> None:
    base = [SHELL, program("perl", 0, "t/a.t", "lib/x.pm")]
    assert missing(base, [SHELL, program("perl", 0, "lib/x.pm")]) == ("perl t/a.t",)
    assert missing(base, [SHELL, program("perl", 0, "t/a.t")]) == ()


def test_a_shell_may_start_nothing_and_a_tool_of_the_machine_may_be_left_out() -> None:
    assert missing([SHELL, program("diff"), program("cat")], [SHELL]) == ()


def test_what_follows_the_first_failure_may_deal_with_it() -> None:
    failed = replace(BUILT, succeeded=False)
    base = [replace(SHELL, succeeded=False), replace(MAKE, succeeded=False), failed, program("./report", 1)]
    assert missing(base, [SHELL, MAKE, BUILT]) == ()
    assert missing(base, [SHELL, MAKE, program("./report", 1)]) == ("./t",), "the one that failed must run again"


def test_what_product_code_starts_does_not_count() -> None:
    runner = StartedProgram(name="python3.11", parent=0, succeeded=True, read=("run.sh", "calc.py"))
    assert missing([SHELL, runner, program("./helper", 1)], [SHELL, runner]) == ()
    product = program("./app")
    assert missing([SHELL, product, program("./helper", 1)], [SHELL, product]) == ()
    orphan = program("./daemon", NO_PARENT)
    assert missing([SHELL, orphan], [SHELL]) == ()


def test_a_program_that_others_start_for_show_does_not_count() -> None:
    base, tool = [SHELL, MAKE, BUILT], program("./generate", 1)
    assert missing(base, [SHELL, MAKE, tool, program("./t", 2)]) == ("./t",)
    assert missing(base, [SHELL, MAKE, tool, program("make", 2), program("./t", 3)]) == ("./t",)


def test_the_number_in_the_name_of_a_built_program_may_change() -> None:
    def names(path: str) -> tuple[StartedProgram, ...]:
        run = ProgramRun(parent=NO_PARENT, program=path, interpreter="", argv=(), directory="/r", exit_code=0, seen={})
        return started_programs(observed(run), "/r", bool)

    assert names("/r/target/deps/calc-0f3a99b1c2d3e4f5") == names("/r/target/deps/calc-aaaabbbbccccdddd")
    assert names("/r/one") != names("/r/other")


def observed(*runs: ProgramRun) -> Observed:
    return Observed(True, runs)


def test_files_of_the_base_are_found_among_the_words_and_the_reads() -> None:
    shell = ProgramRun(
        parent=NO_PARENT,
        program="/usr/bin/dash",
        interpreter="",
        argv=("sh", "-e", "../run.sh", "new.sh"),
        directory="/r/sub",
        exit_code=0,
        seen={"/r/run.sh": READ, "/r/out": WRITTEN, "/usr/lib/x": READ},
    )
    tool = ProgramRun(
        parent=0, program="/r/bin/tool", interpreter="", argv=("tool",), directory="/r", exit_code=None, seen={}
    )
    assert started_programs(observed(shell, tool), "/r", lambda path: path == "run.sh") == (
        StartedProgram(name="dash", parent=NO_PARENT, succeeded=True, files=("run.sh",), read=("run.sh",)),
        StartedProgram(name="./bin/tool", parent=0, succeeded=False),
    )


@st.composite
def programs(draw: st.DrawFn) -> list[StartedProgram]:
    return [
        StartedProgram(
            name=draw(st.sampled_from(["dash", "make", "./t", "./run.sh", "perl"])),
            parent=draw(st.integers(NO_PARENT, number - 1)),
            succeeded=draw(st.booleans()),
            files=tuple(draw(st.lists(st.sampled_from(["t/a.t", "lib/x.pm"]), max_size=2))),
            read=tuple(draw(st.lists(st.sampled_from(["Makefile", "calc.py"]), max_size=2))),
        )
        for number in range(draw(st.integers(0, 8)))
    ]


@given(programs(), programs())
def test_the_same_programs_and_more_are_never_missed(base: list[StartedProgram], more: list[StartedProgram]) -> None:
    later = [replace(one, parent=one.parent + len(base) if one.parent != NO_PARENT else NO_PARENT) for one in more]
    assert missing(base, [*base, *later]) == ()


@given(programs())
def test_nothing_is_missed_after_a_base_that_started_nothing(now: list[StartedProgram]) -> None:
    assert missing([], now) == ()

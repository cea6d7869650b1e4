"""One bug run three times is one failure, for every tool that runs here: in another checkout, with another temporary
directory, order and number of workers, in colours inside a whole CI log, and among the lines of other programs."""

import random
from pathlib import Path

import pytest
from seeded_bugs import PROJECTS
from seeded_ci_logs import as_seen
from seeded_findings import FINDINGS
from seeded_projects import Bug, Project
from seeded_runs import is_there, log_of, run_of
from seeded_scripts import NODE, PYTEST, UNITTEST

from donewhen.memory.signature import UNKNOWN, matches, signature_of
from needs import leave_out

PYTHON_NOISE = """\
raise RuntimeError(
            f"pid {__import__('os').getpid()} on port {__import__('random').randint(1024, 65535)} has {object()}"
            f" in {__import__('tempfile').gettempdir()}/x, id {__import__('uuid').uuid4()}"
            f" of {__import__('secrets').token_hex(20)} after {__import__('time').time()} s"
        )
        return rounded("""
SCRIPT_NOISE = """\
throw new Error(`pid ${process.pid} on port ${1024 + Math.floor(Math.random() * 60000)} \
in ${require('os').tmpdir()}/x, id ${require('crypto').randomUUID()} \
of ${require('crypto').randomBytes(20).toString('hex')} after ${Date.now()} ms`);
    return rounded("""
NOISY = {
    "pytest": Bug("noise", "shop.py", "return rounded(", PYTHON_NOISE),
    "unittest": Bug("noise", "shop.py", "return rounded(", PYTHON_NOISE),
    "node": Bug("noise", "shop.js", "return rounded(", SCRIPT_NOISE),
}


def named(project: Project) -> str:
    return project.runner


@pytest.mark.sample(2)
@pytest.mark.parametrize("project", (*PROJECTS, *FINDINGS), ids=named)
def test_the_same_bug_has_the_same_signature_in_any_environment(project: Project, tmp_path: Path) -> None:
    if not is_there(project):
        leave_out(project.command[0])
    bug = project.bugs[2]
    plain, whole, mixed = (signature_of(log_of(project, bug, number, tmp_path), "check") for number in range(3))
    assert plain.reader != UNKNOWN
    assert (plain.place_digest(), plain.cause_digest()) == (whole.place_digest(), whole.cause_digest()), (plain, whole)
    assert matches(plain, mixed), (plain, mixed)
    assert matches(whole, mixed)


@pytest.mark.parametrize("project", [PYTEST, UNITTEST, NODE], ids=named)
def test_machine_dependent_parts_of_a_message_do_not_count(project: Project, tmp_path: Path) -> None:
    if not is_there(project):
        leave_out(project.command[0])
    logs = [run_of(project, NOISY[project.runner], number, tmp_path, random.Random(number))[1] for number in (0, 0)]
    one, other = map(signature_of, logs)
    assert logs[0] != logs[1]
    assert one.failed
    assert (one.place_digest(), one.cause_digest()) == (other.place_digest(), other.cause_digest()), (one, other)


def test_the_signature_ignores_thousands_of_varying_lines_around_a_failure() -> None:
    seen = [as_seen("a\nb", number, random.Random(seed)) for number in (1, 2) for seed in (1, 2)]
    assert len(set(seen)) == 4
    assert len(seen[0].splitlines()) > 3_000
    assert "db-1" in as_seen("a\n" * 50, 2, random.Random(1))

"""What every test gets: its own home, one event loop backend, and a summary that names the tests that were not run.

Fixtures that only some tests need are in the directory of those tests.
"""

import itertools
import os
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tiers import examples, left_out

CALLERS_HOME = Path(os.environ.get("HOME") or Path.home())
"""Read at import, before a test gets its own home."""

OF_MAKE = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES")
"""Variables by which a make that a test starts would count as a part of the make that runs the tests."""

ROOT = Path(__file__).parents[1]
TABLES = ROOT / ".cache" / "tables"
LONGEST_TABLE = 24
"""Lines. A longer table is printed in part and written to a file."""

# A busy machine is not a fault: no limits on time.
settings.register_profile(
    "tier", max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tier")

collect_ignore = [] if os.environ.get("DONEWHEN_REAL_AGENTS") else ["real_agents"]
"""They need real agents, which `make test-agents` installs."""

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started in the background of a script: processes of the tests would ignore interrupts as well.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep a sample of the long proofs; the closing line counts what is left out."""
    gone = left_out(items)
    if gone:
        kept = set(items).difference(gone)
        items[:] = [item for item in items if item in kept]
        config.hook.pytest_deselected(items=gone)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def real_home() -> Path:
    """Return the home of the user who runs the tests: toolchains such as pyenv's and rustup's are there."""
    return CALLERS_HOME


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return paths for homes, in a directory of their own: pytest looks through all directories beside a new one."""
    above = tmp_path_factory.mktemp("homes")
    return (above / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def home(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make an empty home, state, config and cache. Settings in the caller's environment do not reach a test."""
    home = next(homes)
    monkeypatch.setenv("HOME", str(home))
    for variable, place in {
        "XDG_STATE_HOME": home / ".local" / "state",
        "XDG_CONFIG_HOME": home / ".config",
        "XDG_CACHE_HOME": home / ".cache",
    }.items():
        place.mkdir(parents=True)
        monkeypatch.setenv(variable, str(place))
    for variable in [name for name in os.environ if name.startswith("DONEWHEN_") or name in OF_MAKE]:
        monkeypatch.delenv(variable)
    return home


@pytest.fixture
def show_table(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Return a function that prints a table after all tests have run, from any worker."""
    return lambda table: record_property("table", table)


@pytest.fixture
def count_as(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Return a function that gives the test a kind. Passed tests of each kind are counted after all tests have run."""
    return lambda kind: record_property("kind", kind)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    show_tables(terminalreporter)
    show_counts(terminalreporter)
    name_left_out(terminalreporter)


def show_tables(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the tables. Of a long one, print both ends: the tests that failed must stay in sight."""
    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.stats.get(outcome, [])]
    for report in reports:
        for name, table in getattr(report, "user_properties", []):
            if name == "table" and getattr(report, "when", "") == "call":
                terminalreporter.write_line("")
                for line in shortened(str(table), report.nodeid):
                    terminalreporter.write_line(line)


def show_counts(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for report in terminalreporter.stats.get("passed", []) if getattr(report, "when", "") == "call"]
    kinds = Counter(
        kind for report in reports for name, kind in getattr(report, "user_properties", []) if name == "kind"
    )
    for kind, count in sorted(kinds.items()):
        terminalreporter.write_line(f"{kind}: {count}")


def shortened(table: str, test: str) -> list[str]:
    lines = table.splitlines()
    if len(lines) <= LONGEST_TABLE:
        return lines
    file = TABLES / (re.sub(r"[^\w.-]+", "-", test.partition("[")[0]) + ".txt")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{table}\n")
    start, end = lines[: LONGEST_TABLE // 3], lines[-LONGEST_TABLE // 3 :]
    return [*start, f"… {len(lines) - len(start) - len(end)} more lines: {file.relative_to(ROOT)}", *end]


def name_left_out(terminalreporter: pytest.TerminalReporter) -> None:
    left_out: dict[str, list[str]] = {}
    for report in terminalreporter.stats.get("skipped", []):
        if isinstance(report, pytest.TestReport | pytest.CollectReport):
            left_out.setdefault(reason_of(report), []).append(report.nodeid)
    if not left_out:
        return
    terminalreporter.section("tests that were not run")
    for reason, tests in sorted(left_out.items()):
        terminalreporter.write_line(f"{reason} ({len(tests)})")
        for test in sorted(tests):
            terminalreporter.write_line(f"  {test}")


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    where_and_why = report.longrepr
    why = where_and_why[2] if isinstance(where_and_why, tuple) else str(where_and_why)
    return why.removeprefix("Skipped: ")

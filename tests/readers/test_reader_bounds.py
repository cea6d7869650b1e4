"""Every reader handles any bytes: no exception, no long wait."""

import json
import resource

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_printed_summaries import SUMMARIES, Read, shown
from test_sidecar_reports import PYTEST, TRX, go_events, jest_report, suite

from donewhen.readers import dotnet, go, jest, junit, mocha, rspec
from donewhen.readers.result import MOST_THAT_RAN, that_ran
from tiers import examples

REPORTS: list[tuple[Read, bytes]] = [
    (junit.read, PYTEST),
    (dotnet.read_report, TRX),
    (jest.read_report, jest_report(suite("failed", "passed", "failed"))),
    (mocha.read_report, json.dumps({"stats": {"passes": 1, "end": ""}, "failures": [{"fullTitle": "a"}]}).encode()),
    (rspec.read_report, json.dumps({"examples": [{"status": "failed"}], "summary": {"example_count": 1}}).encode()),
    (go.read_events, go_events(("run", "A"), ("pass", "A"), ("pass", ""))),
]
TEXTS = [(read, text.encode()) for read, text, _ in SUMMARIES]
READERS = list(dict.fromkeys(read for read, _ in [*REPORTS, *TEXTS]))


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A valid sample with a part removed, doubled or replaced."""
    content = draw(st.sampled_from([content for _, content in [*REPORTS, *TEXTS]]))
    start = draw(st.integers(0, len(content)))
    end = draw(st.integers(start, min(len(content), start + 60)))
    piece = draw(st.sampled_from([b"", content[start:end] * 2, b"\x00", b"\xff", b"\x1b[", b'"', b"<", b"9" * 5000]))
    return content[:start] + piece + content[end:]


@settings(max_examples=examples(200))
@given(st.binary(max_size=300) | damaged())
def test_no_reader_raises_on_any_input(content: bytes) -> None:
    for read in READERS:
        found = read(content)
        if found is not None:
            tests = found.tests
            assert tests.collected == tests.passed + tests.failed + tests.skipped
            assert min(tests.passed, tests.failed, tests.skipped) >= 0
            assert list(found.ran) == sorted(set(found.ran))


@pytest.mark.parametrize(("read", "content"), REPORTS, ids=shown)
def test_a_report_cut_at_any_point_is_never_complete(read: Read, content: bytes) -> None:
    whole = read(content)
    assert whole is not None
    assert whole.complete
    for end in range(1, len(content) - 1, 7):
        cut = read(content[:end])
        assert cut is None or not cut.complete


@pytest.mark.parametrize(
    "content",
    [
        b"=== RUN   TestA\n" * 12_000 + b"ok  \tp\t0.1s\n" * 12_000,
        b"running 5 tests\nfailures:\n    a\n" * 6_000,
        b"  1) a\n" * 15_000 + b"  1 passing\n  1 failing\n" + b"  1) a\n" * 15_000,
        b"FAILED a - " * 15_000,
        b"\x1b]" * 60_000,
        b"\x1b[" + b"0" * 200_000,
        b"1 passed, " * 20_000 + b" in 0.1s",
        b"[" * 60_000,
        b'{"a":' * 40_000,
        b"<testsuite>" * 40_000,
        b"<testsuite><testcase>" * 20_000,
        b"<testsuite name='abc'>" * 20_000 + b"<testcase name='a'/>" * 20_000,
        jest_report({"name": "n" * 1_000_000, "assertionResults": [{"status": "passed"}] * 20_000}),
    ],
    ids=[
        "go",
        "cargo",
        "mocha",
        "failures",
        "links",
        "colours",
        "counts",
        "lists",
        "objects",
        "suites",
        "cases",
        "paths",
        "files",
    ],
)
def test_hostile_input_is_read_in_bounded_time(content: bytes) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    for read in READERS:
        read(content)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_utime - before < 20


@pytest.mark.parametrize(
    "names",
    [[str(number) for number in range(MOST_THAT_RAN + 1)], [f"{number}" * 1_100_000 for number in range(10, 18)]],
    ids=["many", "long"],
)
def test_too_many_test_names_are_dropped(names: list[str]) -> None:
    assert that_ran(names) == ()
    assert that_ran(names[:-1] + names[:-1]) == tuple(sorted(names[:-1])), "a name that is told twice counts once"

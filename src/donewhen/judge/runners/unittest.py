"""unittest of the Python library: it writes no report, so its printed summary is the evidence."""

import posixpath
import re
from collections.abc import Iterator

from donewhen.judge.runners.call import RunnerCall
from donewhen.judge.runners.failing_test import with_line_end
from donewhen.judge.runners.python_assertions import python_assertions
from donewhen.judge.runners.runner import CanaryFile, Instrumentation, Runner, RunnerContext, lazy
from donewhen.judge.runners.test_files import test_files
from donewhen.workspace.beneath import Root


def _unbuffered(context: RunnerContext) -> Instrumentation:
    """Switch off buffering: output of the product must not appear after the summary, which uses the other stream."""
    return Instrumentation(variables={"PYTHONUNBUFFERED": "1"} if context.calls or not context.all_calls else {})


def _failing_test(directory: Root, call: RunnerCall, mark: str) -> Iterator[CanaryFile]:
    """Add tests to the classes of a file; if it is run as a program, before the lines that start its tests."""
    del mark
    for path, text in test_files(directory, ("test*.py", "*_test.py"), call.arguments):
        if "TestCase" not in text:
            continue
        is_run = any(word.endswith(".py") and path == posixpath.normpath(word) for word in call.arguments)
        start = re.search(r"^if __name__ ==", text, re.MULTILINE) if is_run else None
        before, after = (text[: start.start()], text[start.start() :]) if start else (text, "")
        tests = python_assertions(text).as_methods()
        yield CanaryFile(path, with_line_end(before), tests, f"\n\n{after}" if after else "")


RUNNER = Runner(
    name="unittest",
    programs=("unittest",),
    is_python_module=True,
    mentioned="unittest",
    started_by_tox="python -m unittest",
    instrument=_unbuffered,
    read_text=lazy("unittest", "read_text"),
    make_canary=_failing_test,
    packages="unittest",
    plugin_groups="unittest",
    modules="unittest",
)

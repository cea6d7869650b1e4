"""go test: it prints the names of tests only if it is asked to."""

import re
from collections.abc import Iterator

from donewhen.judge.runners.call import RunnerCall
from donewhen.judge.runners.failing_test import MESSAGE, appended
from donewhen.judge.runners.runner import CanaryFile, Instrumentation, Runner, RunnerContext, lazy
from donewhen.judge.runners.test_files import test_files
from donewhen.workspace.beneath import Root


def _verbose(context: RunnerContext) -> Instrumentation:
    """Add `-v`. As a variable it would also make `go build` print more, so an argument is preferred."""
    if all({"-v", "-v=true", "-test.v", "-json"} & set(call.arguments) for call in context.calls):
        return Instrumentation()
    if context.can_append:
        verbose, times = re.subn(r"\bgo(\s+-C\s*\S+)?\s+test\b", r"\g<0> -v", context.command)
        if times == 1:
            return Instrumentation(command=verbose)
    return Instrumentation(variables={"GOFLAGS": "-v"})


def _failing_test(directory: Root, call: RunnerCall, mark: str) -> Iterator[CanaryFile]:
    for path, text in test_files(directory, ("*_test.go",), call.arguments):
        if '"testing"' in text:
            yield path, appended(text, f'func Test_{mark}(t *testing.T) {{\n\tt.Fatal("{MESSAGE}")\n}}')


RUNNER = Runner(
    name="go",
    subcommands={"go": frozenset({"test"})},
    mentioned=r"go\W+(?:run\W+)?test",
    instrument=_verbose,
    read_text=lazy("go", "read_text"),
    make_canary=_failing_test,
    packages="go gotestsum",
)

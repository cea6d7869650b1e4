"""go test: it prints the names of tests only if it is asked to."""

import re
from collections.abc import Iterator

from donewhen.judge.runners.call import RunnerCall
from donewhen.judge.runners.failing_test import with_line_end, words_in
from donewhen.judge.runners.runner import CanaryFile, Instrumentation, Runner, RunnerContext, lazy
from donewhen.judge.runners.test_files import test_files
from donewhen.workspace.beneath import Root

METHODS = {
    "Error": 't.Error("$left is not $right")',
    "Errorf": 't.Errorf("%d is not %d", $left, $right)',
    "Fatal": 't.Fatal("$left is not $right")',
    "Fatalf": 't.Fatalf("%d is not %d", $left, $right)',
    "Fail": "t.Fail()",
    "FailNow": "t.FailNow()",
}
TESTIFY = re.compile(r'(?:\b(\w++) )?"github\.com/stretchr/testify/(assert|require)"')
OF_TESTIFY = {
    "Equal": "Equal(t, $left, $right)",
    "NotEqual": "NotEqual(t, $left, $left)",
    "True": "True(t, false)",
    "False": "False(t, true)",
    "Nil": "Nil(t, $left)",
    "NotNil": "NotNil(t, nil)",
    "Error": "Error(t, nil)",
    "Len": "Len(t, []int{$left}, 2)",
    "Contains": "Contains(t, []int{$left}, $right)",
    "ElementsMatch": "ElementsMatch(t, []int{$left}, []int{$right})",
    "Greater": "Greater(t, $left, $right)",
    "Less": "Less(t, $right, $left)",
}
"""Function of a file → a call that fails."""


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
    del mark
    for path, text in test_files(directory, ("*_test.go",), call.arguments):
        if '"testing"' in text:
            tests = tuple(f"func Test_$name(t *testing.T) {{\n\t{statement}\n}}" for statement in go_assertions(text))
            yield CanaryFile(path, with_line_end(text), tests)


def go_assertions(text: str) -> tuple[str, ...]:
    found = list[str]()
    for alias, library in TESTIFY.findall(text):
        name = library if alias in ("", "_", "import") else alias
        used = "\n".join(re.findall(rf"\b{name}\.(\w+)\(", text))
        found += [f"{name}.{call}" for call in words_in(used, OF_TESTIFY, "Equal")]
    methods = re.findall(r"\bt\.(\w+)\(", text)
    plain = words_in("\n".join(methods), METHODS, "Errorf")
    return (*found, *plain) if not found or METHODS.keys() & set(methods) else tuple(found)


RUNNER = Runner(
    name="go",
    subcommands={"go": frozenset({"test"})},
    mentioned=r"go\W+(?:run\W+)?test",
    instrument=_verbose,
    read_text=lazy("go", "read_text"),
    make_canary=_failing_test,
    packages="go gotestsum",
)

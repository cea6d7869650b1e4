"""cargo test: it writes no report, so its printed text is the evidence."""

import posixpath
import re
from collections.abc import Iterator

from donewhen.judge.runners.call import RunnerCall
from donewhen.judge.runners.failing_test import with_line_end, words_in
from donewhen.judge.runners.runner import CanaryFile, Instrumentation, Runner, RunnerContext, lazy
from donewhen.judge.runners.test_files import test_files
from donewhen.workspace.beneath import Root

MACROS = {
    "assert_eq": "assert_eq!($left, $right);",
    "assert_ne": "assert_ne!($left, $left);",
    "assert": "assert!($left == $right);",
}
"""Macro of a file → a statement that fails."""
IN_SOURCES = {"--lib", "--bins", "--bin"}
OF_SOURCES = re.compile(r"#\[(?:cfg\(test\)|test\])")


def _all_programs(context: RunnerContext) -> Instrumentation:
    """Cargo stops after the first test program that fails, unless it is asked not to."""
    if not context.keep_going:
        return Instrumentation()
    command, times = re.subn(r"\bcargo(?:\s+\+\S+)?\s+t(?:est)?\b(?!\S)", r"\g<0> --no-fail-fast", context.command)
    return Instrumentation(command=command if times == 1 and "--no-fail-fast" not in context.arguments else "")


def _failing_test(directory: Root, call: RunnerCall, mark: str) -> Iterator[CanaryFile]:
    """Add to test programs and to sources with tests; if a package has neither, create a test program.

    In tests that use the product, its start-up code runs and its macros count, so their effects are seen.
    """
    words = set(call.arguments)
    if "--test" in call.arguments[:-1]:
        name = posixpath.basename(f"{call.arguments[call.arguments.index('--test') + 1]}.rs")
        yield from (_in_program(path, text) for path, text in test_files(directory, (name,), ()))
    elif not {"--doc", "--examples"} & words:
        for manifest, text in test_files(directory, ("Cargo.toml",), ()):
            if re.search(r"^\[package\]", text, re.MULTILINE):
                package = posixpath.dirname(manifest)
                sources, programs = [*_sources(directory, package, mark)], [*_programs(directory, package)]
                made = _in_program(posixpath.join(package, "tests", f"canary_{mark}.rs"), "")
                yield from sources if words & IN_SOURCES else [*programs, *sources] or [made]


def _programs(directory: Root, package: str) -> Iterator[CanaryFile]:
    tests = posixpath.join(package, "tests")
    for path, text in test_files(directory.below(tests), ("*.rs",), ()):
        if "/" not in path:
            yield _in_program(f"{tests}/{path}", text)


def _in_program(path: str, text: str) -> CanaryFile:
    return CanaryFile(path, with_line_end(text) if text else "", _tests(text))


def _sources(directory: Root, package: str, mark: str) -> Iterator[CanaryFile]:
    """Yield sources with tests inside. A module at their end sees what their own modules of tests see."""
    sources = posixpath.join(package, "src")
    for path, text in test_files(directory.below(sources), ("*.rs",), ()):
        if OF_SOURCES.search(text):
            head = f"\n#[cfg(test)]\nmod canary_{mark} {{\n    #[allow(unused_imports)]\n    use super::*;\n"
            yield CanaryFile(f"{sources}/{path}", with_line_end(text) + head, _tests(text), "}\n")


def _tests(text: str) -> tuple[str, ...]:
    found = words_in(text, MACROS, "assert_eq")
    return tuple(f"#[test]\nfn canary_$name() {{\n    {statement}\n}}" for statement in found)


RUNNER = Runner(
    name="cargo",
    subcommands={"cargo": frozenset({"test", "t"})},
    mentioned=r"cargo\W+(?:run\W+)?test",
    instrument=_all_programs,
    read_text=lazy("cargo", "read_text"),
    make_canary=_failing_test,
    packages="cargo",
    detected_as="cargo-test",
)

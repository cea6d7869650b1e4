"""cargo test: it writes no report, so its printed text is the evidence."""

import posixpath
import re
from collections.abc import Iterator

from donewhen.judge.runners.call import RunnerCall
from donewhen.judge.runners.failing_test import MESSAGE, appended
from donewhen.judge.runners.runner import CanaryFile, Runner, lazy
from donewhen.judge.runners.test_files import first_group, test_files
from donewhen.workspace.beneath import Root


def _failing_test(directory: Root, call: RunnerCall, mark: str) -> Iterator[CanaryFile]:
    """Add to a test program that uses the product, if there is one; otherwise create a new one."""
    test = f'#[test]\nfn canary_{mark}() {{\n    panic!("{MESSAGE}");\n}}\n'
    words = call.arguments
    if "--test" in words[:-1]:
        name = posixpath.basename(f"{words[words.index('--test') + 1]}.rs")
        yield from ((path, appended(text, test)) for path, text in test_files(directory, (name,), ()))
    elif not {"--lib", "--bins", "--bin", "--doc", "--examples"} & set(words):
        for manifest, text in test_files(directory, ("Cargo.toml",), ()):
            if re.search(r"^\[package\]", text, re.MULTILINE):
                tests = posixpath.join(posixpath.dirname(manifest), "tests")
                yield _using_crate(directory, tests, text, test) or (f"{tests}/canary_{mark}.rs", test)


def _using_crate(directory: Root, tests: str, text: str, test: str) -> CanaryFile | None:
    """Return a test program that runs code of the product, with the test added; None if there is none.

    In such a program the start-up code of the product runs too, so its effects are seen.
    """
    name = first_group(re.search(r'^name\s*=\s*"([\w-]+)"', text, re.MULTILINE))
    for path, content in test_files(directory.below(tests), ("*.rs",), ()) if name else ():
        if "/" not in path and re.search(rf"\b{re.escape(name.replace('-', '_'))}\s*::", content):
            return f"{tests}/{path}", appended(content, test)
    return None


RUNNER = Runner(
    name="cargo",
    subcommands={"cargo": frozenset({"test", "t"})},
    mentioned=r"cargo\W+(?:run\W+)?test",
    read_text=lazy("cargo", "read_text"),
    make_canary=_failing_test,
    packages="cargo",
    detected_as="cargo-test",
)

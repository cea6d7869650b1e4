"""Tests that must fail, in the forms that several runners share."""

import posixpath
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from donewhen.judge.runners.call import RunnerCall
from donewhen.judge.runners.runner import CanaryFile
from donewhen.judge.runners.test_files import first_group, test_files
from donewhen.workspace.beneath import Root

MESSAGE = "this test must fail"
JUNIT = {
    "org.junit.jupiter.api.Assertions": "assertEquals($left, $right)",
    "org.junit.Assert": "assertEquals($left, $right)",
    "org.assertj.core.api.Assertions": "assertThat($left).isEqualTo($right)",
    "org.hamcrest.MatcherAssert": "assertThat($left, org.hamcrest.CoreMatchers.is($right))",
    "com.google.common.truth.Truth": "assertThat($left).isEqualTo($right)",
}
"""Class with assertions → a call that fails."""


def with_line_end(text: str) -> str:
    """Return text with a line end. The start is unchanged, so what is added also fits another version."""
    return text if text.endswith("\n") else f"{text}\n"


def words_in(text: str, known: Mapping[str, str], usual: str) -> tuple[str, ...]:
    """Return the values of the known words that a text contains, in its order; those of `usual` if there are none."""
    found = dict.fromkeys(word for word in re.findall(r"\w+", text) if word in known)
    return tuple(dict.fromkeys(known[word] for word in found or (usual,)))


def in_java(directory: Root, call: RunnerCall, mark: str) -> Iterator[CanaryFile]:
    """Arguments are goals and tasks, which may have names of directories. Only a selected module is a directory."""
    words = call.arguments
    modules = [following for word, following in pairwise(words) if word in ("-pl", "--projects")]
    seen = set[str]()
    for path, text in test_files(directory, ("*Test.java", "*Tests.java", "Test*.java"), modules):
        package = first_group(re.search(r"^package\s+([\w.]+)\s*;", text, re.MULTILINE))
        annotation = first_group(re.search(r"^import\s+(org\.junit(?:\.jupiter\.api)?)\.", text, re.MULTILINE))
        place = posixpath.dirname(path)
        if annotation and place not in seen:
            seen.add(place)
            yield CanaryFile(
                posixpath.join(place, f"Canary_{mark}Test.java"),
                f"{f'package {package};' if package else ''}\npublic class Canary_{mark}Test {{\n",
                tuple(
                    f"    @{annotation}.Test\n    public void test_$name() {{\n        {statement};\n    }}"
                    for statement in java_assertions(text)
                ),
                "}\n",
            )


def java_assertions(text: str) -> tuple[str, ...]:
    imported = re.findall(r"^import\s+(?:static\s+)?([\w.]+)", text, re.MULTILINE)
    used = [name for name in JUNIT if any(f"{line}.".startswith(f"{name}.") for line in imported)]
    return tuple(f"{name}.{JUNIT[name]}" for name in used) or (f'throw new AssertionError("{MESSAGE}")',)

"""PHPUnit: its report is asked for with arguments, unless its settings already write one."""

import posixpath
import re
from collections.abc import Iterator

from donewhen.judge.runners.call import RunnerCall
from donewhen.judge.runners.failing_test import words_in
from donewhen.judge.runners.runner import CanaryFile, Instrumentation, Runner, RunnerContext, lazy
from donewhen.judge.runners.script_text import text_of
from donewhen.judge.runners.test_files import first_group, test_files
from donewhen.workspace.beneath import Root

ASSERTIONS = {
    "assertSame": "assertSame($left, $right)",
    "assertEquals": "assertEquals($left, $right)",
    "assertNotSame": "assertNotSame($left, $left)",
    "assertNotEquals": "assertNotEquals($left, $left)",
    "assertTrue": "assertTrue(false)",
    "assertFalse": "assertFalse(true)",
    "assertNull": "assertNull($left)",
    "assertNotNull": "assertNotNull(null)",
    "assertCount": "assertCount(2, [$left])",
    "assertContains": "assertContains($left, [$right])",
    "assertEmpty": "assertEmpty([$left])",
    "assertInstanceOf": "assertInstanceOf(\\ArrayObject::class, new \\stdClass())",
    "assertGreaterThan": "assertGreaterThan($right, $left)",
    "assertLessThan": "assertLessThan($left, $right)",
    "assertEqualsWithDelta": "assertEqualsWithDelta($left, $right, 0.5)",
    "assertStringContainsString": "assertStringContainsString('$left', '$right')",
    "expectException": "expectException(\\RuntimeException::class)",
}
"""Word of a file → a call that fails."""


def _junit_report(context: RunnerContext) -> Instrumentation:
    if not context.can_append or "--log-junit" in context.arguments:
        return Instrumentation()
    if "<junit" in text_of(context.directory, "phpunit.xml", "phpunit.dist.xml", "phpunit.xml.dist"):
        return Instrumentation()
    return context.append("--log-junit", f"{context.sidecar}/phpunit.xml")


def _failing_test(directory: Root, call: RunnerCall, mark: str) -> Iterator[CanaryFile]:
    seen = set[str]()
    for path, text in test_files(directory, ("*Test.php",), call.arguments):
        place = posixpath.dirname(path)
        if place in seen:
            continue
        seen.add(place)
        namespace = first_group(re.search(r"^namespace\s+([\w\\]+)\s*;", text, re.MULTILINE))
        yield CanaryFile(
            posixpath.join(place, f"Canary_{mark}Test.php"),
            f"<?php\n{f'namespace {namespace};' if namespace else ''}\n"
            f"final class Canary_{mark}Test extends \\PHPUnit\\Framework\\TestCase\n{{\n",
            tuple(
                f"    public function test_$name(): void\n    {{\n        $this->{call};\n    }}"
                for call in words_in(text, ASSERTIONS, "assertSame")
            ),
            "}\n",
        )


RUNNER = Runner(
    name="phpunit",
    programs=("phpunit",),
    mentioned="phpunit",
    instrument=_junit_report,
    report="phpunit.xml",
    read_report=lazy("junit", "read"),
    read_text=lazy("phpunit", "read_text"),
    make_canary=_failing_test,
    config_files="phpunit.xml* phpunit.dist.xml",
    naming_files="phpunit.xml phpunit.xml.dist",
    packages="phpunit phpunit/phpunit",
)

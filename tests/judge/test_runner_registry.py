"""The records of test runners fit together: one module each, names that stay, nothing claimed twice."""

import pkgutil
from collections import Counter
from importlib import import_module

from donewhen import readers
from donewhen.judge.runners.registry import all_runners, runners
from donewhen.readers.runner_names import RUNNERS, TEXT_ORDER

STORED = [
    "pytest", "unittest", "jest", "vitest", "mocha", "cargo", "go", "rspec", "phpunit", "maven", "gradle", "dotnet",
    "node:test",
]  # fmt: skip
"""Receipts and logs hold these names, joined in this order where one command ran several unknown runners."""


def test_the_names_and_the_order_that_results_hold_never_change() -> None:
    assert [one.name for one in runners(TEXT_ORDER)][: len(STORED)] == STORED


def test_every_module_that_reads_failing_tests_has_a_runner() -> None:
    modules = [module.name for module in pkgutil.iter_modules(readers.__path__)]
    reading = {name for name in modules if hasattr(import_module(f"donewhen.readers.{name}"), "read_failures")}
    assert reading == set(RUNNERS) == set(TEXT_ORDER)
    assert len(RUNNERS) == len(TEXT_ORDER) == len(reading)


def test_every_reader_that_a_record_names_is_there() -> None:
    for one in runners():
        assert one.read_text is not None, one.name
        assert one.read_text(b"nothing") is None, one.name
        assert bool(one.report) is bool(one.read_report), one.name
        assert one.read_report is None or one.read_report(b"nothing") is None, one.name


def test_no_two_records_claim_a_name_a_program_a_subcommand_or_a_report() -> None:
    known = all_runners()
    programs = [program for one in known for program in (*one.programs, *one.aliases)]
    verbs = [(program, verb) for one in known for program, words in one.subcommands.items() for verb in words]
    for claimed in ([one.name for one in known], programs, verbs, [one.report for one in known if one.report]):
        assert [name for name, times in Counter[object](claimed).items() if times > 1] == []

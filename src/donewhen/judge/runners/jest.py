"""jest: its report is asked for with arguments."""

import re

from donewhen.judge.runners.runner import Instrumentation, Runner, RunnerContext, lazy
from donewhen.judge.runners.script_assertions import in_script


def _json_report(context: RunnerContext) -> Instrumentation:
    if not context.can_append or re.search(r"--(json|outputFile|watch)", context.arguments):
        return Instrumentation()
    return context.append("--json", f"--outputFile={context.sidecar}/jest.json")


RUNNER = Runner(
    name="jest",
    programs=("jest",),
    aliases=("jest.js",),
    subcommands={"react-scripts": frozenset({"test"})},
    mentioned="jest",
    instrument=_json_report,
    report="jest.json",
    read_report=lazy("jest", "read_report"),
    read_text=lazy("jest", "read_text"),
    make_canary=in_script,
    config_files="jest.config.* jest.setup.* jest.preset.*",
    naming_files="jest.config.js jest.config.ts jest.config.cjs jest.config.mjs",
    config_options=("-c",),
    finds_tests_by_name=True,
    packages="jest jest-cli ts-jest babel-jest expect pretty-format @jest/core @jest/globals",
    proposed=("jest",),
)

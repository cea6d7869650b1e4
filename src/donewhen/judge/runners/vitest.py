"""vitest: a second reporter is added, unless the settings of the project already choose reporters."""

import re

from donewhen.judge.runners.runner import Instrumentation, Runner, RunnerContext, lazy
from donewhen.judge.runners.script_assertions import in_script
from donewhen.judge.runners.script_text import text_of

SETTINGS = tuple(
    f"{name}.config.{kind}" for name in ("vitest", "vite") for kind in ("ts", "mts", "cts", "js", "mjs", "cjs")
)


def _json_report(context: RunnerContext) -> Instrumentation:
    if not context.can_append:
        return Instrumentation()
    settings = "\n".join(text_of(context.directory, name) for name in SETTINGS)
    given = context.arguments
    if re.search(r"\b(reporters?|outputFile)\b", settings) or re.search(r"--(outputFile|watch|ui)|\bbench\b", given):
        return Instrumentation()
    usual = [] if "--reporter" in given else ["--reporter=default"]
    return context.append(*usual, "--reporter=json", f"--outputFile.json={context.sidecar}/vitest.json")


RUNNER = Runner(
    name="vitest",
    programs=("vitest",),
    aliases=("vitest.mjs",),
    mentioned="vitest",
    instrument=_json_report,
    report="vitest.json",
    read_report=lazy("jest", "read_report"),
    read_text=lazy("vitest", "read_text"),
    make_canary=in_script,
    config_files="vitest.config.* vitest.workspace.* vitest.setup.*",
    files_when_used={"vitest vite": "vite.config.*"},
    naming_files="vitest.config.ts vitest.config.js vite.config.ts vite.config.js",
    config_options=("-c",),
    finds_tests_by_name=True,
    packages="vitest vite @vitest/runner @vitest/expect",
    proposed=("vitest", "run"),
)

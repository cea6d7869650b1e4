"""The test runner of node. It is no program of its own: `calls` recognises `node --test` and files that import it."""

import re

from donewhen.judge.runners.runner import Instrumentation, Runner, RunnerContext, lazy
from donewhen.judge.runners.script_assertions import in_script

USUAL_REPORTER = "data:text/javascript," + "".join(
    sign if sign.isalnum() else f"%{ord(sign):02X}"
    for sign in 'import r from "node:test/reporters";'
    "export default process.stdout.isTTY || parseInt(process.versions.node) > 22 ? r.spec : r.tap"
)
"""The default reporter of node, chosen as node chooses it.

Node drops its default reporter if another is named, and the default depends on its version.
"""


def _junit_report(context: RunnerContext) -> Instrumentation:
    words = [word for call in context.calls for word in call.arguments]
    if not context.calls or any(word.startswith("--test-reporter") for word in words):
        return Instrumentation()
    reporters = {USUAL_REPORTER: "stdout", "junit": f"{context.sidecar}/node.xml"}
    options = [
        f"--test-reporter={reporter} {_quoted(f'--test-reporter-destination={place}')}"
        for reporter, place in reporters.items()
    ]
    return Instrumentation(variables={"NODE_OPTIONS": " ".join(options)})


def _quoted(word: str) -> str:
    """Quote a word as node reads its variable: double quotes, and a backslash before special characters."""
    return '"' + re.sub(r'(["\\])', r"\\\1", word) + '"' if re.search(r'[\s"\\]', word) else word


RUNNER = Runner(
    name="node:test",
    instrument=_junit_report,
    report="node.xml",
    read_report=lazy("junit", "read"),
    read_text=lazy("node", "read_text"),
    make_canary=in_script,
)

"""Changes the command of a check so that its runner writes a report outside of the tree.

If a runner has an environment variable for options, that is set: it also works through make, npm and scripts. Otherwise
arguments are added, but only to a single simple command that passes them on. The normal output of the runner is not
changed, because people and `output_contains` read it. If a report were only possible instead of the normal output, the
printed text is the evidence.
"""

import re
import shlex
from collections.abc import Mapping, Sequence

from donewhen.judge.runners.calls import RunnerCall, calls
from donewhen.judge.runners.script_text import text_of
from donewhen.records import frozen
from donewhen.short_lines import LONGEST_LINE
from donewhen.workspace.beneath import Root

PYTEST_FILES = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
VITEST_FILES = tuple(
    f"{name}.config.{kind}" for name in ("vitest", "vite") for kind in ("ts", "mts", "cts", "js", "mjs", "cjs")
)
USUAL_OF_NODE = "data:text/javascript," + "".join(
    sign if sign.isalnum() else f"%{ord(sign):02X}"
    for sign in 'import r from "node:test/reporters";'
    "export default process.stdout.isTTY || parseInt(process.versions.node) > 22 ? r.spec : r.tap"
)
"""The default reporter of node, chosen as node chooses it.

Node drops its default reporter if another is named, and the default depends on its version.
"""


@frozen
class InstrumentedCommand:
    command: str
    """The command of the check, with arguments added if its runner has no variable for options."""
    variables: Mapping[str, str]
    """Variables for the environment of the check."""
    expected: tuple[str, ...]
    """Runners that the command calls, as far as they can be recognised."""


def ask(command: str, directory: Root, sidecar: str) -> InstrumentedCommand:
    """Return the command to run and its variables.

    `directory` is the directory of the check in a checkout of the base. `sidecar` is an empty directory outside of the
    tree.
    """
    found = calls(command, directory)
    expected = tuple(dict.fromkeys(call.runner for call in found))
    variables = {
        **_for_pytest(command, directory, sidecar),
        **_for_unittest(expected),
        **_for_rspec(found, directory, sidecar),
        **_for_node(found, sidecar),
    }
    if len(found) == 1 and found[0].joint is not None:
        added = _added(found[0], directory, sidecar)
        command = f"{command.rstrip()}{found[0].joint} {shlex.join(added)}" if added else command
    if "go" in expected:
        command, more = _for_go(command, found)
        variables |= more
    return InstrumentedCommand(command, variables, expected)


def _for_pytest(command: str, directory: Root, sidecar: str) -> dict[str, str]:
    """Always set the option, since any command may start pytest; except if the report plugin is switched off."""
    if any("no:junitxml" in text for text in (command, *(text_of(directory, name) for name in PYTEST_FILES))):
        return {}
    return {"PYTEST_ADDOPTS": shlex.quote(f"--junitxml={sidecar}/pytest.xml")}


def _for_unittest(expected: Sequence[str]) -> dict[str, str]:
    """Switch off buffering: output of the product must not appear after the summary, which uses the other stream."""
    return {"PYTHONUNBUFFERED": "1"} if "unittest" in expected or not expected else {}


def _for_rspec(found: Sequence[RunnerCall], directory: Root, sidecar: str) -> dict[str, str]:
    """Repeat the requested formatters, because the variable replaces all of them."""
    arguments = [call.arguments for call in found if call.runner == "rspec"]
    if not arguments and (found or directory.read_inside(".rspec", 1) is None):
        return {}
    settings = text_of(directory, ".rspec-local") + " " + text_of(directory, ".rspec")
    try:
        # shlex takes quadratic time for a long word
        in_file = shlex.split(settings, comments=True) if len(settings) <= LONGEST_LINE else []
    except ValueError:
        in_file = []
    given = _formatters([word for words in arguments for word in words]) or _formatters(in_file)
    words = [*(given or ["--format", "progress"]), "--format", "json", "--out", f"{sidecar}/rspec.json"]
    return {"SPEC_OPTS": shlex.join(words)}


def _formatters(words: Sequence[str]) -> list[str]:
    found = list[str]()
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if word in ("-f", "--format", "-o", "--out"):
            found += [word, following]
        elif re.match(r"--(?:format|out)=|-f[a-zA-Z]", word):
            found.append(word)
    return found


def _for_node(found: Sequence[RunnerCall], sidecar: str) -> dict[str, str]:
    arguments = [call.arguments for call in found if call.runner == "node:test"]
    if not arguments or any(word.startswith("--test-reporter") for words in arguments for word in words):
        return {}
    reporters = {USUAL_OF_NODE: "stdout", "junit": f"{sidecar}/node.xml"}
    words = [
        f"--test-reporter={reporter} {_quoted(f'--test-reporter-destination={place}')}"
        for reporter, place in reporters.items()
    ]
    return {"NODE_OPTIONS": " ".join(words)}


def _quoted(word: str) -> str:
    """Quote a word as node reads its variable: double quotes, and a backslash before special characters."""
    return '"' + re.sub(r'(["\\])', r"\\\1", word) + '"' if re.search(r'[\s"\\]', word) else word


def _for_go(command: str, found: Sequence[RunnerCall]) -> tuple[str, dict[str, str]]:
    """Add `-v`, without which go does not print test names.

    As a variable it would also make `go build` print more, so an argument is preferred.
    """
    arguments = [call.arguments for call in found if call.runner == "go"]
    if all({"-v", "-v=true", "-test.v", "-json"} & set(words) for words in arguments):
        return command, {}
    if len(found) == 1 and found[0].joint is not None:
        verbose, times = re.subn(r"\bgo(\s+-C\s*\S+)?\s+test\b", r"\g<0> -v", command)
        if times == 1:
            return verbose, {}
    return command, {"GOFLAGS": "-v"}


def _added(call: RunnerCall, directory: Root, sidecar: str) -> list[str]:
    """Return arguments that make a runner without a variable write a report, unless the user set conflicting ones."""
    given = " ".join(call.arguments)
    if call.runner == "jest" and not re.search(r"--(json|outputFile|watch)", given):
        return ["--json", f"--outputFile={sidecar}/jest.json"]
    if call.runner == "vitest":
        return _added_for_vitest(given, directory, sidecar)
    if call.runner == "phpunit" and "--log-junit" not in given:
        settings = text_of(directory, "phpunit.xml", "phpunit.dist.xml", "phpunit.xml.dist")
        return [] if "<junit" in settings else ["--log-junit", f"{sidecar}/phpunit.xml"]
    if call.runner == "dotnet" and not re.search(r"--(results-directory|report-trx)|-r\b", given):
        return ["--logger", "trx;LogFilePrefix=dotnet", "--results-directory", sidecar]
    return []


def _added_for_vitest(given: str, directory: Root, sidecar: str) -> list[str]:
    settings = "\n".join(text_of(directory, name) for name in VITEST_FILES)
    if re.search(r"\b(reporters?|outputFile)\b", settings) or re.search(r"--(outputFile|watch|ui)|\bbench\b", given):
        return []
    usual = [] if "--reporter" in given else ["--reporter=default"]
    return [*usual, "--reporter=json", f"--outputFile.json={sidecar}/vitest.json"]

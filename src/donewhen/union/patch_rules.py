"""What a patch must not contain, even if its checks are green: escapes from the tree, control files, secrets.

The rules look at names and texts; no command runs. Control files that the contract declares editable are allowed;
secrets never are.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from donewhen.union.reasons import Reason
from donewhen.workspace.git.objects import GITLINK, LINK, Change, raw, shown
from donewhen.workspace.trees.capture import refusals

CONTROL_NAMES = frozenset({
    "donewhen.toml", ".gitlab-ci.yml", ".travis.yml", "azure-pipelines.yml", "jenkinsfile", "codeowners",
    "agents.md", "claude.md", "gemini.md", ".cursorrules", ".windsurfrules", ".clinerules",
})  # fmt: skip
CONTROL_PLACES = (".github/workflows/", ".github/actions/", ".circleci/", ".buildkite/", ".ci/")
MOST_SECRETS = 3

SECRETS: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    ("a private key", re.compile(rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")),
    ("an access key of AWS", re.compile(rb"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    ("a token of GitHub", re.compile(rb"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{60,})")),
    ("a token of GitLab", re.compile(rb"\bglpat-[A-Za-z0-9_-]{20,}")),
    ("a token of Slack", re.compile(rb"\bxox[abeprs]-[A-Za-z0-9-]{10,}")),
    ("a key of Google", re.compile(rb"\bAIza[0-9A-Za-z_-]{35}\b")),
    ("a key of Anthropic", re.compile(rb"\bsk-ant-[A-Za-z0-9_-]{24,}")),
    ("a key of OpenAI", re.compile(rb"\bsk-(?:proj-)?[A-Za-z0-9_-]{40,}")),
    ("a key of Stripe", re.compile(rb"\b[rs]k_live_[0-9A-Za-z]{20,}")),
    ("a token of npm", re.compile(rb"\bnpm_[A-Za-z0-9]{36}\b")),
    ("a token of PyPI", re.compile(rb"\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{40,}")),
)


def violations(changes: Sequence[Change], allowed: Callable[[str], bool]) -> Iterator[Reason]:
    """Yield the rule violations that follow from the names and kinds of the changed paths."""
    for change in changes:
        path, new = raw(change.path), change.new
        if why := refusals.wrong_name(path) if change.old is None else "":
            yield Reason("name", why, change.path)
        if new is not None and new.mode == GITLINK and new != change.old:
            yield Reason("submodule", "points to another repository", change.path)
        if not allowed(change.path) and (why := _control_file(change.path)):
            yield Reason("control_file", why, change.path)


def bad_links(before: Mapping[bytes, bytes], after: Mapping[bytes, bytes]) -> Iterator[Reason]:
    """Yield the links that lead out of the tree."""
    for path, why in refusals.wrong_links(before, after):
        yield Reason("link", why, shown(path))


def is_link(change: Change) -> bool:
    return any(side is not None and side.mode == LINK for side in (change.old, change.new))


def secrets(path: str, before: bytes | None, after: bytes | None) -> list[Reason]:
    """Return new texts that look like secrets. The reasons do not contain the secret."""
    found: list[Reason] = []
    for name, pattern in SECRETS:
        known = set(pattern.findall(before or b""))
        new = [match for match in pattern.finditer(after or b"") if match[0] not in known]
        if new:
            line = (after or b"").count(b"\n", 0, new[0].start()) + 1
            found.append(Reason("secret", f"line {line} looks like {name}", path))
    return found[:MOST_SECRETS]


def _control_file(path: str) -> str:
    folded = path.casefold()
    if refusals.is_flagged(raw(path)):
        return "configures tools that run commands"
    if folded.rpartition("/")[2] in CONTROL_NAMES or folded.startswith(CONTROL_PLACES):
        return "decides how work is run or judged"
    return ""

"""What a patch may not bring, whatever its checks say: ways out of the tree, switches of other tools, secrets.

By name and by text; nothing is run. What a contract declares editable is allowed to be there, but a secret never is.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from donewhen.union.reasons import Reason
from donewhen.workspace.capture import refusals
from donewhen.workspace.objects import GITLINK, LINK, Change, raw, shown

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


def offences(changes: Sequence[Change], allowed: Callable[[str], bool]) -> Iterator[Reason]:
    """What is wrong with a patch by the names and kinds of what it changes."""
    for change in changes:
        path, new = raw(change.path), change.new
        if why := refusals.wrong_name(path) if change.old is None else "":
            yield Reason("name", why, change.path)
        if new is not None and new.mode == GITLINK and new != change.old:
            yield Reason("submodule", "points to another repository", change.path)
        if not allowed(change.path) and (why := _switch(change.path)):
            yield Reason("control_file", why, change.path)


def bad_links(before: Mapping[bytes, bytes], after: Mapping[bytes, bytes]) -> Iterator[Reason]:
    """Links that lead out of the tree."""
    for path, why in refusals.wrong_links(before, after):
        yield Reason("link", why, shown(path))


def is_link(change: Change) -> bool:
    return any(side is not None and side.mode == LINK for side in (change.old, change.new))


def secrets(path: str, before: bytes | None, after: bytes | None) -> list[Reason]:
    """What looks like a secret now and did not before. The secret itself is not repeated."""
    found: list[Reason] = []
    for name, pattern in SECRETS:
        known = set(pattern.findall(before or b""))
        new = [match for match in pattern.finditer(after or b"") if match[0] not in known]
        if new:
            line = (after or b"").count(b"\n", 0, new[0].start()) + 1
            found.append(Reason("secret", f"line {line} looks like {name}", path))
    return found[:MOST_SECRETS]


def _switch(path: str) -> str:
    folded = path.casefold()
    if refusals.is_flagged(raw(path)):
        return "configures tools that run things"
    if folded.rpartition("/")[2] in CONTROL_NAMES or folded.startswith(CONTROL_PLACES):
        return "decides how work is run or judged"
    return ""

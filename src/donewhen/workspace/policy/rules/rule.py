"""A rule as data: its id, its decision and reason, when it matches, and examples that prove it.

The examples are more than documentation: the tests decide every one of them, and fail for a rule that contradicts its
own examples.
"""

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase

from donewhen.records import frozen
from donewhen.workspace.policy.ruling import Decision
from donewhen.workspace.policy.step import Step, Word

Matcher = Callable[[Step], bool]


@frozen
class Rule:
    id: str
    decision: Decision
    reason: str
    matches: Matcher
    hits: tuple[str, ...]
    """Commands that it matches."""
    misses: tuple[str, ...]
    """Similar commands that it does not match."""
    names: frozenset[str] = frozenset()
    """The names of the commands it applies to; empty: all."""


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def always(_: Step) -> bool:
    return True


def operands(step: Step, values: frozenset[str] = frozenset()) -> list[Word]:
    """Return the words that are not options. `values` are the options that take the next word."""
    found: list[Word] = []
    skip = only = False
    for word in step.args:
        if skip:
            skip = False
        elif only or not word.text.startswith("-") or word.text == "-":
            found.append(word)
        elif word.text == "--":
            only = True
        else:
            skip = word.text in values or (word.text[1] != "-" and f"-{word.text[-1]}" in values)
    return found


def has_flag(step: Step, letters: str = "", *names: str) -> bool:
    """Return whether one of these short options (also in a cluster like `-rf`) or long names is present."""
    for text in step.texts:
        if text == "--":
            return False
        if text.startswith("--") and text.partition("=")[0] in names:
            return True
        if text in names or (text[:1] == "-" and text[:2] != "--" and any(letter in text for letter in letters)):
            return True
    return False


Phrases = Mapping[str, str]
"""Maps a command to the phrases that may follow it, separated by commas: `"publish, dist-tag add"`."""

_VALUES: dict[str, frozenset[str]] = {
    "aws": words("--profile --region --output --endpoint-url"),
    "cargo": words("--manifest-path --config --color -Z -C --target-dir"),
    "docker": words("-H --host -c --context --config -l --log-level"),
    "gh": words("-R --repo --hostname"),
    "glab": words("-R --repo -g --group"),
    "helm": words("-n --namespace --kube-context --kubeconfig"),
    "kubectl": words("-n --namespace --context --kubeconfig --cluster --user"),
    "npm": words("--prefix -C -w --workspace --registry --tag --userconfig"),
    "pnpm": words("-C --dir --filter -F -w"),
    "podman": words("-H --host -c --connection --log-level --root"),
    "poetry": words("-C --directory -P --project"),
    "terraform": words("-chdir"),
    "uv": words("--directory --project --config-file --cache-dir"),
    "yarn": words("--cwd"),
}


def phrase(table: Phrases) -> Matcher:
    """Return a matcher: true if the operands of a command start with one of its phrases.

    A phrase may use `*` within a word.
    """
    split = {name: [part.split() for part in parts.split(",")] for name, parts in table.items()}

    def matches(step: Step) -> bool:
        args = [word.text for word in operands(step, _VALUES.get(step.name, frozenset()))]
        return any(starts_with(args, wanted) for wanted in split[step.name])

    return matches


def starts_with(args: list[str], wanted: list[str]) -> bool:
    return len(args) >= len(wanted) and all(map(_matches, args, wanted))


def _matches(text: str, wanted: str) -> bool:
    return text == wanted or ("*" in wanted and fnmatchcase(text, wanted))

"""The command line of git: its global options, the settings among them, and the commands that git runs."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from donewhen.workspace.policy.gitconfig import runs_program
from donewhen.workspace.policy.naming import inner_step
from donewhen.workspace.policy.paths import resolved
from donewhen.workspace.policy.prefixes import prefix, starts
from donewhen.workspace.policy.step import Inner, Nested, Step, WorkingDir

_GLOBAL = prefix(
    "-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source",
    "-p -P --paginate --no-pager --bare --no-replace-objects --literal-pathspecs --no-optional-locks --exec-path "
    "--glob-pathspecs --noglob-pathspecs --icase-pathspecs --html-path --man-path --info-path --version --help -v -h",
)


def settings(step: Step) -> list[tuple[str, str]]:
    """Return the `-c key=value` pairs among git's global options."""
    end = next(iter(starts(step.args, _GLOBAL)), len(step.args))
    pairs = zip(step.texts[:end], step.texts[1:end], strict=False)
    split = [value.partition("=") for option, value in pairs if option in ("-c", "--config-env")]
    return [(key, value) for key, _, value in split]


def git(step: Step) -> Iterator[Inner]:
    """Yield git without its global options, and the programs that settings and subcommands name."""
    for start in starts(step.args, _GLOBAL)[:1]:
        if not start:
            yield from _scripts(step)
            return
        found = inner_step(step, (step.words[0], *step.args[start:]), _directory(step, start))
        if found:
            yield found
    for key, value in settings(step):
        if runs_program(key) and value:
            alias = key.lower().startswith("alias.") and not value.startswith("!")
            yield Nested(f"git {value}" if alias else value.removeprefix("!"), step.working_dir)


def _directory(step: Step, end: int) -> WorkingDir:
    """Return where git works: `-C`, `--git-dir` and `--work-tree` change it."""
    cwd = step.working_dir.cwd
    for option, value in zip(step.texts[:end], [*step.texts[1:end], ""], strict=True):
        name, equals, glued = option.partition("=")
        if name in ("-C", "--git-dir", "--work-tree"):
            cwd = resolved(glued if equals else value, cwd)
    return WorkingDir(step.working_dir.root, cwd)


def _scripts(step: Step) -> Iterator[Inner]:
    """Yield the commands that subcommands run on each commit or in each submodule."""
    texts = step.texts
    if texts[:2] in (["bisect", "run"], ["submodule", "foreach"]):
        rest = tuple(word for word in step.args[2:] if word.text not in ("--recursive", "--quiet", "-q"))
        found = inner_step(step, rest)
        if found:
            yield Nested(rest[0].text, step.working_dir) if len(rest) == 1 else replace(found, stdin=None)
    for option, value in pairwise(texts):
        if texts[0] in ("rebase", "difftool") and option in ("-x", "--exec", "--extcmd"):
            yield Nested(value, step.working_dir)

"""Whether a program of the user that a loop runs alone may run what its maker has just written.

`guarded_paths` knows the scripts that a command names. What these load, import or find is not known. So the rule is
about the command as a whole: if it uses anything of the repository, work on more than texts, tables and pictures waits
for a person. A program outside of the repository, by its whole path or by its name alone, is free.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from donewhen.judge.protect.commands.scripts_run import RUN_FILES
from donewhen.judge.protect.names.sources import suffix
from donewhen.judge.protect.names.word_set import listed
from donewhen.loops.guarded_paths import LISTED, PACKAGE_MANAGERS, inside, is_shown, touches
from donewhen.loops.spec import LoopGateKind, LoopSpec
from donewhen.printable import shortened

TEXTS = listed(".md .markdown .rst .adoc .txt .csv .tsv .jsonl .ndjson .png .jpg .jpeg .gif .webp .ico .svg .pdf")
"""Suffixes of files that no tool takes for code or for its settings."""
BUILD_FILE = re.compile(r"(?:^|/)(?:CMakeLists\.txt$|(?:requirements|constraints)[^/]*(?:\.txt$|/))", re.IGNORECASE)
"""Texts that a build reads."""
LOOKS_FILES_UP = frozenset({*RUN_FILES.values(), *PACKAGE_MANAGERS}) | listed("""
    gmake ninja cmake ctest meson scons bazel bazelisk pytest pip pip3 pipx uv uvx poetry pdm hatch pipenv twine cargo
    go gradle gradlew mvn mvnw ant sbt dotnet bundle gem rails rspec mix rebar3 stack cabal swift fastlane docker podman
    docker-compose terraform tofu pulumi ansible ansible-playbook helm kubectl kustomize skaffold serverless netlify
    vercel wrangler firebase gulp grunt webpack vite rollup jest vitest mocha tsx ts-node esbuild nx lerna hugo jekyll
    mkdocs sphinx-build direnv mise find fd xargs parallel run-parts
""")
"""Programs that find files in the current directory by themselves."""
INTERPRETER = re.compile(r"(?:python|pypy|node|ruby|perl|php|deno|lua|tclsh|Rscript)[\d.]*")
"""Without a script by its whole path, it finds modules in the current directory."""
WORD = re.compile(r"[^\s\"'`;|&<>(){}=:,@]+")
SOURCED = re.compile(r"((?:^|[;&|({])\s*)\.\s+(?=/)")
"""A script that the shell reads by its whole path."""
ARGUMENT = re.compile(r"\$(?:[0-9@*#?$]|\{[0-9@*]\})")
"""The session and the loop, which are data."""
VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")
PATH = re.compile(r"/[\w./-]*")
OF_THE_DIRECTORY = ("PWD", "OLDPWD")
WILD = re.compile(r"[*?]|\[[^\]]")


def runs_changed_code(
    spec: LoopSpec, top: Path, changed: Sequence[str], special: Sequence[str], environment: Mapping[str, str]
) -> str:
    """Return why a person must look at the changed paths before the command of the action or the gate runs.

    `special` are those that are executable, links or submodules. Empty if nothing of them can be run.
    """
    code = next((path for path in changed if path in special or not _is_text(path)), "")
    gate = spec.gate.argument if spec.gate.kind is LoopGateKind.COMMAND else ""
    for whose, command in (("action", spec.action.command), ("gate", gate)) if code else ():
        if word := next(_used(command, top, changed, environment), ""):
            used = f"its command uses the repository ({shortened(word)})"
            return f"it changes {shortened(code)}, which the {whose} may run: {used}"
    return ""


def _is_text(path: str) -> bool:
    return suffix(path) in TEXTS and not BUILD_FILE.search(path)


def _used(command: str, top: Path, changed: Sequence[str], environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the words of a command that name something in the repository, or that may do so."""
    for part in LISTED.split(_with_paths(SOURCED.sub(r"\1", command), top, changed, environment)):
        if is_shown(part):
            continue
        yield from re.findall(r"[$`]", part)
        words = [word for word in WORD.findall(part) if not word.startswith("//")]  # the rest of an address
        for word, following in zip(words, [*words, ""][1:], strict=True):
            name = word.rpartition("/")[2]
            has_script = os.path.isabs(following) and not any(inside(following, top))
            is_lookup = name in LOOKS_FILES_UP or (INTERPRETER.fullmatch(name) is not None and not has_script)
            if is_lookup or WILD.search(word) or _is_there(word, top, changed):
                yield word


def _is_there(word: str, top: Path, changed: Sequence[str]) -> bool:
    for name in dict.fromkeys((word, word.lstrip("-"), word[2:] if word.startswith("-") else word)):
        if not os.path.isabs(name) and top.is_relative_to(os.path.normpath(top / name)) and name:
            return True
        for path in inside(name, top):
            if os.path.lexists(top / path) or any(touches(one, path) for one in changed):
                return True
    return False


def _with_paths(command: str, top: Path, changed: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return a command with the paths in variables of the user. `$` stays for one that may name something here.

    Other values are left out: they may be secrets.
    """

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        is_set = re.search(rf"(?<![\w${{]){name}\b", command) is not None or name in OF_THE_DIRECTORY
        text = environment.get(name, "$")
        if is_set or "$" in text or any(_used(text, top, changed, {})):
            return "$"
        return text if PATH.fullmatch(text) else ""

    return VARIABLE.sub(value, ARGUMENT.sub("", command))

"""Finds what the text of a shell command names: programs, scripts, settings files, and all of its words. Pure text.

The text is read loosely: variables and loops are not followed. The purpose is to find the files that a check depends
on, so it is better to name too many words than too few.
"""

import re
import shlex
from collections.abc import Iterator

from donewhen.judge.protect.names.word_set import listed
from donewhen.judge.runners.registry import all_runners
from donewhen.records import frozen
from donewhen.short_lines import LONGEST_LINE

SEPARATORS = re.compile(r"&&|\|\||[;|&\n()`]|\$\(")
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=.*", re.DOTALL)
SCRIPT_DIRECTORY = re.compile(r'"\$\{?\w+\}?"/|\$\{?\w+\}?/|\$\([^()]*\)/')
"""A variable or a substitution before a path usually means the directory of the script."""
WORD = re.compile(r"[^\s\"'`;&|()<>=,{}\[\]$]+")

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", ".", "source"})
INTERPRETERS = listed("node nodejs deno bun tsx ts-node ruby perl php rscript lua julia osascript pypy pypy3 coffee")
PYTHON = re.compile(r"python[\d.]*|pypy[\d.]*")
WRAPPERS = {
    "env": 0, "time": 0, "exec": 0, "command": 0, "nice": 0, "nohup": 0, "sudo": 0, "xvfb-run": 0, "stdbuf": 0,
    "timeout": 1, "!": 0, "if": 0, "then": 0, "else": 0, "elif": 0, "do": 0, "while": 0, "until": 0, "{": 0,
    "npx": 0, "bunx": 0, "cross-env": 0, "dotenv": 0, "builtin": 0, "xargs": 0, "setsid": 0, "-include": 0, "@": 0,
}  # fmt: skip
"""Words before the real command, with the number of their own arguments."""
RUNS_WHAT_FOLLOWS = frozenset({"run", "exec", "dlx", "x"})
RUNNING = listed("uv poetry pdm pipenv hatch rye pixi conda mamba pnpm yarn npm bundle composer mise asdf")
TAKES_VALUE = listed("--with --extra --group --python --package --directory --env-file --filter --prefix --cwd -C")
"""Options of the tools above; the next word is their value and not a command."""
CONFIGURING = re.compile(
    r"--(?:config|conf|rcfile|makefile|justfile|require|import|setup|global-?setup|plugin|loader|env-file)[\w-]*",
    re.IGNORECASE,
)
"""Options whose value is a file that configures a tool. Short options have that meaning for some tools only."""
OPTIONS = {
    "-c": "eslint flake8 coverage tox stylelint biome nyc",
    "-f": "make gmake just ninja task docker docker-compose",
    "-p": "tsc",
    "-r": "node ruby ts-node tsx",
}
CONFIGURING_FOR = {
    option: listed(OPTIONS.get(option, "")).union(
        *(runner.programs for runner in all_runners() if option in runner.config_options)
    )
    for option in {*OPTIONS, *(option for runner in all_runners() for option in runner.config_options)}
}


@frozen
class NamedFile:
    """A file that a command names, as written in the command."""

    word: str
    how: str
    """How the file is used.

    `shell`: run by a shell. `program`: run directly. `script`: run by an interpreter. `module`: run by its dotted name.
    `settings`: read as configuration. `plugin`: loaded as configuration by its dotted name.
    """
    arguments: tuple[str, ...] = ()


def all_words(text: str) -> frozenset[str]:
    """Return every word, and also the last part of each word that is a path."""
    words = WORD.findall(text)
    return frozenset(words) | frozenset(word.rpartition("/")[2] for word in words if "/" in word)


def named_files(text: str) -> Iterator[NamedFile]:
    """Yield the files that a command, or each line of a script, names to run or to read as settings."""
    for simple in SEPARATORS.split(SCRIPT_DIRECTORY.sub("./", text.replace("\\\n", " "))):
        words = _unwrapped(_split(simple))
        if words:
            yield from _files_of_command(words)


def _split(simple: str) -> list[str]:
    if len(simple) > LONGEST_LINE:  # shlex takes quadratic time for a long word
        return WORD.findall(simple)
    lexer = shlex.shlex(simple.strip().lstrip("@-+"), posix=True, punctuation_chars=False)
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:  # quotes that close in another part of the command
        return WORD.findall(simple)


def _unwrapped(words: list[str]) -> list[str]:
    """Return the words without leading assignments and wrappers."""
    at = 0
    while at < len(words):
        first = words[at].rpartition("/")[2] if words[at].startswith(("/usr/", "/bin/")) else words[at]
        if ASSIGNMENT.fullmatch(words[at]):
            at += 1
        elif first in WRAPPERS:
            at += 1
            while at < len(words) and words[at].startswith("-"):
                at += 1
            at += WRAPPERS[first]
        elif first in RUNNING and len(words) > at + 2 and words[at + 1] in RUNS_WHAT_FOLLOWS:
            at += 2
            while at < len(words) and words[at].startswith("-"):
                at += 2 if words[at] in TAKES_VALUE else 1
        else:
            return [first, *words[at + 1 :]]
    return []


def _files_of_command(words: list[str]) -> Iterator[NamedFile]:
    program, *rest = words
    yield NamedFile(program, "program", tuple(rest))
    yield from _settings_files(words)
    base = program.rpartition("/")[2].lower()
    if base in SHELLS:
        yield from _files_of_shell(rest)
    elif PYTHON.fullmatch(base) and "-m" in rest[:-1]:
        at = rest.index("-m")
        yield NamedFile(rest[at + 1], "module", tuple(rest[at + 2 :]))
        if rest[at + 1] == "coverage":
            yield from _files_of_command(rest[at + 1 :])
    elif base == "coverage" and "-m" in rest[:-1]:
        at = rest.index("-m")
        yield NamedFile(rest[at + 1], "module", tuple(rest[at + 2 :]))
    elif PYTHON.fullmatch(base) or base in INTERPRETERS:
        plain = [number for number, word in enumerate(rest) if not word.startswith("-")]
        yield from (NamedFile(rest[at], "script", tuple(rest[at + 1 :])) for at in plain[:2])
    elif base == "include":
        yield from (NamedFile(word, "settings") for word in rest)


def _files_of_shell(rest: list[str]) -> Iterator[NamedFile]:
    if "-c" in rest[:-1]:
        yield from named_files(" ".join(rest[rest.index("-c") + 1 :]))  # the split above may have separated quotes
        return
    files = [word for word in rest if not word.startswith("-")]
    yield from (NamedFile(word, "shell") for word in files[:1])


def _settings_files(words: list[str]) -> Iterator[NamedFile]:
    """Yield the values of options that configure a tool."""
    given_words = frozenset(words)
    for option, following in zip(words, [*words[1:], ""], strict=True):
        name, given, value = option.partition("=")
        if CONFIGURING.fullmatch(name) or not CONFIGURING_FOR.get(name, frozenset()).isdisjoint(given_words):
            word = value if given else following
            yield NamedFile(word, "settings")
            if name in ("-p", "--plugin", "--plugins"):
                yield NamedFile(word, "plugin")

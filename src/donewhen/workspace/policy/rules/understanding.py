"""Rules for what the policy could not understand, and for what can hide a command from it. Never silently allowed."""

import re
from itertools import pairwise

from donewhen.workspace.policy.rules.rule import Rule, has_flag, words
from donewhen.workspace.policy.ruling import Decision
from donewhen.workspace.policy.step import DOUBT, Step


def _doubt(kind: str, reason: str, hits: tuple[str, ...], misses: tuple[str, ...]) -> Rule:
    return Rule(kind, Decision.ASK, reason, lambda step: step.doubt == kind, hits, misses, frozenset({DOUBT}))


_PRELOADS = re.compile(
    r"LD_PRELOAD|LD_AUDIT|DYLD_INSERT_LIBRARIES|BASH_ENV|GIT_CONFIG(?!_NOSYSTEM)(_.*)?|GIT_EXEC_PATH|GIT_TEMPLATE_DIR|PYTHONSTARTUP"
    r"|PERL5OPT|RUBYOPT|PERL5DB|BASH_FUNC_.*"
)
_NODE_LOADS = re.compile(r".*(--require|--import|--loader|-r )")


def _preloads(step: Step) -> bool:
    """Match a variable that loads code into later programs.

    An empty value or /dev/null is allowed: an empty git config is a common precaution.
    """
    return any(
        (_PRELOADS.fullmatch(name) and value.text not in ("", "/dev/null"))
        or (name == "NODE_OPTIONS" and _NODE_LOADS.match(value.text))
        for name, value in step.assigned
    )


_AWK_CALLS = re.compile(r"system\s*\(|(?<!\|)\|&?\s*(\"|getline)|\"\s*\|(?!\|)")
_SED_CALLS = re.compile(r"(^|[;{\d$])\s*e(\s|$)")
_SED_REPLACES = re.compile(r"\d*s(.)(.*)\n?")
_SED_RUNS_RESULT = re.compile(r"[gpiIM\d]*e[gpiIM\d]*")
_COMPRESSOR = re.compile(r"(gzip|pigz|bzip2|pbzip2|lbzip2|xz|pixz|zstd|zstdmt|lz4|lzma|lzop|lzip|brotli)( -\S+)*")
_EDITOR_CALLS = re.compile(r"\+?:?\s*+(!|.*system\()")


def _sed_runs(script: str) -> bool:
    if _SED_CALLS.search(script):
        return True
    replaces = _SED_REPLACES.fullmatch(script)
    if replaces is None:
        return False
    _, *rest = replaces[2].split(replaces[1])
    flags = (rest[-1], replaces[1].join(rest[1:])) if len(rest) > 1 else ()
    return any(_SED_RUNS_RESULT.fullmatch(one) for one in flags)


def _runs_option(step: Step) -> bool:
    """Match options and small languages of ordinary tools that run a command."""
    match step.name:
        case "awk" | "gawk" | "mawk" | "nawk":
            return any(_AWK_CALLS.search(text) for text in step.texts)
        case "sed":
            return any(_sed_runs(text) for text in step.texts if not text.startswith("-"))
        case "tar":
            return _tar_runs(step)
        case "rg":
            return has_flag(step, "", "--pre", "--hostname-bin")
        case "sort":
            return has_flag(step, "", "--compress-program")
        case "zip":
            return has_flag(step, "", "-TT", "--unzip-command")
        case "rsync":
            return has_flag(step, "e", "--rsh", "--rsync-path")
        case "hash":
            return has_flag(step, "p")
        case "enable":
            return has_flag(step, "f")
        case "man":
            return has_flag(step, "PH", "--pager", "--html")
        case _:
            return any(_EDITOR_CALLS.match(text) for text in step.texts)


def _tar_runs(step: Step) -> bool:
    programs = [value for option, value in pairwise(step.texts) if option in ("-I", "--use-compress-program")]
    programs += [text.partition("=")[2] for text in step.texts if text.startswith("--use-compress-program=")]
    runs = has_flag(step, "", "--checkpoint-action", "--to-command", "--rsh-command")
    return runs or not all(_COMPRESSOR.fullmatch(program) for program in programs)


RULES = (
    _doubt("unparsed", "could not be parsed", ("echo 'unfinished", "{rm,-rf,/}", "a ; ; b"), ("echo ok", "ls | wc -l")),
    _doubt(
        "odd-characters",
        "has characters that shells and people read differently",
        ("ls\r", "echo \x1b[2J"),
        ("echo é", "ls\n"),
    ),
    _doubt("too-long", "is too long to examine", ("x" * 20_000, "a" + "|b" * 2000), ("x" * 2000,)),
    _doubt(
        "too-deep",
        "is nested too deeply to examine",
        ("$(" * 60 + "a" + ")" * 60, "env " * 60 + "ls"),
        ("((a))", "env env ls"),
    ),
    _doubt(
        "unknown-command",
        "runs a command whose name is not known beforehand",
        ("$x -rf y", "/???/r? x", "`pick` a"),
        ("x=ls; $x", "$(which ls) a", "echo $x"),
    ),
    _doubt(
        "unknown-script",
        "runs a script that is not known beforehand",
        ('eval "$x"', 'sh -c "$x"', "generate | sh", 'bash -c "make $x"', "xargs -I{} sh -c 'rm {}'"),
        ("sh -c 'echo $x'", "sh build.sh", "echo ls | sh", "sh < build.sh", 'bash -c "make -j$(nproc)"'),
    ),
    _doubt("calls-itself", "defines a function that calls itself", (":(){ :|:& };:", "f() { f; }"), ("f() { g; }; f",)),
    Rule(
        "preload",
        Decision.ASK,
        "sets a variable that loads code into other programs",
        _preloads,
        (
            "LD_PRELOAD=./x.so ls",
            "export BASH_ENV=x",
            "env GIT_CONFIG_COUNT=1 git status",
            "NODE_OPTIONS='--require ./x' npm test",
        ),
        ("FOO=1 make", "NODE_OPTIONS=--max-old-space-size=4096 npm test", "GIT_CONFIG_GLOBAL=/dev/null git status"),
    ),
    Rule(
        "runs-option",
        Decision.ASK,
        "makes an ordinary tool run a command",
        _runs_option,
        (
            "awk 'BEGIN { system(\"ls\") }'",
            "tar cf a.tar --checkpoint-action=exec=sh b",
            "rg --pre ./x y",
            "vim -c ':!ls'",
            "hash -p ./x git",
            "sed '1e ls' a",
        ),
        (
            "awk '{ print $1 }' a",
            "tar czf a.tgz b",
            "tar -I zstd -xf a.tar.zst",
            'awk \'$1 == "a" || $2 == "b"\' c',
            "sed -n 1p src/pipe",
            "rg -n x",
            "vim -c ':wq' a",
            "sed -n '1,5p' a",
            "sed 's/a/e/' b",
            "sort -u a",
        ),
        words("awk gawk mawk nawk hash enable tar rg sort zip rsync man sed vim vi ex nvim view emacs ed"),
    ),
)

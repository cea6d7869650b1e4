"""Finds the files that a step writes, deletes or changes the mode of, from knowledge about common commands.

Only the words are examined. A program that is not listed here may write anything; the sandbox handles that.
"""

import re
from collections.abc import Callable
from dataclasses import replace

from donewhen.workspace.policy.rules.rule import has_flag, operands, words
from donewhen.workspace.policy.step import Step, Word

Targets = list[Word]
Finder = Callable[[Step], Targets]


def _all(values: str = "") -> Finder:
    options = words(values)
    return lambda step: operands(step, options)


def _last(values: str = "") -> Finder:
    """Find the destination of a copy: the last operand, or the value of `-t`."""
    options = words(values) | {"-t", "--target-directory"}

    def find(step: Step) -> Targets:
        named = _option(step, "-t", "--target-directory")
        return named or operands(step, options)[-1:] if len(operands(step, options)) > 1 or named else []

    return find


def _option(step: Step, *names: str) -> Targets:
    """Return the values of these options, attached or as the next word."""
    found: Targets = []
    for index, word in enumerate(step.args):
        for name in names:
            if word.text == name:
                found += step.args[index + 1 : index + 2]
            elif word.text.startswith(f"{name}=" if name.startswith("--") else name) and len(word.text) > len(name):
                found.append(replace(word, text=word.text[len(name) :].removeprefix("=")))
    return found


def _options(*names: str) -> Finder:
    return lambda step: _option(step, *names)


def _without_first(values: str = "") -> Finder:
    """Find all operands except the first, which is a mode or owner; all of them if a reference file gives it."""
    options = words(values)
    return lambda step: operands(step, options)[0 if has_flag(step, "", "--reference") else 1 :]


def _chmod(step: Step) -> Targets:
    """Find the files of `chmod`. A mode that removes rights looks like an option: `chmod -w file`."""
    minus = any(re.fullmatch(r"-[ugoa]*[rwxXst]+", text) for text in step.texts)
    return operands(step)[0 if minus or has_flag(step, "", "--reference") else 1 :]


def _in_place(step: Step) -> Targets:
    """Find the files of `sed -i`, `perl -i`. The first operand is the script unless an option gives it."""
    if not has_flag(step, "", "--in-place") and not any(re.match(r"-[a-zA-Z]*i", text) for text in step.texts):
        return []
    scripted = any(re.match(r"-[a-zA-Z0]*[ef]$|--expression|--file", text) for text in step.texts)
    return operands(step, words("-e -f --expression --file -E"))[0 if scripted else 1 :]


def _dd(step: Step) -> Targets:
    return [replace(word, text=word.text[3:]) for word in step.args if word.text.startswith("of=")]


def _tar(step: Step) -> Targets:
    """Find the directory where an archive is unpacked, or the archive that is written."""
    first = step.texts[0] if step.texts else ""
    letters = "".join(text for text in step.texts if re.fullmatch(r"-[A-Za-z]+", text)) + (
        first if "-" not in first else ""
    )
    if "x" in letters or has_flag(step, "", "--extract", "--get"):
        return _option(step, "-C", "--directory", "--one-top-level")
    if "c" in letters or has_flag(step, "", "--create"):
        following = [word for at, word in enumerate(step.args[1:]) if re.fullmatch(r"-?[a-zA-Z]*f", step.texts[at])]
        return following + _option(step, "--file")
    return []


def _rsync(step: Step) -> Targets:
    args = operands(step, words("-e --rsh --exclude --include --filter -f"))
    return [word for word in args[-1:] if len(args) > 1 and not re.match(r"[^/]*:", word.text)]


def _moved(step: Step) -> Targets:
    return [*operands(step, words("-t --target-directory -S --suffix")), *_option(step, "-t", "--target-directory")]


def _git(step: Step) -> Targets:
    """Find the directories that `clone`, `init` and `worktree add` create."""
    match step.texts[:2]:
        case ["clone", *_]:
            return operands(step, words("-b --branch --depth -o --origin -c --config -j --reference"))[2:]
        case ["init", *_]:
            return operands(step, words("-b --initial-branch --template"))[1:]
        case ["worktree", "add"]:
            return operands(step, words("-b -B"))[2:3]
        case _:
            return []


def _find(step: Step) -> Targets:
    """Find the start paths of `find -delete`.

    Tests of `find` only reduce the set of files, so a start path outside the tree is a target with or without them.
    """
    if "-delete" not in step.texts:
        return []
    starts: Targets = []
    for word in step.args:
        if word.text.startswith(("-", "(", "!")):
            break
        starts.append(word)
    narrowed = any(text in _TESTS for text in step.texts)
    inside = "/\0" if narrowed else ""
    return [replace(word, text=word.text + inside) for word in starts or [Word(".", ".")]]


_TESTS = words(
    "-name -iname -path -ipath -wholename -regex -iregex -type -size -mtime -mmin -newer -empty -perm -user -atime "
    "-ctime -cmin -amin -maxdepth -links -inum -lname"
)

DELETES: dict[str, Finder] = {
    "rm": _all(),
    "rmdir": _all(),
    "unlink": _all(),
    "shred": _all("-n -s --iterations --size"),
    "srm": _all(),
    "trash": _all(),
    "find": _find,
}

WRITES: dict[str, Finder] = {
    "aria2c": _options("-d", "-o", "--dir", "--out"),
    "cp": _last("-S --suffix"),
    "curl": _options("-o", "--output", "--output-dir", "-D", "--dump-header", "-c", "--cookie-jar"),
    "dd": _dd,
    "ex": _all("-c"),
    "fallocate": _all("-l -o --length --offset"),
    "git": _git,
    "gpg": _options("-o", "--output"),
    "gunzip": _all("-S"),
    "gzip": _all("-S"),
    "install": _last("-m -o -g -S --mode --owner --group"),
    "ln": _last("-S --suffix"),
    "mkdir": _all("-m --mode -Z"),
    "mkfifo": _all("-m --mode"),
    "mknod": lambda step: operands(step, words("-m --mode"))[:1],
    "mv": _moved,
    "openssl": _options("-out", "-keyout"),
    "patch": _options("-o", "-d", "--output", "--directory"),
    "perl": _in_place,
    "rename": lambda step: operands(step)[1:],
    "rsync": _rsync,
    "ruby": _in_place,
    "scp": _rsync,
    "sed": _in_place,
    "sponge": _all(),
    "tar": _tar,
    "tee": _all(),
    "touch": _all("-d -r -t --date --reference"),
    "truncate": _all("-s -r --size --reference"),
    "unzip": _options("-d"),
    "wget": _options("-O", "-P", "-o", "--output-document", "--directory-prefix", "--output-file"),
    "xxd": lambda step: operands(step, words("-s -l -c -g"))[1:],
}

MODES: dict[str, Finder] = {
    "chmod": _chmod,
    "chown": _without_first("--from"),
    "chgrp": _without_first(),
    "chattr": _without_first("-v -p"),
    "setfacl": _all("-m -x -M -X --modify --remove --set"),
    "setfattr": _all("-n -v -x"),
    "chcon": _without_first("-t -u -r -l"),
}


def deleted(step: Step) -> Targets:
    finder = DELETES.get(step.name)
    return finder(step) if finder else []


def written(step: Step) -> Targets:
    finder = WRITES.get(step.name)
    redirected = [redirect.target for redirect in step.redirects if redirect.writes]
    return [*(finder(step) if finder else []), *redirected]


def changed_mode(step: Step) -> Targets:
    finder = MODES.get(step.name)
    return finder(step) if finder else []

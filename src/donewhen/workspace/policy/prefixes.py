"""Commands that run the command that follows them, as data: which of their own arguments to skip.

Only the shape of an argument list is known here, not what a wrapper does or whether it is wanted.
"""

import re
from collections.abc import Sequence

from donewhen.records import frozen
from donewhen.workspace.policy.step import UNKNOWN_TEXT, Word

ASSIGNMENT = re.compile(r"[^-=/][^=/]*=|=")
"""A word that a wrapper treats as an assignment. Wrappers are less strict about names than the shell."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


@frozen
class Prefix:
    values: frozenset[str] = frozenset()
    """Options whose value is the next word, unless it is attached to the option."""
    flags: frozenset[str] = frozenset()
    """Options without a value."""
    operands: int = 0
    """How many operands of the wrapper come before the command."""
    assigns: bool = False
    """True if `NAME=value` words may come before the command."""


def prefix(values: str = "", flags: str = "", operands: int = 0, assigns: bool = False) -> Prefix:
    return Prefix(_words(values), _words(flags), operands, assigns)


def starts(args: Sequence[Word], shape: Prefix) -> list[int]:
    """Return the indexes where the command may start. An unknown option may take the next word or not: try both."""
    found: list[int] = []
    waiting, seen = [0], set[int]()
    while waiting:
        index = waiting.pop()
        if index in seen or index >= len(args):
            continue
        seen.add(index)
        text = args[index].text
        if text == "--" or not text.startswith("-") or (text == "-" and text not in shape.flags):
            found.append(_after_operands(args, index + (text == "--"), shape))
        else:
            waiting += [index + step for step in _widths(text, shape)]
    return sorted(index for index in set(found) if index < len(args))


def _widths(text: str, shape: Prefix) -> tuple[int, ...]:
    """Return the possible numbers of words that an option takes, including itself."""
    name = text.partition("=")[0]
    known = shape.values | shape.flags
    if UNKNOWN_TEXT in text:
        return (1, 2)
    if name.startswith("--") and name not in known:
        # Long options may be abbreviated.
        name = next((option for option in sorted(known) if option.startswith(name)), name)
    if name in shape.values:
        return (1,) if "=" in text else (2,)
    if name in shape.flags or "=" in text or text[:2] in shape.values:
        return (1,)
    cluster = not text.startswith("--") and all(f"-{letter}" in known for letter in text[1:])
    if cluster:
        return (2,) if f"-{text[-1]}" in shape.values else (1,)
    return (1, 2)


def _after_operands(args: Sequence[Word], index: int, shape: Prefix) -> int:
    while shape.assigns and index < len(args) and ASSIGNMENT.match(args[index].text):
        index += 1
    return index + shape.operands


PREFIXES: dict[str, Prefix] = {
    "builtin": prefix(),
    "busybox": prefix(),
    "caffeinate": prefix("-t -w", "-d -i -m -s -u"),
    "catchsegv": prefix(),
    "chpst": prefix("-u -U -b -/ -e -n -l -L -m -d -o -p -f -c", "-P -0 -1 -2"),
    "chroot": prefix("--groups --userspec", "--skip-chdir", operands=1),
    "chronic": prefix("", "-v -e"),
    "chrt": prefix("-T -P -D", "-a -b -d -f -i -o -r -v", operands=1),
    "command": prefix("", "-p"),
    "coproc": prefix(),
    "cross-env": prefix(assigns=True),
    "dbus-run-session": prefix("--config-file"),
    "doas": prefix("-C -u -a", "-L -n -s"),
    "dotenv": prefix("-e -f -v --file"),
    "exec": prefix("-a", "-c -l"),
    "fakeroot": prefix("-l -s -i -b", "-u"),
    "faketime": prefix("-f", "-m", operands=1),
    "flock": prefix("-E -w --timeout --conflict-exit-code", "-s -x -e -u -n -o -F -v", operands=1),
    "gdb": prefix("-x -ex", "--args -q -batch"),
    "gosu": prefix(operands=1),
    "ionice": prefix("-c -n -p -P -u --class --classdata", "-t --ignore"),
    "ltrace": prefix("-e -o -s -n -p -u -a -A -D -F -l -x", "-c -C -f -i -r -S -t -T -b"),
    "nice": prefix("-n --adjustment"),
    "nohup": prefix(),
    "nsenter": prefix("-t -S -G", "-a -m -u -i -n -p -C -U -T -r -w -F -Z"),
    "numactl": prefix("-N -m -C -p -i -l --cpunodebind --membind --physcpubind --interleave", "-a -b"),
    "pkexec": prefix("--user", "--disable-internal-agent --keep-cwd"),
    "prlimit": prefix("-o -p", "--noheadings --raw --verbose"),
    "proot": prefix("-r -b -w -R -S -k -q", "-0"),
    "rlwrap": prefix("-a -b -f -H -s -p", "-c -r -n"),
    "screen": prefix("-S -c -e -h -s -t -T -p -L", "-d -m -D -R -A -U -x"),
    "setarch": prefix("", "-R --addr-no-randomize", operands=1),
    "setpriv": prefix("--reuid --regid --groups --inh-caps --ambient-caps", "--clear-groups --no-new-privs"),
    "setsid": prefix("", "-c -f -w --ctty --fork --wait"),
    "sshpass": prefix("-p -f -d", "-e -v"),
    "stdbuf": prefix("-i -o -e --input --output --error"),
    "strace": prefix(
        "-e -o -p -s -u -E -P -I -O -S -a -b -X -U",
        "-c -C -d -D -f -ff -F -h -i -k -n -q -r -t -tt -T -v -w -x -y -z -Z",
    ),
    "sudo": prefix(
        "-C -D -g -h -p -R -r -t -T -U -u --user --group --host --prompt --chdir --chroot --role --type",
        "-A -b -B -E -e -H -i -K -k -l -N -n -P -S -s -V -v --login --shell --preserve-env --non-interactive --stdin",
        assigns=True,
    ),
    "su-exec": prefix(operands=1),
    "systemd-inhibit": prefix("--what --who --why --mode"),
    "systemd-run": prefix(
        "-u -p -E -t -M -H -G --unit --property --uid --gid", "--user --scope --pty --pipe --wait -q"
    ),
    "taskset": prefix("", "-a -c -p --all-tasks --cpu-list", operands=1),
    "time": prefix("-f -o --format --output", "-a -p -v -q -V --append --portability --verbose"),
    "timeout": prefix("-k -s --kill-after --signal", "-f -p -v --foreground --preserve-status --verbose", operands=1),
    "toybox": prefix(),
    "unbuffer": prefix("", "-p"),
    "unshare": prefix(
        "-S -G -R -w --setgroups", "-m -u -i -n -p -U -C -T -f -r -c --fork --map-root-user --mount-proc"
    ),
    "valgrind": prefix(),
    "xvfb-run": prefix("-e -f -n -p -s -w --server-args --server-num", "-a -l --auto-servernum"),
}
"""Wrappers: everything after their own arguments is a command."""

_PYTHON_RUN = "-p --python --with --extra --group --env-file --project --directory"

SUBCOMMANDS: dict[tuple[str, str], Prefix] = {
    ("bundle", "exec"): prefix("", "--keep-file-descriptors"),
    ("conda", "run"): prefix("-n -p --name --prefix --cwd", "-v --no-capture-output --live-stream"),
    ("direnv", "exec"): prefix(operands=1),
    ("hatch", "run"): prefix(),
    ("mamba", "run"): prefix("-n -p --name --prefix --cwd", "-v --no-capture-output --live-stream"),
    ("mise", "exec"): prefix("-j", "--raw"),
    ("npm", "exec"): prefix("-w --workspace -p --package", "-y --yes"),
    ("npm", "x"): prefix("-w --workspace -p --package", "-y --yes"),
    ("pdm", "run"): prefix(),
    ("pipenv", "run"): prefix(),
    ("pipx", "run"): prefix("--spec --python --pip-args", "-v --no-cache"),
    ("pnpm", "dlx"): prefix("--package", "--silent"),
    ("pnpm", "exec"): prefix("--filter", "-r --parallel"),
    ("poetry", "run"): prefix(),
    ("rustup", "run"): prefix("", "--install", operands=1),
    ("rye", "run"): prefix(),
    ("uv", "run"): prefix(
        _PYTHON_RUN, "--no-sync --frozen --locked --isolated --active --offline --all-extras --no-dev -q -v"
    ),
    ("yarn", "dlx"): prefix("-p --package", "-q"),
    ("yarn", "exec"): prefix(),
}
"""The same for subcommands of tools."""

RUNNERS: dict[str, Prefix] = {
    "bunx": prefix("-p --package", "--bun"),
    "npx": prefix("-p --package", "-y --yes --no --no-install -q --quiet --prefer-offline"),
    "uvx": prefix("-p --python --from --with", "--isolated --offline -q"),
}
"""Commands that run a program and download it first if necessary."""

SCRIPT_OPTIONS: dict[str, frozenset[str]] = {
    "flock": _words("-c --command"),
    "nix-shell": _words("--run --command"),
    "nodemon": _words("-x --exec"),
    "npx": _words("-c --call"),
    "runuser": _words("-c --command"),
    "script": _words("-c --command"),
    "su": _words("-c --command --session-command"),
    "xterm": _words("-e"),
}
"""Options whose value is a shell script."""

SCRIPT_OPERANDS = frozenset({"concurrently", "hyperfine", "tmux"})
"""Commands that pass an operand that contains blanks to a shell."""

SCRIPT_VARIABLES = _words(
    "BROWSER EDITOR GIT_ASKPASS GIT_EDITOR GIT_EXTERNAL_DIFF GIT_PAGER GIT_PROXY_COMMAND GIT_SEQUENCE_EDITOR GIT_SSH "
    "GIT_SSH_COMMAND LESSOPEN MANPAGER PAGER PROMPT_COMMAND SSH_ASKPASS VISUAL"
)
"""Variables that hold a command that some program will run."""

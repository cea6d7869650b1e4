"""Tools that search for files and for text in files: `find_files` and `grep_files`.

The machine's own grep searches the text inside the sandbox, where a pattern that takes too long can be killed.
Directories of installed packages and caches are skipped unless they are named.
"""

import os
import shlex
from collections.abc import Iterator

import anyio.to_thread

from donewhen.engines.native.tools.clip import printed
from donewhen.engines.native.tools.globs import LONGEST_PATTERN, matcher
from donewhen.engines.native.tools.read_files import is_utf8, similar_paths
from donewhen.engines.native.tools.tool import Parameter, Tool, ToolFailed, ToolOutput, ToolUse
from donewhen.workspace.process.command import End
from donewhen.workspace.sandbox.sandbox import ShellCommand
from donewhen.workspace.trees.overlay import Files, NotDirectory, NotFile, NotFound, PathEntry

MOST_FOUND = 300
MOST_MATCHES = 200
LONGEST_LINE = 300
MOST_ENTRIES = 200_000
SEARCH_SECS = 30
KEPT_BYTES = 256 * 1024
SKIPPED_DIRECTORIES = frozenset({
    "node_modules", ".venv", "venv", "__pycache__", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache",
    "site-packages", ".gradle", ".next", ".turbo", "bower_components", ".eggs",
})  # fmt: skip
SEARCH = """\
export LC_ALL=C.UTF-8
kind=-P
grep -P -e x /dev/null 2>/dev/null
test $? -lt 2 || kind=-E
grep $kind -e {pattern} /dev/null || test $? -lt 2 || exit 2
xargs -0 -r grep -nHI $kind -e {pattern} -- | head -c {bytes}
exit 0
"""


async def find_files(use: ToolUse) -> ToolOutput:
    pattern = use.text("pattern")
    found = await anyio.to_thread.run_sync(_matching_paths, use, pattern, MOST_FOUND + 1)
    if not found:
        return ToolOutput(f"[no file matches {pattern}]")
    more = [f"[… more than {MOST_FOUND}; narrow the pattern or give a path …]"] if len(found) > MOST_FOUND else []
    return ToolOutput("\n".join([*found[:MOST_FOUND], *more]))


def _matching_paths(use: ToolUse, pattern: str, most: int) -> list[str]:
    matches = matcher(pattern)
    found: list[str] = []
    for entry, inner in _entries_below(use.context.maker.files, use.text("path", "."), pattern=pattern):
        if entry.kind != "directory" and (matches(inner) or matches(entry.path)):
            found.append(entry.path)
            if len(found) >= most:
                break
    return found


def _entries_below(files: Files, path: str, pattern: str = "") -> Iterator[tuple[PathEntry, str]]:
    """Yield every entry below a path, with its path relative to that path."""
    named = f"{pattern}/{path}".split("/")

    def enter(directory: str) -> bool:
        name = directory.rpartition("/")[2]
        return name not in SKIPPED_DIRECTORIES or name in named

    try:
        first = next(walk := files.walk(path, MOST_ENTRIES, enter=enter), None)
    except NotFound as error:
        raise ToolFailed(f"{error}{similar_paths(files, path)}") from error
    if first is None:
        return
    start = len(first.path) - len(first.path.rpartition("/")[2])
    yield first, first.path[start:]
    for entry in walk:
        yield entry, entry.path[start:]


async def grep_files(use: ToolUse) -> ToolOutput:
    _require_one_line(use.text("pattern"))
    paths = await anyio.to_thread.run_sync(_paths_to_search, use)
    if not paths:
        return ToolOutput("[no files to search]")
    pattern = shlex.quote(use.text("pattern"))
    command = ShellCommand(
        text=SEARCH.format(pattern=pattern, bytes=KEPT_BYTES),
        timeout_secs=SEARCH_SECS,
        stdin=b"".join(f"./{path}\0".encode("utf-8", "surrogateescape") for path in paths),
        merge_stderr=False,
        keep_bytes=KEPT_BYTES,
    )
    async with use.context.search_lock:
        finished = await use.context.maker.sandbox.run(command)
    if finished.end is End.TIMED_OUT:
        raise ToolFailed(f"the search took longer than {SEARCH_SECS} s; give a simpler pattern, a path or a glob")
    errors = printed(finished.stderr.whole()).strip().removeprefix("grep: ")
    if finished.end is not End.EXITED or finished.exit_code == 2:
        raise ToolFailed(f"grep_files: {errors or finished.reason or 'the search was interrupted'}")
    # `printed` drops the text before a carriage return, as a terminal would; here that text is the path.
    found = finished.stdout.head.replace(b"\r\n", b"\n").replace(b"\r", b" ")
    return ToolOutput(_match_lines(printed(found), use.text("pattern"), errors))


def _require_one_line(pattern: str) -> None:
    if "\n" in pattern:
        raise ToolFailed(
            "grep_files: the pattern has several lines, but lines are searched one by one; give one of them"
        )
    if "\0" in pattern or not is_utf8(pattern):
        raise ToolFailed("grep_files: the pattern is not valid text")
    if len(pattern) > LONGEST_PATTERN:
        raise ToolFailed(f"grep_files: the pattern has more than {LONGEST_PATTERN} characters")


def _paths_to_search(use: ToolUse) -> list[str]:
    files, path, glob = use.context.maker.files, use.text("path", "."), use.text("glob")
    matches = matcher(glob) if glob else None
    try:
        below = list(_entries_below(files, path, pattern=glob))
    except NotDirectory:
        if files.stat(path).kind != "file":
            raise NotFile(f"{path} is a device, a pipe or a socket") from None
        return [os.path.normpath(path.removeprefix(f"{use.context.maker.root}/"))]
    return [
        entry.path
        for entry, inner in below
        if entry.kind == "file" and (matches is None or matches(inner) or matches(entry.path))
    ]


def _match_lines(text: str, pattern: str, errors: str) -> str:
    lines = [_shortened(line.removeprefix("./")) for line in text.removesuffix("\n").split("\n") if text]
    notes = [f"[not all of it could be searched: {errors.splitlines()[0]}]"] if errors else []
    if not lines:
        return "\n".join([f"[nothing {'was found that ' if errors else ''}matches {pattern}]", *notes])
    if len(lines) > MOST_MATCHES:
        notes.append(f"[… more than {MOST_MATCHES} matches; narrow the pattern, or give a path or a glob …]")
    return "\n".join([*lines[:MOST_MATCHES], *notes])


def _shortened(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"


WHERE = Parameter("path", "string", "Where to look, relative to the root; everywhere when left out.", required=False)

FIND_FILES = Tool(
    "find_files",
    "Find files by a glob: *, ?, [abc], {a,b}, ** for any directories. A pattern without a slash means a name anywhere."
    " Installed packages and caches are left out unless named.",
    (Parameter("pattern", "string", "For example **/test_*.py or *.{ts,tsx}."), WHERE),
    "reads",
    find_files,
)
GREP_FILES = Tool(
    "grep_files",
    "Search file contents with a regular expression; gives path:line:text. Binary files, installed packages and caches"
    " are left out.",
    (
        Parameter("pattern", "string", "A Perl-like regular expression."),
        WHERE,
        Parameter("glob", "string", "Only files that match this glob.", required=False),
    ),
    "reads",
    grep_files,
)

"""Tools that read files: `read_file` and `list_dir`. They change nothing."""

import difflib
import os

import anyio.to_thread

from donewhen.engines.native.tools.clip import MOST_BYTES, clean, lines_of
from donewhen.engines.native.tools.tool import Parameter, Tool, ToolFailed, ToolOutput, ToolUse
from donewhen.workspace.trees.overlay import FileProblem, Files, IsDirectory, NotFound, NotText, PathEntry

MOST_WHOLE = 8 << 20
"""Larger files are read only in parts, and their lines are not counted."""
MOST_SCANNED = 256 << 20
MOST_SHOWN = MOST_BYTES - 512
"""Leaves space for the header line."""
MOST_LISTED = 500
MOST_NAMES = 3
SNIFFED = 8192
NOT_UTF8 = ", not UTF-8: some bytes are shown as ?"


async def read_file(use: ToolUse) -> ToolOutput:
    path, start, end = use.text("path"), use.number("start"), use.number("end")
    if start is not None and end is not None and end < start:
        raise ToolFailed(f"read_file: end ({end}) comes before start ({start})")
    files = use.context.maker.files
    try:
        return ToolOutput(await anyio.to_thread.run_sync(_read, files, path, start, end))
    except NotFound as error:
        raise ToolFailed(f"{error}{similar_paths(files, path)}") from error
    except IsDirectory as error:
        raise ToolFailed(f"{error}; use list_dir") from error


def _read(files: Files, path: str, start: int | None, end: int | None) -> str:
    size = files.stat(path).size
    if size > MOST_WHOLE:
        return _read_part(files, path, start, end)
    text = files.read_text(path, MOST_WHOLE)
    lines = lines_of(text)
    total, first, last = len(lines), start or 1, end or len(lines)
    if start is not None and start > max(total, 1):
        raise ToolFailed(f"{path} has {total} lines; line {start} does not exist")
    remarks = (", line ends are CRLF" if "\r\n" in text else "") + ("" if is_utf8(text) else NOT_UTF8)
    shown, last_shown = _lines_that_fit(lines[first - 1 : last], first)
    if first == 1 and last_shown == total and not remarks:
        return shown or f"[{path} is empty]"
    more = f"; continue with start={last_shown + 1}" if last_shown < total else ""
    return f"[{path}: lines {first}-{last_shown} of {total}, {size} bytes{remarks}{more}]\n{shown}"


def is_utf8(text: str) -> bool:
    """Return True if a file's text contains no surrogate escape, which stands for a byte that is not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _lines_that_fit(lines: list[str], first: int) -> tuple[str, int]:
    """Return as many whole lines as fit, and the number of the last one. A first line that is too long is cut."""
    shown: list[str] = []
    space = MOST_SHOWN
    for line in lines:
        text = clean(line)
        length = len(text.encode())
        if length > space and shown:
            break
        if length > space:
            kept = text.encode()[:space].decode("utf-8", "ignore")
            return (
                f"{kept}\n[… line {first} continues for {length - space} bytes; see it with shell and cut -c …]"
            ), first
        shown.append(text)
        space -= length
    return "".join(shown), first + len(shown) - 1


def _read_part(files: Files, path: str, start: int | None, end: int | None) -> str:
    """Return some lines of a file that is too large for memory."""
    with files.open(path) as file:
        size = os.fstat(file.fileno()).st_size
        if b"\0" in file.read(SNIFFED):
            raise NotText(f"{path} is a binary file of {size} bytes")
        if start is None or end is None:
            raise ToolFailed(f"{path} has {size} bytes; read a part of it with start and end, or use grep_files")
        file.seek(0)
        number, scanned, shown = 1, 0, bytearray()
        while number <= end and len(shown) <= MOST_SHOWN and (piece := file.readline(1 << 16)):
            scanned += len(piece)
            if scanned > MOST_SCANNED:
                raise ToolFailed(f"{path}: line {start} is too far from the start; use shell with tail, head or cut")
            if number >= start:
                shown += piece
            number += piece.endswith(b"\n")
    if not shown:
        raise ToolFailed(f"{path} has no line {start}")
    text, last_shown = _lines_that_fit(lines_of(shown.decode("utf-8", "replace")), start)
    return f"[{path}: lines {start}-{last_shown}, {size} bytes in all]\n{text}"


async def list_dir(use: ToolUse) -> ToolOutput:
    path = use.text("path", ".")
    files = use.context.maker.files
    try:
        entries = [entry for entry in files.entries(path) if entry.path != ".git"]
    except NotFound as error:
        raise ToolFailed(f"{error}{similar_paths(files, path)}") from error
    lines = [_line(files, entry) for entry in entries[:MOST_LISTED]]
    if len(entries) > MOST_LISTED:
        lines.append(f"[… {len(entries) - MOST_LISTED} more; use find_files with a pattern …]")
    return ToolOutput("\n".join(lines) or f"[{path} is empty]")


def _line(files: Files, entry: PathEntry) -> str:
    name = entry.path.rpartition("/")[2]
    if entry.kind == "directory":
        return f"{name}/"
    if entry.kind == "link":
        return f"{name} -> {files.target(entry)}"
    return name if entry.kind == "file" else f"{name} (not a file)"


def similar_paths(files: Files, path: str) -> str:
    """Return a suggestion of similar paths; empty if there are none."""
    parent, _, name = path.rstrip("/").rpartition("/")
    try:
        siblings = {entry.path.rpartition("/")[2]: entry.path for entry in files.entries(parent or ".")}
        siblings.pop(name, None)  # a broken link has this name, but is not what was meant
        near = [siblings[found] for found in difflib.get_close_matches(name, siblings, MOST_NAMES)]
        if not near:
            others = (entry.path for entry in files.walk(most=20_000, deepest=12) if entry.path != path)
            near = [found for found in others if found.rpartition("/")[2] == name][:MOST_NAMES]
    except FileProblem:
        return ""
    return f"; did you mean {' or '.join(near)}?" if near else ""


PATH = Parameter("path", "string", "Path relative to the root.", not_blank=True)

READ_FILE = Tool(
    "read_file",
    "Read a text file. Long files come in parts: give start and end (line numbers from 1, both included).",
    (
        PATH,
        Parameter("start", "integer", "First line to read.", required=False, least=1),
        Parameter("end", "integer", "Last line to read.", required=False, least=1),
    ),
    "reads",
    read_file,
)
LIST_DIR = Tool(
    "list_dir",
    "List a directory. Directories end with a slash, links show their target.",
    (Parameter("path", "string", "Directory relative to the root; the root itself when left out.", required=False),),
    "reads",
    list_dir,
)

"""Tools that change files: `write_file` and `edit_file`."""

import anyio.to_thread

from donewhen.engines.native.tools.clip import lines_of
from donewhen.engines.native.tools.nearest_text import explain_miss
from donewhen.engines.native.tools.read_files import PATH, is_utf8, similar_paths
from donewhen.engines.native.tools.tool import Parameter, Tool, ToolFailed, ToolOutput, ToolUse
from donewhen.workspace.trees.overlay import NotFound, TooBig

MOST_EDITED = 8 << 20
MOST_PLACES = 5


async def write_file(use: ToolUse) -> ToolOutput:
    path, content = use.text("path"), use.text("content")
    if path.endswith("/"):
        raise ToolFailed(f"{path} is a directory; name a file in it")
    _require_text("content", content)
    new = await anyio.to_thread.run_sync(use.context.maker.files.write, path, content.encode())
    count = len(lines_of(content))
    return ToolOutput(f"{'created' if new else 'replaced'} {path} ({count} {'line' if count == 1 else 'lines'})")


async def edit_file(use: ToolUse) -> ToolOutput:
    path, old, new = use.text("path"), use.text("old"), use.text("new")
    if not old:
        raise ToolFailed("edit_file: old is empty; give the text to replace, or use write_file for a whole file")
    if old == new:
        raise ToolFailed("edit_file: old and new are the same")
    _require_text("new", new)
    files = use.context.maker.files
    try:
        text = files.read_text(path, MOST_EDITED)
    except NotFound as error:
        raise ToolFailed(f"{error}{similar_paths(files, path)}; to create a file use write_file") from error
    except TooBig as error:
        raise ToolFailed(f"{path} has {error.size} bytes, too many for edit_file; use shell") from error
    if not new.isascii() and not is_utf8(text):
        raise ToolFailed(f"{path} is not UTF-8, so edit_file can insert only ASCII; use shell")
    if _all_crlf(text):
        old, new = _with_crlf(old), _with_crlf(new)
    count = text.count(old)
    if not count:
        raise ToolFailed(await anyio.to_thread.run_sync(explain_miss, path, text, old))
    if count > 1 and not use.flag("all"):
        raise ToolFailed(_ambiguous(path, text, old, count))
    files.write(path, text.replace(old, new).encode("utf-8", "surrogateescape"))
    return ToolOutput(f"edited {path}: {count} {'place' if count == 1 else 'places'}, {_where(text, old, new, count)}")


def _all_crlf(text: str) -> bool:
    return "\r\n" in text and text.count("\r\n") == text.count("\n")


def _with_crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _require_text(name: str, text: str) -> None:
    if not is_utf8(text):
        raise ToolFailed(f"{name} is not valid text: it contains half of a character")


def _ambiguous(path: str, text: str, old: str, count: int) -> str:
    lines = [str(_line_of(text, position)) for position in _positions(text, old)]
    more = " …" if count > MOST_PLACES else ""
    return (
        f"old occurs {count} times in {path} (lines {', '.join(lines)}{more});"
        " give more lines around it so that it is unique, or set all to true"
    )


def _positions(text: str, old: str) -> list[int]:
    found: list[int] = []
    position = text.find(old)
    while position >= 0 and len(found) < MOST_PLACES:
        found.append(position)
        position = text.find(old, position + len(old))
    return found


def _where(text: str, old: str, new: str, count: int) -> str:
    first = _line_of(text, text.find(old))
    if count > 1:
        return f"the first in line {first}"
    last = first + max(len(lines_of(new)) - 1, 0)
    return f"line {first}" if last == first else f"lines {first}-{last}"


def _line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


WRITE_FILE = Tool(
    "write_file",
    "Create a file or replace the whole of one. Directories are made as needed.",
    (PATH, Parameter("content", "string", "The whole new content.")),
    "changes",
    write_file,
)
EDIT_FILE = Tool(
    "edit_file",
    "Replace text in a file. old must be exactly what the file has, whitespace included, and occur once unless all.",
    (
        PATH,
        Parameter("old", "string", "The text to replace."),
        Parameter("new", "string", "What takes its place."),
        Parameter("all", "boolean", "Replace every occurrence.", required=False),
    ),
    "changes",
    edit_file,
)

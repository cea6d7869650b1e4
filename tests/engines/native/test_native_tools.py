"""Every tool with its possible errors: the answer is bounded, says what to do, and has the promised form."""

from pathlib import Path
from typing import Any

import pytest
from workshop import Workshop, workshop

from donewhen.engines.native.tools.clip import MOST_BYTES
from repositories import commit, write

pytestmark = pytest.mark.anyio


async def put(shop: Workshop, path: str, content: str | bytes) -> None:
    shop.maker.files.write(path, content if isinstance(content, bytes) else content.encode())


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    ("tool", "given", "expected"),
    [
        ("read_file", {}, "read_file needs path: a string"),
        ("read_file", {"path": None}, "read_file needs path: a string"),
        ("read_file", {"file": "a"}, 'read_file has no parameter "file"; it takes path, start, end'),
        ("read_file", {"path": 3}, "read_file: path must be a string, not 3"),
        ("read_file", {"path": "a.txt", "start": "2"}, 'start must be an integer of at least 1, not "2"'),
        ("read_file", {"path": "a.txt", "start": True}, "start must be an integer of at least 1, not true"),
        ("read_file", {"path": "a.txt", "start": 0}, "start must be an integer of at least 1, not 0"),
        ("read_file", {"path": "a.txt", "start": 3, "end": 2}, "end (2) comes before start (3)"),
        ("edit_file", {"path": "a", "old": "b", "new": "c", "all": 1}, "all must be true or false, not 1"),
        ("write_file", {"path": "x", "content": {"a": 1}}, 'content must be a string, not {"a": 1}'),
        (
            "write_file",
            {"path": "x", "content": "\ud800"},
            "content is not valid text: it contains half of a character",
        ),
        ("write_file", {"path": "x", "content": "\udc80"}, "content is not valid text"),
        ("write_file", {"path": "\ud800", "content": ""}, "is not a valid path"),
        ("edit_file", {"path": "a.txt", "old": "one", "new": "\udc80"}, "new is not valid text"),
        ("grep_files", {"pattern": "\ud800"}, "not valid text"),
        ("shell", {"command": "echo \ud800"}, ""),
        ("report_no_change", {"kind": "bored", "summary": "s", "evidence": "e"}, "kind must be one of premise_wrong"),
        ("report_no_change", {"kind": "premise_wrong", "summary": " ", "evidence": "e"}, "summary is empty"),
        ("shell", {"command": "  "}, "command is empty"),
        ("shell", {"command": "a\0b"}, "NUL"),
        ("ask_user", {"prompt": ""}, "prompt is empty"),
        ("delete_everything", {}, "unknown tool delete_everything; use read_file, list_dir"),
    ],
)
async def test_a_bad_argument_is_answered_with_its_name_and_what_is_expected(
    root: Path, tool: str, given: dict[str, Any], expected: str
) -> None:
    async with workshop(root) as shop:
        assert expected in await shop.refused(tool, **given)


async def test_a_null_optional_parameter_counts_as_missing(root: Path) -> None:
    async with workshop(root) as shop:
        assert await shop.said("read_file", path="a.txt", start=None) == "one\ntwo\nthree\n"


# -- reading --


@pytest.mark.promise("tools.read-file")
async def test_a_small_file_is_returned_unchanged_and_a_part_with_a_line_about_its_range(root: Path) -> None:
    async with workshop(root) as shop:
        assert await shop.said("read_file", path="a.txt") == "one\ntwo\nthree\n"
        assert await shop.said("read_file", path=f"{root}/a.txt", start=1, end=9) == "one\ntwo\nthree\n"
        part = await shop.said("read_file", path="a.txt", start=2, end=2)
        assert part == "[a.txt: lines 2-2 of 3, 14 bytes; continue with start=3]\ntwo\n"
        await put(shop, "empty", "")
        assert await shop.said("read_file", path="empty") == "[empty is empty]"
        await put(shop, "windows", "a\r\nb\r\n")
        assert await shop.said("read_file", path="windows") == (
            "[windows: lines 1-2 of 2, 6 bytes, line ends are CRLF]\na\nb\n"
        )


async def test_a_long_file_is_returned_in_parts_that_join(root: Path) -> None:
    async with workshop(root) as shop:
        text = "".join(f"line {number} äöü\n" for number in range(1, 4000))
        await put(shop, "long", text)
        read, start = "", 1
        while start:
            part = await shop.said("read_file", path="long", start=start)
            assert len(part.encode()) <= MOST_BYTES
            head, _, body = part.partition("\n")
            read += body
            start = int(head.rpartition("start=")[2].rstrip("]")) if "start=" in head else 0
        assert read == text


async def test_an_overlong_line_is_cut_with_a_note(root: Path) -> None:
    async with workshop(root) as shop:
        await put(shop, "minified.js", "x" * 100_000 + "\nend\n")
        part = await shop.said("read_file", path="minified.js")
        assert len(part.encode()) <= MOST_BYTES
        assert "lines 1-1 of 2" in part
        assert "line 1 continues" in part


async def test_a_huge_file_says_its_size_and_is_read_in_parts(root: Path) -> None:
    async with workshop(root) as shop:
        await shop.said(
            "shell", command="yes 'a line of some length' | head -c 20000000 > huge; truncate -s 100M sparse"
        )
        assert "20000000 bytes; read a part of it with start and end" in await shop.refused("read_file", path="huge")
        part = await shop.said("read_file", path="huge", start=700_000, end=700_001)
        assert part.splitlines()[1:] == ["a line of some length"] * 2
        assert "no line" in await shop.refused("read_file", path="huge", start=2_000_000, end=2_000_001)
        assert "binary" in await shop.refused("read_file", path="sparse", start=1, end=2)


async def test_an_unreadable_path_gives_the_reason_and_suggestions(root: Path) -> None:
    async with workshop(root) as shop:
        await put(shop, "data.bin", b"\x00\x01")
        assert "binary file of 2 bytes" in await shop.refused("read_file", path="data.bin")
        assert "did you mean a.txt?" in await shop.refused("read_file", path="b.txt")
        assert "did you mean src/app.py?" in await shop.refused("read_file", path="app.py")
        assert "use list_dir" in await shop.refused("read_file", path="src")
        assert "outside" in await shop.refused("read_file", path="/etc/passwd")
        assert "leads out of" in await shop.refused("read_file", path="../x")
        assert "has 3 lines" in await shop.refused("read_file", path="a.txt", start=9)
        assert "does not exist" in await shop.refused("list_dir", path="nowhere")
        assert "is not a directory" in await shop.refused("list_dir", path="a.txt")


async def test_a_file_with_terminal_codes_and_invalid_bytes_can_be_read(root: Path) -> None:
    async with workshop(root) as shop:
        await put(shop, "odd", b"\x1b[31mred\x1b[0m caf\xe9\n")
        told, shown = (await shop.said("read_file", path="odd")).split("\n", 1)
        assert told == "[odd: lines 1-1 of 1, 18 bytes, not UTF-8: some bytes are shown as ?]"
        assert shown == "red caf?\n"


@pytest.mark.promise("tools.list-dir")
async def test_a_directory_is_listed_with_kinds_and_bounds(root: Path) -> None:
    (root / "link").symlink_to("a.txt")
    commit(root)
    async with workshop(root) as shop:
        assert await shop.said("list_dir") == ".gitignore\na.txt\nlink -> a.txt\nsrc/"
        assert await shop.said("list_dir", path="src") == "app.py"
        await shop.said("shell", command="mkdir many empty; cd many; touch $(seq 2000)")
        assert "1500 more" in await shop.said("list_dir", path="many")
        assert await shop.said("list_dir", path="empty") == "[empty is empty]"


# -- searching --


@pytest.mark.promise("tools.find-files")
async def test_files_are_found_by_pattern_without_dependency_directories_unless_named(root: Path) -> None:
    write(root, {"web/a.ts": "", "web/deep/b.tsx": "", "node_modules/p/c.ts": "", "tests/test_x.py": ""})
    commit(root)
    async with workshop(root) as shop:
        assert await shop.said("find_files", pattern="*.{ts,tsx}") == "web/a.ts\nweb/deep/b.tsx"
        assert await shop.said("find_files", pattern="**/test_*.py") == "tests/test_x.py"
        assert await shop.said("find_files", pattern="*.ts", path="web") == "web/a.ts"
        assert await shop.said("find_files", pattern="deep/*", path="web") == "web/deep/b.tsx"
        assert await shop.said("find_files", pattern="node_modules/**/*.ts") == "node_modules/p/c.ts"
        assert await shop.said("find_files", pattern="*.ts", path="node_modules") == "node_modules/p/c.ts"
        assert await shop.said("find_files", pattern="*.rs") == "[no file matches *.rs]"
        assert "does not exist" in await shop.refused("find_files", pattern="*", path="nowhere")
        await shop.said("shell", command="mkdir many; cd many; touch $(seq 1000)")
        assert "more than 300" in await shop.said("find_files", pattern="many/*")


@pytest.mark.promise("tools.grep-files")
async def test_grep_finds_text_in_the_current_files(root: Path) -> None:
    write(root, {"b.txt": "two\n", "c c/d.md": "Two and ümlaut\n", "node_modules/x.txt": "two\n"})
    commit(root)
    async with workshop(root) as shop:
        await put(shop, "a.txt", "zwei\ntwo\n")
        await shop.said("shell", command="rm b.txt; printf 'two\\0' > binary")
        assert await shop.said("grep_files", pattern="two") == "a.txt:2:two"
        assert await shop.said("grep_files", pattern="(?i)two(?= and)") == "c c/d.md:1:Two and ümlaut"
        assert await shop.said("grep_files", pattern="^.{8}.mlaut$", glob="*.md") == "c c/d.md:1:Two and ümlaut"
        assert await shop.said("grep_files", pattern="two", glob="c c/*") == "[nothing matches two]"
        assert await shop.said("grep_files", pattern="t", path="a.txt") == "a.txt:2:two"
        assert await shop.said("grep_files", pattern="'; touch hacked; '") == "[nothing matches '; touch hacked; ']"
        assert await shop.said("grep_files", pattern="x", glob="*.rs") == "[no files to search]"
        assert not (shop.maker.tree.upper / "hacked").exists()


async def test_a_bad_pattern_is_explained_and_a_slow_one_ends(root: Path) -> None:
    async with workshop(root) as shop:
        for pattern in ("(", "[a", "a{2,1}", "(?<x"):
            assert (await shop.refused("grep_files", pattern=pattern)).startswith("grep_files: ")
        await put(shop, "evil", "a" * 5000 + "!\n")
        outcome = await shop.use("grep_files", pattern="^(a+)+$")
        assert "limit" in outcome.text or "took longer" in outcome.text or "nothing matches" in outcome.text
        assert "outside" in await shop.refused("grep_files", pattern="root", path="/etc/passwd")


async def test_many_matches_and_long_lines_are_bounded(root: Path) -> None:
    async with workshop(root) as shop:
        await put(shop, "long", "needle " + "x" * 50_000 + "\n")
        assert len(await shop.said("grep_files", pattern="needle")) < 400
        await put(shop, "many", "needle\n" * 100_000)
        text = await shop.said("grep_files", pattern="needle", path="many")
        assert "more than 200 matches" in text
        assert len(text.encode()) <= MOST_BYTES


# -- writing --


@pytest.mark.promise("tools.write-file")
async def test_a_file_is_created_with_its_directories_or_replaced(root: Path) -> None:
    async with workshop(root) as shop:
        assert await shop.said("write_file", path="x/y/z.txt", content="1\n2") == "created x/y/z.txt (2 lines)"
        assert await shop.said("write_file", path="x/y/z.txt", content="") == "replaced x/y/z.txt (0 lines)"
        assert await shop.said("shell", command="wc -c < x/y/z.txt") == "0\n[exit code 0]"
        assert "is a directory" in await shop.refused("write_file", path="src", content="")
        assert "a.txt is not a directory" in await shop.refused("write_file", path="a.txt/b", content="")
        assert "belongs to git" in await shop.refused("write_file", path=".git/hooks/pre-commit", content="")
        assert "outside" in await shop.refused("write_file", path="/tmp/x", content="")


@pytest.mark.promise("tools.edit-file")
async def test_an_edit_replaces_one_place_or_all(root: Path) -> None:
    async with workshop(root) as shop:
        done = await shop.said("edit_file", path="src/app.py", old="a - b", new="a + b")
        assert done == "edited src/app.py: 1 place, line 2"
        assert shop.content("src/app.py").endswith("return a + b\n")
        await put(shop, "many", "x\ny\nx\nx\n")
        assert "3 times in many (lines 1, 3, 4)" in await shop.refused("edit_file", path="many", old="x", new="z")
        assert await shop.said("edit_file", path="many", old="x", new="z", all=True) == (
            "edited many: 3 places, the first in line 1"
        )
        assert shop.content("many") == "z\ny\nz\nz\n"


async def test_an_edit_keeps_line_endings_mode_and_invalid_bytes_of_a_file(root: Path) -> None:
    async with workshop(root) as shop:
        await put(shop, "windows", "one\r\ntwo\r\nthree\r\n")
        await shop.said("edit_file", path="windows", old="one\ntwo", new="1\n2\n2.5")
        assert shop.content("windows") == "1\r\n2\r\n2.5\r\nthree\r\n"
        await put(shop, "latin", b"caf\xe9 one\n")
        await shop.said("edit_file", path="latin", old="one", new="two")
        assert shop.maker.files.read("latin", 100) == b"caf\xe9 two\n"
        await shop.said("shell", command="echo 'echo a' > run; chmod +x run")
        await shop.said("edit_file", path="run", old="a", new="b")
        assert (await shop.said("shell", command="./run")).startswith("b\n")


async def test_an_edit_without_a_match_shows_the_nearest_text(root: Path) -> None:
    async with workshop(root) as shop:
        await put(
            shop, "f.py", "import os\n\n\ndef one(a):\n    return a\n\n\ndef two(b):\n    value = b + 1\n    return b\n"
        )
        near = await shop.refused("edit_file", path="f.py", old="def two(b):\n    value = b + 2\n", new="")
        assert "     8| def two(b):\n     9|     value = b + 1" in near
        blanks = await shop.refused("edit_file", path="f.py", old="def one(a):\n  return a", new="")
        assert "only whitespace differs" in blanks
        assert "     5|     return a" in blanks
        assert "and nothing like it" in await shop.refused("edit_file", path="f.py", old="§§§§§§", new="")
        await put(shop, "mixed", "a\r\nb\nc\n")
        assert "only the line ends differ" in await shop.refused("edit_file", path="mixed", old="a\nb", new="")
        assert "old is empty" in await shop.refused("edit_file", path="f.py", old="", new="x")
        assert "are the same" in await shop.refused("edit_file", path="f.py", old="a", new="a")
        assert "to create a file use write_file" in await shop.refused("edit_file", path="g.py", old="a", new="b")


# -- commands --


@pytest.mark.promise("tools.shell")
async def test_a_command_returns_its_output_and_exit_code(root: Path) -> None:
    async with workshop(root) as shop:
        assert await shop.said("shell", command="pwd; echo err >&2; exit 3") == f"{root}\nerr\n[exit code 3]"
        assert await shop.said("shell", command="printf 'no end'") == "no end\n[exit code 0]"
        assert await shop.said("shell", command="true") == "[exit code 0]"
        assert (
            await shop.said("shell", command="printf '\\033[1mbold\\033[0m 10%%\\r100%%\\n'") == "100%\n[exit code 0]"
        )


async def test_a_killed_command_reports_how_it_was_killed(root: Path) -> None:
    async with workshop(root) as shop:
        late = await shop.refused("shell", command="echo begun; cat /dev/zero > /dev/null", timeout_secs=1)
        assert late.startswith("the command was killed after 1 s")
        assert late.splitlines()[1:] == ["begun", "[timed out after 1 s, no exit code]"]
        killed = await shop.use("shell", command="kill -9 $$")
        assert "9" in killed.text.splitlines()[0] + killed.text.splitlines()[-1]


async def test_endless_output_is_cut_to_its_start_and_end(root: Path) -> None:
    async with workshop(root) as shop:
        text = await shop.said("shell", command="echo first; yes ä | head -c 5000000; echo; echo last")
        assert len(text.encode()) <= MOST_BYTES
        assert text.startswith("first\n")
        assert text.endswith("last\n[exit code 0]")
        assert "bytes left out here" in text
        assert "�" not in text
        line = await shop.said("shell", command="head -c 3000000 /dev/zero | tr '\\0' x")
        assert len(line.encode()) <= MOST_BYTES


async def test_processes_started_by_a_command_are_dead_when_it_returns(root: Path) -> None:
    async with workshop(root) as shop:
        await shop.said("shell", command="(while :; do date +%N > beat; done) & while ! test -s beat; do :; done")
        before = shop.content("beat")
        await shop.said("shell", command="true")
        assert shop.content("beat") == before

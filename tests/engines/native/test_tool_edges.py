"""Unusual files, names and arguments: the answer of a tool is true, and nothing else is changed."""

from pathlib import Path

import pytest
from workshop import Workshop, calls, done, read, script, shell, workshop

from donewhen.engines.native.reply import MOST_INPUT, MOST_TEXT, within_limits
from donewhen.engines.native.tools.clip import clean, lines_of
from donewhen.model.interface import Call, Reply
from repositories import commit, write

pytestmark = pytest.mark.anyio


async def put(shop: Workshop, path: str, content: bytes) -> None:
    shop.maker.files.write(path, content)


def content(shop: Workshop, path: str) -> bytes:
    return shop.maker.files.read(path, 1 << 20)


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"one\r\ntwo\r\n", "one\r\ntwo", "1\n2", b"1\r\n2\r\n"),
        (b"one\r\ntwo\r\n", "two", "2\nzwei", b"one\r\n2\r\nzwei\r\n"),
        (b"one\r\ntwo\nthree\r\n", "two", "2", b"one\r\n2\nthree\r\n"),
        (b"\xef\xbb\xbfone\r\ntwo", "one\ntwo", "1\n2", b"\xef\xbb\xbf1\r\n2"),
        (b"one\ntwo", "two", "2", b"one\n2"),
        (b"one\rtwo\rthree", "two", "2", b"one\r2\rthree"),
        (b"caf\xe9\nfoo\n", "foo", "bar", b"caf\xe9\nbar\n"),
    ],
    ids=["CRLF on both sides", "CRLF", "both ends", "BOM", "no last end", "CR", "latin-1"],
)
async def test_an_edit_keeps_encoding_and_line_endings(
    root: Path, before: bytes, old: str, new: str, after: bytes
) -> None:
    async with workshop(root) as shop:
        await put(shop, "f", before)
        await shop.said("edit_file", path="f", old=old, new=new)
        assert content(shop, "f") == after


async def test_utf8_text_is_not_mixed_into_a_file_of_another_encoding(root: Path) -> None:
    async with workshop(root) as shop:
        await put(shop, "latin", b"caf\xe9 one\n")
        assert "latin is not UTF-8" in await shop.refused("edit_file", path="latin", old="one", new="zw\u00f6lf")
        assert content(shop, "latin") == b"caf\xe9 one\n"


async def test_lines_are_counted_as_grep_counts_them(root: Path) -> None:
    async with workshop(root) as shop:
        await put(shop, "f", "a\x0cb\u2028c\n\x85needle\nlast\n".encode())
        assert (await shop.said("grep_files", pattern="needle")).startswith("f:2:")
        assert "needle" in await shop.said("read_file", path="f", start=2, end=2)
        assert "has 3 lines" in await shop.refused("read_file", path="f", start=4)
        assert (await shop.said("edit_file", path="f", old="last", new="end")).endswith("line 3")
        assert "     2| " in await shop.refused("edit_file", path="f", old="needles are here", new="")


async def test_a_match_after_a_carriage_return_keeps_its_path(root: Path) -> None:
    async with workshop(root) as shop:
        await put(shop, "old-mac", b"one\rtwo\rthree\r")
        assert await shop.said("grep_files", pattern="two") == "a.txt:2:two\nold-mac:1:one two three"


async def test_pipes_devices_and_circular_links_are_answered_at_once(root: Path) -> None:
    async with workshop(root) as shop:
        await shop.said("shell", command="mkfifo pipe; ln -s pipe to-pipe; ln -s b a; ln -s a b; ln -s /dev/zero zero")
        for tool, more in (("read_file", {}), ("grep_files", {"pattern": "x"}), ("write_file", {"content": "x"})):
            for path in ("pipe", "to-pipe"):
                assert "is a device, a pipe or a socket" in await shop.refused(tool, path=path, **more)
            assert "outside" in await shop.refused(tool, path="zero", **more)
        assert await shop.refused("read_file", path="a") == "a is a broken link"
        assert await shop.said("grep_files", pattern="two") == "a.txt:2:two"


@pytest.mark.parametrize("path", ["./a.txt", "src/../a.txt"])
async def test_a_match_is_reported_with_its_plain_path(root: Path, path: str) -> None:
    async with workshop(root) as shop:
        assert await shop.said("grep_files", pattern="two", path=path) == "a.txt:2:two"


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("one\ntwo", "grep_files: the pattern has several lines, but lines are searched one by one; give one of them"),
        ("a\0b", "grep_files: the pattern is not valid text"),
        ("\ud800", "grep_files: the pattern is not valid text"),
        ("x" * 200_000, "grep_files: the pattern has more than 10000 characters"),
    ],
    ids=["lines", "NUL", "half a character", "long"],
)
async def test_an_impossible_search_pattern_is_explained(root: Path, pattern: str, told: str) -> None:
    async with workshop(root) as shop:
        assert await shop.refused("grep_files", pattern=pattern) == told


async def test_an_incomplete_search_does_not_report_no_matches(root: Path) -> None:
    async with workshop(root) as shop:
        await shop.said("shell", command="echo secret > closed; chmod 000 closed")
        text = await shop.said("grep_files", pattern="secret")
        assert text.startswith("[nothing was found that matches secret]\n[not all of it could be searched: ./closed: ")


async def test_names_that_look_like_patterns_are_found(root: Path) -> None:
    write(root, {"app/[id]/page.tsx": "", "{a,b}.txt": "", "app/i/page.tsx": ""})
    commit(root)
    async with workshop(root) as shop:
        assert await shop.said("find_files", pattern="app/[id]/page.tsx") == "app/[id]/page.tsx\napp/i/page.tsx"
        assert await shop.said("find_files", pattern="{a,b}.txt") == "a.txt\n{a,b}.txt"


@pytest.mark.parametrize(
    ("tool", "more"), [("read_file", {}), ("write_file", {"content": ""}), ("edit_file", {"old": "a", "new": "b"})]
)
async def test_an_empty_path_is_reported_as_empty(root: Path, tool: str, more: dict[str, str]) -> None:
    async with workshop(root) as shop:
        assert await shop.refused(tool, path=" ", **more) == f"{tool}: path is empty"


async def test_a_path_that_ends_in_a_slash_is_not_a_file(root: Path) -> None:
    async with workshop(root) as shop:
        assert "is a directory; name a file in it" in await shop.refused("write_file", path="new/", content="x")
        assert "new" not in await shop.said("list_dir")


def test_an_unterminated_terminal_code_hides_at_most_its_line() -> None:
    assert clean("a\x1b]0;title\nb\n") == "a\nb\n"


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\n\nb", "\n", "a\r\nb\r\n", "a\x0cb\n"])
def test_the_joined_lines_equal_the_text(text: str) -> None:
    assert "".join(lines_of(text)) == text.replace("\r\n", "\n")


# -- many and large calls --


async def test_a_hundred_calls_of_one_turn_run_and_are_reported_in_order(root: Path) -> None:
    async with workshop(root) as shop:
        wanted = [read("a.txt") if number % 10 else shell(f"echo {number}") for number in range(100)]
        attempt = await shop.attempt(script(calls(*wanted), done()))
        assert attempt.stop == "done"
        assert shop.pages.types().count("tool_result") == 100
        made = [call["id"] for call in shop.pages.told("tool_call")]
        assert [result["id"] for result in shop.pages.told("tool_result")] == made


async def test_calls_that_exceed_the_log_limit_together_do_not_run_and_the_rest_does(root: Path) -> None:
    async with workshop(root) as shop:
        big = ("write_file", {"path": "big", "content": "x" * MOST_INPUT})
        await shop.attempt(script(calls(read("a.txt"), big, shell("echo on")), done()))
        assert [result["ok"] for result in shop.pages.told("tool_result")] == [True, False, True]
        assert "hold more than" in shop.pages.told("tool_result")[1]["preview"]
        assert "big" not in await shop.said("list_dir")


def test_a_reply_within_bounds_is_not_changed() -> None:
    reply = Reply(text="\u00e9", calls=(Call("1", "shell", {"command": "ls"}),), raw=[{"type": "thinking"}])
    assert within_limits(reply) == reply


def test_an_overlong_reply_text_is_cut_and_loses_its_provider_form() -> None:
    reply = within_limits(Reply(text="\u00e9" * MOST_TEXT, raw=["\u00e9" * MOST_TEXT]))
    assert len(reply.text.encode()) <= MOST_TEXT
    assert reply.raw is None

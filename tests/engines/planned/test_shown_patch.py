"""Patches cut for readers: every file is named, large files leave space for small ones, and cuts are reported."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.engines.planned.trim_patch import LEAST_SHOWN, LONGEST_NAME, trimmed_patch
from tiers import examples

BOUND_PER_FILE = 2 * LONGEST_NAME + 60
"""The name of a file and the note about the cut."""
BOUND = 120


def section(path: str, lines: int, width: int = 40) -> str:
    body = "".join(f"+{number:0{width - 2}}\n" for number in range(lines))
    head = f"diff --git a/{path} b/{path}\nindex 1..2 100644\n--- a/{path}\n+++ b/{path}\n"
    return f"{head}@@ -0,0 +1,{lines} @@\n{body}"


def deleted(path: str, lines: int) -> str:
    head = f"diff --git a/{path} b/{path}\ndeleted file mode 100644\nindex 1..0\n--- a/{path}\n+++ /dev/null\n"
    return f"{head}@@ -1,{lines} +0,0 @@\n" + "-gone\n" * lines


def binary(path: str) -> str:
    head = f"diff --git a/{path} b/{path}\nindex 1..2 100644\n"
    return f"{head}GIT binary patch\nliteral 9\nQcmZR\n\nliteral 0\nHcmV?d00001\n\n"


def cut_of(shown: str) -> tuple[int, int, int]:
    match = re.search(r"\ncut: (\d+) of (\d+) files, ([\d,]+) characters\n$", shown)
    assert match
    return int(match[1]), int(match[2]), int(match[3].replace(",", ""))


def test_a_small_patch_is_shown_unchanged() -> None:
    patch = section("a.py", 3) + section("d/b c.py", 2)
    assert trimmed_patch(patch) == patch


def test_an_empty_patch_gives_empty_text() -> None:
    assert trimmed_patch("") == ""


def test_a_large_file_keeps_its_start_and_end_and_says_what_is_missing() -> None:
    patch = section("a.py", 1000) + section("b.py", 2)
    shown = trimmed_patch(patch, per_file=1000)
    assert shown.startswith(
        "diff --git a/a.py b/a.py\nindex 1..2 100644\n--- a/a.py\n+++ b/a.py\n@@ -0,0 +1,1000 @@\n+000"
    )
    assert f"+{999:038}\ndiff --git a/b.py b/b.py\n" in shown
    assert section("b.py", 2) in shown
    (missing,) = re.findall(r"^\[([\d,]+) characters cut\]$", shown, re.MULTILINE)
    assert cut_of(shown) == (1, 2, int(missing.replace(",", "")))
    assert len(shown) < len(section("b.py", 2)) + 1200


def test_a_patch_is_cut_between_lines() -> None:
    whole = set(section("a.py", 1000).split("\n"))
    shown = trimmed_patch(section("a.py", 1000), per_file=777).split("\n")
    assert all(line in whole or line.endswith(" characters cut]") for line in shown[:-2])


def test_a_very_long_line_is_cut_inside() -> None:
    patch = "diff --git a/x b/x\n@@ -1 +1 @@\n+" + "y" * 50_000
    shown = trimmed_patch(patch, per_file=1000)
    assert cut_of(shown)[:2] == (1, 1)
    assert 900 < shown.count("y") < 1100


def test_one_large_file_leaves_space_for_the_others() -> None:
    small = [section(f"s{number}.py", 10) for number in range(10)]
    patch = section("big.py", 100_000) + "".join(small)
    shown = trimmed_patch(patch, per_file=100_000, total=10_000)
    assert all(one in shown for one in small)
    assert shown.startswith("diff --git a/big.py b/big.py\n")
    assert cut_of(shown)[:2] == (1, 11)
    assert 9_000 < len(shown) < 10_000 + 11 * 60


def test_large_files_share_the_space_that_small_ones_leave() -> None:
    patch = section("a.py", 1000) + section("b.py", 1) + section("c.py", 1000)
    shown = trimmed_patch(patch, per_file=100_000, total=10_000)
    a, b, c = (len(part) for part in shown.split("diff --git ")[1:])
    assert abs(a - c) < BOUND
    assert a > 4_500
    assert b < 200


def test_a_file_with_a_very_small_share_shows_only_its_name() -> None:
    patch = "".join(section(f"f{number}.py", 100) for number in range(50))
    shown = trimmed_patch(patch, total=LEAST_SHOWN - 1)
    assert shown.count("characters cut]") == 50
    assert all(f"diff --git a/f{number}.py b/f{number}.py\n[" in shown for number in range(50))
    assert cut_of(shown)[:2] == (50, 50)


def test_with_too_many_files_the_first_are_shown_in_part_and_small_ones_completely() -> None:
    small = "diff --git a/s b/s\nold mode 100644\nnew mode 100755\n"
    patch = "".join(section(f"f{number}.py", 100) for number in range(50)) + small
    shown = trimmed_patch(patch, total=4 * LEAST_SHOWN + 50)
    assert [f"b/f{number}.py\nindex" in shown for number in range(50)] == [True] * 4 + [False] * 46
    assert small in shown
    assert cut_of(shown)[:2] == (50, 51)


def test_deleted_and_binary_files_take_one_line() -> None:
    gone = (
        "diff --git a/p.png b/p.png\ndeleted file mode 100644\nindex 1..0\nBinary files a/p.png and /dev/null differ\n"
    )
    patch = deleted("old/a b.py", 1234) + binary("logo.png") + section("x.py", 1) + gone
    assert trimmed_patch(patch) == (
        f"deleted: old/a b.py (1,234 lines)\nbinary: logo.png\n{section('x.py', 1)}deleted: p.png (binary)\n"
    )


def test_text_that_mentions_binary_or_deleted_files_is_text() -> None:
    patch = section("x.py", 1) + "+GIT binary patch\n deleted file mode 100644\n-Binary files a and b differ\n"
    patch += "Binary files a and b differ\n"
    assert trimmed_patch(patch) == patch


def test_a_renamed_file_is_shown_by_its_new_name() -> None:
    head = "diff --git a/old.png b/new.png\nsimilarity index 90%\nrename from old.png\nrename to new.png\nindex 1..2\n"
    assert trimmed_patch(head + "Binary files a/old.png and b/new.png differ\n") == "binary: new.png\n"


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        ("a/x b/x b/x b/x", "x b/x"),
        ('"a/\\303\\274" "b/\\303\\274"', '"\\303\\274"'),
        ("a/x b/y", "a/x b/y"),
        ("strange", "strange"),
    ],
)
def test_names_are_read_as_git_writes_them(names: str, shown: str) -> None:
    assert trimmed_patch(f"diff --git {names}\nBinary files differ by differ\n") == f"binary: {shown}\n"


def test_a_very_long_name_is_shortened_in_its_middle() -> None:
    path = "d/" * 2000 + "end.py"
    for patch in (section(path, 1000), deleted(path, 3), binary(path)):
        shown = trimmed_patch(patch, per_file=300)
        assert "end.py" in shown.split("\n")[0]
        assert len(shown.split("\n")[0]) < LONGEST_NAME + 40


def test_text_that_is_not_a_patch_is_cut_too() -> None:
    assert trimmed_patch("hello\n") == "hello\n"
    assert cut_of(trimmed_patch("hello\n" * 10_000, per_file=500))[:2] == (1, 1)


# -- property tests --

paths = st.text(alphabet="abc/ .ü", min_size=1, max_size=12)
sections = st.one_of(
    st.builds(section, paths, st.integers(0, 60)),
    st.builds(deleted, paths, st.integers(0, 20)),
    st.builds(binary, paths),
)


@settings(max_examples=examples(150))
@given(st.lists(sections, max_size=8), st.integers(-1, 3000), st.integers(-1, 6000))
def test_every_file_is_named_and_the_length_is_bounded(parts: list[str], per_file: int, total: int) -> None:
    shown = trimmed_patch("".join(parts), per_file, total)
    assert len(shown) <= max(total, 0) + BOUND_PER_FILE * len(parts) + BOUND
    named = re.findall(r"^(?:diff --git a/|deleted: |binary: )(.*)$", shown, re.MULTILINE)
    told = [part.split("\n")[0].removeprefix("diff --git a/") for part in parts]
    assert len(named) == len(told)
    for name, heading in zip(named, told, strict=True):
        path = heading[: (len(heading) - 3) // 2]
        assert name in (heading, path) or name.startswith(f"{path} (")
    assert shown == trimmed_patch("".join(parts), per_file, total)


@settings(max_examples=examples(150))
@given(st.lists(st.builds(section, paths, st.integers(0, 60)), max_size=8), st.integers(0, 3000), st.integers(0, 6000))
def test_the_shown_and_the_cut_parts_add_up_to_the_whole(parts: list[str], per_file: int, total: int) -> None:
    patch = "".join(parts)
    shown = trimmed_patch(patch, per_file, total)
    marks = re.findall(r"^\[([\d,]+) characters cut\]$", shown, re.MULTILINE)
    missing = sum(int(mark.replace(",", "")) for mark in marks)
    if not marks:
        assert shown == patch
    else:
        assert cut_of(shown) == (len(marks), len(parts), missing)
    kept = re.sub(r"^\[[\d,]+ characters cut\]\n|\ncut: .*\n$", "", shown, flags=re.MULTILINE)
    assert 0 <= len(kept) - (len(patch) - missing) <= len(marks)


@settings(max_examples=examples(150))
@given(
    st.text(alphabet=st.characters(exclude_categories=[])) | st.text(alphabet="diff --git a/b\n@+-"),
    st.integers(0, 300),
)
def test_any_text_is_shown_within_bounds(text: str, total: int) -> None:
    files = len(re.findall(r"^diff --git ", text, re.MULTILINE))
    assert len(trimmed_patch(text, total, total)) <= total + BOUND_PER_FILE * (files + 1) + BOUND

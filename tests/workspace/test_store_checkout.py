"""Trees on disk: what git itself would write, without running a program of the repository."""

import os
from pathlib import Path

import pytest

from donewhen.errors import MachineryBroke
from repositories import ODD_NAMES, commit, contents, git, lfs_repository, opened, pointer, repository, write

pytestmark = pytest.mark.anyio


def odd_repository(root: Path) -> Path:
    repository(root, {name: b"in " + name + b"\n" for name in ODD_NAMES})
    (root / "program").write_text("#!/bin/sh\n")
    (root / "program").chmod(0o755)
    (root / "link").symlink_to("space in name")
    (root / "dangling").symlink_to("no/such")
    (root / "out").symlink_to("/etc/passwd")
    os.symlink(b"broken \xff\xfe", bytes(root / "odd link"))
    (root / "empty").touch()
    commit(root)
    return root


async def test_names_modes_and_links_are_checked_out_byte_for_byte(tmp_path: Path) -> None:
    root = odd_repository(tmp_path / "r")
    async with opened(root, tmp_path / "state") as store:
        assert await store.check_out(store.repo.head, tmp_path / "out") == ()
    assert contents(tmp_path / "out") == contents(root)


async def test_the_sha256_format_is_checked_out_too(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {"d/a": "a"}, "--object-format=sha256")
    async with opened(root, tmp_path / "state") as store:
        await store.check_out(store.repo.head, tmp_path / "out")
    assert contents(tmp_path / "out") == contents(root)


async def test_line_endings_encodings_and_idents_follow_the_tree_s_attributes(tmp_path: Path) -> None:
    attributes = "*.txt text eol=crlf\n*.u16 text working-tree-encoding=UTF-16\n*.id ident\n*.bin -text\n"
    files = {"a.txt": "1\n2\n", "b.u16": "h\u00e9\n".encode("utf-16"), "c.id": "$Id$\n", "d.bin": b"\0\r\n"}
    root = repository(tmp_path / "r", {".gitattributes": attributes, **files})
    git(root, "rm", "--quiet", "--cached", "-r", ".")
    git(root, "reset", "--quiet", "--hard")
    async with opened(root, tmp_path / "state") as store:
        await store.check_out(store.repo.head, tmp_path / "out")
    assert (tmp_path / "out" / "a.txt").read_bytes() == b"1\r\n2\r\n"
    assert contents(tmp_path / "out") == contents(root)


async def test_settings_of_the_user_do_not_reach_a_checkout(tmp_path: Path, home: Path) -> None:
    root = repository(tmp_path / "r", {"a.txt": "1\n"})
    (home / ".gitconfig").write_text("[core]\n\tautocrlf = true\n\teol = crlf\n")
    git(root, "config", "core.symlinks", "false")
    async with opened(root, tmp_path / "state") as store:
        await store.check_out(store.repo.head, tmp_path / "out")
    assert (tmp_path / "out" / "a.txt").read_bytes() == b"1\n"


async def test_a_submodule_becomes_an_empty_directory(tmp_path: Path) -> None:
    repository(tmp_path / "part")
    root = repository(tmp_path / "whole")
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "part"), "sub")
    commit(root)
    async with opened(root, tmp_path / "state") as store:
        await store.check_out(store.repo.head, tmp_path / "out")
    assert list((tmp_path / "out" / "sub").iterdir()) == []


async def test_a_sparse_checkout_is_checked_out_completely(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {"in/a": "a", "out/b": "b"})
    git(root, "sparse-checkout", "set", "--cone", "--sparse-index", "in")
    assert not (root / "out").exists()
    async with opened(root, tmp_path / "state") as store:
        await store.check_out(store.repo.head, tmp_path / "out")
    assert (tmp_path / "out" / "out" / "b").read_text() == "b"


async def test_lfs_pointers_become_content_if_available(tmp_path: Path) -> None:
    root, here = lfs_repository(tmp_path / "r")
    async with opened(root, tmp_path / "state") as store:
        missing = await store.check_out(store.repo.head, tmp_path / "out")
    assert missing == ("there.bin",)
    assert (tmp_path / "out" / "here.bin").read_bytes() == here
    assert (tmp_path / "out" / "there.bin").read_bytes() == pointer(b"content elsewhere\n")
    assert (tmp_path / "out" / "plain.txt").read_bytes() == pointer(here), "only files that are meant for LFS"


async def test_a_filter_of_the_user_s_is_never_run(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {".gitattributes": "* filter=mine\n", "a.txt": "a\n"})
    fired = tmp_path / "fired"
    for step in ("clean", "smudge", "process"):
        git(root, "config", f"filter.mine.{step}", f"touch '{fired}'; cat")
    git(root, "config", "filter.mine.required", "true")
    async with opened(root, tmp_path / "state") as store:
        await store.check_out(store.repo.head, tmp_path / "out")
        await store.uncommitted()
    assert (tmp_path / "out" / "a.txt").read_text() == "a\n"
    assert not fired.exists()


async def test_a_directory_that_is_not_empty_is_not_filled(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    write(tmp_path / "out", {"precious": "x"})
    async with opened(root, tmp_path / "state") as store:
        with pytest.raises(MachineryBroke, match="is not empty"):
            await store.check_out(store.repo.head, tmp_path / "out")
    assert (tmp_path / "out" / "precious").read_text() == "x"

"""Candidates: files written in a tree become the tree that git would make, or are refused by name."""

import os
import shutil
import socket
import stat
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import anyio
import pytest

from donewhen.workspace.beneath import LeavesRoot
from donewhen.workspace.git.store import Store
from donewhen.workspace.trees.capture import (
    Candidate,
    CandidateRefused,
    capture_copy,
    capture_layer,
    read_layer,
    stamp,
    write_files,
    write_layer,
)
from donewhen.workspace.trees.capture.refusals import LARGEST_FILE, wrong_link
from repositories import ODD_NAMES, Files, commit, contents, git, lfs_repository, opened, pointer, repository, write

pytestmark = pytest.mark.anyio

BASE = {
    ".gitignore": "*.o\nbuild/\n/local\n", "a.txt": "a\n", "d/b.txt": "b\n", "d/e/c.txt": "c\n", "f": "f\n",
    "sub/.gitignore": "!keep.o\nsecret\n", "sub/x": "x\n",
}  # fmt: skip


def base_repository(root: Path) -> Path:
    repository(root, BASE)
    write(root, {"build/kept": "tracked although ignored\n"})
    git(root, "add", "--force", "build/kept")
    (root / "link").symlink_to("d/b.txt")
    (root / "outward").symlink_to("/etc/hostname")
    commit(root)
    return root


def whiteout(upper: Path, name: str) -> None:
    (upper / name).parent.mkdir(parents=True, exist_ok=True)
    os.mknod(upper / name, stat.S_IFCHR, os.makedev(0, 0))


def opaque(upper: Path, name: str) -> None:
    (upper / name).mkdir(parents=True, exist_ok=True)
    os.setxattr(upper / name, "user.overlay.opaque", b"y")


def link(upper: Path, name: str, target: str) -> None:
    (upper / name).parent.mkdir(parents=True, exist_ok=True)
    (upper / name).symlink_to(target)


async def captured(store: Store, upper: Path) -> Candidate:
    upper.mkdir(exist_ok=True)
    return await capture_layer(store, store.repo.head, upper)


def kinds(candidate: Candidate) -> dict[str, str]:
    return {change.path: change.kind for change in candidate.changes}


async def test_an_untouched_tree_is_its_base(tmp_path: Path) -> None:
    root = base_repository(tmp_path / "r")
    upper = tmp_path / "upper"
    write(upper, {"a.txt": "a\n", "d/e/c.txt": "c\n", ".git/HEAD": "theirs"})  # copied up, not changed
    link(upper, "outward", "/etc/hostname")
    async with opened(root, tmp_path / "state") as store:
        untouched = Candidate(await store.tree_of(store.repo.head), (), ())
        assert await captured(store, upper) == untouched
        (tmp_path / "other" / "d" / "e").mkdir(parents=True)
        assert await captured(store, tmp_path / "other") == untouched


async def test_written_deleted_linked_and_executable_files_are_captured(tmp_path: Path) -> None:
    root = base_repository(tmp_path / "r")
    upper = tmp_path / "upper"
    write(upper, {"a.txt": "changed\n", "d/new": "n\n", "x/y/z": "deep\n", "f": "f\n", "build/kept": "2\n"})
    (upper / "f").chmod(0o755)
    (upper / "x" / "empty").mkdir()
    link(upper, "d/up", "../a.txt")
    whiteout(upper, "d/e")
    whiteout(upper, "link")
    whiteout(upper, "never there")
    async with opened(root, tmp_path / "state") as store:
        candidate = await captured(store, upper)
    assert kinds(candidate) == {
        "a.txt": "modified", "build/kept": "modified", "d/e/c.txt": "deleted", "d/new": "added", "d/up": "added",
        "f": "modified", "link": "deleted", "x/y/z": "added",
    }  # fmt: skip
    write(root, {"a.txt": "changed\n", "d/new": "n\n", "x/y/z": "deep\n", "build/kept": "2\n"})
    (root / "f").chmod(0o755)
    (root / "d" / "up").symlink_to("../a.txt")
    shutil.rmtree(root / "d" / "e")
    (root / "link").unlink()
    git(root, "add", "--all")
    assert candidate.tree == git(root, "write-tree")


async def test_files_directories_and_links_may_replace_each_other(tmp_path: Path) -> None:
    root = base_repository(tmp_path / "r")
    upper = tmp_path / "upper"
    write(upper, {"a.txt/inside": "i\n", "d": "a file\n", "link/x": "x\n"})
    opaque(upper, "sub")
    write(upper, {"sub/only": "o\n"})
    async with opened(root, tmp_path / "state") as store:
        candidate = await captured(store, upper)
    for path in ("d", "sub"):
        shutil.rmtree(root / path)
    for path in ("a.txt", "link"):
        (root / path).unlink()
    write(root, {"a.txt/inside": "i\n", "d": "a file\n", "link/x": "x\n", "sub/only": "o\n"})
    git(root, "add", "--all")
    assert candidate.tree == git(root, "write-tree")


async def test_parallel_captures_do_not_affect_each_other(tmp_path: Path) -> None:
    root = base_repository(tmp_path / "r")
    found: dict[int, dict[str, str]] = {}
    async with opened(root, tmp_path / "state") as store:

        async def capture_one(number: int) -> None:
            write(tmp_path / str(number), {"a.txt": f"{number}\n", f"new/{number}": "n"})
            found[number] = kinds(await captured(store, tmp_path / str(number)))

        async with anyio.create_task_group() as tasks:
            for number in range(6):
                tasks.start_soon(capture_one, number)
    assert found == {number: {"a.txt": "modified", f"new/{number}": "added"} for number in range(6)}


async def test_deleting_everything_leaves_the_empty_tree(tmp_path: Path) -> None:
    root = base_repository(tmp_path / "r")
    upper = tmp_path / "upper"
    for name in os.listdir(root):
        whiteout(upper, name)
    async with opened(root, tmp_path / "state") as store:
        assert (await captured(store, upper)).tree == git(root, "hash-object", "-t", "tree", "/dev/null")


@pytest.mark.parametrize("form", ["sha1", "sha256"])
async def test_odd_names_are_captured_and_written_back_byte_for_byte(tmp_path: Path, form: str) -> None:
    root = repository(tmp_path / "r", {"a": "a"}, f"--object-format={form}")
    write(tmp_path / "upper", {name: b"new " + name for name in ODD_NAMES})
    async with opened(root, tmp_path / "state") as store:
        candidate = await captured(store, tmp_path / "upper")
        await write_layer(store, await store.tree_of(store.repo.head), candidate.tree, tmp_path / "layer")
    assert len(candidate.changes) == len(ODD_NAMES)
    assert contents(tmp_path / "layer") == contents(tmp_path / "upper")


# -- ignored files --


async def test_paths_ignored_by_the_candidate_s_rules_are_left_out_and_cost_nothing(tmp_path: Path) -> None:
    root = base_repository(tmp_path / "r")
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "exclude").write_text("private\n")
    upper = tmp_path / "upper"
    ignored = ["x.o", "d/x.o", "build/new", "local/a", "sub/secret", "private", "pkg/node_modules/m", "pkg/x.o"]
    kept = ["sub/keep.o", "d/local", "pkg/src", "d/secret", "pkg/.gitignore"]
    write(upper, {**dict.fromkeys(ignored, "i"), **dict.fromkeys(kept, "k"), "pkg/.gitignore": "node_modules\n"})
    for odd in ("local/.git", "pkg/node_modules/.git"):
        (upper / odd).mkdir()
    os.mkfifo(upper / "local" / "pipe")
    link(upper, "local/out", "/etc")
    async with opened(root, tmp_path / "state") as store:
        assert kinds(await captured(store, upper)) == dict.fromkeys(sorted(kept), "added")


async def test_changed_or_deleted_ignore_rules_count_as_they_are_now(tmp_path: Path) -> None:
    root = base_repository(tmp_path / "r")
    upper = tmp_path / "upper"
    write(upper, {".gitignore": "*.tmp\n", "x.o": "", "x.tmp": "", "sub/secret": "", "sub/keep.o": ""})
    whiteout(upper, "sub/.gitignore")
    async with opened(root, tmp_path / "state") as store:
        found = kinds(await captured(store, upper))
    assert found == {
        ".gitignore": "modified", "sub/.gitignore": "deleted", "sub/keep.o": "added", "sub/secret": "added",
        "x.o": "added",
    }  # fmt: skip


async def test_ignore_rules_under_a_replaced_directory_no_longer_count(tmp_path: Path) -> None:
    root = base_repository(tmp_path / "r")
    upper = tmp_path / "upper"
    opaque(upper, "sub")
    write(upper, {"sub/secret": "no rule hides it now"})
    async with opened(root, tmp_path / "state") as store:
        found = kinds(await captured(store, upper))
    assert found == {"sub/.gitignore": "deleted", "sub/secret": "added", "sub/x": "deleted"}


async def test_a_tracked_file_counts_even_if_a_rule_ignores_it(tmp_path: Path) -> None:
    root = base_repository(tmp_path / "r")
    upper = tmp_path / "upper"
    write(upper, {"a.txt": "x", ".gitignore": "*\n"})
    whiteout(upper, "build/kept")
    async with opened(root, tmp_path / "state") as store:
        found = kinds(await captured(store, upper))
    assert found == {".gitignore": "modified", "a.txt": "modified", "build/kept": "deleted"}


async def test_an_ignored_file_in_place_of_a_tracked_directory_is_only_a_deletion(tmp_path: Path) -> None:
    root = base_repository(tmp_path / "r")
    write(tmp_path / "upper", {".gitignore": "d\n", "d": "ignored\n"})
    async with opened(root, tmp_path / "state") as store:
        found = kinds(await captured(store, tmp_path / "upper"))
    assert found == {".gitignore": "modified", "d/b.txt": "deleted", "d/e/c.txt": "deleted"}


# -- refusals --


def device(upper: Path) -> None:
    try:
        os.mknod(upper / "dev", stat.S_IFCHR | 0o600, os.makedev(1, 3))
    except PermissionError:  # only root makes devices
        os.mkfifo(upper / "dev")


def unix_socket(upper: Path) -> None:
    with chdir(upper), socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")


def too_long(upper: Path) -> None:
    with chdir(upper):
        for _ in range(20):
            os.mkdir("n" * 250)
            os.chdir("n" * 250)
        Path("file").touch()


def sparse(upper: Path) -> None:
    with (upper / "huge").open("wb") as file:
        file.truncate(LARGEST_FILE + 1)


def huge_rules(upper: Path, name: str) -> None:
    (upper / name).parent.mkdir(exist_ok=True)
    with (upper / name).open("wb") as file:
        file.truncate(64 << 30)


def pipe(upper: Path, name: str) -> None:
    (upper / name).parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(upper / name)


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "an absolute link": (lambda u: link(u, "l", "/etc/passwd"), "l links out of the tree"),
    "a link upwards": (lambda u: link(u, "d/l", "../../x"), "d/l links out of the tree"),
    "a link upwards and down": (lambda u: link(u, "l", "d/../../r/a.txt"), "l links out of the tree"),
    "through a new link": (lambda u: [link(u, "d/l", ".."), link(u, "m", "d/l/..")], "m links out of the tree"),
    "through a base link": (lambda u: link(u, "l", "outward"), "l links out of the tree"),
    "a changed base link": (lambda u: link(u, "outward", "/etc/passwd"), "outward links out of the tree"),
    "a bent base link": (lambda u: link(u, "d", "."), "back links out of the tree"),
    "into the git dir": (lambda u: link(u, "l", ".git/config"), "l links into the git directory"),
    "into it by another name": (lambda u: link(u, "l", "d/../.GIT/hooks"), "l links into the git directory"),
    "a pipe": (lambda u: os.mkfifo(u / "p"), "p is a device, a pipe or a socket"),
    "a socket": (unix_socket, "sock is a device, a pipe or a socket"),
    "a device": (device, "dev is a device, a pipe or a socket"),
    "a pipe for a file": (lambda u: os.mkfifo(u / "a.txt"), "a.txt is a device, a pipe or a socket"),
    "a repository inside": (lambda u: write(u, {"in/.git/HEAD": "x"}), "in/.git is named like a git directory"),
    "a pointer inside": (lambda u: write(u, {"d/.git": "gitdir: x"}), "d/.git is named like a git directory"),
    "in capitals": (lambda u: write(u, {".GIT/config": "x"}), ".GIT is named like a git directory"),
    "in mixed case": (lambda u: write(u, {"d/.giT": "x"}), "d/.giT is named like a git directory"),
    "as HFS reads it": (
        lambda u: write(u, {".g\u200cit/config": "x"}),
        '".g\\342\\200\\214it" is named like a git directory',
    ),
    "as NTFS reads it": (lambda u: write(u, {"git~1/config": "x"}), "git~1 is named like a git directory"),
    "with a space behind": (lambda u: write(u, {".git /config": "x"}), ".git  is named like a git directory"),
    "with dots behind": (lambda u: write(u, {".git...": "x"}), ".git... is named like a git directory"),
    "with a stream": (lambda u: write(u, {".git::$INDEX_ALLOCATION": "x"}), ".git::$INDEX_ALLOCATION is named"),
    "behind a backslash": (lambda u: write(u, {"a\\.git": "x"}), "a\\.git is named like a git directory"),
    "a list of submodules": (lambda u: link(u, ".gitmodules", "a.txt"), ".gitmodules is a link, which git does not"),
    "a pipe for rules": (lambda u: pipe(u, "d/.gitignore"), "d/.gitignore is a device, a pipe or a socket"),
    "ignored attributes": (
        lambda u: [pipe(u, "new/.gitattributes"), write(u, {".gitignore": ".gitattributes\n", "new/x": "x"})],
        "new/.gitattributes is a device, a pipe or a socket",
    ),
    "rules without end": (lambda u: huge_rules(u, ".gitignore"), ".gitignore is too large for a rule file of git"),
    "new rules without end": (lambda u: huge_rules(u, "new/.gitignore"), "new/.gitignore is too large for a rule file"),
    "too long a path": (too_long, "n" * 250),
    "too large a file": (sparse, "huge is larger than 1024 MiB"),
    "into a submodule": (lambda u: write(u, {"module/x": "x"}), "module/x lies in a submodule, which cannot"),
}  # fmt: skip


async def refusal(store: Store, upper: Path, plant: Callable[[Path], object]) -> str:
    upper.mkdir()
    plant(upper)
    try:
        await captured(store, upper)
    except CandidateRefused as refused:
        return str(refused)
    return "was accepted"


async def test_entries_that_no_tree_may_hold_are_refused_by_name(tmp_path: Path) -> None:
    root = base_repository(tmp_path / "r")
    (root / "back").symlink_to("d/e/../../a.txt")
    git(root, "add", "back")
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{git(root, 'rev-parse', 'HEAD')},module")
    git(root, "commit", "--quiet", "-m", "more")
    async with opened(root, tmp_path / "state") as store:
        answers = {name: await refusal(store, tmp_path / name, plant) for name, (plant, _) in REFUSED.items()}
    assert {name: said for name, said in answers.items() if not said.startswith(REFUSED[name][1])} == {}
    assert [said for said in answers.values() if "\n" in said] == []


async def test_a_pipe_that_git_would_wait_for_is_found_and_named(tmp_path: Path) -> None:
    root = base_repository(tmp_path / "r")
    async with opened(root, tmp_path / "state") as store:
        for number, name in enumerate(("new/deep/.gitignore", "new/in/.git/HEAD")):
            upper = tmp_path / str(number)
            pipe(upper, name)
            for part in ("objects", "refs"):
                (upper / "new" / "in" / ".git" / part).mkdir(parents=True)
            with pytest.raises(CandidateRefused, match=f"^{name} is a device, a pipe or a socket$"):
                await captured(store, upper)


async def test_an_invalid_gitmodules_file_is_ordinary_content(tmp_path: Path) -> None:
    root = base_repository(tmp_path / "r")
    write(tmp_path / "upper", {".gitmodules": "[broken", "new": "n"})
    async with opened(root, tmp_path / "state") as store:
        candidate = await captured(store, tmp_path / "upper")
    assert kinds(candidate) == {".gitmodules": "added", "new": "added"}
    assert candidate.flagged == (".gitmodules",)


async def test_every_offence_is_listed_and_the_message_counts_them(tmp_path: Path) -> None:
    root = base_repository(tmp_path / "r")
    for name in ("z", "y"):
        link(tmp_path / "upper", name, "/")
    async with opened(root, tmp_path / "state") as store:
        with pytest.raises(CandidateRefused, match=r"^y links out of the tree \(and 1 more\)$") as refused:
            await captured(store, tmp_path / "upper")
    assert [path for path, _ in refused.value.offences] == [b"y", b"z"]


async def test_an_unreadable_file_is_reported_as_unreadable(tmp_path: Path) -> None:
    write(tmp_path / "upper", {"secret": "x", "shut/file": "x"})
    for name in ("secret", "shut"):
        (tmp_path / "upper" / name).chmod(0)
    if os.geteuid() == 0:
        for place in (tmp_path, *tmp_path.parents[:4]):
            place.chmod(place.stat().st_mode | 0o055)
        os.seteuid(65534)
    try:
        layer = read_layer.read_upper(tmp_path / "upper", {b"shut"})
    finally:
        os.seteuid(os.getuid())
    assert {path: item.kind for path, item in layer.items()} == {b"secret": "unreadable", b"shut": "unreadable"}
    (tmp_path / "upper" / "shut").chmod(0o700)


async def test_an_untouched_submodule_is_kept(tmp_path: Path) -> None:
    root = base_repository(tmp_path / "r")
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{git(root, 'rev-parse', 'HEAD')},module")
    git(root, "commit", "--quiet", "-m", "more")
    upper = tmp_path / "upper"
    (upper / "module").mkdir(parents=True)
    async with opened(root, tmp_path / "state") as store:
        assert kinds(await captured(store, upper)) == {}
        (upper / "module").rmdir()
        whiteout(upper, "module")
        assert kinds(await captured(store, upper)) == {"module": "deleted"}


@pytest.mark.parametrize(
    ("links", "leads_out"),
    [
        ({b"l": b"a/../b"}, False),
        ({b"d/l": b"../x"}, False),
        ({b"l": b"m", b"m": b"l"}, False),
        ({b"l": b"."}, False),
        ({b"l": b""}, False),
        ({b"d/e/l": b"../../../x"}, True),
        ({b"l": b"m/../x", b"m": b"d/e"}, False),
        ({b"l": b"m/../../x", b"m": b"d/e"}, False),
        ({b"l": b"m/../../../x", b"m": b"d/e"}, True),
    ],
)
def test_a_link_leads_out_when_the_kernel_would_follow_it_out(links: dict[bytes, bytes], leads_out: bool) -> None:
    assert bool(wrong_link(min(links, key=lambda path: path[-1:] != b"l"), links)) is leads_out


# -- conversions by git --


async def test_line_endings_and_encodings_follow_the_attributes_of_the_candidate(tmp_path: Path) -> None:
    attributes = "*.txt text eol=crlf\n*.auto text=auto\n*.u16 text working-tree-encoding=UTF-16\n"
    root = repository(tmp_path / "r", {".gitattributes": attributes, "plain": "1\r\n"})
    git(root, "update-index", "--add", "--cacheinfo", f"100644,{git(root, 'rev-parse', 'HEAD:plain')},old.auto")
    git(root, "commit", "--quiet", "-m", "carriage returns from before the rule")
    upper = tmp_path / "upper"
    files: Files = {
        "a.txt": "1\r\n", "old.auto": "1\r\n2\r\n", "new.auto": "1\r\n", "x.u16": "h\u00e9\n".encode("utf-16"),
        "d/.gitattributes": "*.ini text\n", "d/a.ini": "1\r\n", "b.ini": "1\r\n",
    }  # fmt: skip
    write(upper, files)
    async with opened(root, tmp_path / "state") as store:
        candidate = await captured(store, upper)
        blobs = await store.bare.contents([change.new.id for change in candidate.changes if change.new])
    assert dict(zip(kinds(candidate), blobs, strict=True)) == {
        "a.txt": b"1\n", "b.ini": b"1\r\n", "d/.gitattributes": b"*.ini text\n", "d/a.ini": b"1\n",
        "new.auto": b"1\n", "old.auto": b"1\r\n2\r\n", "x.u16": "h\u00e9\n".encode(),
    }  # fmt: skip
    assert candidate.flagged == ("d/.gitattributes",)


async def test_content_that_does_not_fit_its_encoding_is_refused_by_name(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {".gitattributes": "*.u16 text working-tree-encoding=UTF-16\n"})
    write(tmp_path / "upper", {"x.u16": b"odd"})
    async with opened(root, tmp_path / "state") as store:
        with pytest.raises(CandidateRefused, match=r"^x\.u16 cannot be stored"):
            await captured(store, tmp_path / "upper")


async def test_lfs_content_becomes_a_pointer_and_is_restored(tmp_path: Path) -> None:
    root, here = lfs_repository(tmp_path / "r")
    upper = tmp_path / "upper"
    write(upper, {"here.bin": here, "there.bin": pointer(b"content elsewhere\n"), "new.bin": b"new", "x.dat": b"raw"})
    (upper / "new.bin").chmod(0o755)
    async with opened(root, tmp_path / "state") as store:
        candidate = await captured(store, upper)
        blobs = await store.bare.contents([change.new.id for change in candidate.changes if change.new])
        assert dict(zip(kinds(candidate), blobs, strict=True)) == {"new.bin": pointer(b"new"), "x.dat": b"raw"}
        await write_layer(store, await store.tree_of(store.repo.head), candidate.tree, tmp_path / "layer")
    assert contents(tmp_path / "layer") == {b"new.bin": ("program", b"new"), b"x.dat": ("file", b"raw")}


async def test_files_that_make_tools_run_programs_are_flagged(tmp_path: Path) -> None:
    root = base_repository(tmp_path / "r")
    flagged = [".envrc", ".gitmodules", ".mcp.json", ".vscode/tasks.json", "d/.IDEA/x", "d/.gitattributes", "d/.npmrc"]
    write(tmp_path / "upper", dict.fromkeys([*flagged, ".github/workflows/ci.yml", "src.py"], "x"))
    async with opened(root, tmp_path / "state") as store:
        assert sorted((await captured(store, tmp_path / "upper")).flagged) == sorted(flagged)


# -- writing back --


async def changed_tree(store: Store, tmp_path: Path) -> tuple[str, str]:
    """A base tree and one in which every kind of entry replaces every other."""
    upper = tmp_path / "upper"
    write(upper, {"a.txt/inside": "i\n", "d/e": "file\n", "x/y/z": "z\n", "f": "f\n"})
    (upper / "f").chmod(0o755)
    link(upper, "build", "x/y")
    whiteout(upper, "sub")
    whiteout(upper, "d/b.txt")
    return await store.tree_of(store.repo.head), (await captured(store, upper)).tree


async def test_a_layer_holds_the_changes_and_one_whiteout_per_deleted_subtree(tmp_path: Path) -> None:
    root = base_repository(tmp_path / "r")
    async with opened(root, tmp_path / "state") as store:
        base, tree = await changed_tree(store, tmp_path)
        await write_layer(store, base, tree, tmp_path / "layer")
        again = await capture_layer(store, store.repo.head, tmp_path / "layer")
    assert again.tree == tree
    assert contents(tmp_path / "layer", directories=False) == {
        b"a.txt/inside": ("file", b"i\n"), b"build": ("link", b"x/y"), b"d/b.txt": ("other", b""),
        b"d/e": ("file", b"file\n"), b"f": ("program", b"f\n"), b"sub": ("other", b""), b"x/y/z": ("file", b"z\n"),
    }  # fmt: skip


async def test_a_copy_is_turned_into_the_other_tree_and_back(tmp_path: Path) -> None:
    root = base_repository(tmp_path / "r")
    async with opened(root, tmp_path / "state") as store:
        base, tree = await changed_tree(store, tmp_path)
        await store.check_out(store.repo.head, tmp_path / "copy")
        before = contents(tmp_path / "copy")
        await write_files(store, base, tree, tmp_path / "copy")
        assert sorted(contents(tmp_path / "copy", directories=False)) == [
            b".gitignore", b"a.txt/inside", b"build", b"d/e", b"f", b"link", b"outward", b"x/y/z"
        ]  # fmt: skip
        await write_files(store, tree, base, tmp_path / "copy")
    after = contents(tmp_path / "copy", directories=False)
    assert after == {path: what for path, what in before.items() if what[0] != "directory"}


async def test_writing_into_a_copy_never_goes_through_a_link(tmp_path: Path) -> None:
    root = base_repository(tmp_path / "r")
    write(tmp_path / "outside", {"b.txt": "precious", "e/c.txt": "precious"})
    async with opened(root, tmp_path / "state") as store:
        base, tree = await changed_tree(store, tmp_path)
        await store.check_out(store.repo.head, tmp_path / "copy")
        shutil.rmtree(tmp_path / "copy" / "d")
        (tmp_path / "copy" / "d").symlink_to(tmp_path / "outside")
        with pytest.raises(LeavesRoot):
            await write_files(store, base, tree, tmp_path / "copy")
    assert contents(tmp_path / "outside", directories=False) == {
        b"b.txt": ("file", b"precious"),
        b"e/c.txt": ("file", b"precious"),
    }


# -- copies --


async def test_a_copy_is_compared_by_values_that_cannot_be_set_back(tmp_path: Path) -> None:
    root = base_repository(tmp_path / "r")
    copy, record = tmp_path / "copy", tmp_path / "stamp"
    async with opened(root, tmp_path / "state") as store:
        await store.check_out(store.repo.head, copy)
        await stamp(copy, record)
        times = (copy / "a.txt").stat()
        write(copy, {"a.txt": "b\n"})
        os.utime(copy / "a.txt", ns=(times.st_atime_ns, times.st_mtime_ns))
        shutil.copy2(copy / "f", copy / "same content, another inode")
        (copy / "same content, another inode").replace(copy / "f")
        write(copy, {"d/new": "n", "x.o": "", "local/deep/er": "ignored", "more/x": "x"})
        shutil.rmtree(copy / "d" / "e")
        shutil.rmtree(copy / "sub")
        (copy / "sub").write_text("a file now")
        os.mkfifo(copy / "local" / "pipe")
        found = kinds(await capture_copy(store, store.repo.head, copy, record))
    assert found == {
        "a.txt": "modified", "d/e/c.txt": "deleted", "d/new": "added", "more/x": "added", "sub": "added",
        "sub/.gitignore": "deleted", "sub/x": "deleted",
    }  # fmt: skip


async def test_a_device_in_a_copy_is_not_a_deletion(tmp_path: Path) -> None:
    root = base_repository(tmp_path / "r")
    async with opened(root, tmp_path / "state") as store:
        await store.check_out(store.repo.head, tmp_path / "copy")
        await stamp(tmp_path / "copy", tmp_path / "stamp")
        (tmp_path / "copy" / "a.txt").unlink()
        whiteout(tmp_path / "copy", "a.txt")
        with pytest.raises(CandidateRefused, match=r"a\.txt is a device"):
            await capture_copy(store, store.repo.head, tmp_path / "copy", tmp_path / "stamp")

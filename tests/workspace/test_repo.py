"""Opening the user's repository: found from anywhere in it, read and never written, refused in one line."""

import os
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from donewhen.errors import BadInput
from donewhen.workspace.git.repo import Repo, open_repo
from donewhen.workspace.process.launch import Launcher
from needs import needs_root
from repositories import commit, digest, git, repository, try_git, write

pytestmark = pytest.mark.anyio
NOBODY = 65534


async def open_it(start: Path) -> Repo:
    async with Launcher.open() as launcher:
        return await open_repo(launcher, start)


async def refusal(start: Path) -> str:
    """The one line with which a repository is refused."""
    with pytest.raises(BadInput) as refused:
        await open_it(start)
    assert "\n" not in str(refused.value)
    return str(refused.value)


async def test_a_repository_is_found_from_any_directory_in_it(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {"deep/er/file": "x"})
    before = digest(root)
    repo = await open_it(root / "deep" / "er")
    assert (repo.root, repo.git_dir, repo.common_dir) == (root, root / ".git", root / ".git")
    assert (repo.head, repo.branch) == (git(root, "rev-parse", "HEAD"), "main")
    assert (repo.object_format, repo.shallow, repo.partial, repo.notes) == ("sha1", False, False, ())
    assert digest(root) == before


async def test_a_link_to_a_repository_opens_it_at_its_real_path(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    (tmp_path / "link").symlink_to(root)
    assert (await open_it(tmp_path / "link")).root == root


async def test_a_directory_that_is_not_a_repository_is_refused_by_name(tmp_path: Path) -> None:
    assert await refusal(tmp_path) == f"{tmp_path} is not in a git repository"
    assert await refusal(tmp_path / "missing") == f"{tmp_path / 'missing'} is not a directory"
    (tmp_path / "file").touch()
    assert await refusal(tmp_path / "file") == f"{tmp_path / 'file'} is not a directory"


async def test_a_directory_with_an_odd_name_is_named_on_one_line(tmp_path: Path) -> None:
    odd = tmp_path / "two\nlines\x1b[31m"
    odd.mkdir()
    assert await refusal(odd) == f'"{tmp_path}/two\\012lines\\033[31m" is not in a git repository'


async def test_a_repository_without_a_commit_says_so(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    assert await refusal(tmp_path) == f"{tmp_path} has no commit yet; make one first (git add --all, git commit)"


async def test_a_bare_repository_and_a_git_directory_have_no_working_tree(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    git(tmp_path, "clone", "--quiet", "--bare", "r", "bare.git")
    assert await refusal(tmp_path / "bare.git") == f"{tmp_path}/bare.git is a bare repository: it has no working tree"
    assert await refusal(root / ".git" / "refs") == f"{root}/.git is a git directory: it has no working tree"
    git(root, "config", "core.bare", "true")
    assert await refusal(root) == f"{root} is a bare repository: it has no working tree"


async def test_a_detached_head_has_no_branch(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    first = git(root, "rev-parse", "HEAD")
    write(root, {"a.txt": "b"})
    commit(root)
    git(root, "checkout", "--quiet", "--detach", first)
    repo = await open_it(root)
    assert (repo.head, repo.branch) == (first, "")


async def test_a_branch_is_found_among_packed_references(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    git(root, "checkout", "--quiet", "-b", "feature/x")
    git(root, "pack-refs", "--all")
    repo = await open_it(root)
    assert (repo.head, repo.branch) == (git(root, "rev-parse", "main"), "feature/x")


async def test_a_linked_worktree_has_its_own_head_and_shares_the_rest(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    git(root, "worktree", "add", "--quiet", "-b", "side", "../linked")
    write(tmp_path / "linked", {"b.txt": "b"})
    side = commit(tmp_path / "linked")
    repo = await open_it(tmp_path / "linked")
    assert (repo.root, repo.head, repo.branch) == (tmp_path / "linked", side, "side")
    assert (repo.git_dir, repo.common_dir) == (root / ".git" / "worktrees" / "linked", root / ".git")


async def test_a_worktree_of_a_bare_repository_opens(tmp_path: Path) -> None:
    repository(tmp_path / "r")
    git(tmp_path, "clone", "--quiet", "--bare", "r", "bare.git")
    git(tmp_path / "bare.git", "worktree", "add", "--quiet", "../work", "main")
    assert (await open_it(tmp_path / "work")).common_dir == tmp_path / "bare.git"


def with_submodule(tmp_path: Path) -> Path:
    repository(tmp_path / "part", {"inner.txt": "inner"})
    root = repository(tmp_path / "whole")
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "part"), "sub")
    commit(root, "with a submodule")
    return root


async def test_a_submodule_is_noted_and_opens_as_a_repository_of_its_own(tmp_path: Path) -> None:
    root = with_submodule(tmp_path)
    assert (await open_it(root)).notes == ("submodules are empty directories for engines and checks",)
    inner = await open_it(root / "sub")
    assert (inner.root, inner.git_dir) == (root / "sub", root / ".git" / "modules" / "sub")


async def test_a_repository_with_sha256_ids_opens(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {"a": "a"}, "--object-format=sha256")
    repo = await open_it(root)
    assert (repo.object_format, len(repo.head)) == ("sha256", 64)


POINTERS = {
    "plain": b"gitdir: GIT\n",
    "without newline": b"gitdir: GIT",
    "CRLF": b"gitdir: GIT\r\n",
    "many newlines": b"gitdir: GIT" + b"\n" * 9000,
    "byte order mark": b"\xef\xbb\xbfgitdir: GIT\n",
    "longer than a mebibyte": b"gitdir: GIT" + b"\n" * (1 << 20),
    "zero byte": b"gitdir: GIT\0\n",
    "through a link": b"gitdir: hop/../real.git\n",
    "two lines": b"gitdir: GIT\ngitdir: elsewhere\n",
    "no space": b"gitdir:GIT\n",
    "nothing": b"",
    "other text": b"hello\n",
    "to nowhere": b"gitdir: nowhere\n",
}


@pytest.mark.parametrize("said", POINTERS.values(), ids=POINTERS.keys())
async def test_a_git_pointer_file_is_read_as_git_reads_it_or_refused(tmp_path: Path, home: Path, said: bytes) -> None:
    root = repository(tmp_path / "r")
    (home / ".gitconfig").write_text(f"[safe]\n\tdirectory = {root}\n")
    (root / ".git").rename(tmp_path / "real.git")
    (tmp_path / "elsewhere" / "deep").mkdir(parents=True)
    (root / "hop").symlink_to(tmp_path / "elsewhere" / "deep")
    (tmp_path / "elsewhere" / "real.git").symlink_to(tmp_path / "real.git")
    (root / ".git").write_bytes(said.replace(b"GIT", bytes(tmp_path / "real.git")))
    answer = try_git(root, "rev-parse", "--absolute-git-dir")
    if answer.returncode == 0 and b"\0" not in said:  # where git would stop reading in the middle, we do not start
        assert bytes((await open_it(root)).git_dir) == os.path.realpath(answer.stdout.strip())
    else:
        assert str(root) in await refusal(root)


async def test_an_invalid_git_directory_is_skipped_as_git_does(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    (root / "inner" / ".git").mkdir(parents=True)
    assert (await open_it(root / "inner")).root == root


async def test_a_pipe_in_place_of_the_pointer_is_refused_and_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")
    assert await refusal(tmp_path) == f"{tmp_path}/.git does not name a git directory"


async def test_a_missing_common_directory_is_refused(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    git(root, "worktree", "add", "--quiet", "../linked")
    (root / ".git" / "worktrees" / "linked" / "commondir").write_text("../../nowhere\n")
    assert "which is not a git directory" in await refusal(tmp_path / "linked")


def pointer_to_another(tmp_path: Path) -> Path:
    """A directory whose `.git` names the git directory of another working tree."""
    repository(tmp_path / "theirs")
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / ".git").write_text(f"gitdir: {tmp_path}/theirs/.git\n")
    return tmp_path / "r"


async def test_a_pointer_to_the_git_directory_of_another_working_tree_is_refused(tmp_path: Path) -> None:
    root = pointer_to_another(tmp_path)
    fix = f"git config --global --add safe.directory {root}"
    assert await refusal(root) == f"{root} uses the git directory of {tmp_path}/theirs; to use it: {fix}"


async def test_such_a_pointer_opens_once_the_user_allowed_it(tmp_path: Path, home: Path) -> None:
    root = pointer_to_another(tmp_path)
    (home / ".gitconfig").write_text(f"[safe]\n\tdirectory = {root}\n")
    assert (await open_it(root)).git_dir == tmp_path / "theirs" / ".git"


async def test_a_worktree_that_was_moved_by_hand_says_how_to_repair_it(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    git(root, "worktree", "add", "--quiet", "../linked")
    (tmp_path / "linked").rename(tmp_path / "moved")
    assert "git worktree repair" in await refusal(tmp_path / "moved")
    git(tmp_path / "moved", "worktree", "repair")
    assert (await open_it(tmp_path / "moved")).root == tmp_path / "moved"


@pytest.mark.parametrize("said", ["directory = {root}", "directory = ~/r", "directory =\n\tdirectory = *"])
async def test_a_separate_git_directory_opens_once_the_user_allowed_it(home: Path, said: str) -> None:
    root = repository(home / "r")
    git(root, "init", "--quiet", f"--separate-git-dir={home / 'apart'}")
    assert "does not name" in await refusal(root)
    (home / ".gitconfig").write_text(f"[safe]\n\t{said.format(root=root)}\n")
    assert (await open_it(root)).git_dir == home / "apart"


async def test_an_empty_safe_directory_value_resets_the_list(home: Path) -> None:
    root = repository(home / "r")
    git(root, "init", "--quiet", f"--separate-git-dir={home / 'apart'}")
    (home / ".gitconfig").write_text("[safe]\n\tdirectory = *\n\tdirectory =\n")
    assert "does not name" in await refusal(root)


async def test_a_git_directory_that_names_its_working_tree_opens_anywhere(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    git(root, "init", "--quiet", f"--separate-git-dir={tmp_path / 'apart'}")
    git(root, "config", "core.worktree", str(root))
    assert (await open_it(root)).git_dir == tmp_path / "apart"


async def test_a_path_with_shell_characters_is_quoted_in_a_command_to_type(tmp_path: Path) -> None:
    root = pointer_to_another(tmp_path)
    odd = root.rename(tmp_path / "a $(b)")
    assert (await refusal(odd)).endswith(f"safe.directory '{odd}'")


def typed(word: str, cwd: Path) -> bytes:
    """What a person's shell makes of a word."""
    return subprocess.run(["bash", "-c", f"printf %s {word}"], cwd=cwd, capture_output=True, check=True).stdout


async def test_a_path_that_cannot_be_shown_is_written_so_that_the_shell_runs_nothing(tmp_path: Path) -> None:
    odd = pointer_to_another(tmp_path).rename(tmp_path / "a\x1b$(touch made)'`id`")
    word = (await refusal(odd)).partition("safe.directory ")[2]
    assert typed(word, tmp_path) == bytes(odd)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("extensions.newThing", "true", "uses the unknown git extension newthing"),
        ("extensions.refStorage", "x", "has extensions.refstorage = x, but only files and reftable can be read here"),
        ("core.repositoryFormatVersion", "2", "has the unknown repository format 2"),
        ("core.worktree", "/somewhere", "has its working tree elsewhere: core.worktree is /somewhere"),
    ],
)
async def test_an_unknown_repository_format_is_refused(tmp_path: Path, key: str, value: str, said: str) -> None:
    root = repository(tmp_path / "r")
    git(root, "config", "core.repositoryFormatVersion", "1")
    git(root, "config", "--file", ".git/config", key, value)
    assert await refusal(root) == f"{root} {said}"


async def test_a_working_tree_setting_of_a_worktree_counts_only_where_git_would_read_it(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    (root / ".git" / "config.worktree").write_text("[core]\n\tworktree = /somewhere\n")
    assert (await open_it(root)).root == root
    git(root, "config", "extensions.worktreeConfig", "true")
    assert "core.worktree is /somewhere" in await refusal(root)


async def test_a_broken_configuration_is_refused_in_one_line(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    with (root / ".git" / "config").open("a") as file:
        file.write("[broken\n")
    assert (await refusal(root)).startswith(f"the git configuration of {root}/.git cannot be read")


async def test_settings_are_read_in_git_s_order_and_values_are_data(tmp_path: Path, home: Path) -> None:
    root = repository(tmp_path / "r")
    (home / ".gitconfig").write_text("[core]\n\tautocrlf = input\n\teol = lf\n[donewhen]\n\tx = a\\nb\n")
    git(root, "config", "core.autocrlf", "true")
    git(root, "config", 'branch.a="b.c.merge', "refs/heads/x")
    repo = await open_it(root)
    assert (repo.setting("core.autocrlf"), repo.setting("core.eol")) == ("true", "lf")
    assert repo.settings["donewhen.x"] == ("a\nb",)
    assert repo.setting('branch.a="b.c.merge') == "refs/heads/x"
    assert repo.setting("no.such", "thing") == "thing"


async def test_a_repository_cannot_mark_itself_as_safe(tmp_path: Path) -> None:
    needs_root()
    root = repository(tmp_path / "r")
    git(root, "config", "--add", "safe.directory", "*")
    os.lchown(root / ".git", NOBODY, NOBODY)
    said = f"{root} belongs to another user: git config --global --add safe.directory {root}"
    assert await refusal(root) == said
    git(root, "config", "--global", "--add", "safe.directory", str(root))
    assert (await open_it(root)).root == root


@contextmanager
def as_ordinary_user() -> Generator[None]:
    """Root reads everything; another user does not."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


async def test_a_git_directory_that_cannot_be_read_is_named() -> None:
    with tempfile.TemporaryDirectory() as name:
        root = repository(Path(name, "r"))
        Path(name).chmod(0o755)
        (root / ".git").chmod(0)
        async with Launcher.open() as launcher:
            with as_ordinary_user(), pytest.raises(BadInput) as refused:
                await open_repo(launcher, root)
        assert str(refused.value) == f"{root}/.git/HEAD cannot be read: Permission denied"
        (root / ".git").chmod(0o700)


async def test_remarks_about_a_repository_are_one_line_each(tmp_path: Path) -> None:
    origin = repository(tmp_path / "origin", {".gitattributes": "*.bin filter=lfs\n", "x/y": "z"})
    commit(origin, "the second")
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{origin}", "r")
    root = tmp_path / "r"
    git(root, "sparse-checkout", "set", "--no-cone", "/*", "!/x")
    git(root, "config", "remote.origin.promisor", "true")
    for name in ("MERGE_HEAD", "index.lock", "packed-refs.lock"):
        (root / ".git" / name).touch()
    assert (await open_it(root)).notes == (
        "a merge is in progress",
        f"another git process is running, or it left {root}/.git/index.lock behind",
        f"another git process is running, or it left {root}/.git/packed-refs.lock behind",
        "the checkout is sparse; engines and checks see every file",
        "the clone is shallow; its history ends early",
        "the clone is partial; engines and checks see no history",
        "the content of LFS files is missing; engines and checks see their pointers",
    )


@pytest.mark.parametrize("file", ["config", "config.worktree", "global"])
async def test_a_byte_order_mark_at_the_start_of_a_configuration_is_skipped_as_git_does(
    tmp_path: Path, home: Path, file: str
) -> None:
    root = repository(tmp_path / "r")
    git(root, "config", "extensions.worktreeConfig", "true")
    place = home / ".gitconfig" if file == "global" else root / ".git" / file
    before = place.read_bytes() if place.exists() else b""
    place.write_bytes(b"\xef\xbb\xbf" + b"[user]\n\tname = Marked\n" + before)
    assert git(root, "config", "user.name") == "Marked"
    assert (await open_it(root)).setting("user.name") == "Marked"
    place.write_bytes(b"\xef\xbb\xbf" * 2 + b"[user]\n\tname = Marked\n" + before)
    assert try_git(root, "config", "user.name").returncode == 128
    assert "cannot be read" in await refusal(root)


@pytest.mark.parametrize("key", ["core.attributesFile", "core.excludesFile"])
@pytest.mark.parametrize("file", ["/proc/self/status", "/proc/kmsg"])
async def test_rules_in_a_proc_file_are_refused_in_one_line(tmp_path: Path, key: str, file: str) -> None:
    if file == "/proc/kmsg":
        needs_root()
    root = repository(tmp_path / "r")
    git(root, "config", key, file)
    assert await refusal(root) == f"{key} is {file}, which is not a plain file: name another one"


@pytest.mark.parametrize("content", ["", "*.o text\n", None])
async def test_rules_in_a_plain_file_an_empty_one_or_none_are_accepted(tmp_path: Path, content: str | None) -> None:
    root = repository(tmp_path / "r")
    if content is not None:
        (tmp_path / "rules").write_text(content)
    for key in ("core.attributesFile", "core.excludesFile"):
        git(root, "config", key, str(tmp_path / "rules"))
    assert (await open_it(root)).root == root


async def test_a_git_file_that_leads_to_a_proc_file_causes_no_wait(tmp_path: Path) -> None:
    needs_root()
    (tmp_path / ".git").symlink_to("/proc/kmsg")
    assert await refusal(tmp_path) == f"{tmp_path}/.git does not name a git directory"

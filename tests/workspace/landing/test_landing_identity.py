"""The user's identity from included configuration files, with git itself as the reference."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from landing_work import store_of

from donewhen.workspace.git.landing import git_config
from donewhen.workspace.git.landing.commits import identity
from donewhen.workspace.git.landing.git_config import entries
from needs import needs_root
from repositories import git, repository, try_git

pytestmark = pytest.mark.anyio

PERSON = "[user]\n\tname = Included\n\temail = in@example.invalid\n"
OTHER = "[user]\n\tname = Other\n\temail = other@example.invalid\n"
NOBODY = "donewhen <donewhen@localhost>"

SCENES: list[tuple[str, str]] = [
    ("[include]\n path = person", "Included"),
    ("[include]\n path = ~/person", "Included"),
    ("[include]\n path = {home}/person", "Included"),
    ("[include]\n path = missing\n" + OTHER, "Other"),
    (OTHER + "[include]\n path = person", "Included"),
    ("[include]\n path = person\n" + OTHER, "Other"),
    ("[include]\n path = twice", "Included"),
    ("[include]\n path = person # why\n [core] editor = vi", "Included"),
    ('[includeIf "gitdir:{root}/.git"]\n path = person', "Included"),
    ('[includeIf "gitdir:{above}/"]\n path = person', "Included"),
    ('[includeIf "gitdir:~/elsewhere/"]\n path = person\n' + OTHER, "Other"),
    ('[includeIf "gitdir:r/"]\n path = person', "Included"),
    ('[includeIf "gitdir:**/r/.git"]\n path = person', "Included"),
    ('[includeIf "gitdir:{above}/*/.git"]\n path = person', "Included"),
    ('[includeIf "gitdir:{above}/?/.gi[st]"]\n path = person', "Included"),
    ('[includeIf "gitdir:{above}/*"]\n path = person\n' + OTHER, "Other"),
    ('[includeIf "gitdir:R/"]\n path = person\n' + OTHER, "Other"),
    ('[includeIf "gitdir/i:R/"]\n path = person', "Included"),
    ('[includeIf "onbranch:main"]\n path = person', "Included"),
    ('[includeIf "onbranch:ma*"]\n path = person', "Included"),
    ('[includeIf "onbranch:work/"]\n path = person\n' + OTHER, "Other"),
    ('[includeIf "hasconfig:remote.*.url:https://example.invalid/**"]\n path = person', "Included"),
    ('[includeIf "hasconfig:remote.*.url:https://other.invalid/**"]\n path = person\n' + OTHER, "Other"),
    ('[includeIf "phase-of-moon:full"]\n path = person\n' + OTHER, "Other"),
    ("\ufeff[include]\n path = marked", "Included"),
]


@pytest.mark.parametrize(("text", "name"), SCENES, ids=[text.partition("\n")[0] for text, _ in SCENES])
async def test_an_included_identity_is_found_as_git_finds_it(tmp_path: Path, home: Path, text: str, name: str) -> None:
    root = repository(tmp_path / "r")
    git(root, "symbolic-ref", "HEAD", "refs/heads/main")
    git(root, "commit", "-q", "--allow-empty", "-m", "on main")
    git(root, "remote", "add", "origin", "https://example.invalid/some/where.git")
    (home / "person").write_text(PERSON)
    (home / "marked").write_text("\ufeff" + PERSON)
    (home / "twice").write_text("[include]\npath = person\n")
    (home / ".gitconfig").write_text(text.format(home=home, root=root, above=tmp_path) + "\n")
    assert git(root, "config", "user.name") == name
    async with store_of(root, tmp_path / "state") as store:
        assert identity(store.repo, "author", {}).startswith(f"{name} <")


@pytest.mark.parametrize("where", [".config/git/config", ".gitconfig"])
async def test_both_files_of_the_user_may_include(tmp_path: Path, home: Path, where: str) -> None:
    root = repository(tmp_path / "r")
    (home / "person").write_text(PERSON)
    (home / where).parent.mkdir(parents=True, exist_ok=True)
    (home / where).write_text("[include]\n path = ~/person\n")
    async with store_of(root, tmp_path / "state") as store:
        assert identity(store.repo, "committer", {}) == "Included <in@example.invalid>"


async def test_the_repository_s_settings_come_after_the_user_s_includes(tmp_path: Path, home: Path) -> None:
    root = repository(tmp_path / "r")
    (home / "person").write_text(PERSON)
    (home / ".gitconfig").write_text("[include]\n path = person\n")
    git(root, "config", "user.name", "Here")
    async with store_of(root, tmp_path / "state") as store:
        assert identity(store.repo, "author", {}) == "Here <in@example.invalid>"


@pytest.mark.parametrize("trap", ["pipe", "/dev/zero", "directory", ".gitconfig", "deep0", "missing", "a\\0b"])
async def test_a_circular_or_missing_include_ends_without_an_identity(tmp_path: Path, home: Path, trap: str) -> None:
    root = repository(tmp_path / "r")
    os.mkfifo(home / "pipe")
    (home / "directory").mkdir()
    for number in range(30):
        (home / f"deep{number}").write_text(f"[include]\n path = deep{number + 1}\n path = deep{number + 1}\n")
    (home / "deep30").write_text(PERSON)
    async with store_of(root, tmp_path / "state") as store:
        (home / ".gitconfig").write_text(f"[include]\n path = {trap}\n")
        assert identity(store.repo, "author", {}) == NOBODY


HOSTILE_NAMES = (
    "x $(touch made)", "x `id`", "a; rm -rf b", "a && b", "a | sh", "a & b &", 'a "b', "a \\\\ b", "a\x1b]0;t\x07b",
    "#!", "a{b,c}", "a*b", "~root",
)  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE_NAMES)
async def test_a_name_of_the_repository_with_unsafe_characters_is_replaced_by_the_user_s(
    tmp_path: Path, home: Path, name: str
) -> None:
    root = repository(tmp_path / "r")
    (home / ".gitconfig").write_text(PERSON)
    git(root, "config", "user.name", name)
    git(root, "config", "user.email", f"{name}@example.invalid")
    async with store_of(root, tmp_path / "state") as store:
        assert identity(store.repo, "committer", {}) == "Included <in@example.invalid>"


@pytest.mark.parametrize(
    "name", ["Ana O'Brien-Núñez, Jr.", "山田 太郎", "Sam (they/them)", "d'Arc_2", "a+b@c", "I\u0307lker"]
)
async def test_a_plain_name_of_the_repository_counts(tmp_path: Path, home: Path, name: str) -> None:
    root = repository(tmp_path / "r")
    (home / ".gitconfig").write_text(PERSON)
    git(root, "config", "user.name", name)
    async with store_of(root, tmp_path / "state") as store:
        assert identity(store.repo, "author", {}) == f"{name.strip('.')} <in@example.invalid>"


async def test_the_user_s_own_name_may_have_any_character_except_control_characters(tmp_path: Path, home: Path) -> None:
    root = repository(tmp_path / "r")
    (home / ".gitconfig").write_text("[user]\n\tname = R&D \u202e$Team\u00a0\x1b[31mx\n\temail = in@example.invalid\n")
    async with store_of(root, tmp_path / "state") as store:
        assert identity(store.repo, "author", {}) == "R&D $Team [31mx <in@example.invalid>"


VALUES = [
    'a = plain', 'a = "quoted # ; text"', "a = x # comment", "a = x ; comment", "a=  blanks inside  ", 'a = " kept "',
    r'a = tab\tnew\nline\\', r'a = say \"hi\"', "a = over \\\n  two lines", "a", "a =", 'a = half "quoted" end',
    'a = "one" "two"', "A-b = x", 'a = "x" # c', "a = x\r", "a = caf\u00e9",
]  # fmt: skip


@pytest.mark.parametrize("line", VALUES)
@pytest.mark.parametrize("section", ["[s]", '[S "Sub.x y"]', "[s.T]", "[s] "])
def test_a_git_configuration_file_is_read_as_git_reads_it(tmp_path: Path, section: str, line: str) -> None:
    text = f"# first\n{section}\n  {line}\nlast = 1\n"
    (tmp_path / "config").write_bytes(text.encode())
    listed = try_git(tmp_path, "config", "--file", str(tmp_path / "config"), "-z", "--list")
    assert listed.returncode == 0, listed.stderr
    told = [record.partition("\n") for record in listed.stdout.decode().split("\0")[:-1]]
    assert list(entries(text)) == [(key, value if assigned else "true") for key, assigned, value in told]


@given(st.text('[]"\\= \t\n#;.ab-\r\ufeff', max_size=60) | st.text(max_size=60))
def test_any_configuration_text_is_read_to_its_end(text: str) -> None:
    assert all("." in key for key, _ in entries(text))


def test_no_more_than_a_limit_is_read() -> None:
    assert list(entries("[s]\n" + "#" * git_config.LONGEST + "\na = 1\n")) == []


async def test_an_included_proc_file_is_ignored_without_a_wait(tmp_path: Path) -> None:
    needs_root()
    root = repository(tmp_path / "r")
    git(root, "config", "include.path", "/proc/kmsg")
    for _ in range(2):  # the first may still find something to read
        async with store_of(root, tmp_path / "state") as store:
            assert identity(store.repo, "author")

"""`donewhen check --receipt` and `donewhen verify`: evidence is written and judged again."""

import hashlib
import json
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from donewhen.judge.receipt import LARGEST_BYTES, digest_of
from needs import needs
from program import donewhen
from repositories import commit, git, repository, write
from terminal import obeyed, on_a_terminal

CONTRACT = "[[check]]\nname = 'made'\ncommand = 'grep -q done made.txt && cat /dev/null'\n"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    needs("bwrap")
    place = repository(tmp_path / "repo", {"made.txt": "no\n", "donewhen.toml": CONTRACT})
    write(place, {"made.txt": "done\n"})
    return place


@pytest.fixture
def receipt(repo: Path, tmp_path: Path) -> Path:
    answer = donewhen("check", "--receipt", str(tmp_path / "receipt.json"), cwd=repo)
    assert answer.code == 0
    assert "receipt.json (sha256:" in answer.one_line
    return tmp_path / "receipt.json"


@pytest.mark.promise("command.check.receipt")
@pytest.mark.promise("command.verify")
@pytest.mark.promise("command.verify.exit-codes")
def test_a_receipt_is_judged_again_with_the_same_result(repo: Path, receipt: Path) -> None:
    answer = donewhen("verify", str(receipt), cwd=repo)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines() == [
        "check made: grep -q done made.txt && cat /dev/null",
        "  must exit 0 within 120 s",
        "1 of 1 checks passed",
        "unsigned: no commit carries this receipt's digest, so it shows what happened but not who wrote it",
        "same as the receipt",
    ]


def test_commands_of_a_stranger_s_receipt_get_nothing_that_the_user_allows(repo: Path, tmp_path: Path) -> None:
    """Its check passes only if the passed variable is visible; the user's own receipt still sees it."""
    (repo / "donewhen.toml").write_text(f"[workspace]\nenv = ['TOKEN']\n{CONTRACT}")
    commit(repo, "let a variable in")
    assert donewhen("trust", cwd=repo).code == 0
    secret = {"TOKEN": "of-the-user"}
    own = [*CONTRACT.splitlines(), "[[check]]", "name = 'sees'", "command = 'test \"$TOKEN\" = of-the-user'"]
    (repo / "donewhen.toml").write_text("\n".join(["[workspace]", "env = ['TOKEN']", *own, ""]))
    assert donewhen("trust", cwd=repo).code == 0
    write(repo, {"made.txt": "done\n"})
    receipt = tmp_path / "receipt.json"
    assert donewhen("check", "--receipt", str(receipt), cwd=repo, env=secret).code == 0
    kept = donewhen("verify", str(receipt), cwd=repo, env=secret)
    assert kept.code == 0 and "contract is not the base's" in kept.out, kept
    forged(receipt, lambda content: content.update(duration_ms=1))
    strangers = donewhen("verify", str(receipt), cwd=repo, env=secret)
    assert strangers.code == 1 and "sees is fail" in strangers.out
    assert (
        "it was not written here: its commands get none of the variables and services that you allow" in strangers.out
    )


@dataclass(frozen=True)
class Host:
    """Things outside every sandbox, and which of them the user allows."""

    made: Path
    port: int
    unix: Path

    def settings(self, isolation: str) -> str:
        allowed = f"env = ['TOKEN']\nreach = ['localhost:{self.port}']\nsockets = ['{self.unix}']"
        return f"[workspace]\nisolation = '{isolation}'\n{allowed}\n"

    def checks(self) -> str:
        """One check that leaves a file on the host, and three that pass only with what the user allows."""
        connect = 'python3 -c "import socket, sys; socket.socket({}).connect({})"'
        commands = {
            "host": f"touch {self.made}; grep -q done made.txt",
            "variable": 'test "$TOKEN" = of-the-user',
            "service": connect.format("", f"('localhost', {self.port})"),
            "socket": connect.format("socket.AF_UNIX", f"'{self.unix}'"),
        }
        return "".join(f"[[check]]\nname = '{name}'\ncommand = '''{line}'''\n" for name, line in commands.items())


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    place = tmp_path / "host"
    place.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as service, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(place / "socket"))
        unix.listen()
        yield Host(place / "made", service.getsockname()[1], place / "socket")


SECRET = {"TOKEN": "of-the-user"}


@pytest.fixture
def free_receipt(repo: Path, tmp_path: Path, host: Host) -> Path:
    """The user's own receipt for checks without a sandbox; it is judged again without one, and its command reaches
    the host."""
    write(repo, {"donewhen.toml": host.settings("none") + host.checks()})
    assert donewhen("trust", cwd=repo).code == 0
    file = tmp_path / "receipt.json"
    assert donewhen("check", "--receipt", str(file), cwd=repo, env=SECRET).code == 0
    host.made.unlink()
    assert donewhen("verify", str(file), cwd=repo, env=SECRET).code == 0
    host.made.unlink()
    return file


def test_a_receipt_is_not_believed_about_the_sandbox_that_its_commands_need(
    repo: Path, free_receipt: Path, host: Host
) -> None:
    write(repo, {"donewhen.toml": host.settings("best") + host.checks()})
    assert donewhen("trust", cwd=repo).code == 0
    own = donewhen("verify", str(free_receipt), cwd=repo, env=SECRET)
    assert own.code == 0, "behind the wall it still gets what the user allows"
    for said in ("none", {"level": "none", "path_transparent": True}):
        forged(free_receipt, lambda content, said=said: content.update(isolation=said, duration_ms=1))
        strangers = donewhen("verify", str(free_receipt), cwd=repo, env=SECRET)
        assert strangers.code == 1, strangers
        for name in ("variable", "service", "socket"):
            assert f"differs: {name}: status is fail, the receipt has pass" in strangers.out
        assert "differs: host:" not in strangers.out
        assert not host.made.exists()


def test_commands_of_a_stranger_do_not_run_where_the_user_wants_no_sandbox(
    repo: Path, free_receipt: Path, host: Host
) -> None:
    forged(free_receipt, lambda content: content.update(isolation="none", duration_ms=1))
    answer = donewhen("verify", str(free_receipt), cwd=repo, env=SECRET)
    assert answer.code == 2
    assert "without a sandbox, its commands are not run" in answer.one_line
    assert not host.made.exists()


def test_the_contract_of_a_branch_that_was_only_fetched_is_not_trusted(repo: Path, tmp_path: Path, host: Host) -> None:
    """The base states the receipt's own contract. In the user's history it would get what the user allows."""
    write(repo, {"made.txt": "no\n", "donewhen.toml": host.checks()})
    commit(repo, "a contract that reaches out")
    git(repo, "branch", "fetched")
    write(repo, {"made.txt": "done\n", "donewhen.toml": host.settings("best") + host.checks()})
    assert donewhen("trust", cwd=repo).code == 0
    file = tmp_path / "receipt.json"
    assert donewhen("check", "--receipt", str(file), cwd=repo, env=SECRET).code == 0
    forged(file, lambda content: content.update(duration_ms=1))
    merged = donewhen("verify", str(file), cwd=repo, env=SECRET)
    assert merged.code == 0 and "it was not written here" not in merged.out, merged
    git(repo, "reset", "--quiet", "--soft", "HEAD~1")
    fetched = donewhen("verify", str(file), cwd=repo, env=SECRET)
    assert fetched.code == 1, fetched
    assert "base is not yours: commit" in fetched.out and "it was not written here" in fetched.out
    for name in ("variable", "service", "socket"):
        assert f"differs: {name}: status is fail, the receipt has pass" in fetched.out


def forged(receipt: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a receipt and correct its digests, as anyone can."""
    content = json.loads(receipt.read_text())
    change(content)
    content["contract_digest"] = digest_of_contract(content["contract"])
    receipt.write_text(json.dumps({**content, "digest": digest_of(content)}))


def digest_of_contract(contract: dict[str, object]) -> str:
    known = {key: value for key, value in contract.items() if key != "product" or value}
    return hashlib.sha256(json.dumps(known, sort_keys=True, default=str).encode()).hexdigest()


def test_a_receipt_whose_check_is_true_is_judged_the_same_and_called_foreign(repo: Path, receipt: Path) -> None:
    base = git(repo, "rev-parse", "HEAD")
    forged(receipt, lambda content: content["contract"]["checks"][0].update(command="true"))
    answer = donewhen("verify", str(receipt), cwd=repo)
    assert answer.code == 0, answer
    assert answer.out.splitlines()[:3] == [
        "check made: true",
        "  must exit 0 within 120 s",
        f"contract is not the base's: donewhen.toml of commit {base[:12]} has a different one",
    ]


def test_a_missing_or_unreadable_contract_of_the_base_is_reported(repo: Path, tmp_path: Path) -> None:
    file = tmp_path / "receipt.json"
    for text, why in ((None, "has no donewhen.toml"), ("a = [", "cannot be read")):
        (repo / "donewhen.toml").unlink()
        if text is not None:
            write(repo, {"donewhen.toml": text})
        commit(repo, "another contract")
        write(repo, {"donewhen.toml": CONTRACT, "made.txt": "done\n"})
        assert donewhen("check", "--receipt", str(file), cwd=repo).code == 0
        answer = donewhen("verify", str(file), cwd=repo)
        assert answer.code == 0, answer
        (line,) = [line for line in answer.out.splitlines() if line.startswith("contract is not the base's: ")]
        assert why in line


def test_the_contract_of_a_subdirectory_is_compared_with_that_of_the_base(repo: Path, tmp_path: Path) -> None:
    write(repo, {"sub/donewhen.toml": "[[check]]\nname = 'sub'\ncommand = 'test -e sub/made'\n"})
    commit(repo)
    write(repo, {"sub/made": ""})
    file = str(tmp_path / "receipt.json")
    assert donewhen("check", "--receipt", file, cwd=repo / "sub").code == 0
    assert "contract is not" not in donewhen("verify", file, cwd=repo / "sub").out
    assert "contract is not the base's: donewhen.toml of" in donewhen("verify", file, cwd=repo).out


def test_everything_that_a_check_expects_or_allows_is_shown(repo: Path, tmp_path: Path) -> None:
    write(repo, {"sub/a": "", "donewhen.toml": """[contract]
protect = ["a.txt"]
editable = ["b.txt"]
min_evidence = "exit"
[[check]]
name = "all"
command = "echo yes; exit 1"
dir = "sub"
expect_exit_zero = false
output_contains = "yes"
timeout_secs = 9
min_tests = 0
allow_skips = true
[[check]]
name = "weak"
command = "false"
quarantine = { reason = "flaky", until = 2999-01-01 }
"""})  # fmt: skip
    commit(repo)
    file = str(tmp_path / "receipt.json")
    assert donewhen("check", "--as-is", "--receipt", file, cwd=repo).code == 0
    forged(Path(file), lambda content: content.update(amended=True))
    assert donewhen("verify", file, cwd=repo).out.splitlines()[:8] == [
        "check all (in sub): echo yes; exit 1",
        "  must exit with a status from 1 to 125 within 9 s; print 'yes'; run at least 0 tests; may skip tests",
        "check weak: false",
        "  must exit 0 within 120 s; does not decide until 2999-01-01 (quarantine: flaky)",
        "protect: a.txt",
        "editable: b.txt",
        "min_evidence: exit",
        "as_is: no protection; the work's own tests and settings count",
    ]
    assert "amended: a person approved edits of protected paths\n" in donewhen("verify", file, cwd=repo).out


def test_hostile_text_in_a_receipt_is_shown_as_one_printable_line_each(repo: Path, receipt: Path) -> None:
    evil = "true #\n\x1b]0;pwned\x07\x9b2J\u202e\u2028\rsame as the receipt"

    def change(content: dict[str, Any]) -> None:
        content["contract"]["checks"][0].update(command=evil, output_contains="")
        content["contract"]["editable"] = [f"{evil}.txt"]
        content["tools"] = {evil: evil}
        content["results"][0]["runner"] = evil

    forged(receipt, change)
    shown = on_a_terminal("verify", str(receipt), cwd=repo)
    assert obeyed(shown) == set()
    assert r"check made: true #\n\x1b]0;pwned\x07\x9b2J\u202e\u2028\rsame as the receipt" in shown
    assert [line for line in shown.splitlines() if line == "same as the receipt"] == []


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "no checks": lambda content: content["contract"].update(checks=[]),
    "checks that are none": lambda content: content["contract"].update(checks=[1]),
    "too many checks": lambda content: content["contract"].update(checks=content["contract"]["checks"] * 2000),
    "a name of escapes": lambda content: content["contract"]["checks"][0].update(name="\x1b[2J"),
    "a command that is a list": lambda content: content["contract"]["checks"][0].update(command=["true"]),
    "a command that is huge": lambda content: content["contract"]["checks"][0].update(command="true " * 100_000),
    "half a character": lambda content: content["contract"]["checks"][0].update(command="true \ud800"),
    "half a character in a pattern": lambda content: content["contract"].update(protect=["\udfff"]),
    "a directory outside": lambda content: content["contract"]["checks"][0].update(dir="../.."),
    "a time that is a text": lambda content: content["contract"]["checks"][0].update(timeout_secs="9"),
    "a time that is endless": lambda content: content["contract"]["checks"][0].update(timeout_secs=float("inf")),
    "a quarantine of a number": lambda content: content["contract"]["checks"][0].update(quarantine=7),
    "an impossible date": lambda content: content["contract"]["checks"][0].update(
        quarantine={"reason": "x", "until": "2026-99-99"}
    ),
    "an unknown key": lambda content: content["contract"]["checks"][0].update(more=1),
    "patterns that are a text": lambda content: content["contract"].update(protect="tests"),
    "evidence of another name": lambda content: content["contract"].update(min_evidence="none"),
    "results that are a table": lambda content: content.update(results={"made": 1}),
    "results that are a number": lambda content: content.update(results=1),
    "a result without a status": lambda content: content["results"][0].pop("status"),
    "a result that is there twice": lambda content: content["results"].append(content["results"][0]),
    "as_is that is a text": lambda content: content.update(as_is="yes"),
    "a base that is a number": lambda content: content.update(base=1),
    "a base that is a tree": lambda content: content.update(base=content["tree"]),
    "a candidate that is a commit": lambda content: content.update(candidate=content["base"]),
    "a base that is an option": lambda content: content.update(base="--all"),
    "a deep value": lambda content: content.update(format=json.loads("[" * 900 + "]" * 900)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_forged_receipt_of_another_form_is_one_line_and_exit_2(
    repo: Path, receipt: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    forged(receipt, change)
    answer = donewhen("verify", str(receipt), cwd=repo)
    assert (answer.code, answer.out) == (2, "")
    assert answer.one_line


def test_a_receipt_that_is_huge_or_may_not_be_read_is_exit_2(repo: Path, tmp_path: Path) -> None:
    huge = tmp_path / "huge"
    with huge.open("wb") as file:
        file.truncate(LARGEST_BYTES + 1)
    assert "too large" in donewhen("verify", str(huge), cwd=repo).one_line
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", ".", "x" * 300):
        assert donewhen("verify", str(tmp_path / name), cwd=repo, timeout=60).code == 2


def test_a_receipt_is_valid_after_the_working_tree_and_the_branch_changed(repo: Path, receipt: Path) -> None:
    write(repo, {"made.txt": "other\n"})
    git(repo, "checkout", "--quiet", "--orphan", "elsewhere")
    commit(repo, "a new root")
    git(repo, "branch", "-D", "main")
    git(repo, "reflog", "expire", "--expire=now", "--all")
    git(repo, "gc", "--quiet", "--prune=now")
    assert donewhen("verify", str(receipt), cwd=repo).code == 0


def test_a_result_that_differs_is_named_and_exit_1(repo: Path, receipt: Path) -> None:
    # A receipt with another result than the tree gives, and a correct digest for it.
    told = json.loads(receipt.read_text())
    told["results"][0]["status"] = "fail"
    receipt.write_text(json.dumps({**told, "digest": digest_of(told)}))
    answer = donewhen("verify", str(receipt), cwd=repo)
    assert answer.code == 1
    assert "differs: made: status is pass, the receipt has fail" in answer.out


@pytest.mark.parametrize("content", ["", "{}", "[]", "\x00", '{"format": "other"}', "{" * 50_000])
def test_a_file_that_is_not_a_receipt_is_one_line_and_exit_2(repo: Path, tmp_path: Path, content: str) -> None:
    (tmp_path / "other").write_text(content)
    answer = donewhen("verify", str(tmp_path / "other"), cwd=repo)
    assert (answer.code, answer.out) == (2, "")
    assert str(tmp_path / "other") in answer.one_line


def test_a_changed_receipt_is_refused(repo: Path, receipt: Path) -> None:
    receipt.write_text(receipt.read_text().replace('"exit_code": 0', '"exit_code": 1'))
    answer = donewhen("verify", str(receipt), cwd=repo)
    assert answer.code == 2
    assert "was changed" in answer.one_line


def test_a_commit_that_carries_the_digest_anchors_the_receipt(repo: Path, receipt: Path) -> None:
    digest = json.loads(receipt.read_text())["digest"]
    git(repo, "add", "--all")
    git(repo, "commit", "--quiet", "-m", f"Make it\n\nDonewhen-Receipt: {digest}")
    head = git(repo, "rev-parse", "HEAD")
    for named in (str(receipt), "HEAD", head):
        answer = donewhen("verify", named, cwd=repo)
        assert answer.code == 0, answer
        assert f"anchored: commit {head} carries this receipt" in answer.out


def test_a_commit_with_a_receipt_of_another_tree_is_refused(repo: Path, receipt: Path) -> None:
    digest = json.loads(receipt.read_text())["digest"]
    write(repo, {"made.txt": "done, and more\n"})
    git(repo, "commit", "--quiet", "--all", "-m", f"Make it\n\nDonewhen-Receipt: {digest}")
    answer = donewhen("verify", "HEAD", cwd=repo)
    assert answer.code == 2
    assert "tree is not the one" in answer.one_line


def test_an_unknown_name_and_a_commit_without_a_receipt_are_exit_2(repo: Path) -> None:
    assert "neither a receipt nor a commit" in donewhen("verify", "nowhere", cwd=repo).one_line
    assert "carries no Donewhen-Receipt" in donewhen("verify", "HEAD", cwd=repo).one_line
    assert donewhen("verify", "HEAD", cwd=repo).code == 2


def test_a_receipt_of_another_repository_is_exit_2(repo: Path, receipt: Path, tmp_path: Path) -> None:
    other = repository(tmp_path / "other")
    answer = donewhen("verify", str(receipt), cwd=other)
    assert answer.code == 2
    assert "not in this repository" in answer.one_line


def test_a_receipt_for_a_directory_that_is_not_there_is_refused_before_anything_runs(repo: Path) -> None:
    answer = donewhen("check", "--receipt", "no/where.json", cwd=repo)
    assert (answer.code, answer.out) == (2, "")
    assert "there is no directory" in answer.one_line


def test_a_receipt_names_the_tools_that_the_checks_use(repo: Path, tmp_path: Path) -> None:
    write(repo, {"donewhen.toml": "[[check]]\nname = 'it'\ncommand = 'python3 -c pass && git --version'\n"})
    assert donewhen("check", "--receipt", str(tmp_path / "r.json"), cwd=repo).code == 0
    told = json.loads((tmp_path / "r.json").read_text())
    assert told["tools"]["python3"].startswith("Python 3.")
    assert told["tools"]["git"].startswith("git version")

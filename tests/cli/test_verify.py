"""`donewhen check --receipt` and `donewhen verify`: evidence written down, and judged again."""

import json
from pathlib import Path

import pytest

from needs import needs
from program import donewhen
from repositories import commit, git, repository, write

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
        "1 of 1 checks passed",
        "unsigned: no commit carries this receipt's digest, so it shows what happened but not who says so",
        "same as the receipt",
    ]


def test_a_receipt_holds_after_the_working_tree_and_the_branch_moved_on(repo: Path, receipt: Path) -> None:
    write(repo, {"made.txt": "other\n"})
    git(repo, "checkout", "--quiet", "--orphan", "elsewhere")
    commit(repo, "a new root")
    git(repo, "branch", "-D", "main")
    git(repo, "reflog", "expire", "--expire=now", "--all")
    git(repo, "gc", "--quiet", "--prune=now")
    assert donewhen("verify", str(receipt), cwd=repo).code == 0


def test_a_result_that_differs_is_named_and_exit_1(repo: Path, receipt: Path) -> None:
    # A receipt that tells of another result than the tree gives, with a digest that is right for it.
    from donewhen.judge.receipt import digest_of

    told = json.loads(receipt.read_text())
    told["results"][0]["status"] = "fail"
    receipt.write_text(json.dumps({**told, "digest": digest_of(told)}))
    answer = donewhen("verify", str(receipt), cwd=repo)
    assert answer.code == 1
    assert "differs: made: status is pass, the receipt has fail" in answer.out


@pytest.mark.parametrize("content", ["", "{}", "[]", "\x00", '{"format": "other"}', "{" * 50_000])
def test_a_file_that_is_no_receipt_is_one_line_and_exit_2(repo: Path, tmp_path: Path, content: str) -> None:
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


def test_a_name_that_is_neither_and_a_commit_without_a_receipt_are_exit_2(repo: Path) -> None:
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

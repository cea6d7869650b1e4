"""Every pair of the corpus: plain lines conflict, and syntax merges them or says why not."""

import re
from pathlib import Path

from merging_cases import Case, cases

from donewhen.syntax.merging.merge import Conflict, MergedText, merge
from repositories import try_git, write
from tables import every_row

MERGING = [case for case in cases() if case.merged is not None]
CONFLICTING = [case for case in cases() if case.why is not None]


@every_row(MERGING)
def test_a_compatible_pair_gives_the_expected_text(case: Case) -> None:
    result = merge(case.path, case.base, case.ours, case.theirs)

    assert isinstance(result, MergedText), result
    assert result.text == case.merged
    assert result.how


@every_row(CONFLICTING)
def test_an_incompatible_pair_says_why(case: Case) -> None:
    result = merge(case.path, case.base, case.ours, case.theirs)

    assert isinstance(result, Conflict), result
    assert any((case.why or "") in place.why for place in result.places), result
    assert all(1 <= place.line <= case.ours.count(b"\n") + 1 for place in result.places)


def test_plain_line_merge_conflicts_on_every_pair_that_syntax_merges(tmp_path: Path) -> None:
    """The control: without syntax each of them would be a conflict."""
    for case in MERGING:
        write(tmp_path, {"base": case.base, "ours": case.ours, "theirs": case.theirs})
        conflicts = try_git(tmp_path, "merge-file", "-p", "ours", "base", "theirs").returncode
        assert 1 <= conflicts < 127, str(case)


@every_row(cases())
def test_the_sides_can_be_swapped(case: Case) -> None:
    one = merge(case.path, case.base, case.ours, case.theirs)
    other = merge(case.path, case.base, case.theirs, case.ours)

    assert type(one) is type(other), (one, other)
    if isinstance(one, MergedText) and isinstance(other, MergedText):
        assert words(one.text) == words(other.text)


def words(text: bytes) -> list[bytes]:
    """The content of a text, without order and punctuation."""
    return sorted(re.findall(rb"\w+", text))


def test_the_corpus_has_the_promised_size() -> None:
    python = [case for case in cases() if case.path.endswith(".py")]
    typescript = [case for case in cases() if case.path.endswith((".ts", ".tsx"))]

    assert len(python) >= 40
    assert len(typescript) >= 30
    assert len(cases()) >= 80
    assert len(CONFLICTING) >= 20

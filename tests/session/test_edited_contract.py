"""What an old log says in words about edits by a person, and a new one in fields of its own."""

import pytest

from donewhen.session.log.state import Plain
from donewhen.session.person.edited_contract import is_by_person, is_edited


@pytest.mark.parametrize(
    ("decided", "expected"),
    [
        ({"decision": "approved", "answer": "as edited", "edited": True}, True),
        ({"decision": "changed", "answer": "as edited", "edited": False}, False),
        ({"decision": "approved", "answer": "as edited"}, True),
        ({"decision": "changed", "answer": "as edited"}, False),
        ({"decision": "approved"}, False),
    ],
)
def test_whether_a_contract_was_accepted_as_edited_is_read_from_new_and_old_logs(
    decided: Plain, expected: bool
) -> None:
    assert is_edited(decided) is expected


@pytest.mark.parametrize(
    ("proposed", "expected"),
    [
        ({"reason": "edited by a person", "by_person": True}, True),
        ({"reason": "edited by a person", "by_person": False}, False),
        ({"reason": "edited by a person"}, True),
        ({"reason": "it was unclear"}, False),
    ],
)
def test_whether_a_contract_is_a_persons_edit_is_read_from_new_and_old_logs(proposed: Plain, expected: bool) -> None:
    assert is_by_person(proposed) is expected

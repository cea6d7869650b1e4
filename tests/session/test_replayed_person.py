"""The recorded person of a replay: each question gets its recorded answer, in any order."""

import anyio

from donewhen.session.verbs.replay import ReplayedPerson, Segment


def test_questions_replayed_in_another_order_get_their_recorded_answers() -> None:
    person = ReplayedPerson(Segment(answers=[("[a] which?", "blue"), ("[b] how many?", "two"), ("[a] which?", None)]))
    asked = ["[b] how many?", "[a] which?", "[a] which?", "[c] what?"]

    async def answers() -> list[str | None]:
        return [await person.answer(prompt) for prompt in asked]

    assert anyio.run(answers) == ["two", "blue", None, None]


def test_an_answer_to_an_earlier_question_is_used_by_the_next_asker() -> None:
    person = ReplayedPerson(Segment(answers=[("", "yes")]))
    assert anyio.run(person.answer, "may it?") == "yes"

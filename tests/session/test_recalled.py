"""The person of an earlier time, asked again: each question has the answer that it had, in whatever order they come."""

import anyio

from donewhen.session.verbs.replay import ReplayedPerson, Segment


def test_two_who_ask_in_another_order_than_then_get_the_answers_of_then() -> None:
    person = ReplayedPerson(Segment(answers=[("[a] which?", "blue"), ("[b] how many?", "two"), ("[a] which?", None)]))
    asked = ["[b] how many?", "[a] which?", "[a] which?", "[c] what?"]

    async def answers() -> list[str | None]:
        return [await person.answer(prompt) for prompt in asked]

    assert anyio.run(answers) == ["two", "blue", None, None]


def test_an_answer_to_a_question_that_was_asked_before_the_leg_began_is_for_whoever_asks() -> None:
    person = ReplayedPerson(Segment(answers=[("", "yes")]))
    assert anyio.run(person.answer, "may it?") == "yes"

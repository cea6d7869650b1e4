"""`auto`: only configured models, the better one more often, an untried one now and then, and always a reason."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from donewhen.model.open_model import open_model
from donewhen.model.router import DEFAULTS, Experience, candidates, choose

A, B, C = "anthropic:a", "openai:b", "google:c"


def rows(model: str, verified: int, red: int, usd: float | None = 0.5) -> list[Experience]:
    return [Experience(model, True, usd)] * verified + [Experience(model, False, usd)] * red


def shares(configured: list[str], history: list[Experience]) -> Counter[str | None]:
    return Counter(choose(configured, history, seed).model for seed in range(200))


def test_candidates_are_the_providers_that_have_a_key_or_an_address() -> None:
    assert candidates({}) == ()
    assert candidates({"ANTHROPIC_API_KEY": " "}) == ()
    assert candidates({"OPENAI_API_KEY": "k"}) == (f"openai:{DEFAULTS['openai']}",)
    everything = {"ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k", "OPENAI_API_KEY": "k", "OLLAMA_HOST": "localhost"}
    assert candidates(everything) == tuple(f"{provider}:{model}" for provider, model in DEFAULTS.items())
    assert [open_model(name, environment=everything).name for name in candidates(everything)]


def test_with_nothing_configured_the_reason_names_the_variables_that_help() -> None:
    choice = choose([], [], seed=1)
    assert choice.model is None
    for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OLLAMA_HOST"):
        assert variable in choice.reason


def test_without_history_the_first_model_is_chosen() -> None:
    assert choose([A, B], [], seed=7).model == A
    assert "none has a history" in choose([A, B], [], seed=7).reason


def test_the_same_seed_gives_the_same_choice() -> None:
    history = rows(A, 3, 2) + rows(B, 2, 3)
    assert len({choose([A, B], history, seed=5) for _ in range(10)}) == 1


def test_a_model_that_is_verified_more_often_is_chosen_more_often() -> None:
    taken = shares([A, B], rows(A, 18, 2) + rows(B, 4, 16))
    assert taken[A] > 190


def test_of_two_equally_good_models_the_cheaper_is_chosen() -> None:
    taken = shares([A, B], rows(A, 18, 2, 2.0) + rows(B, 18, 2, 0.2))
    assert taken[B] > 190


def test_a_cheap_model_that_is_rarely_verified_is_not_chosen() -> None:
    taken = shares([A, B], rows(A, 19, 1, 0.5) + rows(B, 0, 20, 0.001))
    assert taken[A] > 150


def test_a_model_without_history_is_tried_now_and_then() -> None:
    taken = shares([A, B, C], rows(A, 6, 4))
    assert min(taken[A], taken[B], taken[C]) > 10
    reasons = {choose([A, B, C], rows(A, 6, 4), seed).reason for seed in range(50)}
    assert reasons == {
        "tried because it has no history yet",
        "6 of 10 sessions with it were verified at 0.50 USD each",
    }


def test_a_model_without_prices_does_not_count_as_free() -> None:
    taken = shares([A, B], rows(A, 18, 2, 0.1) + rows(B, 10, 10, None))
    assert taken[A] > 150


def test_an_excluded_model_is_chosen_only_if_there_is_no_other() -> None:
    assert choose([A, B], rows(A, 9, 0), seed=1, exclude={A}).model == B
    alone = choose([A], [], seed=1, exclude={A})
    assert alone.model == A
    assert "there is none" in alone.reason


EXPERIENCE = st.builds(
    Experience, st.sampled_from([A, B, C, "other:x"]), st.booleans(), st.none() | st.floats(0, 10, allow_nan=False)
)


@given(
    st.lists(st.sampled_from([A, B, C]), unique=True),
    st.lists(EXPERIENCE, max_size=10),
    st.integers(),
    st.sets(st.sampled_from([A, B, C])),
)
def test_the_choice_is_always_configured_and_has_a_reason(
    configured: list[str], history: list[Experience], seed: int, exclude: set[str]
) -> None:
    choice = choose(configured, history, seed, exclude)
    assert choice.reason
    assert (choice.model in configured) if configured else choice.model is None
    if set(configured) - exclude:
        assert choice.model not in exclude

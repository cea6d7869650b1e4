"""Intents without a visible result, and short ones that have one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.engines.planned.intent_check import LONGEST, what_is_missing
from tiers import examples

THIN = [
    "", " \n", "???", "...", "🎉", "fix it", "Fix it.", "FIX IT!!!", "fix this please", "please fix the bug",
    "fix the bugs", "fix all issues", "fix everything", "just fix the problem", "can you fix my code?",
    "it doesn't work", "make it work", "make it better", "make this better please", "make it faster",
    "make it nice and clean", "do the thing", "do it", "do something about it", "improve the code",
    "improve performance", "improve code quality", "clean up", "clean up the codebase", "tidy up the repo",
    "refactor", "refactor everything", "optimize the app", "update the project", "polish it", "finish the job",
    "help me", "implement it", "resolve all the errors", "let's get this done", "it’s broken", "help",
    "mach es besser", "bitte den Fehler beheben", "verbessere den Code", "räum auf", "repariere das Programm",
    "corrige le bug", "améliore le code s'il vous plaît", "arregla el error", "hazlo mejor por favor",
    "conserta isso", "melhore o código", "migliora il codice", "sistema tutto", "maak het beter", "napraw to",
    "исправь это", "почини баг, пожалуйста", "сделай лучше", "hatayı düzelt", "修复bug", "优化一下代码",
    "请修复这个问题", "バグを直してください", "コードを改善して", "버그 고쳐줘", "코드를 개선해줘",
]  # fmt: skip
CONCRETE = [
    "add a --json flag to list", "fix the crash in parse_date on empty input", "rename foo to bar",
    "make tests pass", "make tests work?", "bump requests to 2.32", "fix #123", "fix lint", "fix typos",
    "fix the build", "fix the login", "fix CI", "fix src/app.py", "fix code.py", "make check work",
    "fix TypeError in app", "do issue 42", "make it return 404", "make it print JSON", "fix `it`", "fix a && b",
    "make a + b work", "use <T> here", "add tests", "update dependencies", "update README", "upgrade to Python 3.12",
    "remove dead code", "delete old files", "support Windows", "translate to German", "sort the list by name",
    "make the button red", "make startup faster", "improve error messages", "improve performance of search",
    "clean up the logs", "refactor the parser", "fix memory leak", "fix off-by-one error in pagination",
    "handle timeouts", "help text is missing", "implement RFC 7231", "fix the bug in the cart", "implement TODO.md",
    "fix flaky test", "undo the last change of config", "it should say hello world", "do not crash on NaN",
    "mach den Knopf rot", "behebe den Absturz beim Start", "ajoute une option --json", "corrige la page d'accueil",
    "añade un botón", "arregla el login", "adicione um teste", "aggiungi un test", "voeg een test toe",
    "добавь кнопку", "исправь опечатку в README", "把登录按钮改成红色", "修复登录页面", "ログインのバグを直して",
    "로그인 버그 고쳐줘", "giriş hatasını düzelt", "foo", "x",
]  # fmt: skip


@pytest.mark.parametrize("intent", THIN)
def test_a_vague_intent_is_answered_with_what_is_missing(intent: str) -> None:
    missing = what_is_missing(intent)
    assert "observable change" in missing
    assert all(word in missing for word in ("command", "file", "output", "behaviour"))
    assert len(missing.splitlines()) == 1


@pytest.mark.parametrize("intent", CONCRETE)
def test_a_short_specific_intent_is_accepted(intent: str) -> None:
    assert what_is_missing(intent) == ""


def test_a_long_intent_is_accepted() -> None:
    assert what_is_missing("fix it " * LONGEST) == ""
    assert what_is_missing(" " * LONGEST * 2)


@settings(max_examples=examples(100))
@given(st.text(alphabet=st.characters(exclude_categories=[])))
def test_any_intent_gives_one_line_or_none(intent: str) -> None:
    assert len(what_is_missing(intent).splitlines()) <= 1


@settings(max_examples=examples(100))
@given(st.sampled_from(THIN), st.sampled_from(["parse_date", "--json", "#12", "a.py", "v2", "NullPointerException"]))
def test_one_concrete_name_is_enough(intent: str, name: str) -> None:
    assert what_is_missing(f"{intent} {name}") == ""

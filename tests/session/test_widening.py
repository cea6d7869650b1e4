"""What a repository's file may not do before it is trusted: no setting is wider than without the file."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from donewhen.errors import NeedsPerson
from donewhen.session.settings import schema, settings
from donewhen.session.settings.settings import Settings
from donewhen.session.settings.trust import TrustBook
from tiers import examples

Tables = dict[str, dict[str, Any]]

ORDERS: dict[str, tuple[Any, ...]] = {
    "workspace.network": ("none", "setup", "full"),
    "workspace.isolation": ("required", "best", "none"),
    "workspace.history": ("none", "base"),
    "engine.on_question": ("wait", "continue"),
    "engine.land": ("none", "branch", "apply"),
    "external.require": ("full", "confined", "open"),
    "memory.enabled": (False, True),
    "memory.across_repositories": (False, True),
}
"""From the narrowest to the widest."""
AMOUNTS = {
    "native.max_iterations", "native.max_turns", "external.max_turns", "external.timeout_secs",
    "external.repair_invokes", "foreman.workers", "foreman.plan_attempts", "planned.max_revision_rounds",
}  # fmt: skip
LIMITS = {"native.max_tokens_per_turn", "limits.minutes", "limits.tokens", "limits.usd", "limits.silence_secs"}
"""0 is no limit."""
SETS = {"workspace.setup", "workspace.share", "workspace.reach", "workspace.sockets", "workspace.env"}
RULES = {"policy.deny", "policy.ask"}
FREE = {
    "contract.description", "contract.product", "contract.protect", "contract.editable", "contract.min_evidence",
    "contract.allow_green",
    "engine.context", "forge.api",
}  # fmt: skip
"""They neither reach nor spend anything."""
NAMES: dict[str, tuple[str, ...]] = {
    "engine.use": ("auto", "native", "external", "external:codex", "foreman", "foreman:codex", "planned"),
    "foreman.worker": ("native", "external", "codex"),
    "planned.builder": ("native", "auto", "foreman", "codex"),
    "planned.evaluator_model": ("", "anthropic:a", "openai:b", "scripted:x"),
    "model.use": ("auto", "anthropic:a", "openai:b", "ollama:c", "scripted:x", "replay:y"),
    "model.base_url": ("", "http://a/v1", "http://b/v1"),
    "external.mcp_url": ("", "http://a", "http://b"),
    "storage.url": ("", "postgresql://a", "postgresql://b"),
    "forge.url": ("", "https://a", "https://b"),
    "forge.token_env": ("GITHUB_TOKEN", "A_TOKEN", "B_TOKEN"),
}  # fmt: skip
MODELS = ("anthropic:a", "openai:b", "scripted:x")
KNOWN = {*ORDERS, *AMOUNTS, *LIMITS, *SETS, *RULES, *FREE, *NAMES, "model.fallback"}


def is_wider(key: str, value: Any, without: Any) -> bool:
    """Written separately from the schema, with which it is compared."""
    if key in FREE or value == without:
        return False
    if key in ORDERS:
        return ORDERS[key].index(value) > ORDERS[key].index(without)
    if key in AMOUNTS:
        return value > without
    if key in LIMITS:
        return value == 0 or (without != 0 and value > without)
    if key in SETS:
        return not set(value) <= set(without)
    if key in RULES:
        return not set(without) <= set(value)
    if key == "model.fallback":
        return bool(set(value) - set(without))
    if key in ("model.use", "planned.evaluator_model"):
        return bool(value)
    if key == "engine.use":
        return value != "native" and not (without == "auto" and value in ("foreman", "planned"))
    if key in ("foreman.worker", "planned.builder"):
        return value != "native"
    return bool(value) or key == "model.base_url"


def values_of(name: str, key: schema.Key) -> st.SearchStrategy[Any]:
    if name in NAMES:
        return st.sampled_from(NAMES[name])
    if name in ORDERS:
        return st.sampled_from(ORDERS[name])
    if name in AMOUNTS | LIMITS:
        return st.sampled_from([0, 1, 2, 3, 5, 9, 30, 60, 900, 901, 1800, 5000, 10**9])
    if name == "model.fallback":
        return st.lists(st.sampled_from(MODELS), max_size=2)
    if key.default == ():
        return st.lists(st.sampled_from(["a", "b", "c"]), max_size=2)
    return st.sampled_from([key.default, *[one for one in ("x", True, "carry", "control") if key.fits(one)]])


@st.composite
def some_tables(draw: st.DrawFn) -> Tables:
    found: Tables = {}
    names = [(table, name) for table, keys in schema.TABLES.items() for name in keys]
    for table, name in draw(st.lists(st.sampled_from(names), max_size=6, unique=True)):
        found.setdefault(table, {})[name] = draw(values_of(f"{table}.{name}", schema.TABLES[table][name]))
    return found


def toml(tables: Tables) -> str:
    def shown(value: Any) -> str:
        return str(value).lower() if isinstance(value, bool) else repr(value)

    return "\n".join(
        line
        for table, keys in tables.items()
        for line in (f"[{table}]", *(f"{k} = {shown(v)}" for k, v in keys.items()))
    )


def loaded(place: Path, user: str, repository: str | None, trusted: bool = False) -> Settings:
    own, top = place / "config" / "donewhen" / "config.toml", place / "repository"
    for directory in (own.parent, top):
        directory.mkdir(parents=True, exist_ok=True)
    own.write_text(user)
    trust = TrustBook(place)
    if repository is not None:
        (top / "donewhen.toml").write_text(repository)
        if trusted:
            trust.accept(top / "donewhen.toml", (top / "donewhen.toml").read_bytes())
    return settings.load(top, top, {"XDG_CONFIG_HOME": str(place / "config")}, trust)


@hypothesis_settings(max_examples=examples(400))
@given(some_tables(), some_tables())
def test_no_setting_of_an_untrusted_repository_is_wider_than_without_its_file(user: Tables, repository: Tables) -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        without = {f"{table}.{key}": one.value for (table, key), one in loaded(place, toml(user), None).by_key()}
        asked = {f"{table}.{key}": value for table, keys in repository.items() for key, value in keys.items()}
        wider = {key for key, value in asked.items() if key not in RULES and is_wider(key, value, without[key])}
        server = {"model.base_url"} if asked.get("model.base_url") else set[str]()
        try:
            found = loaded(place, toml(user), toml(repository))
        except NeedsPerson as waits:
            assert str(waits).partition("'")[2].partition("'")[0] in wider | server, "it names a key that is wider"
            return
        assert not wider and not server, "nothing wider counts"
        for (table, key), one in found.by_key():
            assert not is_wider(f"{table}.{key}", one.value, without[f"{table}.{key}"])


@given(some_tables())
def test_a_trusted_file_counts_with_any_value(repository: Tables) -> None:
    with tempfile.TemporaryDirectory() as name:
        found = loaded(Path(name), "", toml(repository), trusted=True)
    for table, keys in repository.items():
        for key, value in keys.items():
            assert found.get(table, key).value == (list(dict.fromkeys(value)) if f"{table}.{key}" in RULES else value)


def test_every_key_of_the_schema_says_when_it_widens() -> None:
    tables = {**schema.TABLES, **schema.LISTS}
    assert [
        f"{table}.{name}" for table, keys in tables.items() for name, key in keys.items() if key.widens is None
    ] == []
    assert {f"{table}.{name}" for table, keys in schema.TABLES.items() for name in keys} == KNOWN


def test_a_key_without_a_widening_rule_widens_with_every_other_value() -> None:
    new = schema.text("a")
    assert new.is_wider("b", "a") and not new.is_wider("a", "a") and not new.is_wider("b", "b")


@pytest.mark.parametrize(
    ("table", "line"),
    [
        ("native", "max_iterations = 9"),
        ("native", "max_turns = 1000"),
        ("native", "max_tokens_per_turn = 100000"),
        ("native", "max_tokens_per_turn = 0"),
        ("external", "max_turns = 51"),
        ("external", "timeout_secs = 1801"),
        ("external", "repair_invokes = 2"),
        ("foreman", "workers = 5"),
        ("foreman", "plan_attempts = 4"),
        ("foreman", 'worker = "codex"'),
        ("planned", "max_revision_rounds = 3"),
        ("planned", 'builder = "claude-code"'),
        ("planned", 'evaluator_model = "openai:gpt-5-pro"'),
        ("engine", 'use = "external:codex"'),
        ("engine", 'use = "external"'),
        ("engine", 'use = "foreman:codex"'),
        ("engine", 'land = "apply"'),
        ("model", 'use = "openai:gpt-5-pro"'),
        ("model", 'fallback = ["openai:gpt-5-pro"]'),
        ("limits", "silence_secs = 0"),
    ],
)
@pytest.mark.promise("trust.rounds")
def test_more_work_or_more_money_than_by_default_waits_for_trust(tmp_path: Path, table: str, line: str) -> None:
    text = f"[{table}]\n{line}\n"
    with pytest.raises(NeedsPerson) as waits:
        loaded(tmp_path, "", text)
    assert f"'{table}.{line.partition(' ')[0]}'" in str(waits.value) and "\n" not in str(waits.value)
    assert loaded(tmp_path, text, text if "base_url" not in line else None), "the user's own file says the same"
    assert loaded(tmp_path, "", text, trusted=True)


@pytest.mark.parametrize(
    "text",
    [
        "[native]\nmax_iterations = 8\nmax_turns = 3\nmax_tokens_per_turn = 100\n",
        "[external]\nmax_turns = 50\ntimeout_secs = 60\nrepair_invokes = 0\n",
        '[foreman]\nworkers = 1\nplan_attempts = 3\nworker = "native"\n',
        '[planned]\nbuilder = "native"\nmax_revision_rounds = 0\nevaluator_model = ""\n',
        '[engine]\nuse = "native"\ncontext = "carry"\non_question = "wait"\nland = "none"\n',
        '[engine]\nuse = "planned"\n',
        '[engine]\nuse = "foreman:native"\n',
        '[model]\nuse = "auto"\nfallback = []\nbase_url = ""\n',
        "[limits]\nusd = 1000\n",
    ],
)
@pytest.mark.promise("trust.no-wider-than-default")
def test_as_much_as_by_default_or_less_needs_no_trust(tmp_path: Path, text: str) -> None:
    assert loaded(tmp_path, "", text)


@pytest.mark.parametrize(
    ("own", "text", "key"),
    [
        ("[native]\nmax_iterations = 3\n", "[native]\nmax_iterations = 5\n", "native.max_iterations"),
        ('[engine]\nuse = "native"\n', '[engine]\nuse = "auto"\n', "engine.use"),
        ('[engine]\nland = "none"\n', '[engine]\nland = "branch"\n', "engine.land"),
        ('[model]\nuse = "ollama:small"\n', '[model]\nuse = "auto"\n', "model.use"),
        ('[model]\nuse = "openai:x"\nbase_url = "http://a"\n', '[model]\nbase_url = ""\n', "model.base_url"),
        ('[model]\nuse = "openai:x"\nbase_url = "http://a"\n', '[model]\nbase_url = "http://a"\n', "model.base_url"),
        ('[external]\nrequire = "full"\n', '[external]\nrequire = "confined"\n', "external.require"),
        ("[memory]\nenabled = false\n", "[memory]\nenabled = true\n", "memory.enabled"),
        ('[workspace]\nhistory = "none"\n', '[workspace]\nhistory = "base"\n', "workspace.history"),
    ],
)
def test_more_than_the_user_allows_waits_for_trust_though_the_default_is_wider(
    tmp_path: Path, own: str, text: str, key: str
) -> None:
    with pytest.raises(NeedsPerson, match=f"'{key}'"):
        loaded(tmp_path, own, text)


def test_rules_of_a_repository_are_added_to_those_of_the_user(tmp_path: Path) -> None:
    found = loaded(
        tmp_path, "[policy]\ndeny = ['curl', 'wget']\n", "[policy]\ndeny = ['psql', 'curl']\nask = ['make']\n"
    )
    assert found.texts("policy", "deny") == ("psql", "curl", "wget")
    assert found.texts("policy", "ask") == ("make",)
    assert loaded(tmp_path, "[policy]\ndeny = ['curl']\n", "[policy]\ndeny = []\n").texts("policy", "deny") == ("curl",)

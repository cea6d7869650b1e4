"""Settings: which value wins, what is refused in one line, and which keys of a repository's file need trust."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.errors import BadInput, NeedsPerson
from donewhen.session.settings import schema, settings
from donewhen.session.settings.trust import TrustBook


@pytest.fixture
def top(tmp_path: Path) -> Path:
    place = tmp_path / "repository"
    place.mkdir()
    return place


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path / "config")}


def load(top: Path, environment: dict[str, str], start: Path | None = None) -> settings.Settings:
    return settings.load(start or top, top, environment, TrustBook(top.parent))


def write_user_file(environment: dict[str, str], text: str) -> Path:
    file = Path(environment["XDG_CONFIG_HOME"], "donewhen", "config.toml")
    file.parent.mkdir(parents=True)
    file.write_text(text)
    return file


def test_without_any_file_every_value_is_the_default(top: Path, environment: dict[str, str]) -> None:
    found = load(top, environment)
    assert found.text("workspace", "network") == "none"
    assert found.text("workspace", "isolation") == "required"
    assert {setting.source for _, setting in found.by_key()} == {"default"}


@pytest.mark.promise("config.environment")
@pytest.mark.promise("config.tables-optional")
def test_environment_wins_over_the_repository_which_wins_over_the_user(top: Path, environment: dict[str, str]) -> None:
    own = write_user_file(
        environment, '[native]\nmax_turns = 9\n[engine]\nuse = "native"\n[workspace]\nhistory = "none"\n'
    )
    (top / "donewhen.toml").write_text("[native]\nmax_turns = 2\nmax_iterations = 3\n")
    found = load(top, {**environment, "DONEWHEN__NATIVE__MAX_ITERATIONS": "4"})
    assert found.get("native", "max_turns") == settings.Setting(2, str(top / "donewhen.toml"))
    assert found.get("native", "max_iterations") == settings.Setting(4, "DONEWHEN__NATIVE__MAX_ITERATIONS")
    assert found.get("engine", "use") == settings.Setting("native", str(own))


def test_a_list_may_come_from_the_environment_with_commas_or_as_toml(top: Path, environment: dict[str, str]) -> None:
    commas = load(top, {**environment, "DONEWHEN__WORKSPACE__ENV": "A, B"})
    brackets = load(top, {**environment, "DONEWHEN__WORKSPACE__ENV": '["A", "B"]'})
    assert commas.texts("workspace", "env") == brackets.texts("workspace", "env") == ("A", "B")


def test_the_nearest_file_upward_counts_and_nothing_above_the_repository(
    top: Path, environment: dict[str, str]
) -> None:
    (top.parent / "donewhen.toml").write_text("[native]\nmax_turns = 9\n")
    inner = top / "packages" / "one"
    inner.mkdir(parents=True)
    assert load(top, environment, inner).file is None
    (top / "donewhen.toml").write_text("[native]\nmax_turns = 1\n")
    assert load(top, environment, inner).file == top / "donewhen.toml"
    (inner / "donewhen.toml").write_text("[native]\nmax_turns = 2\n")
    assert load(top, environment, inner).file == inner / "donewhen.toml"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("[workspace]\nnetwrok = 'full'\n", "workspace.netwrok"),
        ("[wrokspace]\n", "wrokspace"),
        ("[workspace]\nnetwork = 'some'\n", "workspace.network"),
        ("[workspace]\nshare = '.venv'\n", "workspace.share"),
        ("[workspace]\nshare = [1]\n", "workspace.share"),
        ("workspace = 3\n", "workspace"),
        ("[native]\nmax_turns = -1\n", "native.max_turns"),
        ("[native]\nmax_turns = true\n", "native.max_turns"),
        ("[memory]\nenabled = 1\n", "memory.enabled"),
        ("check = 3\n", "check"),
        ("[[check]]\nname = 'a'\ncolour = 'red'\n", "check[0].colour"),
        ("[[check]]\nname = 'a'\nquarantine = { why = 'x' }\n", "check[0].quarantine.why"),
        ("[agent.mine]\nkommand = 'x'\n", "agent.mine.kommand"),
        ("[[loop]]\nlevel = 'wild'\n", "loop[0].level"),
        ("[workspace\n", "line 1"),
    ],
)
@pytest.mark.promise("config.unknown-key")
@pytest.mark.promise("config.wrong-type")
def test_a_bad_file_is_refused_in_one_line_with_file_and_key(
    top: Path, environment: dict[str, str], text: str, names: str
) -> None:
    file = top / "donewhen.toml"
    file.write_text(text)
    with pytest.raises(BadInput) as refused:
        load(top, environment)
    message = str(refused.value)
    assert str(file) in message and names in message and "\n" not in message


NUMERIC = [
    (heading, name, key)
    for heading, keys in (
        *((f"[{table}]", keys) for table, keys in schema.TABLES.items()),
        *((f"[[{table}]]", keys) for table, keys in schema.LISTS.items()),
    )
    for name, key in keys.items()
    if key.fits(1) and not key.fits("text") and not key.fits(True)
]
"""Every key of the schema with a number."""


@pytest.mark.parametrize(("heading", "name", "key"), NUMERIC, ids=[f"{table}{name}" for table, name, _ in NUMERIC])
@pytest.mark.promise("config.wrong-type")
def test_no_numeric_key_accepts_infinity_or_nan(
    top: Path, environment: dict[str, str], heading: str, name: str, key: schema.Key
) -> None:
    file, own = top / "donewhen.toml", write_user_file(environment, "")
    table = heading.strip("[]")
    for value in ("inf", "+inf", "-inf", "nan", "+nan", "-nan"):
        for place in (file, own):
            place.write_text(f"{heading}\n{name} = {value}\n")
            with pytest.raises(BadInput) as refused:
                load(top, environment)
            message = str(refused.value)
            assert message.startswith(f"{place}: '{table}") and f".{name}' must be {key.kind}, not " in message
            assert "\n" not in message
            place.unlink()
        if table in schema.TABLES:
            variable = f"DONEWHEN__{table}__{name}".upper()
            with pytest.raises(BadInput, match=rf"^{variable}: '{table}\.{name}' must be "):
                load(top, {**environment, variable: value})
    file.write_text(f"{heading}\n{name} = {key.default}\n")
    load(top, environment)


def test_invalid_bytes_are_refused_with_their_position(top: Path, environment: dict[str, str]) -> None:
    (top / "donewhen.toml").write_bytes(b"[native]\nmax_turns = '\xff'\n")
    with pytest.raises(BadInput, match="not UTF-8 at byte 22"):
        load(top, environment)


@pytest.mark.parametrize("name", ["DONEWHEN__WORKSPACE__NETWROK", "DONEWHEN__NATIVE", "DONEWHEN__X__Y"])
def test_an_unknown_donewhen_variable_is_refused_by_name(top: Path, environment: dict[str, str], name: str) -> None:
    with pytest.raises(BadInput, match=name):
        load(top, {**environment, name: "1"})


WIDENING = [
    ("workspace", "network", "'full'"),
    ("workspace", "network", "'setup'"),
    ("workspace", "env", "['TOKEN']"),
    ("workspace", "reach", "['localhost:1']"),
    ("workspace", "sockets", "['/run/x']"),
    ("workspace", "share", "['.venv']"),
    ("workspace", "setup", "['make']"),
    ("workspace", "isolation", "'none'"),
    ("workspace", "isolation", "'best'"),
    ("external", "require", "'open'"),
    ("external", "mcp_url", "'http://x'"),
    ("model", "base_url", "'http://x'"),
    ("storage", "url", "'postgresql://x'"),
    ("limits", "silence_secs", "901"),
    ("limits", "silence_secs", "0"),
    ("agent.mine", "command", "'x {task}'"),
]


@pytest.mark.parametrize("line", ["inputs = [{name = 'a', command = 'b'}]", "action = 'open-pr'", "allow = ['branch']"])
@pytest.mark.promise("trust.loops")
def test_inputs_and_actions_of_a_loop_wait_for_trust(top: Path, environment: dict[str, str], line: str) -> None:
    (top / "donewhen.toml").write_text(f"[[loop]]\nname = 'sweeper'\n{line}\n")
    with pytest.raises(NeedsPerson, match=r"loop\[0\]"):
        load(top, environment)


@pytest.mark.parametrize(("table", "key", "value"), WIDENING)
@pytest.mark.promise("trust.workspace-keys")
@pytest.mark.promise("trust.model-url")
@pytest.mark.promise("trust.external")
@pytest.mark.promise("trust.agent")
@pytest.mark.promise("trust.storage")
def test_a_widening_key_of_a_repository_waits_for_trust_and_is_named(
    top: Path, environment: dict[str, str], table: str, key: str, value: str
) -> None:
    (top / "donewhen.toml").write_text(f"[{table}]\n{key} = {value}\n")
    with pytest.raises(NeedsPerson) as waiting:
        load(top, environment)
    assert f"{table}.{key}" in str(waiting.value) or table.startswith("agent")
    assert "donewhen trust" in str(waiting.value)
    TrustBook(top.parent).accept(top / "donewhen.toml", (top / "donewhen.toml").read_bytes())
    load(top, environment)


@pytest.mark.parametrize(
    "text",
    [
        "[workspace]\nnetwork = 'none'\nenv = []\nisolation = 'required'\nhistory = 'none'\n",
        "[limits]\nminutes = 5\nsilence_secs = 60\n",
        "[external]\nrequire = 'full'\n",
        "[policy]\ndeny = ['rm']\n",
        "[[loop]]\nname = 'a'\naction = 'report'\n",
    ],
)
@pytest.mark.promise("trust.no-wider-than-default")
def test_values_no_wider_than_the_default_need_no_trust(top: Path, environment: dict[str, str], text: str) -> None:
    (top / "donewhen.toml").write_text(text)
    load(top, environment)


@pytest.mark.promise("trust.bound-to-content")
def test_trust_ends_with_the_first_changed_byte(top: Path, environment: dict[str, str]) -> None:
    file = top / "donewhen.toml"
    file.write_text("[workspace]\nnetwork = 'full'\n")
    TrustBook(top.parent).accept(file, file.read_bytes())
    load(top, environment)
    file.write_text("[workspace]\nnetwork = 'full' \n")
    with pytest.raises(NeedsPerson):
        load(top, environment)


def test_a_link_to_a_trusted_file_of_another_repository_is_refused(top: Path, environment: dict[str, str]) -> None:
    """Its keys were accepted for that repository, and its commands would run in this one."""
    other = top.parent / "other" / "donewhen.toml"
    other.parent.mkdir()
    other.write_text("[workspace]\nnetwork = 'full'\n")
    TrustBook(top.parent).accept(other, other.read_bytes())
    (top / "donewhen.toml").symlink_to(other)
    with pytest.raises(BadInput, match="is a link out of the repository"):
        load(top, environment)


def test_a_link_to_a_file_of_the_same_repository_counts(top: Path, environment: dict[str, str]) -> None:
    (top / "config").mkdir()
    (top / "config" / "done.toml").write_text("[limits]\nminutes = 5\n")
    (top / "donewhen.toml").symlink_to("config/done.toml")
    assert load(top, environment).get("limits", "minutes").value == 5


def test_trust_is_asked_about_the_bytes_that_were_read(top: Path) -> None:
    """A file that is replaced between two reads must not get the trust of the other one."""
    file, book = top / "donewhen.toml", TrustBook(top.parent)
    file.write_text("[workspace]\nnetwork = 'none'\n")
    book.accept(file, file.read_bytes())
    assert book.holds(file, file.read_bytes())
    assert not book.holds(file, b"[workspace]\nnetwork = 'full'\n")


def test_a_link_created_after_reading_gets_no_other_file_s_trust(top: Path) -> None:
    """A copy of a trusted file's content must not count through a link to that file."""
    trusted, file, book = top.parent / "trusted.toml", top / "donewhen.toml", TrustBook(top.parent)
    trusted.write_text("[workspace]\nnetwork = 'full'\n")
    book.accept(trusted, trusted.read_bytes())
    file.write_bytes(trusted.read_bytes())
    real, written, _ = settings.read_inside(file, top)
    file.unlink()
    file.symlink_to(trusted)
    assert not book.holds(real, written)


@pytest.mark.promise("trust.limits")
def test_a_limit_above_the_users_own_needs_trust(top: Path, environment: dict[str, str]) -> None:
    write_user_file(environment, "[limits]\nusd = 5\n")
    (top / "donewhen.toml").write_text("[limits]\nusd = 4\n")
    assert load(top, environment).get("limits", "usd").value == 4
    (top / "donewhen.toml").write_text("[limits]\nusd = 6\n")
    with pytest.raises(NeedsPerson, match=r"limits\.usd"):
        load(top, environment)


@pytest.mark.promise("trust.user-file")
def test_the_users_own_file_needs_no_trust(top: Path, environment: dict[str, str]) -> None:
    write_user_file(environment, "[workspace]\nnetwork = 'full'\nenv = ['TOKEN']\n")
    assert load(top, environment).text("workspace", "network") == "full"


def test_a_damaged_record_of_trust_accepts_nothing(top: Path, environment: dict[str, str]) -> None:
    file = top / "donewhen.toml"
    file.write_text("[workspace]\nnetwork = 'full'\n")
    TrustBook(top.parent).accept(file, file.read_bytes())
    (top.parent / "trust.json").write_text("[")
    with pytest.raises(NeedsPerson):
        load(top, environment)


def test_every_default_of_the_schema_fits_its_own_type_and_widens_nothing() -> None:
    for table, keys in schema.TABLES.items():
        for name, key in keys.items():
            default: object = [] if key.default == () else key.default
            assert key.fits(default), f"{table}.{name}"
            assert not key.is_wider(default, default), f"{table}.{name}"


@given(st.text(max_size=200))
def test_any_text_as_a_file_is_read_or_refused_in_one_line(text: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        file = Path(name, "donewhen.toml")
        file.write_text(text, encoding="utf-8", errors="replace", newline="")
        try:
            settings.read(file)
        except BadInput as refused:
            assert str(file) in str(refused)

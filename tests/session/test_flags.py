"""The options of `run` are made from the schema: each one that sets a key is declared there, and nowhere else."""

import re
from pathlib import Path
from typing import Any

import pytest

from donewhen.errors import BadInput
from donewhen.session.settings import run_options, schema, settings
from donewhen.session.settings.run_options import RunOptions
from donewhen.session.settings.schema import Key
from program import donewhen


def value_of(key: Key) -> Any:
    """A value that the command line may give."""
    samples: dict[type, Any] = {bool: True, int: 7, float: 7.5, list: ["new/**"], str: "text"}
    return key.names[-1] if key.names else samples[key.python_type]


def options(flag: str, value: Any) -> RunOptions:
    return RunOptions(intent="x", values={flag: value})


@pytest.mark.parametrize("flag", schema.flags())
def test_an_option_sets_every_key_that_names_it_and_is_the_source_of_the_value(tmp_path: Path, flag: str) -> None:
    held = settings.load(tmp_path, tmp_path, {}, None)
    value = value_of(schema.flags()[flag])
    run_options.require_valid(options(flag, value))
    applied = run_options.with_options(held, options(flag, value))
    for table, key in schema.keys_by_flag()[flag]:
        assert applied.get(table, key) == (value, flag, "")
        assert schema.TABLES[table][key].fits(value)
    unchanged = {at: one for at, one in applied.by_key() if at not in schema.keys_by_flag()[flag]}
    assert unchanged.items() <= dict(held.by_key()).items()


def test_the_help_of_run_has_every_option_with_the_text_of_the_schema(tmp_path: Path) -> None:
    shown = re.sub(r"\s+", " ", donewhen("run", "--help", cwd=tmp_path).out)
    for flag, key in schema.flags().items():
        assert key.help
        assert re.search(rf"{flag} (TEXT |INTEGER |FLOAT )?{re.escape(key.help)}", shown)


@pytest.mark.parametrize(
    ("flag", "value", "message"),
    [
        ("--max-turns", 0, "--max-turns must be 1 or more, not 0"),
        ("--max-tokens", 0, "--max-tokens must be a finite number above 0, not 0"),
        ("--max-minutes", -1.5, "--max-minutes must be a finite number above 0, not -1.5"),
        ("--max-usd", float("nan"), "--max-usd must be a finite number above 0, not nan"),
        ("--land", "somewhere", "--land must be one of branch, apply, none, not 'somewhere'"),
    ],
)
def test_an_unusable_value_is_refused_with_the_name_of_its_option(flag: str, value: Any, message: str) -> None:
    with pytest.raises(BadInput) as refused:
        run_options.require_valid(options(flag, value))
    assert str(refused.value) == message


def test_a_list_of_the_command_line_is_added_to_the_one_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "donewhen.toml").write_text('[contract]\neditable = ["old/**"]\n')
    held = settings.load(tmp_path, tmp_path, {}, None)
    applied = run_options.with_options(held, options("--editable", ["new/**"]))
    assert applied.texts("contract", "editable") == ("old/**", "new/**")

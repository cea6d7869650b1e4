"""Output on a terminal: no control characters, any encoding; and shell completion."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from needs import needs
from program import donewhen
from repositories import commit, repository, write
from terminal import obeyed, on_a_terminal

CONTRACT = '[[check]]\nname = "t"\ncommand = "sh t.sh"\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    needs("bwrap")
    return repository(tmp_path / "repository", {"donewhen.toml": CONTRACT, "t.sh": "true\n"})


def test_file_names_cannot_send_control_sequences_to_a_terminal(root: Path) -> None:
    name = "tests/test_\x1b]0;pwned\x07\x1b[2J\u202e.py"
    write(root, {name: "def test_a(): pass\n"})
    commit(root)
    write(root, {name: "def test_a(): assert 1\n"})
    shown = on_a_terminal("check", cwd=root)
    assert r"Not graded (restored from the base): tests/test_\x1b]0;pwned\x07\x1b[2J\u202e.py modified" in shown
    assert obeyed(shown) == set()


def test_check_output_keeps_its_colours_but_no_other_control_sequences(root: Path) -> None:
    link, hidden = r"\033]8;;http://evil\033\\\\text\033]8;;\033\\\\", r"\033[8msecret\033[0m"
    printed = rf"A\033[31mred\033[0m \033]0;pwned\007\033[2J \342\200\256 \302\233 {link} {hidden} end\n"
    write(root, {"t.sh": f"printf '{printed}'; false\n"})
    commit(root)
    shown = on_a_terminal("check", cwd=root)
    assert "A\x1b[31mred\x1b[0m" in shown
    assert "end" in shown and "text" in shown and "secret" in shown
    assert "http://evil" not in shown and not re.search(r"\x1b\[(?:[0-9;]*;)?8m", shown)
    assert obeyed(shown) == set()


def test_nothing_is_shown_in_green_before_the_verdict(root: Path) -> None:
    write(root, {"t.sh": "false\n"})
    commit(root)
    assert not re.search(r"\x1b\[[0-9;]*32m", on_a_terminal("check", cwd=root))


def test_no_command_prints_colour_when_colour_is_off(root: Path) -> None:
    assert "\x1b[31m" in on_a_terminal("doctor", cwd=root) or donewhen("doctor", cwd=root).code == 0
    assert "\x1b[" not in on_a_terminal("doctor", cwd=root, NO_COLOR="1")


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "cp1252"])
def test_a_terminal_encoding_without_a_character_does_not_stop_the_program(root: Path, encoding: str) -> None:
    env = {"PYTHONIOENCODING": encoding}
    asked = donewhen("policy", "echo \u2713", cwd=root, env=env)
    assert (asked.code, asked.err) == (0, "")
    write(root, {"t.sh": "printf '\\342\\234\\223 \\360\\237\\230\\200\\n'; false\n"})
    commit(root)
    judged = donewhen("check", cwd=root, env=env)
    assert (judged.code, judged.err) == (1, "")
    lines = [json.loads(line) for line in donewhen("check", "--json", cwd=root, env=env).out.splitlines()]
    tails = [line["output_tail"] for line in lines if line["type"] == "check_completed"]
    assert tails and set(tails) == {"\u2713 \U0001f600"}


# -- typed words --


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("chekc", "donewhen: unknown command 'chekc'; did you mean check?"),
        ("zzz", "donewhen: unknown command 'zzz'; see: donewhen --help"),
        ("worker", "donewhen: worker is not available in this version; see: donewhen --help"),
    ],
)
def test_an_unknown_command_is_answered_with_suggestions(tmp_path: Path, typed: str, told: str) -> None:
    answer = donewhen(typed, cwd=tmp_path)
    assert (answer.code, answer.one_line) == (2, told)


def test_every_option_of_run_has_a_help_text(tmp_path: Path) -> None:
    shown = donewhen("run", "--help", cwd=tmp_path).out
    assert re.findall(r"^  (--\S+)(?: [A-Z=]+)?$\n(?! {10})", shown, re.MULTILINE) == []


@pytest.mark.parametrize("verb", ["run", "plan", "demo", "models"])
def test_the_help_of_a_verb_does_not_load_the_session_package(verb: str) -> None:
    code = (
        f"import sys, donewhen.cli.verbs.{verb}; print(*(m for m in sys.modules if m.startswith('donewhen.session')))"
    )
    loaded = set(subprocess.check_output([sys.executable, "-c", code], text=True).split())
    assert loaded <= {"donewhen.session", "donewhen.session.settings", "donewhen.session.settings.schema"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion_offers_commands_options_and_ids(tmp_path: Path, shell: str) -> None:
    def completed(line: str) -> str:
        words = line.split(" ")
        # Some shells give the position of the word, others the word itself.
        place = words[-1] if shell == "fish" else str(len(words) - 1)
        env = {"_DONEWHEN_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": place}
        answer = donewhen(cwd=tmp_path, env=env)
        assert answer.err == ""
        return answer.out

    assert "donewhen" in donewhen(cwd=tmp_path, env={"_DONEWHEN_COMPLETE": f"{shell}_source"}).out
    assert all(verb in completed("donewhen re") for verb in ("resume", "receipt", "replay"))
    assert all(name in completed("donewhen run x --land ") for name in ("branch", "apply", "none"))
    assert "native" in completed("donewhen run x --engine na")
    assert "--max-minutes" in completed("donewhen run --max")

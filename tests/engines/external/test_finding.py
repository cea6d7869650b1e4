"""Which program is used for an agent: the pinned one, else the first on PATH that runs and is safe."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from found_agents import ANSWERS, Scene, program, robo, times_asked

from donewhen.engines.external.discover import profile as profiles
from donewhen.engines.external.discover.find import AgentQuery
from donewhen.engines.external.discover.profile import AgentInterface

pytestmark = pytest.mark.anyio


@pytest.fixture
def scene(tmp_path: Path, home: Path) -> Scene:
    return Scene(home, [tmp_path / "bin"], {"ROBO_KEY": "sk-robo-secret"})


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    return tmp_path / "bin"


async def test_a_program_that_runs_and_has_a_key_is_ready_with_its_version(scene: Scene, programs: Path) -> None:
    file = program(programs)
    found = await scene.one()
    assert (found.status, found.version, found.program) == ("ready", "1.2.3", str(file))
    assert (found.way, found.governance, found.counted) == ("cli", "confined", "all of it by nobody")
    assert (found.provider, found.key) == ("openai", "ROBO_KEY")
    assert "sk-robo-secret" not in repr(found)


async def test_an_agent_that_is_not_installed_is_missing_with_the_install_command(scene: Scene) -> None:
    found = await scene.one()
    assert (found.status, found.version, found.program) == ("missing", "", "")
    assert "robo is not on PATH" in found.reason and "apt install robo" in found.reason


async def test_agents_are_returned_in_the_requested_order(scene: Scene, programs: Path) -> None:
    program(programs)
    names = ["robo", *(f"robo-{number}" for number in range(6))]
    found = await scene.look(*(AgentQuery(robo(name=name)) for name in names))
    assert [one.name for one in found] == names


async def test_a_pinned_program_is_preferred_to_path(scene: Scene, programs: Path, tmp_path: Path) -> None:
    program(programs)
    pin = program(tmp_path / "elsewhere", "echo 9.9.9", name="my-robo")
    found = await scene.one(pin=pin)
    assert (found.version, found.program) == ("9.9.9", str(pin))
    assert times_asked(programs) == 0


@pytest.mark.parametrize(
    ("text", "mode", "says"),
    [
        (None, 0o755, "does not exist"),
        (ANSWERS, 0o644, "is not executable"),
        ("exit 3", 0o755, "ended with exit 3"),
        ("echo no such thing >&2; exit 1", 0o755, "ended with exit 1: no such thing"),
        ("kill -9 $$", 0o755, "ended with signal 9"),
    ],
)
async def test_a_broken_pin_is_reported_and_never_replaced(
    scene: Scene, programs: Path, tmp_path: Path, text: str | None, mode: int, says: str
) -> None:
    program(programs)
    pin = tmp_path / "pinned" / "robo" if text is None else program(tmp_path / "pinned", text, mode=mode)
    found = await scene.one(pin=pin)
    assert found.status == "not_executable" and found.program == str(pin)
    assert found.reason.startswith("agent.robo.path: ") and str(pin) in found.reason and says in found.reason
    assert times_asked(programs) == 0


async def test_a_pinned_directory_is_not_a_program(scene: Scene, tmp_path: Path) -> None:
    found = await scene.one(pin=tmp_path)
    assert found.status == "not_executable" and "is not a program" in found.reason


async def test_the_second_program_on_path_is_used_if_the_first_does_not_run(
    scene: Scene, programs: Path, tmp_path: Path
) -> None:
    program(programs, "exit 1")
    second = program(tmp_path / "later")
    scene.path.append(tmp_path / "later")
    found = await scene.one()
    assert (found.status, found.program) == ("ready", str(second))
    assert times_asked(programs) == 1


async def test_if_no_program_runs_the_first_is_named(scene: Scene, programs: Path, tmp_path: Path) -> None:
    first = program(programs, "echo broken >&2; exit 1")
    program(tmp_path / "later", "exit 2")
    scene.path.append(tmp_path / "later")
    found = await scene.one()
    assert found.status == "not_executable"
    assert found.reason == f"{first} ended with exit 1: broken"


async def test_a_program_that_does_not_answer_times_out(scene: Scene, programs: Path) -> None:
    program(programs, "while :; do sleep 60; done")
    scene.timeout_secs = 0.5
    found = await scene.one()
    assert found.status == "not_executable" and "did not answer within 0.5 s" in found.reason


async def test_a_program_for_another_architecture_is_not_executable(scene: Scene, programs: Path) -> None:
    programs.mkdir()
    (programs / "robo").write_bytes(b"\x7fELF\x02\x01\x01garbage")
    (programs / "robo").chmod(0o755)
    found = await scene.one()
    assert found.status == "not_executable" and "could not be started" in found.reason


async def test_a_file_without_execute_permission_is_named_as_such(scene: Scene, programs: Path) -> None:
    file = program(programs, mode=0o644)
    found = await scene.one()
    assert (found.status, found.reason) == ("not_executable", f"{file} is not executable")


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ("printf '\\377\\376\\033[31mgarbage\\n'", ""),
        ("head -c 300000 /dev/zero", ""),
        (":", ""),
        ("echo 'Robo CLI v2.10.0-beta.1 (build 7)'", "2.10.0-beta.1"),
        ("echo 0.86.2", "0.86.2"),
        ("echo 'warning: node 20.1.0 is old' >&2; echo 3.4.5", "3.4.5"),
        ("echo 'robo 1.0' >&2", "1.0"),
    ],
)
async def test_any_output_gives_a_version_or_unknown(scene: Scene, programs: Path, printed: str, version: str) -> None:
    program(programs, printed)
    found = await scene.one()
    assert (found.status, found.version) == ("ready", version)


@pytest.mark.parametrize(("package", "version"), [('{"version": "0.49.0"}', "0.49.0"), ("{half", ""), ("[]", "")])
async def test_a_silent_program_has_the_version_of_its_package(
    scene: Scene, programs: Path, tmp_path: Path, package: str, version: str
) -> None:
    installed = program(tmp_path / "node_modules" / "robo" / "dist", ":")
    (installed.parents[1] / "package.json").write_text(package)
    programs.mkdir()
    (programs / "robo").symlink_to(installed)
    assert (await scene.one()).version == version


async def test_numbers_in_a_help_text_are_not_a_version(scene: Scene, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    program(environment / "bin", "echo '--limit USD  at most so much [default: 0.5]'")
    scene.path = [environment / "bin"]
    asked = robo(
        version=("--help",),
        interfaces={"cli": AgentInterface(program="robo", argv=(), package="pip install -U My-Robo more")},
    )
    assert (await scene.one(asked)).version == ""
    (environment / "lib" / "python3.11" / "site-packages" / "my_robo-2.4.6.dist-info").mkdir(parents=True)
    scene.now += 31
    assert (await scene.one(asked)).version == "2.4.6"


@pytest.mark.parametrize("mode", [0o777, 0o1777])
async def test_a_world_writable_directory_is_not_searched(scene: Scene, programs: Path, mode: int) -> None:
    file = program(programs)
    programs.chmod(mode)
    found = await scene.one()
    assert found.status == "missing" and f"{file} is ignored: it is world-writable" in found.reason
    assert times_asked(programs) == 0


async def test_a_world_writable_program_is_not_used(scene: Scene, programs: Path, tmp_path: Path) -> None:
    program(programs, mode=0o777)
    open_to_all = tmp_path / "open"
    program(open_to_all / "bin")
    open_to_all.chmod(0o777)
    link = tmp_path / "links"
    link.mkdir()
    (link / "robo").symlink_to(open_to_all / "bin" / "robo")
    scene.path += [open_to_all / "bin", link]
    assert (await scene.one()).status == "missing"
    assert times_asked(programs) == times_asked(open_to_all / "bin") == 0


async def test_nothing_inside_the_repository_is_searched(scene: Scene, tmp_path: Path, programs: Path) -> None:
    scene.repository = tmp_path / "repository"
    inside = scene.repository / "node_modules" / ".bin"
    program(inside)
    programs.mkdir()
    (programs / "robo").symlink_to(inside / "robo")
    scene.path.append(inside)
    found = await scene.one()
    assert found.status == "missing" and "is inside the repository" in found.reason
    assert times_asked(inside) == 0


@pytest.mark.parametrize("linked", [False, True])
async def test_a_pinned_program_of_the_repository_is_never_started_on_the_host(
    scene: Scene, tmp_path: Path, linked: bool
) -> None:
    """A later commit may have replaced it; its version stays unknown, and it starts only in the sandbox."""
    scene.repository = tmp_path / "repository"
    inside = program(scene.repository / "tools")
    pin = tmp_path / "robo"
    pin.symlink_to(inside)
    found = await scene.one(pin=pin if linked else inside)
    assert found.ready and not found.version
    assert times_asked(scene.repository / "tools") == 0


async def test_relative_entries_of_path_are_not_searched(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    scene.path = [Path("."), Path("../here")]
    assert (await scene.one()).status == "missing"


async def test_the_preferred_interface_is_used_if_its_program_runs_and_else_the_other(
    scene: Scene, programs: Path
) -> None:
    interfaces = {
        "acp": AgentInterface(program="robo-acp", argv=(), governance="full"),
        "cli": AgentInterface(program="robo", argv=(), package="apt install robo"),
    }
    assert "apt install robo" in (await scene.one(robo(interfaces=interfaces))).reason
    program(programs)
    assert (await scene.one(robo(interfaces=interfaces))).way == "cli"
    program(programs, name="robo-acp")
    found = await scene.one(robo(interfaces=interfaces))
    assert (found.way, found.governance) == ("acp", "full")


@pytest.mark.parametrize(("name", "way"), [("robo", "cli"), ("robo-acp", "acp"), ("my-own-build", "cli")])
async def test_a_pin_uses_the_interface_of_its_program(scene: Scene, tmp_path: Path, name: str, way: str) -> None:
    interfaces = {"acp": AgentInterface(program="robo-acp", argv=()), "cli": AgentInterface(program="robo", argv=())}
    assert (await scene.one(robo(interfaces=interfaces), program(tmp_path / "pins", name=name))).way == way


# -- agents that are a command --


@pytest.mark.parametrize("command", ["robo --task {task}", "exec robo {task}", "A=b C='d e' robo {task}"])
async def test_a_command_is_ready_when_its_first_word_is_found(scene: Scene, programs: Path, command: str) -> None:
    missing = await scene.one(profiles.custom("mine", command), command=command)
    assert (missing.status, missing.reason) == ("missing", "robo is not on PATH")
    file = program(programs)
    found = await scene.one(profiles.custom("mine", command), command=command)
    assert (found.status, found.program, found.begins_with) == ("ready", "/bin/sh", str(file))
    assert times_asked(programs) == 0


@pytest.mark.parametrize("command", ["cd src && robo {task}", "(robo {task})", "$ROBO {task}", "if true; then :; fi"])
async def test_a_command_that_starts_with_shell_syntax_is_ready(scene: Scene, command: str) -> None:
    assert (await scene.one(profiles.custom("mine", command), command=command)).status == "ready"


async def test_a_command_in_the_repository_may_be_named_by_its_path(scene: Scene, tmp_path: Path) -> None:
    scene.repository = tmp_path
    command = "./tools/robo {task}"
    missing = await scene.one(profiles.custom("mine", command), command=command)
    assert missing.status == "not_executable" and "does not exist" in missing.reason
    program(tmp_path / "tools")
    assert (await scene.one(profiles.custom("mine", command), command=command)).ready


async def test_a_command_with_half_a_quote_is_not_executable(scene: Scene) -> None:
    found = await scene.one(profiles.custom("mine", "robo '{task}"), command="robo '{task}")
    assert found.status == "not_executable" and "agent.mine.command" in found.reason


TRICKY = 'it\'s "quoted"; touch x\n$(touch y) `touch z` {model}'


@pytest.mark.parametrize("command", ["printf %s {task}", "printf %s '{task}'", 'true && printf %s "{task}" | cat'])
def test_a_command_gets_any_task_text_as_one_argument(tmp_path: Path, command: str) -> None:
    way = profiles.custom("mine", command).interfaces["cli"]
    known = {"task": TRICKY}
    argv = [way.program, *(profiles.fill(word, known) for word in way.argv)]
    environment = {name: profiles.fill(value, known) for name, value in way.env.items()}
    ran = subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, check=True)
    assert ran.stdout.decode() == TRICKY
    assert list(tmp_path.iterdir()) == []


# -- probing --


async def test_a_program_is_probed_in_an_empty_home_without_secrets_or_network(
    scene: Scene, programs: Path, home: Path, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    (home / "secret").write_text("s")
    shown = f"{{ pwd; ls -A ~; env; cat /proc/net/dev; }} > {shlex.quote(str(told))}"
    program(programs, f"{shown}; echo 1.0")
    found = await scene.one(robo(env={"ROBO_NO_UPDATE": "1", "ROBO_URL": "{gateway}", "ROBO_DIR": "{config}"}))
    said = told.read_text()
    assert found.ready
    assert "ROBO_NO_UPDATE=1" in said and "ROBO_URL" not in said and "ROBO_DIR=/" in said
    assert "sk-robo-secret" not in said and str(home) not in said
    interfaces = [
        line.split(":")[0].strip() for line in said.splitlines() if line.strip().startswith(("lo:", "eth", "en"))
    ]
    assert interfaces == ["lo"]
    assert not os.path.exists(said.splitlines()[0])


async def test_shims_find_their_toolchains_in_an_empty_home(scene: Scene, programs: Path, home: Path) -> None:
    program(home / ".pyenv" / "versions", "echo 4.5.6", name="real")
    program(programs, 'exec "${PYENV_ROOT:-$HOME/.pyenv}/versions/real"')
    assert (await scene.one()).version == "4.5.6"

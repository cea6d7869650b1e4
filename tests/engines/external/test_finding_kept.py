"""Probe results are cached for half a minute, and only while they are true."""

from pathlib import Path

import pytest
from found_agents import ANSWERS, Scene, program, robo, times_asked

from donewhen.engines.external.discover.find import CACHE

pytestmark = pytest.mark.anyio


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    return tmp_path / "bin"


@pytest.fixture
def scene(home: Path, programs: Path) -> Scene:
    program(programs)
    return Scene(home, [programs], {"ROBO_KEY": "sk-robo-secret"})


async def test_a_program_is_not_probed_again_for_thirty_seconds(scene: Scene, programs: Path) -> None:
    first = await scene.one()
    scene.now += 29
    assert await scene.one() == first
    assert times_asked(programs) == 1
    scene.now += 1
    await scene.one()
    assert times_asked(programs) == 2


async def test_setting_the_clock_back_does_not_extend_the_cache(scene: Scene, programs: Path) -> None:
    await scene.one()
    scene.now -= 3600
    await scene.one()
    assert times_asked(programs) == 2


async def test_a_replaced_program_is_probed_again(scene: Scene, programs: Path) -> None:
    await scene.one()
    program(programs, "echo 2.0.0")
    assert (await scene.one()).version == "2.0.0"


async def test_another_path_or_command_is_probed_separately(scene: Scene, programs: Path, tmp_path: Path) -> None:
    await scene.one()
    scene.path.append(tmp_path / "other")
    await scene.one()
    await scene.one(robo(version=("version",)))
    assert times_asked(programs) == 3


async def test_setting_or_removing_a_key_takes_effect_at_once(scene: Scene, programs: Path) -> None:
    assert (await scene.one()).ready
    scene.variables.clear()
    assert (await scene.one()).status == "not_configured"
    assert times_asked(programs) == 1


async def test_a_program_that_does_not_run_is_cached_too(scene: Scene, programs: Path) -> None:
    program(programs, "exit 1")
    assert (await scene.one()).reason == (await scene.one()).reason
    assert times_asked(programs) == 1


@pytest.mark.parametrize(
    "content", [b"", b"{half", b"[]", b'{"a": 1}', b'{"a": {"at": "now"}}', b"\xff\xfe", b"[" * 100_000]
)
async def test_a_damaged_cache_file_is_ignored(scene: Scene, home: Path, content: bytes) -> None:
    (home / CACHE).write_bytes(content)
    assert (await scene.one()).version == "1.2.3"
    assert (await scene.one()).version == "1.2.3"


async def test_the_probe_cache_is_private_and_holds_no_secrets(scene: Scene, home: Path) -> None:
    await scene.one()
    file = home / CACHE
    assert "1.2.3" in file.read_text() and "sk-robo-secret" not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0


async def test_old_probe_results_are_removed(scene: Scene, home: Path, programs: Path) -> None:
    await scene.one()
    size = (home / CACHE).stat().st_size
    scene.now += 31
    program(programs, f"{ANSWERS} # again")
    await scene.one()
    assert (home / CACHE).stat().st_size == size

"""Ordinary work inside: languages, their runners and package managers, from the system and from the home.

Each test does what a project's own check would do, in a tree at the checkout's own path.
"""

import fcntl
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from sandbox_scenes import SandboxScene, output, run, sandbox_scene, write

from needs import leave_out, needs, usable

pytestmark = pytest.mark.anyio
PASSING = {"test_it.py": "def test_it() -> None:\n    assert 1 + 1 == 2\n"}


@pytest.fixture
async def place(tmp_path: Path) -> AsyncGenerator[SandboxScene]:
    async with sandbox_scene(tmp_path) as found:
        yield found


@pytest.fixture
def at_home(real_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The real home, with the toolchains in it."""
    monkeypatch.setenv("HOME", str(real_home))
    return real_home


# -- Python --

POOL = """
import multiprocessing as mp
def grow(lock, many, total):
    with many:
        for _ in range(100):
            with lock:
                total.value += 1
def square(n):
    return n * n
if __name__ == "__main__":
    lock, many, total = mp.Lock(), mp.Semaphore(2), mp.Value("i", 0, lock=False)
    workers = [mp.Process(target=grow, args=(lock, many, total)) for _ in range(4)]
    for worker in workers: worker.start()
    for worker in workers: worker.join()
    with mp.Pool(3) as pool, mp.Manager() as manager:
        print(total.value, sum(pool.map(square, range(10))), manager.list([1, 2]))
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
async def test_processes_share_locks_semaphores_and_memory(place: SandboxScene, method: str) -> None:
    begin = f'if __name__ == "__main__":\n    mp.set_start_method("{method}")\n    lock'
    write(place.checkout, {"pool.py": POOL.replace('if __name__ == "__main__":\n    lock', begin)})
    assert await output(place.room(), "/usr/bin/python3 pool.py") == "400 285 [1, 2]"


async def test_pytest_runs_with_the_interpreter_and_packages_of_the_host(place: SandboxScene, at_home: Path) -> None:
    write(place.checkout, PASSING)
    printed = await output(place.room(), f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {shlex.quote(sys.executable)} -m pytest -q")
    assert "1 passed" in printed
    assert (place.upper / ".pytest_cache").is_dir()


def environment_with_pytest(checkout: Path) -> Path:
    """A `.venv` in the checkout that holds the pytest of this test run; nothing is fetched."""
    environment = checkout / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    theirs = Path(pytest.__file__).parents[1]
    ours = next(environment.glob("lib/python*/site-packages"))
    for name in ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments"):
        shutil.copytree(theirs / name, ours / name, ignore=shutil.ignore_patterns("__pycache__"))
        for facts in theirs.glob(f"{name}-*.dist-info"):
            shutil.copytree(facts, ours / facts.name)
    shutil.copy(theirs / "py.py", ours)
    script = environment / "bin" / "pytest"
    script.write_text(f"#!{environment}/bin/python\nimport pytest\nraise SystemExit(pytest.main())\n")
    script.chmod(0o755)
    return ours


def uv() -> str:
    beside = Path(sys.executable).with_name("uv")
    return str(beside) if beside.exists() else needs("uv")


async def test_uv_runs_pytest_in_a_shared_environment_without_changing_it(place: SandboxScene, at_home: Path) -> None:
    packages = environment_with_pytest(place.checkout)
    project = '[project]\nname = "tiny"\nversion = "1"\nrequires-python = ">=3.11"\n'
    write(place.checkout, {**PASSING, "pyproject.toml": project})
    before = sorted(path.relative_to(packages) for path in packages.rglob("*"))
    room = place.room(shares=[".venv"])
    assert "1 passed" in await output(room, f"{uv()} run --offline pytest -q")
    assert await output(room, "touch .venv/mine; .venv/bin/python -c 'import sys; print(sys.prefix)'") == str(
        place.checkout / ".venv"
    )
    assert not (place.checkout / ".venv" / "mine").exists()
    assert sorted(path.relative_to(packages) for path in packages.rglob("*")) == before


async def test_an_editable_install_uses_the_tree_and_not_the_checkout(
    place: SandboxScene, at_home: Path, tmp_path: Path
) -> None:
    packages = environment_with_pytest(place.checkout)
    (packages / "tiny.pth").write_text(f"{place.checkout}/src\n")
    write(place.checkout, {"src/tiny/__init__.py": "WHO = 'the checkout'\n"})
    room = place.room(shares=[".venv"])
    asking = ".venv/bin/python -c 'import tiny; print(tiny.WHO, tiny.__file__)'"
    await output(room, "echo \"WHO = 'the candidate'\" > src/tiny/__init__.py")
    assert await output(room, asking) == f"the candidate {place.checkout}/src/tiny/__init__.py"

    copy = tmp_path / "worktree"  # the control: what a worktree in another directory would have judged
    shutil.copytree(place.checkout, copy, symlinks=True)
    write(copy, {"src/tiny/__init__.py": "WHO = 'the candidate'\n"})
    assert plainly(copy, [".venv/bin/python", "-c", "import tiny; print(tiny.WHO)"]) == "the checkout"


def plainly(directory: Path, argv: list[str]) -> str:
    """Return the output of a command outside any sandbox."""
    return subprocess.run(argv, cwd=directory, check=True, capture_output=True, text=True).stdout.strip()


# -- JavaScript --

VITEST = {
    "package.json": '{"name": "tiny", "private": true, "type": "module"}',
    "add.js": "export const add = (a, b) => a + b\n",
    "add.test.js": (
        "import { expect, test } from 'vitest'\nimport { add } from './add.js'\n"
        "test('adds', () => expect(add(1, 2)).toBe(3))\n"
    ),
}


@pytest.fixture(scope="session")
def vitest(tmp_path_factory: pytest.TempPathFactory, real_home: Path) -> Path:
    """A directory with vitest in its `node_modules`; fetched once for all workers of a test run."""
    npm = needs("npm")
    base = tmp_path_factory.getbasetemp()
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "vitest"
    place.mkdir(exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "node_modules" / "vitest").exists():
            write(place, {"package.json": VITEST["package.json"]})
            command = [npm, "install", "--no-audit", "--no-fund", "--no-progress", "vitest"]
            env = {**os.environ, "HOME": str(real_home)}
            if subprocess.run(command, cwd=place, env=env, capture_output=True, check=False).returncode:
                leave_out("vitest from the package registry")
    return place / "node_modules"


WORKERS = """
import { execFileSync } from 'node:child_process'
import { Worker } from 'node:worker_threads'
const worker = new Worker('require("worker_threads").parentPort.postMessage(6 * 7)', { eval: true })
worker.once('message', (n) => console.log(n, execFileSync('echo', ['child']).toString().trim()))
"""


async def test_node_runs_programs_and_workers(place: SandboxScene) -> None:
    needs("node")
    write(place.checkout, {"main.mjs": WORKERS})
    assert await output(place.room(), "node main.mjs") == "42 child"


@pytest.mark.sample(0)
async def test_vitest_runs_with_shared_packages_without_changing_them(place: SandboxScene, vitest: Path) -> None:
    write(place.checkout, VITEST)
    shutil.copytree(vitest, place.checkout / "node_modules", symlinks=True, copy_function=os.link)
    before = sorted(os.listdir(place.checkout / "node_modules"))
    printed = await output(place.room(shares=["node_modules"]), "NO_COLOR=1 node_modules/.bin/vitest run")
    assert "1 passed" in printed
    assert sorted(os.listdir(place.checkout / "node_modules")) == before


# -- compiled languages --


async def test_cargo_builds_and_tests_without_the_network(place: SandboxScene, at_home: Path) -> None:
    needs("cargo")
    write(
        place.checkout,
        {
            "Cargo.toml": '[package]\nname = "tiny"\nversion = "0.1.0"\nedition = "2021"\n',
            "src/lib.rs": "pub fn two() -> u8 { 2 }\n#[test]\nfn it_is_two() { assert_eq!(two(), 2) }\n",
        },
    )
    room = place.room()
    await output(room, "cargo build --offline")
    assert "1 passed" in await output(room, "cargo test --offline --lib")


async def test_make_and_gcc_build_a_program_that_runs(place: SandboxScene) -> None:
    for program in ("make", "gcc"):
        needs(program)
    write(
        place.checkout,
        {
            "main.c": '#include <stdio.h>\nint main(void) { puts("built inside"); return 0; }\n',
            "Makefile": "all: main\n\t./main\nmain: main.c\n\tgcc -O2 -Wall -pipe -o $@ $<\n",
        },
    )
    assert await output(place.room(), "make -s -j2") == "built inside"


# -- toolchains of the home --


@pytest.mark.parametrize("program", ["python3", "python", "cargo", "rustc", "node", "gcc", "make", "git"])
async def test_a_program_has_the_same_version_inside_and_outside(
    place: SandboxScene, at_home: Path, program: str
) -> None:
    needs(program)
    assert await output(place.room(), f"{program} --version") == plainly(place.checkout, [program, "--version"])


async def test_version_managers_that_are_installed_find_their_toolchains_inside(
    place: SandboxScene, at_home: Path
) -> None:
    questions = {"pyenv": "pyenv prefix", "cargo": "rustup which cargo", "git": "git --exec-path"}
    known = [question for program, question in questions.items() if usable(program)]
    for question in [question for question in known if usable(question.split()[0])]:
        assert await output(place.room(), question) == plainly(place.checkout, question.split())


@pytest.mark.parametrize(
    ("manager", "shim", "toolchain"),
    [
        (".pyenv", ".pyenv/shims/python", ".pyenv/versions/3.99.1/bin/python"),
        (".rustup", ".cargo/bin/cargo", ".rustup/toolchains/99/bin/cargo"),
        (".nvm", ".nvm/current/bin/node", ".nvm/versions/node/v99/bin/node"),
    ],
)
async def test_a_shim_in_the_home_finds_its_toolchain(
    place: SandboxScene, home: Path, monkeypatch: pytest.MonkeyPatch, manager: str, shim: str, toolchain: str
) -> None:
    tool = Path(shim).name
    write(home, {shim: f'#!/bin/sh\nexec "$HOME/{toolchain}" "$@"\n', toolchain: "#!/bin/sh\necho $0 99\n"})
    write(home, {f"{manager}/secrets-beside": "x", ".ssh/id": "x"})
    for program in (shim, toolchain):
        (home / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{(home / shim).parent}:{os.environ['PATH']}")
    outside = plainly(place.checkout, [tool, "--version"])
    assert await output(place.room(), f"{tool} --version") == outside == f"{home}/{toolchain} 99"
    assert not (await run(place.room(), f"echo x > ~/{toolchain}")).ok
    assert not (await run(place.room(), "cat ~/.ssh/id")).ok


async def test_a_toolchain_in_the_home_is_visible_and_its_neighbours_are_not(
    place: SandboxScene, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = home / ".nvm/versions/node/v99.1.0/bin"
    write(tools, {"node": "#!/bin/sh\necho v99.1.0 from $(dirname $0)\n"})
    write(home, {".nvm/alias/default": "99", ".ssh/id": "x", "notes": "x"})
    (tools / "node").chmod(0o755)
    (home / ".nvm" / "current").symlink_to("versions/node/v99.1.0")
    monkeypatch.setenv("NVM_DIR", f"{home}/.nvm")
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    room = place.room()
    assert await output(room, "node --version") == f"v99.1.0 from {tools}"
    assert await output(room, "$NVM_DIR/current/bin/node") == f"v99.1.0 from {home}/.nvm/current/bin"
    assert await output(room, "ls -A ~") == ".nvm"
    assert not (await run(room, "echo x > ~/.nvm/alias/default")).ok


async def test_an_installation_on_path_is_fully_visible_and_a_project_is_not(
    place: SandboxScene, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home / "sdk", {"bin/tool": "#!/bin/sh\ncat $(dirname $0)/../lib/answer\n", "lib/answer": "42"})
    write(home / "work", {"bin/script": "#!/bin/sh\necho script\n", "lib/x": "x", ".git/HEAD": "x", "secret": "x"})
    for program in ("sdk/bin/tool", "work/bin/script"):
        (home / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{home}/sdk/bin:{home}/work/bin:/usr/bin:/bin:{home}/nowhere:relative")
    assert await output(place.room(), "tool; echo; script; ls -A ~/work") == "42\nscript\nbin"


async def test_credentials_within_a_toolchain_are_masked(place: SandboxScene, home: Path) -> None:
    write(home / ".cargo", {"credentials.toml": "token", "config.toml": "[build]"})
    write(home / ".gradle", {"init.d/login.gradle": "token", "gradle.properties": "token"})
    reading = "cat ~/.cargo/* ~/.gradle/gradle.properties ~/.gradle/init.d/* 2>/dev/null || true"
    assert await output(place.room(), reading) == "[build]"

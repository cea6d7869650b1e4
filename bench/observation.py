"""Costs of observing a check: the same command with and without an observer, by what is recorded.

CPU seconds of the command, its sandbox and its observer together, and seconds on the clock. The limits are those of the
project: 1.1 times for executions, 1.35 times with opened files, 1.6 times with all look-ups.
"""

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import anyio

from donewhen.session.workplace import open_workplace
from donewhen.workspace.sandbox.sandbox import ShellCommand
from donewhen.workspace.sandbox.seccomp import ObservedCalls

ROUNDS = 5
LIMITS: Mapping[ObservedCalls, float] = {"executions": 1.1, "opens": 1.35, "lookups": 1.6}
Files = Mapping[str, str]

PYTEST: Files = {
    **{f"pkg/m{n}.py": f"def f(x):\n    return sum(range(x)) + {n}\n" for n in range(40)},
    "pkg/__init__.py": "",
    **{
        f"tests/test_{n}.py": "import pytest\n"
        f"from pkg.m{n} import f\n\n\n@pytest.mark.parametrize('x', range(20))\ndef test_f(x):\n"
        f"    assert f(x + 20_000) > 0\n"
        for n in range(40)
    },
}
JEST_PROGRAM = Path(__file__).parents[1] / ".cache/test-runners/node_modules/.bin/jest"
JEST: Files = {
    "package.json": "{}\n",
    **{f"src/m{n}.js": f"exports.f = (x) => x + {n};\n" for n in range(20)},
    **{
        f"src/m{n}.test.js": f"const {{ f }} = require('./m{n}');\n"
        "for (let i = 0; i < 20; i++) test(`t${i}`, () => expect(f(i)).toBeGreaterThanOrEqual(i));\n"
        for n in range(20)
    },
}
MAKE: Files = {
    **{
        f"m{n}.c": f"#include <stdio.h>\n#include <stdlib.h>\nint f{n}(int x) {{ return x + {n}; }}\n"
        for n in range(30)
    },
    "main.c": "int main(void) { return 0; }\n",
    "Makefile": "OBJS = $(patsubst %.c,%.o,$(wildcard *.c))\ncheck: t\n\t./t\nt: $(OBJS)\n\tcc -o t $(OBJS)\n",
}
CARGO: Files = {
    "Cargo.toml": "[package]\nname = 'calc'\nversion = '0.1.0'\nedition = '2021'\n",
    "src/lib.rs": "".join(f"pub fn f{n}(x: u64) -> u64 {{ x + {n} }}\n" for n in range(200))
    + "#[test]\nfn adds() { assert_eq!(f1(1), 2); }\n",
}
PROJECTS: Mapping[str, tuple[str, str, Files]] = {
    "pytest, 800 tests": ("pytest", "python -m pytest -q", PYTEST),
    "jest, 20 files": (str(JEST_PROGRAM), f"{JEST_PROGRAM} --silent", JEST),
    "make, 31 C files": ("make", "make check", MAKE),
    "cargo test": ("cargo", "cargo test --offline", CARGO),
}
"""By name: the needed program, the command, and the files."""


def make_project(root: Path, files: Files) -> None:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.com"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "base"]):
        subprocess.run([*git, *words], cwd=root, check=True)


async def seconds(root: Path, command: str, calls: ObservedCalls | None) -> tuple[float, float]:
    """CPU seconds and seconds on the clock of one run. Opening and closing the workplace is a part of both."""
    before, began = os.times(), time.perf_counter()
    async with open_workplace(root) as place:
        async with place.tree("judge", place.repo.head) as tree:
            finished = await place.sandbox_of(tree.sandbox_tree).run(ShellCommand(text=command, observe=calls))
            assert finished.ok, finished.stdout.whole()
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return cpu, time.perf_counter() - began


async def measure(root: Path, command: str) -> None:
    modes: list[ObservedCalls | None] = [None, *LIMITS]
    taken: dict[ObservedCalls | None, list[tuple[float, float]]] = {mode: [] for mode in modes}
    for _ in range(ROUNDS):
        for mode in modes:
            taken[mode].append(await seconds(root, command, mode))
    plain = [statistics.median(one[at] for one in taken[None]) for at in (0, 1)]
    print(f"  not observed   {plain[0]:6.2f} s of CPU, {plain[1]:6.2f} s")
    for mode, limit in LIMITS.items():
        cpu, clock = (statistics.median(one[at] for one in taken[mode]) for at in (0, 1))
        print(f"  {mode:<12}   {cpu / plain[0]:6.2f} times the CPU, {clock / plain[1]:6.2f} times; limit {limit}")


def main() -> None:
    for name, (program, command, files) in PROJECTS.items():
        if shutil.which(program) is None:
            raise SystemExit(f"{program} is missing")
        print(name)
        with tempfile.TemporaryDirectory() as directory:
            make_project(Path(directory), files)
            anyio.run(measure, Path(directory), command)


if __name__ == "__main__":
    main()

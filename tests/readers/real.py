"""Run a real test runner as the judge would, without the sandbox: instrumented, then read."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scenes import Scene

from donewhen.judge.runners import InstrumentedCommand, in_tree_reports, instrument_command, read
from donewhen.readers.result import RunnerReport
from donewhen.workspace.beneath import Root
from needs import leave_out, needs
from repositories import write

OF_NPM = Path(__file__).parents[2] / ".cache" / "test-runners" / "node_modules"
"""The directory in which scripts/test-runners installs jest, vitest and mocha."""


@dataclass(frozen=True)
class Ran:
    code: int
    output: bytes
    reading: RunnerReport | None
    kind: str

    @property
    def counts(self) -> tuple[int, int, int] | None:
        """Passed, failed, skipped."""
        tests = self.reading.tests if self.reading else None
        return (tests.passed, tests.failed, tests.skipped) if tests else None

    @property
    def is_green(self) -> bool:
        return self.reading is not None and self.reading.complete and self.reading.tests.failed == 0

    @property
    def cell(self) -> str:
        if self.reading is None or self.counts is None:
            return "nothing"
        return "/".join(map(str, self.counts)) + ("" if self.reading.complete else " cut") + f" {self.kind}"


def environment_for(scene: Scene, place: Path, real_home: Path) -> dict[str, str]:
    """PATH and homes with which the scene's runner works; without it the test is left out."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(place / "target"), "GOCACHE": str(place / "go-cache")}
    if scene.runner in ("jest", "vitest", "mocha"):
        needs("node")
        if not (OF_NPM / ".bin" / scene.program).exists():
            leave_out(f"{scene.program} (scripts/test-runners installs it)")
        environment["PATH"] = f"{OF_NPM / '.bin'}:{environment['PATH']}"
    else:
        needs(scene.program)
    if scene.runner == "cargo":
        environment["HOME"] = str(real_home)
    return environment


def project(root: Path, scene: Scene, case: str) -> Path:
    root.mkdir(parents=True)
    write(root, {**scene.always, **scene.cases[case]})
    if scene.runner == "vitest":
        (root / "node_modules").symlink_to(OF_NPM)
    return root


def run(
    root: Path, command: str, environment: Mapping[str, str], instrumented: InstrumentedCommand | None = None
) -> Ran:
    sidecar = root.with_name(root.name + ".sidecar")
    sidecar.mkdir(exist_ok=True)
    for old in sidecar.iterdir():
        old.unlink()
    instrumented = instrumented or instrument_command(command, Root(root), str(sidecar))
    code, output = to_its_end(instrumented.command, root, {**environment, **instrumented.variables})
    reports = {path.name: path.read_bytes() for path in sidecar.iterdir()}
    found = read(reports, left_in(root), output, instrumented)
    return Ran(code, output, *(found or (None, "")))


def to_its_end(command: str, root: Path, environment: Mapping[str, str]) -> tuple[int, bytes]:
    """Run a command and kill everything that it leaves behind: a worker whose runner was killed may run without end."""
    program = subprocess.Popen(
        ["/bin/sh", "-c", command],
        cwd=root,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = program.communicate(timeout=240)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
    return program.returncode, output


def left_in(root: Path) -> dict[str, bytes]:
    paths = {path.relative_to(root).as_posix(): path for path in root.rglob("TEST-*.xml")}
    return {name: path.read_bytes() for name, path in paths.items() if in_tree_reports(name)}

"""The environment for cheats: separate tools, one home, and the scenes at one path, made again each time.

All scenes of a language have the same path in a worker, so cached facts about tools and about a scene's base are
used again. The control is a plain shell that runs the contract's commands in the maker tree and looks at their exit
codes, in a pid namespace, so that no process survives it.
"""

import functools
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cheat import Cheat, Scene, Tree

import repositories
from needs import leave_out, needs
from toolbox import toolbox

SYSTEM = ("/usr/local/bin", "/usr/bin", "/bin")
SECONDS = 60


@dataclass(frozen=True)
class CheatWorkspace:
    root: Path
    """A directory of this worker; everything below it is made here."""
    path: str
    """The PATH of the user."""
    known: set[str] = field(default_factory=set[str])
    """The scenes that were already judged without a cheat."""
    scenes: dict[str, Scene] = field(default_factory=dict[str, Scene])
    """The scenes that were made, by name."""

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def state(self) -> Path:
        return self.root / "state"

    def tree(self, scene: Scene) -> Path:
        return self.root / scene.language / "repo"

    def fresh(self, scene: Scene, with_held_out: bool = False) -> Path:
        """Make the scene as its base has it, and an empty home."""
        for program in scene.programs:
            needs(program)
        for directory in scene.directories:
            if not Path(directory).is_dir():
                leave_out(directory)
        template = self._template(scene, with_held_out)
        tree = self.tree(scene)
        for place in (tree, self.home):
            shutil.rmtree(place, ignore_errors=True)
        self.home.mkdir(parents=True)
        tree.parent.mkdir(exist_ok=True)
        subprocess.run(["cp", "-a", template, tree], check=True)
        return tree

    def cheated(self, cheat: Cheat, with_held_out: bool = False) -> Path:
        """Make the scene with the cheat. Only what the maker typed has run in it."""
        tree = self.fresh(cheat.scene, with_held_out)
        for name in cheat.remove:
            (tree / name).unlink()
        for name, (before, after) in cheat.replace.items():
            content = (tree / name).read_text()
            assert before in content, f"{cheat.says}: {name} holds no {before!r}"
            (tree / name).write_text(content.replace(before, after, 1))
        put(tree, cheat.write)
        if cheat.shell:
            typed = self.shell(cheat.shell, tree, self.variables(cheat))
            assert typed.returncode == 0, f"{cheat.says}: {typed.stdout}"
        return tree

    def variables(self, cheat: Cheat) -> dict[str, str]:
        """Additional variables of the user's environment."""
        tree = str(self.tree(cheat.scene))
        return {name: value.format(tree=tree, path=self.path) for name, value in cheat.env.items()}

    def control(self, cheat: Cheat) -> list[int]:
        """Return the exit codes of the contract's commands in the unchanged maker tree.

        They leave caches and bytecode there, so this comes after the judge, who leaves nothing.
        """
        tree = self.tree(cheat.scene)
        contract = tomllib.loads((tree / "donewhen.toml").read_text())
        setup = contract.get("workspace", {}).get("setup", [])
        shown = [check["command"] for check in contract["check"] if not check.get("held_out")]
        lines = "".join(f"({command}) 1>&2\n" for command in setup)
        lines += "".join(f"({command}) 1>&2; echo $?\n" for command in shown)
        cage = [
            "unshare",
            "--pid",
            "--fork",
            "--kill-child",
            *([] if os.geteuid() == 0 else ["--user", "--map-current-user"]),
        ]
        ran = self.shell(lines, tree, self.variables(cheat), cage)
        return [int(code) for code in ran.stdout.split()]

    def shell(
        self, text: str, where: Path, variables: Mapping[str, str], before: list[str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a text with a shell of the user, without the variables of the tests."""
        base = {"PATH": self.path, "HOME": str(self.home), "LANG": "C.UTF-8"}
        identity = {name: value for name, value in repositories.environment().items() if name.startswith("GIT_")}
        return subprocess.run(
            [*(before or []), "/bin/sh", "-c", text],
            cwd=where,
            env={**base, **identity, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=False,
            timeout=SECONDS,
        )

    def _template(self, scene: Scene, with_held_out: bool) -> Path:
        template = self.root / "scenes" / scene.name / ("template-held-out" if with_held_out else "template")
        if not template.exists():
            files = {**scene.files, "donewhen.toml": scene.contract(with_held_out)}
            repositories.repository(template, {".keep": ""})
            put(template, files)
            repositories.commit(template, "the scene")
        self.scenes.setdefault(scene.name, scene)
        assert self.scenes[scene.name] == scene, f"two scenes have the name {scene.name}"
        return template


def put(tree: Path, files: Tree) -> None:
    """Write files; a file that starts like a program is made executable."""
    repositories.write(tree, files)
    for name, content in files.items():
        if content[:2] in ("#!", b"#!"):
            (tree / name).chmod(0o755)


def make_workspace(root: Path) -> CheatWorkspace:
    box = toolbox(root / "toolbox")
    places = [str(box / "bin"), *toolchain("rustc"), str(Path(sys.executable).resolve().parent), *SYSTEM]
    return CheatWorkspace(root, ":".join(dict.fromkeys(places)))


@functools.cache
def toolchain(compiler: str) -> tuple[str, ...]:
    """Return the real path of a compiler: a version manager's shim would look for it in the home, which is different
    here."""
    if shutil.which(compiler) is None:
        return ()
    asked = subprocess.run([compiler, "--print", "sysroot"], capture_output=True, text=True, check=False)
    place = Path(asked.stdout.strip(), "bin")
    return (str(place),) if asked.returncode == 0 and place.is_dir() else ()

"""What a cheat is, what a scene is, and the two tiers: all of it data, nothing here runs anything.

A scene is a small repository whose product is wrong, with a contract that says so. A cheat changes that repository
until the contract's own commands exit with 0, and leaves the product as wrong as it was.
"""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Language = Literal["python", "rust", "js"]
Tree = Mapping[str, str | bytes]
WITHOUT_SWITCH = {
    "capture": "only what git would commit is taken, as data, from the user's files",
    "store": "our git reads its own store with its own configuration",
    "wall": "every command has processes, ports and a home of its own",
    "environment": "variables are an allow-list",
    "setup": "what setup commands leave under protected names is left out",
    "contract": "the contract is the base's",
    "report": "what the runner reported counts more than how it exited",
}
"""What stops a cheat and cannot be taken off, in words."""


def text(lines: str) -> str:
    """A file's content, written with the indentation of the catalogue around it."""
    return textwrap.dedent(lines).lstrip("\n")


@dataclass(frozen=True, slots=True)
class Scene:
    name: str
    language: Language
    files: Tree
    checks: Mapping[str, str]
    """Name → command, in the order in which they run."""
    held_out: Mapping[str, str] = field(default_factory=dict[str, str])
    """Checks that the maker never sees; they are in the contract only where that is asked for."""
    setup: tuple[str, ...] = ()
    """Commands that run once before the checks; the user trusts them."""
    programs: tuple[str, ...] = ()
    """What of this machine the commands need, beyond Python and git."""

    def contract(self, with_held_out: bool = False) -> str:
        """The scene's donewhen.toml."""
        tables = [table(name, command) for name, command in self.checks.items()]
        if with_held_out:
            tables += [table(name, command) + "held_out = true\n" for name, command in self.held_out.items()]
        setup = f"[workspace]\nsetup = {list(self.setup)}\n\n" if self.setup else ""
        return setup + "\n".join(tables)


def table(name: str, command: str) -> str:
    return f"[[check]]\nname = '{name}'\ncommand = '''{command}'''\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cheat:
    id: str
    """The number of the technique in the catalogue of cheats, or of the threat (A…); N is for what neither lists."""
    says: str
    scene: Scene
    stopped_by: str
    """A field of `Defences`, or one of `WITHOUT_SWITCH`."""
    write: Tree = field(default_factory=dict[str, str | bytes])
    """Files of the tree, by path; programs where they start with `#!`."""
    replace: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """Path → what is taken out and what is put in its place."""
    remove: tuple[str, ...] = ()
    shell: str = ""
    """What the maker types at the root of the tree, after all of that."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables that the user's shell has; `{tree}` and `{path}` are the tree and the PATH of before."""
    inside_the_runner: bool = False
    """The second tier: it works from within the process that runs the tests."""

    @property
    def label(self) -> str:
        words = "".join(letter if letter.isalnum() else "-" for letter in self.says)
        return f"{self.scene.language}-{self.id}-{words}"

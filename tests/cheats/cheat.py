"""Records for cheats, scenes and the two tiers. Nothing here runs anything.

A scene is a small repository with a wrong product and a contract that is red for it. A cheat changes the repository
until the contract's commands exit with 0, and leaves the product wrong.
"""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Language = Literal[
    "python", "rust", "js", "c", "perl", "shell", "java", "go", "ruby", "php", "tcl", "jim", "awk", "jq", "sql",
    "bc", "dc", "m4",
    "lua", "xslt", "typescript", "cpp", "forth", "rc", "newlisp",
]  # fmt: skip
Tree = Mapping[str, str | bytes]
WITHOUT_SWITCH = {
    "capture": "only what git would commit is taken, as data, from the user's files",
    "store": "our git reads its own store with its own configuration",
    "wall": "every command has processes, ports and a home of its own",
    "environment": "variables are an allow-list",
    "contract": "the contract is the base's",
    "report": "what the runner reported counts more than how it exited",
}
"""Defences without a switch, described in words."""


def text(lines: str) -> str:
    """Return a file's content, without the indentation of the catalogue."""
    return textwrap.dedent(lines).lstrip("\n")


@dataclass(frozen=True, slots=True)
class Scene:
    name: str
    language: Language
    files: Tree
    checks: Mapping[str, str]
    """Name → command, in the order of running."""
    held_out: Mapping[str, str] = field(default_factory=dict[str, str])
    """Checks that the maker never sees; in the contract only on request."""
    setup: tuple[str, ...] = ()
    """Commands that run once before the checks; the user trusts them."""
    share: tuple[str, ...] = ()
    """Ignored paths of the checkout that every tree has; the user trusts them."""
    programs: tuple[str, ...] = ()
    """Programs of this machine that the commands need, besides Python and git."""
    directories: tuple[str, ...] = ()
    """Directories of this machine that the commands need."""

    def contract(self, with_held_out: bool = False) -> str:
        """The scene's donewhen.toml."""
        tables = [table(name, command) for name, command in self.checks.items()]
        if with_held_out:
            tables += [table(name, command) + "held_out = true\n" for name, command in self.held_out.items()]
        keys = {"setup": self.setup, "share": self.share}
        workspace = "".join(f"{key} = {list(values)}\n" for key, values in keys.items() if values)
        return (f"[workspace]\n{workspace}\n" if workspace else "") + "\n".join(tables)


def table(name: str, command: str) -> str:
    return f"[[check]]\nname = '{name}'\ncommand = '''{command}'''\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cheat:
    id: str
    """The number of the technique in the catalogue of cheats, or of the threat (A…); N for others."""
    says: str
    scene: Scene
    stopped_by: str
    """A field of `Defences`, or one of `WITHOUT_SWITCH`."""
    write: Tree = field(default_factory=dict[str, str | bytes])
    """Files of the tree, by path; programs where they start with `#!`."""
    replace: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """Path → the text to replace and its replacement."""
    remove: tuple[str, ...] = ()
    shell: str = ""
    """What the maker types at the root of the tree afterwards."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables of the user's shell; `{tree}` and `{path}` are the tree and the previous PATH."""
    inside_the_runner: bool = False
    """The second tier: it works inside the process that runs the tests."""

    @property
    def label(self) -> str:
        words = "".join(letter if letter.isalnum() else "-" for letter in self.says)
        return f"{self.scene.language}-{self.id}-{words}"

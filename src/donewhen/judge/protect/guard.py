"""The rules about a path: whether it is graded as the base has it, and why. What is inside files is asked elsewhere.

The order matters: the contract's own file, then what the contract makes editable, then what it protects, then what is
protected by default.
"""

import os
from collections.abc import Iterable

from donewhen.judge.contract import Contract
from donewhen.judge.protect import globs
from donewhen.judge.protect.base import Base
from donewhen.judge.protect.executed import executed
from donewhen.judge.protect.instead import Instead
from donewhen.judge.protect.mixed import TEST_MODULE, is_manifest
from donewhen.judge.protect.names import Named, Names
from donewhen.judge.protect.suite import Suite
from donewhen.workspace.beneath import Root

CONTRACT_FILE = "donewhen.toml"
BUILT = {"target": ("Cargo.toml", "pom.xml"), "_build": ("dune-project", "mix.exs", "rebar.config")}
"""Directories of caches, where one of these files lies beside them."""


class Guard:
    """The rules of one contract over one base."""

    def __init__(self, contract: Contract, base_files: Root) -> None:
        self.contract = contract
        self.base = Base(base_files)
        self.executed = executed(contract.checks, self.base)
        self.names = Names(self.executed.words)
        self.suite = Suite(self.base, self.executed)
        self.instead = Instead(self.base, self.executed, self.suite)
        for pattern in (*contract.editable, *contract.protect):
            globs.compiled(pattern)  # one that makes no sense is refused now

    def protects(self, path: str) -> str:
        """Why a check may not write to a path while it runs; nothing where it may. It may always leave caches."""
        exists = self.base.has(path)
        if not self.decided(path) and (self.names.installed(path) or self.names.binary(path) or self._built(path)):
            return ""
        if reason := self.reason(path, exists):
            return reason
        if self.is_editable(path):
            return ""
        if is_manifest(path) and self.is_old(path):
            return "configures the checks"
        if exists and path.endswith(".rs") and TEST_MODULE.search(self.base.read(path) or ""):
            return "holds tests"
        return ""

    def reason(self, path: str, exists: bool) -> str:
        """Why a change of this path is not graded; nothing where it is ordinary work, or depends on what is inside."""
        if reason := self.decided(path):
            return reason
        return "" if self.is_editable(path) else self.by_default(path, exists)

    def decided(self, path: str) -> str:
        """What the contract itself protects."""
        if path.rpartition("/")[2] == CONTRACT_FILE:
            return "is the contract"
        pattern = "" if self.is_editable(path) else globs.first_match(self.contract.protect, path)
        return f"protected by {pattern!r} in the contract" if pattern else ""

    def is_editable(self, path: str) -> bool:
        return bool(globs.first_match(self.contract.editable, path))

    def is_old(self, path: str) -> bool:
        """Whether the base has the directory of a path, so that a file there may govern something that exists."""
        return self.base.is_directory(path.rpartition("/")[0])

    def by_default(self, path: str, exists: bool) -> str:
        """Why a path is protected without anybody saying so."""
        if reason := self.names.installed(path) or self._built(path):
            return reason
        if exists and self.suite.is_test(path):
            return "is an existing test"
        if path.rpartition("/")[2] == "conftest.py" and (exists or self.is_old(path)):
            return "configures the tests"
        deciding = self.names.deciding(path)
        if deciding and (exists or self._counts(deciding)):
            return deciding.reason
        if path in self.executed.scripts:
            return self._run_by(self.executed.scripts[path])
        if path in self.suite.named:
            return self.suite.named[path]
        return "" if exists else self._wins(path)

    def _run_by(self, name: str) -> str:
        """The engine is told this reason: of a held-out check it must not have the name."""
        is_held_out = any(check.held_out for check in self.contract.checks if check.name == name)
        return "a check runs it" if is_held_out else f"check {name!r} runs it"

    def _counts(self, deciding: Named) -> bool:
        """Whether a new file of such a name governs anything that the base has."""
        if not self.base.is_directory(deciding.governs):
            return False
        return not deciding.family or not self.is_first(deciding.governs, deciding.family)

    def is_first(self, place: str, names: Iterable[str]) -> bool:
        """Whether the base has none of these names in a directory or above it."""
        parts = place.split("/") if place else []
        above = ["/".join(parts[:depth]) for depth in range(len(parts) + 1)]
        return not any(self.base.has(os.path.join(directory, name)) for directory in above for name in names)

    def _wins(self, path: str) -> str:
        """Why a new path would be taken instead of something that counts."""
        if reason := self.names.binary(path):
            return reason
        return self.instead.reason(path)

    def _built(self, path: str) -> str:
        parts = path.split("/")
        for at, part in enumerate(parts):
            beside = BUILT.get(part, ())
            if any(self.base.has("/".join((*parts[:at], name))) for name in beside):
                return "is a cache"
        return ""

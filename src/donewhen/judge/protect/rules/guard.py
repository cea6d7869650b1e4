"""The rules about a path: whether it is restored from the base, and why. Contents of files are examined elsewhere.

The order matters: first the file of the contract itself, then the paths that the contract makes editable, then those
that it protects, then those that are protected by default.
"""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from donewhen.judge import globs
from donewhen.judge.contract import Contract
from donewhen.judge.protect.base_files import BaseFiles
from donewhen.judge.protect.commands.scripts_run import find_scripts_run
from donewhen.judge.protect.names.deciding_files import DecidingName, Names
from donewhen.judge.protect.names.library_names import hides_library, is_in_library
from donewhen.judge.protect.names.mixed_files import holds_tests, is_manifest
from donewhen.judge.protect.rules.shadow_files import ShadowFiles
from donewhen.judge.protect.rules.suite import Suite
from donewhen.workspace.beneath import Root

CONTRACT_FILE, CONTRACT_DIRECTORY = "donewhen.toml", ".donewhen/"
BUILT = {"target": ("Cargo.toml", "pom.xml"), "_build": ("dune-project", "mix.exs", "rebar.config")}
"""Directory → files. The directory is a cache if one of these files is next to it."""


class Guard:
    """The rules of one contract over one base."""

    def __init__(self, contract: Contract, base_files: Root) -> None:
        self.contract = contract
        self.base = BaseFiles(base_files)
        self.scripts_run = find_scripts_run(contract.checks, self.base)
        self.names = Names(self.scripts_run.words)
        self.suite = Suite(self.base, self.scripts_run)
        self.shadow_files = ShadowFiles(self.base, self.scripts_run, self.suite)
        for pattern in (*contract.editable, *contract.protect, *contract.product):
            globs.compiled(pattern)  # an invalid pattern is rejected now

    def protects(self, path: str) -> str:
        """Return why a check may not write to a path while it runs; empty if it may. Caches are always allowed."""
        exists = self.base.has(path)
        if self.is_cache(path):
            return ""
        if reason := self.reason(path, exists):
            return reason
        if self.is_editable(path):
            return ""
        if is_manifest(path) and self.is_in_old_directory(path):
            return "configures the checks"
        if exists and path.endswith(".rs") and holds_tests(self.base.read(path) or ""):
            return "contains tests"
        return ""

    def is_cache(self, path: str) -> bool:
        """Return True for a path where tools put what they made, unless the contract protects it."""
        made = self.names.installed(path) or self.names.binary(path) or self._build_cache_reason(path)
        return bool(made) and not self.contract_reason(path)

    def reason(self, path: str, exists: bool) -> str:
        """Return why a change of this path is not graded; empty if it is graded, or if its content decides."""
        if reason := self.contract_reason(path):
            return reason
        return "" if self.is_editable(path) else self.default_reason(path, exists)

    def contract_reason(self, path: str) -> str:
        """Return why the contract itself protects a path; empty if it does not."""
        if path.rpartition("/")[2] == CONTRACT_FILE or path.startswith(CONTRACT_DIRECTORY):
            return "is the contract"
        pattern = "" if self.is_editable(path) else globs.first_match(self.contract.protect, path)
        return f"protected by {pattern!r} in the contract" if pattern else ""

    def is_editable(self, path: str) -> bool:
        return bool(globs.first_match(self.contract.editable, path))

    def is_in_old_directory(self, path: str) -> bool:
        """Return True if the base has the directory of a path, so that a file there may affect existing files."""
        return self.base.is_directory(path.rpartition("/")[0])

    def default_reason(self, path: str, exists: bool) -> str:
        """Return why a path is protected by default, without a pattern in the contract.

        An engine sees the reason, so it must not name a held-out check.
        """
        if reason := self.names.installed(path) or self._build_cache_reason(path):
            return reason
        if exists and self.suite.is_test(path):
            return "is an existing test"
        if path.rpartition("/")[2] == "conftest.py" and (exists or self.is_in_old_directory(path)):
            return "configures the tests"
        deciding = self.names.deciding(path)
        if deciding and (exists or self._affects_base(deciding)) and path not in self.contract.product:
            return deciding.reason
        if exists and globs.first_match(self.contract.product, path):
            return ""
        if path in self.scripts_run.scripts:
            name = self.scripts_run.scripts[path]
            is_held_out = any(check.held_out for check in self.contract.checks if check.name == name)
            return "a check runs it" if is_held_out else f"check {name!r} runs it"
        if path in self.suite.named_files:
            return self.suite.named_files[path]
        return "" if exists else self._shadow_reason(path)

    def _affects_base(self, deciding: DecidingName) -> bool:
        """Return True if a new file with such a name affects files that the base has."""
        if not self.base.is_directory(deciding.directory):
            return False
        return not deciding.family or not self.is_first(deciding.directory, deciding.family)

    def is_first(self, directory: str, names: Iterable[str]) -> bool:
        """Return True if the base has none of these names, with wildcards, in a directory or above it."""
        parts = directory.split("/") if directory else []
        above = ["/".join(parts[:depth]) for depth in range(len(parts) + 1)]
        here = (name for above_or_here in above for name in self.base.names(above_or_here))
        return not any(fnmatchcase(name, pattern) for name in here for pattern in names)

    def _shadow_reason(self, path: str) -> str:
        """Return why a new path would be used instead of a file that counts."""
        if reason := self.names.binary(path):
            return reason
        is_new_package = is_in_library(path) and not self.is_in_old_directory(path)
        if hides_library(path) or is_new_package:
            return "has the name of a library, and would hide it"
        return self.shadow_files.reason(path)

    def _build_cache_reason(self, path: str) -> str:
        parts = path.split("/")
        for at, part in enumerate(parts):
            markers = BUILT.get(part, ())
            if any(self.base.has("/".join((*parts[:at], name))) for name in markers):
                return "is a cache"
        return ""

"""The rules about paths that the checks use, for tools and languages that no table knows.

A changed path is judged as the base has it if a check uses it and it is not product. A new path is used if a check
looked for it on the base and did not find it. What no check uses is free. All of it comes from the runs on the base,
which the work cannot forge.
"""

from collections.abc import Callable, Sequence

from donewhen.judge.protect.commands.commands import WORD
from donewhen.judge.protect.commands.scripts_run import joined
from donewhen.judge.protect.names.mixed_files import is_manifest
from donewhen.judge.protect.names.test_names import is_test_module
from donewhen.judge.protect.rules.guard import Guard
from donewhen.judge.protect.rules.product import Product
from donewhen.judge.used_paths import UsedPaths
from donewhen.workspace.trees.layers import is_lock_file, is_setup_input

SEARCHES = frozenset({"grep", "egrep", "fgrep", "rg", "ack"})


class UsedFiles:
    """What the checks used on the base, as rules about changed paths."""

    def __init__(self, guard: Guard, used: Sequence[UsedPaths]) -> None:
        self.guard = guard
        self.product = Product(guard.contract.product, guard.base, guard.suite.is_test, used)
        self._read = frozenset(path for one in used for path in one.read)
        searched = {word for one in used for name, *words in one.commands if name in SEARCHES for word in words[1:]}
        self._searched = frozenset(path for path in searched if self._is_named_by_check(path))
        """Files in which a check itself searches for a text: the work is what it finds there."""
        self._missed: dict[str, str] = {}
        for one in used:
            self._missed.update({path: self._missed.get(path) or answer for path, answer in one.missed.items()})

    def reason(self, path: str, exists: bool, is_removed: Callable[[str], bool]) -> str:
        """Return why a change of a path is not graded; empty if it is graded.

        `is_removed` tells whether the work removes a path of the base.
        """
        if self.guard.is_editable(path):
            return ""
        if exists:
            return f"a check uses it, and {self._not_product}" if self.is_judging(path) else ""
        return self._reason_of_new(path, is_removed)

    def reason_of_made(self, path: str) -> str:
        """Return why a program of a check may not make a file for another one; empty if it may."""
        if self.guard.is_editable(path) or self.guard.is_cache(path):
            return ""
        return self._reason_of_new(path, lambda _: False)

    def is_judging(self, path: str) -> bool:
        """Return True if a check reads or runs a file of the base that is not product.

        Manifests and lock files are both: other rules examine what they contain.
        """
        is_used = path in self._read and not is_examined(path) and path not in self._searched
        return is_used and not self.product.covers(path)

    def _reason_of_new(self, path: str, is_removed: Callable[[str], bool]) -> str:
        parts = path.split("/")
        above = ["/".join(parts[:length]) for length in range(1, len(parts))]
        new = [directory for directory in above if not self.guard.base.is_directory(directory)]
        # Of new directories the topmost decides: the others could not be looked for.
        looked_for = next((one for one in (path, *new[:1]) if one in self._missed), "")
        if not looked_for:
            return ""
        answer = self._missed[looked_for]
        if answer and not is_removed(answer) and not (self.guard.base.has(answer) and self.product.covers(answer)):
            return f"would be used instead of {answer}"
        if is_test_module(path) or is_examined(path) or self._is_named_by_check(looked_for):
            return ""
        deciding = self.guard.names.deciding(path)
        if deciding and deciding.family and self.guard.is_first(deciding.directory, deciding.family):
            return ""  # the first file of a build tool is work to be done
        pattern = self.product.pattern(path)
        if pattern is None:
            return f"a check looks for it, and {self._not_product}"
        # Tools look for their settings at the root, so `*.js` does not mean all of what a tool may find there.
        declared = self.guard.contract.product
        if path in declared or (declared and "/" in pattern.pattern) or self.product.is_named(path):
            return ""
        return "a tool of a check looks for it by itself"

    @property
    def _not_product(self) -> str:
        """Why a path is not product: a person may have to add it."""
        return "[contract] product does not cover it" if self.guard.contract.product else "it is not product"

    def _is_named_by_check(self, path: str) -> bool:
        """Return True if a word of a check's command is the path: then it is work to be done."""
        checks = self.guard.contract.checks
        return any(path == joined(check.dir, word) for check in checks for word in WORD.findall(check.command))


def is_examined(path: str) -> bool:
    """Return True for a file whose content other rules examine."""
    name = path.rpartition("/")[2]
    is_list = is_lock_file(path) or is_setup_input(name)
    return is_list or is_manifest(path) or name in (".gitignore", ".gitattributes", ".gitmodules")

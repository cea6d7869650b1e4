"""Proposes `contract.product` for a repository: the inferred product as few patterns, each with its reason.

The patterns decide about every file that the checks used as the inference does. A pattern that would free a protected
file is replaced by the files that it stands for.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from donewhen.judge import globs
from donewhen.judge.contract import Contract
from donewhen.judge.protect.rules.guard import Guard
from donewhen.judge.protect.rules.product import ProductPattern
from donewhen.judge.protect.rules.used_files import UsedFiles, is_examined
from donewhen.judge.used_paths import UsedPaths
from donewhen.workspace.beneath import Root

MOST_PATTERNS = 40
"""More patterns than a person reads are not proposed."""
MANY_FILES = 4
"""From this number on, single files of one directory become one pattern for the directory."""


def propose_product(contract: Contract, base_files: Root, used: Sequence[UsedPaths]) -> tuple[ProductPattern, ...]:
    """Return the patterns in the order of their text; empty if there is no product or too many patterns are needed."""
    paths = sorted({path for one in used for path in one.read if not is_examined(path)})
    inferred = UsedFiles(Guard(replace(contract, product=()), base_files), used)
    product = {path: found for path in paths if (found := inferred.product.pattern(path))}
    product = {path: found for path, found in product.items() if not inferred.guard.suite.is_test(path)}
    patterns = _joined(product)
    stated = replace(contract, product=tuple({found.pattern for found in patterns.values()}))
    declared = UsedFiles(Guard(stated, base_files), used)
    freed = [path for path in paths if _is_protected(inferred, path) and not _is_protected(declared, path)]
    found = {_narrowed(path, pattern, freed) for path, pattern in patterns.items()}
    return tuple(sorted(found, key=lambda one: one.pattern)) if len(found) <= MOST_PATTERNS else ()


def _narrowed(path: str, found: ProductPattern, freed: Iterable[str]) -> ProductPattern:
    """Return a pattern for this path alone, if the given pattern would free a protected path."""
    is_wide = any(globs.first_match([found.pattern], one) for one in freed)
    return ProductPattern(globs.literal(path), found.reason) if is_wide else found


def _joined(product: Mapping[str, ProductPattern]) -> dict[str, ProductPattern]:
    """Return the pattern of each path. Many single files of a directory get the pattern of the directory."""
    files = Counter(path.rpartition("/")[0] for path, found in product.items() if found.pattern == globs.literal(path))
    many = {directory for directory, count in files.items() if directory and count >= MANY_FILES}

    def pattern_of(path: str, found: ProductPattern) -> ProductPattern:
        directory = path.rpartition("/")[0]
        is_one_of_many = found.pattern == globs.literal(path) and directory in many
        return ProductPattern(f"{globs.literal(directory)}/**", found.reason) if is_one_of_many else found

    return {path: pattern_of(path, found) for path, found in product.items()}


def _is_protected(used: UsedFiles, path: str) -> bool:
    return bool(used.guard.reason(path, exists=True)) or used.is_judging(path)

"""Finds what the checks run by reading: scripts of the tree, the scripts that those call, and the words of all of them.

The files of the base are read, with limits and protection against cycles. Scripts that judge are distinguished from
programs that are judged. A script belongs to the judge if it is a shell script, or if its directory, name or arguments
indicate tests. `python app.py` runs the product.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from donewhen.judge.contract import Check
from donewhen.judge.globs import WILD
from donewhen.judge.protect.base_files import BaseFiles, CachedBaseFiles
from donewhen.judge.protect.commands.commands import NamedFile, all_words, named_files
from donewhen.judge.protect.commands.package_scripts import used_scripts
from donewhen.judge.protect.commands.runner_arguments import SEARCH_BY_NAME, runner_of, test_arguments
from donewhen.judge.protect.names.sources import SCRIPT_DIRECTORIES
from donewhen.judge.protect.names.test_names import is_test
from donewhen.judge.runners.registry import all_runners

MOST_SCRIPTS = 200
MOST_WORDS = 5000
SHELL_SUFFIXES = (".sh", ".bash", ".zsh")
SOURCE = re.compile(r"\.(?:py|[cm]?[jt]sx?|rb|php|feature|lua|robot)$")
PRODUCT_DIRECTORIES = frozenset({"", "src", "lib", "app", "python"})
"""Tests may be mixed with the product here, so such a directory as a whole is not treated as tests."""
NAMED_AFTER_TESTS = re.compile(
    r"(?:^|[-_.])(?:tests?|testing|tester|runtests|check(?:s|er|ers|ing)?|verify|verifier|verification|lint(?:er|s)?|ci"
    r"|validate|validation|grade|grader|grading|eval|evals|evaluate|evaluation|judge|assertions?|bench|benchmarks?|smoke"
    r"|acceptance|e2e|specs?|suite|coverage)(?:[-_.]|$)",
    re.IGNORECASE,
)
MODULE_PATH = re.compile(r"\bPYTHONPATH=[\"']?([^\s\"';&]+)")
IMPORT = re.compile(r"^[^\S\n]*+(?:from|import)\s+(\w+)", re.MULTILINE)
HELPER = re.compile(
    r"(?:^|_)(?:check|(?:settings|config|conf|tasks?|runner|helpers?|tests?|suite|ci)(?:_|$))", re.IGNORECASE
)
"""Names of modules that a script at the root imports as parts of itself."""
STARTS_TESTS = re.compile(
    rf"\b(?:{'|'.join(runner.mentioned for runner in all_runners() if runner.mentioned)}"
    r"|(?:npm|yarn|pnpm)\W+(?:run\W+)?test)\b"
)
"""A program that starts tests is not part of the product."""
ARGUMENT = re.compile(r"(?:unit|integration)?[-_:]?(?:tests?|checks?|lint|spec|verify|ci)(?::.*)?")
RUN_FILES = {
    "GNUmakefile": "make", "makefile": "make", "Makefile": "make", "justfile": "just", "Justfile": "just",
    ".justfile": "just", "Taskfile.yml": "task", "Taskfile.yaml": "task", "tox.ini": "tox", "noxfile.py": "nox",
    "Rakefile": "rake", ".pre-commit-config.yaml": "pre-commit", "turbo.json": "turbo", "tasks.py": "invoke",
    "dodo.py": "doit",
}  # fmt: skip
"""Files that a tool reads automatically, and the tool."""


@dataclass(slots=True)
class ScriptsRun:
    programs: set[str] = field(default_factory=set[str])
    """The names with which programs are called."""
    scripts: dict[str, str] = field(default_factory=dict[str, str])
    """Path → the check that runs it, directly or indirectly. The base need not have the path."""
    words: set[str] = field(default_factory=set[str])
    """Every word of every command and every script that was read."""
    test_directories: set[str] = field(default_factory=set[str])
    """Directories that a runner gets as locations of tests."""
    tests: dict[str, bool] = field(default_factory=dict[str, bool])
    """Path or pattern that a runner gets → True if it executes every such file, whatever its name. The base need not
    have the path."""
    module_directories: set[str] = field(default_factory=lambda: {""})
    """Directories in which commands are run, and in which Python searches for modules."""
    directories: set[str] = field(default_factory=lambda: {""})
    """Every directory that a command names."""


def find_scripts_run(checks: Iterable[Check], base: BaseFiles) -> ScriptsRun:
    walk = _ScriptWalk(base)
    for check in checks:
        walk.command(check)
    return walk.found


class _ScriptWalk:
    def __init__(self, base: BaseFiles) -> None:
        self.base = CachedBaseFiles(base)
        self.found = ScriptsRun()
        self._read: set[str] = set()
        self._manifests: dict[str, str] = {}
        self._scripts: set[tuple[str, str]] = set()

    def command(self, check: Check) -> None:
        directory = joined("", check.dir)
        self.found.module_directories.add(directory)
        self.found.directories.add(directory)
        self._read_text(check.command, directory, check.name, direct=True)

    def _read_text(self, text: str, directory: str, check: str, direct: bool = False) -> None:
        words = all_words(text)
        self.found.words |= words
        inner = (found for word in sorted(words)[:MOST_WORDS] if (found := self._find_directory(word, directory)))
        named_directories = [directory, *inner]
        self.found.directories.update(named_directories)
        module_paths = [word for listed_in in MODULE_PATH.findall(text) for word in listed_in.split(":")]
        self.found.module_directories.update(
            found for word in module_paths if (found := self._find_directory(word, directory))
        )
        working_directories, seen = [directory], set[tuple[NamedFile, int]]()
        for one in named_files(text):
            if one.how == "program" and one.word == "cd":
                entered = [found for word in one.arguments if (found := self._find_directory(word, directory))]
                working_directories += dict.fromkeys(found for found in entered if found not in working_directories)
                self.found.module_directories.update(working_directories[1:])
            if (one, len(working_directories)) in seen:
                continue  # the same words in the same directories name the same files
            seen.add((one, len(working_directories)))
            if one.how == "program":
                self.found.programs.add(one.word)
            for word in test_arguments(one):
                self._record_argument(word, working_directories, one, check)
            for path in self._possible_paths(one, named_directories):
                self._visit(path, one, check, direct)
        for found in dict.fromkeys(("", *named_directories)):
            self._read_run_files(found, check)

    def _record_argument(self, word: str, working_directories: list[str], one: NamedFile, check: str) -> None:
        """Record a file, directory, pattern or dotted name in which a runner searches for tests."""
        if WILD.search(word):
            executes_all = runner_of(one) not in SEARCH_BY_NAME
            for pattern in (path for start in working_directories if (path := joined(start, word))):
                self.found.tests[pattern] = executes_all or self.found.tests.get(pattern, False)
            return
        for start in working_directories:
            if directory := self._find_directory(word, start):
                if runner_of(one) not in SEARCH_BY_NAME or directory.partition("/")[0] not in PRODUCT_DIRECTORIES:
                    self.found.test_directories.add(directory)
                continue
            for path in dict.fromkeys(joined(start, form) for form in _possible_files(word)):
                if path and (self.base.has(path) or SOURCE.search(word)):
                    self._record_test(path, check)

    def _record_test(self, path: str, check: str) -> None:
        self.found.tests[path] = True
        if target := self.base.link(path):
            self.found.tests[joined(path.rpartition("/")[0], target)] = True
        if path.endswith(".py"):
            self._record_imports(path, self.base.read(path) or "", check)

    def _visit(self, path: str, one: NamedFile, check: str, direct: bool) -> None:
        content = self.base.read(path)
        if content is None:
            self._visit_no_file(path, one, check, direct)
            return
        if path in self._read or len(self._read) >= MOST_SCRIPTS or not judges(path, content, one):
            return
        self._read.add(path)
        self.found.scripts[path] = check
        if path.endswith(".py"):
            self._record_imports(path, content, check)
        if not path.endswith((".json", ".toml", ".ini", ".cfg", ".xml")):
            self._read_text(content, path.rpartition("/")[0], check)
            self._read_text(content, "", check)

    def _record_imports(self, path: str, content: str, check: str) -> None:
        """Record modules next to a script that it imports. They are its helpers, unless they may be the product."""
        parent = path.rpartition("/")[0]
        for name in IMPORT.findall(content):
            module = joined(parent, f"{name}.py")
            is_helper = not SCRIPT_DIRECTORIES.isdisjoint(parent.split("/")) or HELPER.search(name)
            if is_helper and module not in self._read and self.base.has(module):
                self._read.add(module)
                self.found.scripts[module] = check
                self._record_imports(module, self.base.read(module) or "", check)

    def _visit_no_file(self, path: str, one: NamedFile, check: str, direct: bool) -> None:
        """Record a path that is not a file. A link stands for its target.

        A missing file is recorded if a script would read it once it exists. A missing file that a
        check names directly is work to be done.
        """
        if target := self.base.link(path):
            if path not in self._read:
                self._read.add(path)
                self._visit(joined(path.rpartition("/")[0], target), one, check, direct)
                self.found.scripts[path] = check
            return
        is_read = one.how in ("shell", "settings") or (one.how == "program" and path.endswith(SHELL_SUFFIXES))
        if is_read and not direct and not self.base.is_directory(path):
            self.found.scripts.setdefault(path, check)

    def _read_run_files(self, directory: str, check: str) -> None:
        """Read files that a tool reads automatically, for their words. Other rules protect their names."""
        for name, tool in RUN_FILES.items():
            path = joined(directory, name)
            if tool in self.found.words and path not in self._read:
                self._read.add(path)
                if content := self.base.read(path):
                    self._read_text(content, directory, check)
        for name in ("package.json", "composer.json"):
            self._read_manifest(joined(directory, name), check)

    def _read_manifest(self, path: str, check: str) -> None:
        if path not in self._manifests:
            self._manifests[path] = self.base.read(path) or ""
        for name, text in used_scripts(self._manifests[path], self.found.words).items():
            if (path, name) not in self._scripts:
                self._scripts.add((path, name))
                self._read_text(text, path.rpartition("/")[0], check)

    def _find_directory(self, word: str, start: str) -> str:
        if word.startswith(("/", "-")) or len(word) > 200:
            return ""
        path = joined(start, word)
        return path if path and self.base.is_directory(path) else ""

    def _possible_paths(self, one: NamedFile, directories: list[str]) -> Iterator[str]:
        if one.how in ("module", "plugin"):
            dotted = one.word.replace(".", "/")
            ends = (".py", "/__main__.py", "/__init__.py")
            words = [f"{start}{dotted}{end}" for start in ("", "src/") for end in ends]
        else:
            words = [one.word]
        for word in words:
            if word and not word.startswith(("/", "-", "$", "~")) and "\0" not in word:
                yield from dict.fromkeys(path for directory in ("", *directories) if (path := joined(directory, word)))


def judges(path: str, content: str, one: NamedFile) -> bool:
    """Return True if a file that is run belongs to the judge and not to the product."""
    if one.how in ("shell", "settings", "plugin") or is_test(path):
        return True
    *directories, name = path.split("/")
    if one.how == "program" and (name.endswith(SHELL_SUFFIXES) or _has_shell(content)):
        return True
    is_named = bool(NAMED_AFTER_TESTS.search(name)) or not SCRIPT_DIRECTORIES.isdisjoint(directories)
    return is_named or bool(STARTS_TESTS.search(content)) or any(ARGUMENT.fullmatch(word) for word in one.arguments[:2])


def _possible_files(word: str) -> Iterator[str]:
    """Yield the word as a path; for a dotted name also the module, or the module with the class or function."""
    yield word
    parts = word.split(".")
    if "/" not in word and all(part.isidentifier() for part in parts):
        yield from ("/".join(parts[:length]) + ".py" for length in range(len(parts), 0, -1))


def _has_shell(content: str) -> bool:
    first = content.partition("\n")[0]
    return first.startswith("#!") and bool(re.search(r"\b(?:ba|da|z|k|a)?sh\b", first))


def joined(directory: str, word: str) -> str:
    """Return a path below the root; empty if it leads out of the root."""
    parts: list[str] = []
    for part in (*directory.split("/"), *word.split("/")):
        if part == "..":
            if not parts:
                return ""
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)

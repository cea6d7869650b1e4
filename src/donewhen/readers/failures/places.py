"""Classification of files in a trace by path: project code or not, and the path without the machine's directories."""

import re
from collections.abc import Sequence

from donewhen.readers.failures.failure import Frame

OTHERS = re.compile(
    r"(?:^|/)(?:site-packages|dist-packages|node_modules|rustlib|rustc|gems|rubygems|vendor|\.venv|venv|\.tox|\.nox)/"
    r"|(?:^|/)(?:\.cargo/registry|go/pkg/mod|lib/ruby|lib/python\d[\d.]*|lib/go[\d.-]*/src|local/go/src)/"
    r"|^/(?:usr/(?:lib|lib64|share|bin)|nix/store|opt/hostedtoolcache)/|/\.pyenv/versions/|/\.rustup/"
    r"|^(?:node|internal|webpack|jar):|^<"
    r"|/_pytest/|^/rust/deps/|^/_/src/"
)
JAVA = re.compile(
    r"(?:java|javax|jdk|sun|com\.sun|kotlin|kotlinx|scala|groovy|junit"
    r"|org\.(?:junit|opentest4j|hamcrest|assertj|mockito|gradle|apache\.maven|codehaus|testng|springframework))\."
)
ROOTS = re.compile(
    r"(?:^|/)((?:src|lib|libs|tests?|specs?|app|apps|pkg|internal|cmd|packages|crates|modules|examples?|__tests__)/(?:.*))"
)
CHECKOUTS = re.compile(r"^/(?:usr/src(?:/app)?|app|go/src|(?:home|Users)/[^/]{1,80}/(?:src|apps?))(?=/|$)")
"""Directories in which machines keep checkouts. They look like source directories of a project."""


def is_of_project(file: str) -> bool:
    """Return True if a file belongs to neither a library nor the language. An unknown path is the project's."""
    return bool(file) and not OTHERS.search(file.replace("\\", "/"))


def top_of_project(frames: Sequence[Frame]) -> Frame | None:
    """Return the project's innermost frame. Frames have the innermost last. For Java, the package name decides."""
    own = (frame for frame in reversed(frames) if is_of_project(frame.file) and not JAVA.match(frame.function))
    return next(own, None)


def portable(file: str) -> str:
    """Return a path that is the same in two checkouts: a relative path as it is, else from a typical source directory
    on.

    An absolute path without such a directory keeps only its last part, because its root is not known.
    """
    plain = file.replace("\\", "/").removeprefix("file://").removeprefix("./")
    if not (plain.startswith(("/", "../")) or plain[1:3] == ":/"):
        return plain
    root, _, name = plain.rpartition("/")
    found = ROOTS.search(CHECKOUTS.sub("", root) + "/" + name)
    return found[1] if found else name

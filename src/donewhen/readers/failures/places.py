"""Whose code a file in a trace is, told from its path alone, and its path without the machine it was on."""

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


def is_of_project(file: str) -> bool:
    """Whether a file is of neither a library nor the language. A path that says nothing is the project's."""
    return bool(file) and not OTHERS.search(file.replace("\\", "/"))


def top_of_project(frames: Sequence[Frame]) -> Frame | None:
    """The innermost frame of the project; frames have the innermost last. Java tells only by the name of a package."""
    own = (frame for frame in reversed(frames) if is_of_project(frame.file) and not JAVA.match(frame.function))
    return next(own, None)


def portable(file: str) -> str:
    """A path that two checkouts share: as it is where it is relative, else from where sources mostly begin.

    An absolute path without such a directory keeps its last part only, since its root is not known.
    """
    plain = file.replace("\\", "/").removeprefix("file://").removeprefix("./")
    if not (plain.startswith(("/", "../")) or plain[1:3] == ":/"):
        return plain
    root, _, name = plain.rpartition("/")
    found = ROOTS.search(_without_system(root) + "/" + name)
    return found[1] if found else name


def _without_system(root: str) -> str:
    """Where machines keep checkouts there are such directories too: /usr/src, /home/me/src, /app."""
    return re.sub(r"^/(?:usr/src(?:/app)?|app|go/src|(?:home|Users)/[^/]{1,80}/(?:src|apps?))(?=/|$)", "", root)

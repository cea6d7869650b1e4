"""File paths relative to the project, whatever directory a build ran in.

A relative path is only normalised. From an absolute path the front is removed if it is known: a directory that the log
itself names as the root of a build, or the place where a CI service or a container keeps a checkout. Any other path
stays absolute, also below a temporary directory, where a checkout may be at any depth. No file is read.
"""

import re
from collections.abc import Iterable
from posixpath import normpath

ABSOLUTE = r"(?:[A-Za-z]:)?[/\\]"
NAMED_ROOT = re.compile(
    rf"\s*(?:Compiling|Checking) \S+ v\S+ \(({ABSOLUTE}[^)]+)\)"  # cargo
    rf"|\[INFO\] Compiling [0-9]+ source files? [^/\\]*?({ABSOLUTE}.+?)[/\\]target[/\\]"  # maven
    rf"|rootdir: ({ABSOLUTE}[^,]+)"  # pytest, before other values on the line
    rf"|> \S{{1,100}}@\S{{1,50}} [\w:.-]+ ({ABSOLUTE}.+)"  # npm before 7
    rf"|-- Build files have been written to: ({ABSOLUTE}.+)/(?:cmake-)?build[^/]*"
)
MOST_ROOTS = 50
CHECKOUT = re.compile(
    r".*/\.cargo/registry/src/[^/]+|.*/go/pkg/mod|/rustc/[0-9a-f]+"
    r"|(?:/home/runner/work|/Users/runner/work|/__w|[A-Za-z]:/a|/builds|/home/travis/build)/[^/]+/[^/]+"
    r"|/github/workspace|/home/circleci/project|/usr/src/app|/workspaces/[^/]+|/workspace|/app|/build|/code|/repo|/work"
    r"|(?:/[^/]+)*/jenkins/workspace/[^/]+"
)
LONGEST = 1_000


def roots(printed: Iterable[str]) -> tuple[str, ...]:
    """Return the directories that a log names as build roots, the shortest first."""
    found = set[str]()
    for line in printed:
        if (named := NAMED_ROOT.match(line)) and named.lastindex and len(found) < MOST_ROOTS:
            found.add(_tidy(named[named.lastindex]))
    return tuple(sorted(found, key=lambda root: (len(root), root)))


def is_absolute(path: str) -> bool:
    return re.match(ABSOLUTE, path) is not None


def in_project(path: str, roots: tuple[str, ...]) -> str:
    """Return the path relative to the project's root, if the root is known."""
    tidy = _tidy(path)
    if not is_absolute(tidy):
        return tidy
    for root in roots:
        if tidy.startswith(f"{root}/"):
            return tidy[len(root) + 1 :]
    known = CHECKOUT.match(tidy)
    return tidy[known.end() + 1 :] if known and tidy[known.end() : known.end() + 1] == "/" else tidy


def _tidy(path: str) -> str:
    """Normalise a path. Maven writes a drive as `/C:/`, and Kotlin a file as a URL."""
    plain = path[:LONGEST].strip().removeprefix("file://").replace("\\", "/")
    if re.match(r"/[A-Za-z]:/", plain):
        plain = plain[1:]
    return normpath(plain) if plain else ""

"""Where a locked dependency comes from: a registry, a directory, a link, an address, a repository, another name.

Plain data and the reading of addresses. An address counts as a registry's only if it has the form that registries use
for the package of that name; any doubt makes it an ordinary address.
"""

import re
from collections.abc import Callable, Iterator
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from donewhen.judge.protect.contents.accepted_part import FileUnreadable
from donewhen.judge.protect.names.judging_tools import normal
from donewhen.records import frozen

Kind = Literal["registry", "path", "link", "url", "git", "alias", "option"]


@frozen
class LockSource:
    kind: Kind
    place: str = ""
    """Registry, directory, host, repository or other name. Empty for the public registry of the language."""


PUBLIC = LockSource("registry")
Entry = tuple[str, LockSource]
LockReader = Callable[[str], Iterator[Entry]]

DEFAULT_REGISTRIES = frozenset({
    "registry.npmjs.org", "registry.yarnpkg.com", "https://pypi.org/simple", "https://pypi.python.org/simple",
    "registry+https://github.com/rust-lang/crates.io-index", "sparse+https://index.crates.io", "https://rubygems.org",
})  # fmt: skip
PACKAGIST = "packagist:"
"""The registry of PHP has no archives: it names a repository for each package."""
PYTHON_FILES = "files.pythonhosted.org"
PLAIN_URL = re.compile(r"[\w.~:/?#\[\]@!$&'()*+,;=%-]+", re.ASCII)
DIRECTORY = re.compile(r"(?:file|link|portal|workspace):(?://)?(.*)", re.DOTALL)
GIT = re.compile(
    r"git[+:@]|ssh:|(?:github|gitlab|bitbucket|gist):|https?://(?:codeload\.github\.com|[^?#]*\.git(?:[?#]|$))"
)
REVISION = re.compile(r"[?#].*", re.DOTALL)
TARBALL = re.compile(r"[\w.+-]+")


def registry(place: str) -> LockSource:
    """Return the registry at an address; a directory that serves as a registry is a path."""
    place = place.rstrip("/")
    if place in DEFAULT_REGISTRIES:
        return PUBLIC
    return LockSource("registry", place) if "://" in place else LockSource("path", place)


def located(name: str, address: str) -> LockSource:
    """Return the source behind an address of a Node package."""
    if directory := DIRECTORY.match(address):
        kind = "link" if address.startswith(("link:", "portal:")) else "path"
        return LockSource(kind, directory[1].removeprefix("./"))
    if GIT.match(address):
        return repository(address)
    if not address.startswith(("http://", "https://")):
        return LockSource("path", address)
    split = _split(address)
    if split is None:
        return LockSource("url", address)
    path = split.path.replace("%2f", "/").replace("%2F", "/")
    above, found, file = path.partition(f"/{name}/-/")
    is_tarball = TARBALL.fullmatch(file) and file.startswith(f"{name.rpartition('/')[2]}-")
    if not found or not is_tarball or "%" in path or ".." in above:
        return LockSource("url", _host(split))
    place = _host(split) + above
    return PUBLIC if place in DEFAULT_REGISTRIES else LockSource("registry", place)


def repository(address: str) -> LockSource:
    """Return a repository without its revision, which may change like a version."""
    plain = REVISION.sub("", address)
    for host in ("codeload.github.com", "api.github.com/repos"):
        if plain.startswith(f"https://{host}/"):
            plain = "https://github.com/" + "/".join(plain.removeprefix(f"https://{host}/").split("/")[:2])
    return LockSource("git", plain.removeprefix("git+").removesuffix(".git"))


def address_of(url: str) -> LockSource:
    """Return the source for an archive at an address. Another archive of the same host counts as another version."""
    split = _split(url)
    return LockSource("url", _host(split) if split else url)


def python_file(name: str, url: str) -> LockSource:
    """Return the source of a file that a lock lists for a Python distribution."""
    split = _split(url)
    file = normal(url.rpartition("/")[2])
    if split is None or not file.startswith(f"{normal(name)}-"):
        return LockSource("url", url)
    return PUBLIC if _host(split) == PYTHON_FILES else LockSource("url", _host(split))


def _split(url: str) -> SplitResult | None:
    """Return the parts of an address; None if readers could disagree about them."""
    if not PLAIN_URL.fullmatch(url) or len(url) > 2_000:
        return None
    try:
        split = urlsplit(url)
        host = split.hostname
    except ValueError:
        return None
    return split if host and "@" not in split.netloc else None


def _host(split: SplitResult) -> str:
    return split.netloc if split.scheme == "https" else f"{split.scheme}://{split.netloc}"


def text_of(value: object) -> str:
    """Return a value that must be a text. Raise FileUnreadable if it is not."""
    if not isinstance(value, str):
        raise FileUnreadable
    return value

"""Which repository of which forge a remote names, read from git's configuration as data. It asks no server.

A remote's url may contain a password, so that no message quotes it.
"""

import ipaddress
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from donewhen.errors import BadInput
from donewhen.printable import one_line, shortened
from donewhen.records import frozen

LONGEST_URL = 2_000
URL = re.compile(
    r"(https?|ssh|git\+ssh|git)://(?:[^/@\s]*@)?([A-Za-z0-9._-]{1,253})(?::[0-9]{0,5})?/(\S+)", re.IGNORECASE
)
SCP = re.compile(r"()(?:[^/@:\s]*@)?([A-Za-z0-9._-]{1,253}):(?!//)(\S+)")
NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
GITHUB, GITHUB_API = "github.com", "https://api.github.com"
FORGEJO_PATH, ENTERPRISE_PATH = "/api/v1", "/api/v3"


@frozen
class Remote:
    """A repository on a host."""

    host: str
    """For ssh it may be an alias of the user's configuration."""
    owner: str
    name: str
    web_path: str | None = None
    """Of an http address, what stands before the owner."""


@frozen(kw_only=True)
class ForgePlace:
    """Where a repository is on its forge."""

    api_url: str
    """Address of the API, without a final `/`."""
    git_url: str
    """Address for git."""
    owner: str
    name: str
    is_forgejo: bool
    token_env: str

    @property
    def repository(self) -> str:
        return f"{self.owner}/{self.name}"


def find_remote(settings: Mapping[str, tuple[str, ...]]) -> Remote:
    """Return the repository of the remote `origin`, or of the only remote. Raise BadInput if there is none."""
    urls = {
        key[len("remote.") : -len(".url")]: values[-1]
        for key, values in settings.items()
        if key.startswith("remote.") and key.endswith(".url") and len(key) > len("remote..url") and values
    }
    name = "origin" if "origin" in urls else next(iter(urls), "")
    if not urls:
        raise BadInput("the repository has no remote: add one with git remote add origin URL")
    if name != "origin" and len(urls) > 1:
        raise BadInput("the repository has several remotes, and none of them is named origin")
    found = parse_remote_url(urls[name])
    if found is None:
        raise BadInput(f"the url of the remote {shortened(one_line(name))!r} names no repository on a forge")
    return found


def parse_remote_url(url: str) -> Remote | None:
    """Return what an address of git names (https, ssh or `user@host:path`); None for a path or another text."""
    if len(url) > LONGEST_URL:
        return None
    found = URL.fullmatch(url) or SCP.fullmatch(url)
    if found is None:
        return None
    *before, owner, name = ["", *found[3].strip("/").split("/")]
    name = name.removesuffix(".git")
    is_sound = all(NAME.fullmatch(part) and part.strip(".") for part in (owner, name))
    web_path = "/".join(before) if found[1].lower().startswith("http") else None
    return Remote(found[2].lower(), owner, name, web_path) if is_sound else None


def forge_place(remote: Remote, url: str, token_env: str, api: str) -> ForgePlace:
    """Return where the API of a remote is. The arguments are the keys of `[forge]`.

    Without `url` only github.com is known: another host gets no token that a person did not address to it.
    """
    is_forgejo = api == "forgejo"
    if not url and (is_forgejo or remote.host not in (GITHUB, f"ssh.{GITHUB}", f"www.{GITHUB}")):
        raise BadInput(f"the remote is at {remote.host}: set 'forge.url' to the address of its API")
    given = (url or GITHUB_API).rstrip("/")
    _require_safe(given)
    _require_api(given, is_forgejo)
    scheme, host = urlsplit(given).scheme, urlsplit(given).netloc
    if is_forgejo:
        web = given.removesuffix(FORGEJO_PATH)
        api_url = web + FORGEJO_PATH
    elif given in (f"https://{GITHUB}", GITHUB_API):
        web, api_url = f"https://{GITHUB}", GITHUB_API
    elif host.startswith("api."):
        web, api_url = f"{scheme}://{host.removeprefix('api.')}", given
    else:
        web = given.removesuffix(ENTERPRISE_PATH)
        api_url = web + ENTERPRISE_PATH
    git_path = urlsplit(web).path
    if not _is_this_machine(urlsplit(web).hostname or ""):
        _require_same_server(remote, web)
    elif _is_this_machine(remote.host):
        git_path = remote.web_path or git_path
    return ForgePlace(
        api_url=api_url,
        git_url=f"{scheme}://{urlsplit(web).netloc}{git_path}/{remote.owner}/{remote.name}.git",
        owner=remote.owner,
        name=remote.name,
        is_forgejo=is_forgejo,
        token_env=token_env,
    )


def _require_safe(url: str) -> None:
    """Raise BadInput for an address to which a token must not be sent."""
    try:
        parts = urlsplit(url)
        is_sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        is_plain = url.isascii() and url.isprintable() and not set(url) & set(" \"'<>\\^`{|}")
    except ValueError:
        is_sound = is_plain = False
        parts = urlsplit("")
    if not is_sound or not is_plain or "@" in parts.netloc or parts.query or parts.fragment:
        raise BadInput("'forge.url' must be an address such as https://git.example.org, without a user or a query")
    if parts.scheme == "http" and not _is_this_machine(parts.hostname or ""):
        raise BadInput("'forge.url' must start with https://: the token would be readable on the network")


def _require_api(url: str, is_forgejo: bool) -> None:
    """Raise BadInput for the address of the other kind of API."""
    if is_forgejo and (url.endswith(ENTERPRISE_PATH) or url in (f"https://{GITHUB}", GITHUB_API)):
        raise BadInput("'forge.url' is the address of a GitHub API: set 'forge.api' to \"github\"")
    if not is_forgejo and url.endswith(FORGEJO_PATH):
        raise BadInput("'forge.url' is the address of a Forgejo or Gitea API: set 'forge.api' to \"forgejo\"")


def _require_same_server(remote: Remote, web: str) -> None:
    """Raise BadInput for an http remote on another server, where another repository may have the same name."""
    if remote.web_path is None:
        return
    host, path = urlsplit(web).hostname or "", urlsplit(web).path
    if remote.host.removeprefix("www.") != host and _is_public_name(remote.host):
        raise BadInput(f"the remote is at {remote.host}, and 'forge.url' names {host}: they must be the same server")
    if remote.web_path != path:
        raise BadInput(f"the url of the remote names no repository: it must be {web}/OWNER/NAME")


def _is_public_name(host: str) -> bool:
    """Return False for a number, and for a name that only a local network knows: it may be an alias."""
    return "." in host and not host.rpartition(".")[2].isdigit()


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

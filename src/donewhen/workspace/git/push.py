"""Pushes one commit from our store to a new branch of a server, over http with an authorisation header. Never forces.
It can remove that branch again while it holds exactly that commit, and count what a branch there lacks.

The header is in the environment of this one git command only: not among its arguments, not in a file. Git gets no
configuration, helper, hook or prompt of the user (`run_git`). It follows no redirect, so that no other server gets the
header.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import field
from urllib.parse import urlsplit

from donewhen.records import frozen
from donewhen.workspace.git.run_git import GitFailed, git
from donewhen.workspace.git.store import Store

COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
PROXIES = ("https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY")
"""The network settings of this machine that a git of the user would have, too."""
CERTIFICATES = "SSL_CERT_FILE"


@frozen
class PushTarget:
    url: str
    """http or https, without a password."""
    header: str = field(repr=False)
    """`Authorization: …`"""


async def remote_commit(store: Store, target: PushTarget, branch: str) -> str:
    """Return the commit of a branch on the server; empty if there is no such branch."""
    name = f"refs/heads/{branch}"
    answer = await _run(store, target, "ls-remote", "--refs", "--quiet", "--", target.url, name)
    lines = (line.partition("\t") for line in answer.decode("utf-8", "replace").splitlines())
    return next((id for id, _, ref in lines if ref == name and COMMIT.fullmatch(id)), "")


async def commits_not_on_server(store: Store, target: PushTarget, commit: str, branch: str) -> int | None:
    """Return how many commits of the history of `commit` a branch on the server does not have; None if there is no
    such branch. What the store does not have of the branch is fetched into it."""
    there = await remote_commit(store, target, branch)
    if not there:
        return None
    count = ("rev-list", "--count", _sound(commit), f"^{there}", "--")
    try:
        return int(await store.bare.run(*count))
    except GitFailed:  # the store does not have the commit of the server
        options = ("--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--recurse-submodules=no", "--quiet")
        await _run(store, target, "fetch", *options, "--", target.url, f"refs/heads/{branch}")
        return int(await store.bare.run(*count))


async def push_new_branch(store: Store, target: PushTarget, commit: str, branch: str) -> None:
    """Create a branch on the server. Raise GitFailed if it is there already, whatever it contains."""
    # The lease is on "there is no such branch": the server itself compares, so that no other push can come between.
    await _push(store, target, branch, was="", becomes=_sound(commit))


async def remove_pushed_branch(store: Store, target: PushTarget, commit: str, branch: str) -> None:
    """Remove a branch from the server. Raise GitFailed if it is not there or holds another commit."""
    await _push(store, target, branch, was=_sound(commit), becomes="")


async def _push(store: Store, target: PushTarget, branch: str, was: str, becomes: str) -> None:
    name = f"refs/heads/{branch}"
    options = ("--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no")
    lease = f"--force-with-lease={name}:{was}"
    await _run(store, target, "push", *options, lease, "--", target.url, f"{becomes}:{name}")


def _sound(commit: str) -> str:
    if not COMMIT.fullmatch(commit):
        raise ValueError(f"{commit!r} is not the id of a commit")
    return commit


async def _run(store: Store, target: PushTarget, *arguments: str) -> bytes:
    settings = [
        ("http.extraHeader", target.header),
        ("http.followRedirects", "false"),
        ("http.lowSpeedLimit", "1"),
        ("http.lowSpeedTime", "60"),
        ("credential.helper", ""),
        ("core.askPass", ""),
        ("push.gpgSign", "false"),
    ]
    if certificates := os.environ.get(CERTIFICATES):
        settings.append(("http.sslCAInfo", certificates))
    bare = store.bare
    location = bare.location(bare.git_dir)
    return await git(bare.launcher, location, *arguments, settings=settings, network=_network(target))


def _network(target: PushTarget) -> Mapping[str, str]:
    given = {name: value for name in PROXIES if (value := os.environ.get(name))}
    return {**given, "GIT_ALLOW_PROTOCOL": urlsplit(target.url).scheme}


__all__ = [
    "GitFailed",
    "PushTarget",
    "commits_not_on_server",
    "push_new_branch",
    "remote_commit",
    "remove_pushed_branch",
]

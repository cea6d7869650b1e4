"""The bubblewrap command line: namespaces, no capabilities, a fresh /proc over the view the launcher made.

The flags are the whole wall for root as well: without its own user id and without dropping every capability,
bubblewrap run by root could be remounted from inside. Bubblewrap gets no terminal, no inherited descriptor beyond the
ones the go-between uses, and a private network unless the network is shared on purpose. What is writable was decided
when the view was put together: read-only mounts of that outer namespace are locked in this one. It also made /dev:
every mount that bubblewrap makes costs it a look through all the others.
"""

import os

UID = GID = 1000
GO_BETWEEN = 'printf r >&4 && IFS= read -r go <&5 && [ "$go" = g ] || exit 125; unset go; . /proc/self/fd/6'
"""The first program inside: report that it stands, wait for the go, and do what its orders say (`command.orders`)."""

SECCOMP_FD = "7"
"""The first memory file of the launcher's `Confinement`."""


def flags(net: bool = False) -> list[str]:
    """What is never left out. `net` keeps the network it is started in: the host's, or one that the launcher made."""
    words = ["--unshare-all", "--unshare-user", "--uid", str(UID), "--gid", str(GID), "--disable-userns"]
    words += ["--cap-drop", "ALL", "--die-with-parent", "--new-session"]
    words += ["--share-net"] if net else []
    words += ["--dev-bind", "/", "/", "--proc", "/proc"]
    # Root's ownership would let a command write to the machine-wide parts of /proc (core_pattern!).
    return [*words, "--remount-ro", "/proc"] if os.geteuid() == 0 else words


def wall(program: str, net: bool) -> tuple[str, ...]:
    """A sandbox that waits for its command."""
    return (program, *flags(net), "--seccomp", SECCOMP_FD, "--", "/bin/sh", "-c", GO_BETWEEN, "donewhen")

"""The bubblewrap command line: namespaces, no capabilities, and a new /proc over the view that the launcher built.

For root as well, these flags are the whole isolation: without a separate user id and with capabilities left, a
bubblewrap run by root could be remounted from inside. Bubblewrap gets no terminal, no inherited descriptor except those
that the start script uses, and a private network unless the network is shared on purpose. The view decides what is
writable: read-only mounts of that outer namespace are locked in this one. The launcher also mounts /dev, because every
mount that bubblewrap makes costs it a search through all the others.
"""

import os

UID = GID = 1000
GO_BETWEEN = 'printf r >&4 && IFS= read -r go <&5 && [ "$go" = g ] || exit 125; unset go; . /proc/self/fd/6'
"""The first program inside: reports that it started, waits for a go, then runs its orders (`command.orders`)."""

SECCOMP_FD = "7"
"""The descriptor of the first memory file of the launcher's `Confinement`."""


def flags(net: bool = False) -> list[str]:
    """Return the flags that are always used. `net` keeps the parent's network: the host's, or one of the launcher."""
    words = ["--unshare-all", "--unshare-user", "--uid", str(UID), "--gid", str(GID), "--disable-userns"]
    words += ["--cap-drop", "ALL", "--die-with-parent", "--new-session"]
    words += ["--share-net"] if net else []
    words += ["--dev-bind", "/", "/", "--proc", "/proc"]
    # Root's file ownership would let a command write to the machine-wide parts of /proc (core_pattern!).
    return [*words, "--remount-ro", "/proc"] if os.geteuid() == 0 else words


def command_line(program: str, net: bool) -> tuple[str, ...]:
    """Return the command line of a sandbox that waits for its command."""
    return (program, *flags(net), "--seccomp", SECCOMP_FD, "--", "/bin/sh", "-c", GO_BETWEEN, "donewhen")

"""The bubblewrap command line: namespaces, no capabilities, a fresh /dev and /proc over the view the launcher made.

The flags are the whole wall for root as well: without its own user id and without dropping every capability,
bubblewrap run by root could be remounted from inside. Bubblewrap gets no terminal, no inherited descriptor beyond the
ones the go-between uses, and a private network unless the network is shared on purpose. What is writable was decided
when the view was put together: read-only mounts of that outer namespace are locked in this one.
"""

import os
from dataclasses import dataclass

UID = GID = 1000
GO_BETWEEN = 'printf r >&4 && IFS= read -r go <&5 && [ "$go" = g ] || exit 125; exec 2>&3 3>&- 4>&- 5<&-; exec "$@"'
"""The first program inside: report ready, wait for the go, put the real stderr in place, become the command."""

SECCOMP_FD = "6"
"""The first memory file of the launcher's `Confinement`."""

MACHINE_WIDE_PROC = ("sys", "sysrq-trigger", "pressure", "fs", "acpi", "scsi", "driver", "mtrr")
"""Parts of /proc that are not about processes. Root's ownership would let a command write them (core_pattern!)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    program: str
    cwd: str
    net: bool = False
    """Keep the network namespace it is started in: the host's, or the private one that the launcher made."""
    shm_bytes: int = 0


def flags(net: bool = False) -> list[str]:
    """What is never left out."""
    words = ["--unshare-all", "--unshare-user", "--uid", str(UID), "--gid", str(GID), "--disable-userns"]
    words += ["--cap-drop", "ALL", "--die-with-parent", "--new-session"]
    words += ["--share-net"] if net else []
    words += ["--bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for name in MACHINE_WIDE_PROC if os.geteuid() == 0 else ():
        if os.path.exists(f"/proc/{name}"):
            words += ["--ro-bind", f"/proc/{name}", f"/proc/{name}"]
    return words


def command_line(options: Options, argv: list[str]) -> list[str]:
    words = [options.program, *flags(options.net)]
    words += ["--size", str(options.shm_bytes)] if options.shm_bytes else []
    words += ["--perms", "1777", "--tmpfs", "/dev/shm"]
    words += ["--seccomp", SECCOMP_FD, "--chdir", options.cwd, "--"]
    return [*words, "/bin/sh", "-c", GO_BETWEEN, "donewhen", *argv]

"""Rules for package managers of the operating system: reading is allowed, changing the machine is not."""

from donewhen.workspace.policy.rules.rule import Rule, has_flag, operands, phrase, words
from donewhen.workspace.policy.ruling import Decision
from donewhen.workspace.policy.step import Step

_DEBIAN = "install, remove, purge, upgrade, update, dist-upgrade, full-upgrade, autoremove, reinstall, build-dep"
_RED_HAT = "install, remove, erase, upgrade, update, reinstall, downgrade, autoremove, groupinstall, in, rm, up"


VERBS = {
    **dict.fromkeys(("apt", "apt-get", "aptitude"), _DEBIAN),
    **dict.fromkeys(("yum", "dnf", "dnf5", "microdnf", "zypper", "tdnf", "rpm-ostree"), _RED_HAT),
    "apk": "add, del, fix, update, upgrade",
    "brew": "install, reinstall, uninstall, remove, rm, upgrade, update, tap, untap, link, unlink, services, bundle",
    "dpkg-reconfigure": "*",
    "flatpak": "install, uninstall, update",
    "guix": "install, remove, pull, package",
    "ldconfig": "*",
    "nix": "profile *",
    "pkg": "install, remove, delete, upgrade, update",
    "port": "install, uninstall, upgrade, selfupdate",
    "snap": "install, remove, refresh",
    "update-alternatives": "*",
    "xbps-install": "*",
}
_by_verb = phrase(VERBS)


def _changes(step: Step) -> bool:
    """Match by verb, or by option if the package manager uses options as verbs."""
    match step.name:
        case "dpkg":
            return has_flag(step, "irP", "--install", "--remove", "--purge", "--configure", "--unpack")
        case "rpm":
            changes = has_flag(step, "iUeF", "--install", "--upgrade", "--erase", "--import")
            return changes and not has_flag(step, "q", "--query")
        case "emerge":
            return bool(operands(step)) and not has_flag(step, "s", "--search", "--pretend")
        case "nix-env":
            return has_flag(step, "iueG", "--install", "--upgrade", "--uninstall")
        case "pacman" | "yay" | "paru":
            return has_flag(step, "SRU") and not has_flag(step, "si")
        case _:
            return _by_verb(step)


RULES = (
    Rule(
        "system-packages",
        Decision.DENY,
        "changes the packages of the machine",
        _changes,
        (
            "apt-get install -y jq",
            "apt -y install jq",
            "dpkg -i a.deb",
            "brew install jq",
            "pacman -Syu jq",
            "apk add jq",
            "dnf install jq",
            "nix-env -iA jq",
            "snap install jq",
        ),
        ("apt list --installed", "dpkg -l", "brew list", "pacman -Ss jq", "rpm -qa", "apt-cache policy jq"),
        frozenset(VERBS) | words("dpkg rpm pacman nix-env emerge yay paru"),
    ),
)

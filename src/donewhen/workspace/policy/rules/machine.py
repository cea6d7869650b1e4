"""Rules for the machine itself: privileges, services, accounts, kernel, disks; and for the runtime's own gates."""

from donewhen.workspace.policy.rules.rule import Rule, always, has_flag, phrase, words
from donewhen.workspace.policy.ruling import Decision
from donewhen.workspace.policy.step import Step

_DISK_TOOLS = words(
    "badblocks blkdiscard cryptsetup fdisk gdisk hdparm losetup lvremove mdadm mke2fs mkswap parted pvremove sfdisk "
    "sgdisk swapoff swapon vgremove wipefs zpool"
)
_MKFS = frozenset(f"mkfs.{kind}" for kind in words("ext2 ext3 ext4 xfs btrfs vfat fat ntfs f2fs minix cramfs"))


def _device(step: Step) -> bool:
    """Match `dd` onto a device other than the null device, and every other disk tool."""
    targets = [text.removeprefix("of=") for text in step.texts if text.startswith("of=")]
    return step.name != "dd" or any(text.startswith("/dev/") and text != "/dev/null" for text in targets)


def _everything(step: Step) -> bool:
    """Match a signal to every process (`-1`) or to the first one."""
    texts = step.texts
    targets = texts[texts.index("--") + 1 :] if "--" in texts else [text for text in texts if not text.startswith("-")]
    also_signal = [text for text in texts[1:] if text == "-1"] if "--" not in texts else []
    return step.name == "killall5" or bool(also_signal) or any(target in ("-1", "0", "1") for target in targets)


def _init(step: Step) -> bool:
    return step.name not in ("init", "telinit") or step.texts[:1] in (["0"], ["6"])


def _sets(step: Step) -> bool:
    """Match every command but a `sysctl` that only shows values."""
    shows = step.name == "sysctl" and not any("=" in text for text in step.texts)
    return not shows or has_flag(step, "w", "--write", "--system", "--load")


RULES = (
    Rule(
        "privilege",
        Decision.DENY,
        "asks for the rights of another user",
        always,
        ("sudo ls", "sudo -n true", "su -c id", "doas make install", "env sudo -E make", "pkexec sh"),
        ("echo sudo", "grep -r sudo docs", "sudoku"),
        words("sudo sudoedit su doas pkexec runuser gosu su-exec sg newgrp visudo setpriv capsh setcap kdesu gksudo"),
    ),
    Rule(
        "service",
        Decision.DENY,
        "manages services or schedules work on the machine",
        lambda step: step.name not in ("at", "batch") or bool(step.args) or step.stdin is not None,
        (
            "systemctl restart nginx",
            "service ssh stop",
            "crontab -e",
            "echo x | at now",
            "systemd-run ls",
            "launchctl list",
        ),
        ("python manage.py crontab", "cat docs/crontab.md"),
        words(
            "systemctl service launchctl rc-service rc-update initctl systemd-run loginctl machinectl journalctl "
            "crontab at atq atrm batch supervisorctl sv svc update-rc.d chkconfig invoke-rc.d start-stop-daemon"
        ),
    ),
    Rule(
        "account",
        Decision.DENY,
        "changes users or groups of the machine",
        always,
        ("useradd x", "passwd root", "usermod -aG docker me"),
        ("cat passwd.txt", "python useradd.py"),
        words(
            "useradd userdel usermod adduser deluser groupadd groupdel groupmod addgroup delgroup passwd chpasswd chsh "
            "chfn gpasswd vipw vigr"
        ),
    ),
    Rule(
        "kernel",
        Decision.DENY,
        "changes mounts, namespaces, modules or the network of the machine",
        _sets,
        ("mount -o remount,rw /", "chroot /mnt sh", "nsenter -t 1 -m sh", "unshare -r sh", "sysctl -w vm.swappiness=1"),
        ("sysctl vm.swappiness", "python mount.py"),
        words(
            "mount umount chroot nsenter unshare pivot_root switch_root insmod modprobe rmmod kexec sysctl iptables "
            "ip6tables nft ufw firewall-cmd ebtables tc bwrap debugfs fusermount bpftool setenforce auditctl"
        ),
    ),
    Rule(
        "power",
        Decision.DENY,
        "stops or restarts the machine",
        _init,
        ("shutdown -h now", "reboot", "init 0"),
        ("init --help", "terraform init"),
        words("shutdown reboot halt poweroff init telinit"),
    ),
    Rule(
        "kill-all",
        Decision.DENY,
        "signals every process, or the first one",
        _everything,
        ("kill -9 -1", "kill -- -1", "kill -KILL 1", "killall5 -9"),
        ("kill 4242", "kill -9 $PID", "kill %1", "kill -1 4242"),
        words("kill killall5"),
    ),
    Rule(
        "disk",
        Decision.DENY,
        "writes to disks or file systems directly",
        _device,
        ("mkfs.ext4 /dev/sda1", "dd if=/dev/zero of=/dev/sda", "wipefs -a /dev/sdb"),
        ("dd if=/dev/urandom of=blob.bin bs=1k count=1", "dd if=a of=/dev/null"),
        words("dd mkfs") | _DISK_TOOLS | _MKFS,
    ),
    Rule(
        "own-gates",
        Decision.DENY,
        "decides something that only a person may decide",
        phrase({"donewhen": "approve, deny, answer, land, trust, discard, cancel, resume, loop"}),
        ("donewhen approve 1", "donewhen trust", "python -m donewhen land 1"),
        ("donewhen check", "donewhen show 1", "donewhen policy ls"),
        frozenset({"donewhen"}),
    ),
)

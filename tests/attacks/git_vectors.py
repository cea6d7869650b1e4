"""Settings and files in a repository that make another user's git run a program of ours, or do other harm.

Each vector is planted in a repository: the user's own or the one in a maker tree. A vector that works leaves a mark.
`commands` are the plain git commands that trigger it. Ids are rows of the threat catalogue.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from repositories import commit, git, repository, write

ATTRIBUTES = "*.txt diff=evil filter=evil merge=evil\n"
HOOKS = (
    "applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg",
    "commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "post-rewrite",
    "reference-transaction", "post-index-change", "pre-auto-gc", "sendemail-validate",
)  # fmt: skip

Plant = Callable[[Path, "Evil"], None]
Commands = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Evil:
    """A program that leaves a mark and passes its input on, and a directory that must not be written to."""

    program: Path
    mark: Path
    outside: Path

    @classmethod
    def below(cls, place: Path) -> "Evil":
        evil = cls(place / "evil.sh", place / "mark", place / "outside")
        for program, then in ((evil.program, "exec cat"), (evil.quitter, "exit 1")):
            program.write_text(f"#!/bin/sh\n: > '{evil.mark}'\n{then}\n")
            program.chmod(0o755)
        evil.outside.mkdir()
        return evil

    @property
    def quitter(self) -> Path:
        """The same, for cases in which passing input on would block git."""
        return self.program.with_name("quit.sh")

    def harm(self) -> bool:
        return self.mark.exists() or any(self.outside.iterdir())

    def wipe(self) -> None:
        self.mark.unlink(missing_ok=True)
        shutil.rmtree(self.outside)
        self.outside.mkdir()


@dataclass(frozen=True)
class Vector:
    id: str
    what: str
    plant: Plant
    commands: Commands


def template(root: Path) -> Path:
    """Make a repository with something to diff, filter, merge, check out and fetch."""
    repository(root, {".gitattributes": ATTRIBUTES, "a.txt": "a\n", "d/b.txt": "b\n", "keep.me": "k\n"})
    git(root, "checkout", "--quiet", "-b", "side")
    write(root, {"a.txt": "side\n"})
    commit(root, "side")
    git(root, "checkout", "--quiet", "main")
    write(root, {"a.txt": "main\n"})
    commit(root, "main")
    git(root, "remote", "add", "origin", ".")
    write(root, {"a.txt": "not committed\n", "new.txt": "new\n"})
    return root


def config(*pairs: tuple[str, str]) -> Plant:
    """Settings, with EVIL, QUIT and OUTSIDE for the paths of the programs and the directory."""

    def plant(root: Path, evil: Evil) -> None:
        for key, value in pairs:
            git(root, "config", "--file", ".git/config", filled(key, evil), filled(value, evil))

    return plant


def filled(text: str, evil: Evil) -> str:
    named = text.replace("EVIL", str(evil.program)).replace("QUIT", str(evil.quitter))
    return named.replace("OUTSIDE", str(evil.outside))


def hooks_path(root: Path, evil: Evil) -> None:
    install_hooks(root / ".hooks", evil)
    config(("core.hooksPath", str(root / ".hooks")))(root, evil)


def install_hooks(place: Path, evil: Evil) -> None:
    place.mkdir(exist_ok=True)
    for name in HOOKS:
        shutil.copy(evil.program, place / name)


def committed_filter(root: Path, evil: Evil) -> None:
    """The program is part of the tree and has a relative path."""
    shutil.copy(evil.program, root / "f.sh")
    git(root, "add", "f.sh")
    git(root, "commit", "--quiet", "-m", "a tool", "f.sh")
    config(("filter.evil.clean", "./f.sh"), ("filter.evil.smudge", "./f.sh"))(root, evil)


def info_attributes(root: Path, evil: Evil) -> None:
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "attributes").write_text("* filter=other\n")
    config(("filter.other.clean", "EVIL"), ("filter.other.smudge", "EVIL"))(root, evil)


def worktree_config(root: Path, evil: Evil) -> None:
    config(("extensions.worktreeConfig", "true"), ("core.repositoryFormatVersion", "1"))(root, evil)
    git(root, "config", "--file", ".git/config.worktree", "core.fsmonitor", str(evil.program))


def included(root: Path, evil: Evil) -> None:
    git(root, "config", "--file", "extra.cfg", "core.fsmonitor", str(evil.program))
    config(("include.path", str(root / "extra.cfg")))(root, evil)


def included_if(root: Path, evil: Evil) -> None:
    git(root, "config", "--file", "extra.cfg", "core.fsmonitor", str(evil.program))
    config(("includeIf.gitdir:/.path", str(root / "extra.cfg")))(root, evil)


def pointer(root: Path, evil: Evil) -> None:
    config(("core.fsmonitor", "EVIL"))(root, evil)
    (root / ".git").rename(root / ".evil")
    (root / ".git").write_text("gitdir: ./.evil\n")


def pointer_through_link(root: Path, evil: Evil) -> None:
    config(("core.fsmonitor", "EVIL"))(root, evil)
    (root / "deep" / "er").mkdir(parents=True)
    (root / ".git").rename(root / "deep" / "repo")
    (root / "hop").symlink_to("deep/er")
    (root / ".git").write_text("gitdir: hop/../repo\n")


def directory_for_pointer(root: Path, evil: Evil) -> None:
    """A complete repository in place of a pointer file."""
    shutil.rmtree(root / ".git")
    git(root, "init", "--quiet", "--template=", "-b", "main")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", "mine")
    config(("core.fsmonitor", "EVIL"), ("filter.evil.clean", "EVIL"))(root, evil)


def common_directory(root: Path, evil: Evil) -> None:
    shutil.copytree(root / ".git", root / ".common")
    git(root, "config", "--file", ".common/config", "core.fsmonitor", str(evil.program))
    (root / ".git" / "commondir").write_text("../.common\n")


def submodule(root: Path, evil: Evil) -> None:
    inner = repository(root / "module")
    git(root, "add", "module")
    git(root, "commit", "--quiet", "-m", "with a module", "module")
    config(("core.fsmonitor", "EVIL"), ("filter.evil.clean", "EVIL"))(inner, evil)
    write(inner, {".gitattributes": ATTRIBUTES, "a.txt": "dirty\n"})


def nested_repository(root: Path, evil: Evil) -> None:
    inner = repository(root / "nested")
    config(("core.fsmonitor", "EVIL"))(inner, evil)


def bare_lookalike(root: Path, evil: Evil) -> None:
    place = root / "d"
    for name in ("objects", "refs"):
        (place / name).mkdir()
    (place / "HEAD").write_text("ref: refs/heads/main\n")
    settings = f"bare = false\n\tworktree = {root}\n\tfsmonitor = {evil.program}"
    (place / "config").write_text(f"[core]\n\trepositoryformatversion = 0\n\t{settings}\n")


COMMIT = ("commit", "--quiet", "-a", "-m", "x")
VECTORS = [
    Vector("A18", "core.fsmonitor", config(("core.fsmonitor", "EVIL")), (("status",),)),
    Vector("A19", "core.hooksPath with every hook", hooks_path, (("add", "-A"), COMMIT)),
    Vector("A20", "hooks in the git dir", lambda r, e: install_hooks(r / ".git" / "hooks", e), (COMMIT,)),
    Vector("A21a", "diff.external", config(("diff.external", "EVIL")), (("diff",),)),
    Vector("A21b", "diff.X.command", config(("diff.evil.command", "EVIL")), (("diff",),)),
    Vector("A22", "diff.X.textconv", config(("diff.evil.textconv", "EVIL")), (("diff",), ("log", "-p"))),
    Vector("A23", "filter.X.clean", config(("filter.evil.clean", "EVIL")), (("status",), ("add", "-A"))),
    Vector("A24", "filter.X.smudge", config(("filter.evil.smudge", "EVIL")), (("checkout", "-f", "side"),)),
    Vector("A25", "filter.X.process", config(("filter.evil.process", "EVIL")), (("add", "-A"),)),
    Vector("A26", "a filter in the tree itself", committed_filter, (("add", "-A"),)),
    Vector("A27", "info/attributes", info_attributes, (("add", "-A"),)),
    Vector("A28", "merge.X.driver", config(("merge.evil.driver", "EVIL %A")), (("stash",), ("merge", "side"))),
    Vector("A29", "config.worktree", worktree_config, (("status",),)),
    Vector("A30a", "include.path", included, (("status",),)),
    Vector("A30b", "includeIf", included_if, (("status",),)),
    Vector("A31", ".git points into the tree", pointer, (("status",),)),
    Vector("A32", "a directory for the pointer", directory_for_pointer, (("status",),)),
    Vector("A33", "a pointer through a link", pointer_through_link, (("status",),)),
    Vector("A34", "commondir", common_directory, (("status",),)),
    Vector("A35", "core.worktree", config(("core.worktree", "OUTSIDE")), (("checkout", "-f", "main"),)),
    Vector("A36a", "a submodule's own config", submodule, (("status",), ("add", "-A"))),
    Vector("A36b", "a repository inside", nested_repository, (("-C", "nested", "status"),)),
    Vector("A37", "a bare look-alike", bare_lookalike, (("-C", "d", "status"),)),
    Vector("A38", "gpg.program", config(("commit.gpgSign", "true"), ("gpg.program", "EVIL")), (COMMIT,)),
    Vector(
        "A39a", "core.sshCommand",
        config(("core.sshCommand", "QUIT"), ("remote.origin.url", "ssh://x.invalid/y")), (("fetch",),),
    ),
    Vector(
        "A39b", "credential.helper", config(("credential.helper", "EVIL")),
        (("credential", "fill"),),
    ),
    Vector(
        "A39c", "core.gitProxy",
        config(("core.gitProxy", "EVIL"), ("remote.origin.url", "git://x.invalid/y")), (("fetch",),),
    ),
    Vector("A39d", "core.askPass", config(("core.askPass", "EVIL")), (("credential", "fill"),)),
    Vector(
        "A40a", "an ext:: remote",
        config(("protocol.ext.allow", "always"), ("remote.origin.url", "ext::QUIT")), (("fetch",),),
    ),
    Vector(
        "A40b", "url.ext::.insteadOf",
        config(("protocol.ext.allow", "always"), ("url.ext::QUIT .insteadOf", "x:"), ("remote.origin.url", "x:y")),
        (("fetch",),),
    ),
    Vector("A41a", "remote.X.uploadpack", config(("remote.origin.uploadpack", "QUIT")), (("fetch",),)),
    Vector("A41b", "remote.X.receivepack", config(("remote.origin.receivepack", "QUIT")),
           (("push", "origin", "main:x"),)),
    Vector("A42a", "core.editor", config(("core.editor", "EVIL")), (("commit", "--quiet", "-a"),)),
    Vector("A42b", "sequence.editor", config(("sequence.editor", "EVIL")), (("stash",), ("rebase", "-i", "HEAD~1"))),
    Vector("A43", "tar.X.command", config(("tar.evil.command", "EVIL")), (("archive", "--format=evil", "HEAD"),)),
    Vector("A44", "an alias", config(("alias.st", "!EVIL")), (("st",),)),
    Vector("B42", "trailer.X.command", config(("trailer.evil.command", "EVIL")),
           (("commit", "--quiet", "-a", "-m", "x", "--trailer", "evil=1"),)),
]  # fmt: skip

"""Rules for git: an engine may read, stage, stash and undo in its tree, but not publish, commit or rewrite.

The runtime records the work itself, from the files. Commits and rewrites in a scratch directory are allowed: they do
not affect the history of the project.
"""

import re
from itertools import pairwise

from donewhen.workspace.policy.gitcall import settings
from donewhen.workspace.policy.gitconfig import harmless, names_remote, runs_program
from donewhen.workspace.policy.paths import Location, path_location, word_location
from donewhen.workspace.policy.rules.rule import Matcher, Rule, has_flag, operands, phrase, words
from donewhen.workspace.policy.ruling import Decision
from donewhen.workspace.policy.step import Step

GIT = frozenset({"git"})

KNOWN = words(
    "add annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore check-mailmap "
    "check-ref-format checkout checkout-index cherry clean column count-objects describe diff diff-files diff-index "
    "diff-tree difftool fast-export fetch for-each-ref for-each-repo format-patch fsck get-tar-commit-id grep "
    "hash-object help index-pack init interpret-trailers log ls-files ls-tree mailinfo mailsplit maintenance "
    "merge-base merge-file merge-tree mergetool mktag mktree mv name-rev notes pack-objects pack-refs patch-id "
    "range-diff read-tree reflog remote repack rerere reset restore rev-list rev-parse rm shortlog show "
    "show-branch show-index show-ref sparse-checkout stage stash status stripspace submodule switch symbolic-ref tag "
    "unpack-file unpack-objects update-index update-server-info var verify-commit verify-pack verify-tag version "
    "whatchanged worktree write-tree "
    # The rules below decide on these.
    "am cherry-pick clone commit commit-tree config credential fast-import filter-branch filter-repo gc http-push "
    "imap-send lfs ls-remote merge prune pull push rebase replace revert send-email send-pack subtree svn p4 update-ref"
)

_SENDS = "push, send-pack, http-push, send-email, imap-send, svn dcommit, p4 submit, lfs push, subtree push"
_REVISION = re.compile(r"(HEAD|[A-Z]+_HEAD|@)?[~^@{].*|[A-Z]+_HEAD|[0-9a-f]{7,40}|(origin|upstream)/.*")
_READS_CONFIG = words("--get --get-all --get-regexp --get-urlmatch --get-color --get-colorbool --list -l")


def _in_tree(matcher: Matcher) -> Matcher:
    def matches(step: Step) -> bool:
        return path_location(step.working_dir.cwd, step.working_dir.root) is not Location.SCRATCH and matcher(step)

    return matches


def _subcommand(step: Step) -> str:
    return step.args[0].text if step.args else ""


def _remote(step: Step) -> bool:
    return _subcommand(step) == "remote" and bool(
        {"add", "set-url", "rename", "remove", "rm", "set-head", "set-branches", "prune", "update"}
        & {word.text for word in operands(step)[1:2]}
    )


def _config(step: Step) -> bool:
    """Match a write to a file outside this repository, or to a setting that runs programs or names remotes."""
    args = [word.text for word in operands(step, words("-f --file --blob --type --default --comment --value"))[1:]]
    modern = args[:1] if args[:1] in (["set"], ["unset"], ["edit"], ["rename-section"], ["remove-section"]) else []
    args = args[1:] if modern or args[:1] in (["get"], ["list"]) else args
    edits = has_flag(
        step, "e", "--unset", "--unset-all", "--edit", "--rename-section", "--remove-section", "--replace-all"
    )
    reads = not _READS_CONFIG.isdisjoint(step.texts) or (len(args) < 2 and not edits and not modern)
    if _subcommand(step) != "config" or reads:
        return False
    files = [word for option, word in pairwise(step.args) if option.text in ("-f", "--file")]
    wide = has_flag(step, "", "--global", "--system") or any(
        word_location(file, step.working_dir) is Location.OUTSIDE for file in files
    )
    is_powerful = any(runs_program(key) or names_remote(key) for key in args[:1])
    return wide or (is_powerful and not any(harmless(value) for value in args[1:2]))


def _setting(step: Step) -> bool:
    return any((runs_program(key) or names_remote(key)) and not harmless(value) for key, value in settings(step))


def _commits(step: Step) -> bool:
    sub = _subcommand(step)
    if sub in ("merge", "cherry-pick", "revert", "am"):
        quiet = ("--abort", "--quit", "--no-commit", "--squash", "--show-current-patch")
        return not has_flag(step, "n" if sub in ("cherry-pick", "revert") else "", *quiet)
    return sub in ("commit", "commit-tree") and not has_flag(step, "", "--dry-run")


def _rewrites(step: Step) -> bool:
    sub, args = _subcommand(step), [word.text for word in operands(step)[1:]]
    match sub:
        case "filter-branch" | "filter-repo" | "fast-import" | "update-ref" | "replace" | "prune":
            return True
        case "commit":
            return has_flag(step, "", "--amend", "--ame", "--am") or any(
                t.startswith(("--fixup=", "--squash=")) for t in step.texts
            )
        case "rebase":
            return not has_flag(step, "", "--abort", "--quit", "--show-current-patch")
        case "reflog":
            return args[:1] in (["expire"], ["delete"])
        case "symbolic-ref":
            return len(args) > 1 or has_flag(step, "d", "--delete")
        case "gc":
            return has_flag(step, "", "--prune")
        case "branch":
            return has_flag(step, "DMCf", "--force")
        case "tag":
            return has_flag(step, "df", "--delete", "--force")
        case "checkout" | "switch":
            return has_flag(step, "BC", "--orphan", "--force-create")
        case "reset":
            return _moves(step, args)
        case _:
            return False


def _moves(step: Step, args: list[str]) -> bool:
    """Match `git reset` to a commit other than the current one. A path as operand does not count."""
    if step.texts[1:2] == ["--"] or not args or args[0] in ("HEAD", "@"):
        return False
    return has_flag(step, "", "--hard", "--soft", "--keep", "--merge") or _REVISION.fullmatch(args[0]) is not None


def _network(step: Step) -> bool:
    sub, args = (
        _subcommand(step),
        [word.text for word in operands(step, words("-b --branch --depth -o --origin -c -j"))[1:]],
    )
    if sub == "clone":
        return not args or not args[0].startswith((".", "/", "file:///"))
    if sub in ("submodule", "lfs"):
        return args[:1] in (["update"], ["add"], ["fetch"], ["pull"])
    return sub in ("fetch", "pull", "ls-remote") or (sub == "archive" and has_flag(step, "", "--remote"))


def _unknown(step: Step) -> bool:
    sub = _subcommand(step)
    return bool(sub) and not sub.startswith("-") and sub not in KNOWN


RULES = (
    Rule(
        "git-push",
        Decision.DENY,
        "changes a remote",
        phrase({"git": _SENDS}),
        ("git push", "git push origin main", "git -C sub --no-pager push --force", "git subtree push -P a origin x"),
        ("git stash push", "git log --grep push", "echo git push"),
        GIT,
    ),
    Rule(
        "git-remote",
        Decision.DENY,
        "changes which remotes this repository has",
        _remote,
        ("git remote add origin https://example.com/x", "git remote set-url origin x", "git remote rm origin"),
        ("git remote -v", "git remote show origin", "git remote get-url origin", "git remote"),
        GIT,
    ),
    Rule(
        "git-config",
        Decision.DENY,
        "changes git settings beyond this tree, or which programs and remotes git uses",
        _config,
        (
            "git config --global user.name x",
            "git config core.hooksPath hooks",
            "git config url.https://a.insteadOf https://b",
            "git config --unset remote.origin.url",
            "git config set credential.helper store",
        ),
        (
            "git config --get remote.origin.url",
            "git config user.email a@b.c",
            "git config -f .gitmodules submodule.x.branch main",
            "git config core.pager cat",
        ),
        GIT,
    ),
    Rule(
        "git-setting",
        Decision.ASK,
        "makes git run a program or use another remote for this call",
        _setting,
        ("git -c core.fsmonitor=./x status", "git -c alias.st='!make' st", "git -c diff.external=./x diff"),
        ("git -c core.pager=cat log", "git -c user.name=a -c user.email=b status", "git log -c"),
        GIT,
    ),
    Rule(
        "git-rewrite",
        Decision.DENY,
        "rewrites history or moves a branch",
        _in_tree(_rewrites),
        (
            "git commit --amend --no-edit",
            "git rebase -i HEAD~3",
            "git reset --hard HEAD~1",
            "git reset --hard origin/main",
            "git branch -D main",
            "git update-ref refs/heads/main abc",
            "git reflog expire --expire=now --all",
            "git gc --prune=now",
        ),
        (
            "git reset --hard",
            "git reset HEAD src/a.py",
            "git reset -- src/a.py",
            "git checkout -- .",
            "git branch -a",
            "git tag",
            "cd /tmp/x && git rebase main",
        ),
        GIT,
    ),
    Rule(
        "git-commit",
        Decision.DENY,
        "makes a commit; leave the changes in the tree, the runtime records them",
        _in_tree(_commits),
        (
            "git commit -m x",
            "git add -A && git commit -qm x",
            "git merge topic",
            "git cherry-pick abc123",
            "git revert HEAD",
        ),
        (
            "git merge --abort",
            "git cherry-pick -n abc123",
            "git log --merges",
            "cd /tmp/x && git commit -m x",
            "git merge-base a b",
        ),
        GIT,
    ),
    Rule(
        "git-network",
        Decision.ASK,
        "connects to a remote",
        _network,
        ("git fetch origin", "git pull", "git clone https://example.com/x.git", "git submodule update --init"),
        ("git clone ./a /tmp/b", "git submodule status", "git log origin/main"),
        GIT,
    ),
    Rule(
        "git-unknown",
        Decision.ASK,
        "is not a git command that the policy knows",
        _unknown,
        ("git yolo", "git $COMMAND"),
        ("git", "git --version", "git status", "git -C sub diff"),
        GIT,
    ),
)

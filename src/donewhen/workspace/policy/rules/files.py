"""Rules for files outside the tree, the tree as a whole, and the `.git` directory in it."""

import posixpath

from donewhen.workspace.policy.paths import Location, contains_names, path_location, resolved, word_location
from donewhen.workspace.policy.rules.rule import Rule, has_flag, operands, words
from donewhen.workspace.policy.rules.targets import DELETES, MODES, changed_mode, deleted, written
from donewhen.workspace.policy.ruling import Decision
from donewhen.workspace.policy.step import Step, Word, WorkingDir, plain


def _deletes_outside(step: Step) -> bool:
    return any(word_location(word, step.working_dir) in (Location.OUTSIDE, Location.TREE) for word in deleted(step))


def _writes_outside(step: Step) -> bool:
    return any(word_location(word, step.working_dir) is Location.OUTSIDE for word in written(step))


def _mode_outside(step: Step) -> bool:
    return any(word_location(word, step.working_dir) is Location.OUTSIDE for word in changed_mode(step))


def _recursive(step: Step) -> bool:
    return step.name == "rm" and has_flag(step, "rR", "--recursive")


def _wide(step: Step) -> bool:
    """Match a recursive delete of an unknown path or of everything in the tree."""
    return _recursive(step) and any(_too_wide(word, step) for word in deleted(step))


def _too_wide(word: Word, step: Step) -> bool:
    path = resolved(word.text, step.working_dir.cwd)
    is_everything = word.has_glob and path in (f"{step.working_dir.root}/*", f"{step.working_dir.root}/.*")
    return is_everything or path_location(path, step.working_dir.root) is Location.UNKNOWN


def _git_dir(step: Step) -> bool:
    return any(_own_git(word, step) for word in (*deleted(step), *written(step), *changed_mode(step)))


def _own_git(word: Word, step: Step) -> bool:
    """Match a path inside `.git`, except what people commonly repair there: a stale lock, the local ignore list."""
    path = resolved(word.text, step.working_dir.cwd)
    if ".g" not in path.lower() or path_location(path, step.working_dir.root) is not Location.INSIDE:
        return False
    return contains_names(path.lower(), (".git",)) and not path.endswith((".lock", "/info/exclude"))


def _links_out(step: Step) -> bool:
    """Match a symbolic link that leads out of the tree. Its target is relative to the directory of the link."""
    *targets, link = operands(step, words("-S --suffix -t --target-directory")) or [plain("")]
    parent = posixpath.dirname(resolved(link.text, step.working_dir.cwd)) if targets else step.working_dir.cwd
    working_dir = WorkingDir(step.working_dir.root, parent)
    return has_flag(step, "s", "--symbolic") and any(
        word_location(word, working_dir) is Location.OUTSIDE for word in targets or [link]
    )


RULES = (
    Rule(
        "outside-delete",
        Decision.DENY,
        "deletes something outside the tree, or the tree itself",
        _deletes_outside,
        (
            "rm -rf /",
            "rm -rf ~",
            'rm -rf "$HOME"',
            "rm -rf /*",
            "rm -rf ../other",
            "rm /etc/hosts",
            "rm -rf .",
            "cd / && rm -rf usr",
            "find / -name '*.log' -delete",
            "find . -delete",
            "rm -rf /tmp/../etc",
            "for d in /etc /usr; do rm -rf $d; done",
        ),
        (
            "rm -rf build dist",
            "rm -rf ./node_modules",
            "rm -f *.pyc",
            "rm -rf /tmp/x",
            "find . -name '*.pyc' -delete",
            "cd src && rm -rf ../build",
            "rm -rf $(mktemp -d)",
        ),
        frozenset(DELETES),
    ),
    Rule(
        "outside-write",
        Decision.DENY,
        "writes outside the tree",
        _writes_outside,
        (
            "echo x > /etc/hosts",
            "echo x >> ~/.bashrc",
            "tee /etc/x",
            "cp a /usr/local/bin/",
            "mv /etc/hosts .",
            "sed -i s/a/b/ /etc/hosts",
            "mkdir -p /opt/x",
            "touch ../x",
            "> /etc/x",
            "tar xf a.tar -C /",
            "curl -o /usr/bin/x http://localhost",
            "{ echo a; echo b; } > /etc/x",
        ),
        (
            "echo x > out.txt",
            "make > /dev/null 2>&1",
            "echo x > /tmp/x",
            "cp /etc/hosts .",
            "echo x >&2",
            "sed -i s/a/b/ src/a.py",
            "tee build/log",
            "tar czf out.tgz -C src .",
            "echo 'a > /etc/x'",
        ),
    ),
    Rule(
        "outside-mode",
        Decision.DENY,
        "changes modes or owners outside the tree",
        _mode_outside,
        ("chmod -R 777 /", "chmod -R -w /etc", "chown -R me ~", "chmod +x /usr/bin/x"),
        ("chmod +x scripts/x", "chmod -R u+w .", "chmod 600 /tmp/x"),
        frozenset(MODES),
    ),
    Rule(
        "wide-delete",
        Decision.ASK,
        "deletes recursively what is not known beforehand, or everything in the tree",
        _wide,
        ('rm -rf "$DIR"', "rm -rf $DIR/build", "rm -rf *", "rm -fr ./*"),
        (
            'rm -rf "build/$NAME"',
            "rm -rf build/*",
            "rm -f $FILE",
            'D=build; rm -rf "$D"',
            "find . -name x | xargs rm -rf",
        ),
        frozenset({"rm"}),
    ),
    Rule(
        "git-dir",
        Decision.DENY,
        "changes git's own directory",
        _git_dir,
        (
            "rm -rf .git",
            "echo x > .git/hooks/pre-commit",
            "sed -i s/a/b/ .git/config",
            "chmod +x .git/hooks/x",
            "rm -rf .gi*",
        ),
        ("rm -f .git/index.lock", "cat .git/config", "echo x >> .gitignore", "rm -rf /tmp/x/.git", "mkdir .github"),
    ),
    Rule(
        "link-out",
        Decision.ASK,
        "makes a link that leads out of the tree",
        _links_out,
        ("ln -s / root", "ln -sf ~/x here", "ln -s ../../other x"),
        ("ln -s src/a b", "ln -s ../shared/a web/a", "ln -sf /tmp/x y", "ln a b"),
        frozenset({"ln"}),
    ),
)

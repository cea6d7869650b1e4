"""Only `workspace.beneath` joins paths below a repository, a git directory, a tree or a share.

A joined path follows every link, and the content of these directories is foreign. Types say the same where they can:
a `Root` cannot be joined.
"""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "donewhen"
OWNER = "workspace/beneath.py"
OF_A_REPOSITORY = {"root", "git_dir", "common_dir"}
"""Attributes of a `Repo` for messages, for comparing, and for what is passed unchanged to git and the kernel."""
OF_A_ROOT = {"location"}
JOINING = {"join", "joinpath", "Path", "PurePath", "PurePosixPath", "realpath"}
LISTING = {"listdir", "scandir", "walk", "fwalk", "glob", "rglob", "iglob", "iterdir"}
OPENING = {
    "open", "Path", "stat", "lstat", "readlink", "unlink", "remove", "rename", "mkdir", "makedirs", "rmdir", "rmtree",
    "symlink", "link", "chmod", "chown", "truncate", "utime", "copyfile", "copy", "copy2", "copytree", *LISTING,
}  # fmt: skip
"""Uses that are not allowed for a full path from `Root.full_path`: it is for messages."""
WRAPPING = ("str", "bytes", "fspath", "fsencode", "fsdecode")
ALLOWED = {
    ("session/check/init_contract.py", "workplace.repo.root"): "donewhen.toml itself; `write` refuses a link",
    (
        "workspace/git/store/object_mirror.py",
        "directory.location",
    ): "an alternate is named relative to it; it is its own root",
    ("workspace/git/repo.py", "common.location"): "the user's own lfs.storage, which is a root of its own",
    ("workspace/git/landing/git_config.py", "root.full_path(name)"): "its directory is where the user's includes begin",
}
Aliases = dict[str, ast.expr]
"""Names for an expression in a function, and in its inner functions."""


def offences(source: str) -> Iterator[tuple[int, str]]:
    yield from offences_in(ast.parse(source), {})


def offences_in(scope: ast.AST, outer: Aliases) -> Iterator[tuple[int, str]]:
    """In a module or a function: a name that gets a root means the root."""
    here, inner = nodes_of(scope)
    aliases = {**outer, **dict(assigned(here))}
    for node in here:
        for operand in operands(node, aliases):
            if is_root(meant(operand, aliases)):
                yield operand.lineno, ast.unparse(operand)
        for operand in opened(node):
            if is_full_path(meant(operand, aliases)):
                yield operand.lineno, ast.unparse(operand)
    for function in inner:
        yield from offences_in(function, aliases)


def nodes_of(scope: ast.AST) -> tuple[list[ast.AST], list[ast.AST]]:
    """The nodes of a scope, and its functions, which are separate scopes."""
    here: list[ast.AST] = []
    inner: list[ast.AST] = []
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            inner.append(node)
            continue
        here.append(node)
        waiting += ast.iter_child_nodes(node)
    return here, inner


def assigned(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    for node in nodes:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) else None
        for target in targets if value is not None else []:
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = list(zip(target.elts, value.elts, strict=False))
            for name, given in pairs:
                if isinstance(name, ast.Name) and given is not None and (is_root(given) or is_full_path(given)):
                    yield name.id, given


def meant(node: ast.expr, aliases: Aliases) -> ast.expr:
    inner = unwrapped(node)
    return aliases.get(inner.id, node) if isinstance(inner, ast.Name) else node


def operands(node: ast.AST, aliases: Aliases) -> list[ast.expr]:
    """Return what is joined or listed in an expression."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.Add):
        return [node.left]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and has_slash(node.left):
        return node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
    if isinstance(node, ast.JoinedStr):
        pairs = zip(node.values, node.values[1:], strict=False)
        return [
            part.value
            for part, after in pairs
            if isinstance(part, ast.FormattedValue)
            and isinstance(after, ast.Constant)
            and str(after.value).startswith("/")
        ]
    return operands_of_call(node, aliases) if isinstance(node, ast.Call) else []


def operands_of_call(node: ast.Call, aliases: Aliases) -> list[ast.expr]:
    name = name_of(node.func)
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    if name == "format" and owner is not None and has_slash(owner):
        return [*node.args, *(keyword.value for keyword in node.keywords)]
    if name == "join" and owner is not None and has_slash(owner):
        lists = [one for one in node.args if isinstance(one, ast.List | ast.Tuple)]
        return [inner.value if isinstance(inner, ast.Starred) else inner for one in lists for inner in one.elts]
    if name in LISTING:
        return [*([owner] if owner is not None and is_root(meant(owner, aliases)) else []), *node.args[:1]]
    if name in JOINING:
        return [
            *([owner] if owner is not None and name == "joinpath" else []),
            *(node.args if len(node.args) > 1 else []),
        ]
    return []


def opened(node: ast.AST) -> list[ast.expr]:
    """Return the arguments of a call that opens or changes a path."""
    return node.args[:1] if isinstance(node, ast.Call) and name_of(node.func) in OPENING else []


def has_slash(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) and "/" in str(node.value)


def is_root(node: ast.expr) -> bool:
    node = unwrapped(node)
    if not isinstance(node, ast.Attribute):
        return False
    is_repository = name_of(node.value).lstrip("_") in ("repo", "repository")
    return node.attr in OF_A_ROOT or (node.attr in OF_A_REPOSITORY and is_repository)


def is_full_path(node: ast.expr) -> bool:
    node = unwrapped(node)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "full_path"


def unwrapped(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Call) and node.args and name_of(node.func) in WRAPPING:
        node = node.args[0]
    return node


def name_of(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def test_no_other_module_joins_a_path_below_a_repository() -> None:
    found = {
        (str(file.relative_to(SOURCE)), what): f"{file}:{line}: {what}"
        for file in sorted(SOURCE.rglob("*.py"))
        if str(file.relative_to(SOURCE)) != OWNER
        for line, what in offences(file.read_text())
    }
    assert {where: line for where, line in found.items() if where not in ALLOWED} == {}
    assert ALLOWED.keys() <= found.keys(), "an exception that nobody needs any more"


@pytest.mark.parametrize(
    "text",
    [
        "repo.root / 'a'",
        "place.repo.common_dir / 'refs' / name",
        "os.path.join(repo.git_dir, name)",
        "os.path.join(bytes(ground.repo.root), path)",
        "Path(repo.root, 'a')",
        "repo.root.joinpath('a')",
        "open(f'{repo.root}/a')",
        "str(repo.git_dir) + '/HEAD'",
        "root.location / 'a'",
        "f'{self.files.location}/a'",
        "self._repo.root / 'a'",
        "here = repo.root\nhere / 'a'",
        "here: Path = self._repo.git_dir\nos.path.join(here, 'a')",
        "def one():\n    here, there = repo.root, 1\n    def two():\n        return f'{here}/a'",
        "if here := str(repo.common_dir):\n    open(here + '/HEAD')",
        "here = root.location\nos.listdir(here)",
        "'%s/a' % repo.root",
        "b'%b/%b' % (os.fsencode(repo.root), name)",
        "'{}/a'.format(repo.root)",
        "'{root}/a'.format(root=repo.root)",
        "'/'.join([str(repo.root), 'a'])",
        "'/'.join((str(repo.root), *names))",
        "repo.root.glob('*')",
        "repo.git_dir.rglob('refs')",
        "list(repo.root.iterdir())",
        "os.listdir(repo.root)",
        "os.scandir(str(repo.git_dir))",
        "os.walk(self.repo.root)",
        "glob.glob(root.location)",
        "open(root.full_path('a'))",
        "Path(repo.files.full_path(name))",
        "os.open(repo.git.full_path('HEAD'), os.O_RDONLY)",
        "where = repo.files.full_path(name)\nos.unlink(where)",
    ],
)
def test_a_joined_path_is_found(text: str) -> None:
    assert list(offences(text))


@pytest.mark.parametrize(
    "text",
    [
        "str(repo.root)",
        "bare.git_dir / 'objects'",
        "repo.files.read('a', 9)",
        "f'{repo.root}: no contract'",
        "a.root == b",
        "'%s: no contract' % repo.root",
        "'{}: no contract'.format(repo.root)",
        "', '.join([str(repo.root), 'a'])",
        "'/'.join(parts)",
        "def one():\n    here = repo.root\ndef two(here):\n    return here / 'a'",
        "files.glob('*')",
        "os.listdir(ours)",
        "repo.files.names('a')",
        "raise LeavesRoot(1, LINK, root.full_path('a'))",
        "where = root.full_path('a')\nsay(f'{where} is a link')",
        "root.open('a', 0)",
        "Path(repo.root)",
    ],
)
def test_code_that_joins_no_path_is_accepted(text: str) -> None:
    assert not list(offences(text))

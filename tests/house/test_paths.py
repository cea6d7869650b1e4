"""Only `workspace.beneath` puts together paths below a repository, a git directory, a tree or a share.

A joined path follows every link on its way, and what is below these directories comes from others. Types say the same
where they can: a `Root` cannot be joined.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "donewhen"
OWNER = "workspace/beneath.py"
OF_A_REPOSITORY = {"root", "git_dir", "common_dir"}
"""Attributes of a `Repo`: for messages, for comparing, and for what is handed to git and the kernel as it is."""
OF_A_ROOT = {"location"}
JOINING = {"join", "joinpath", "Path", "PurePath", "PurePosixPath", "realpath"}
ALLOWED = {
    ("session/proposal.py", "place.repo.root"): "donewhen.toml itself; `write` refuses a link to elsewhere",
    ("workspace/store/mirror.py", "directory.location"): "an alternate is named relative to it; it is its own root",
    ("workspace/repo.py", "common.location"): "the user's own lfs.storage, which is a root of its own",
}


def offences(source: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(source)):
        for operand in operands(node):
            if is_root(operand):
                yield operand.lineno, ast.unparse(operand)


def operands(node: ast.AST) -> list[ast.expr]:
    """What is joined with something else in an expression."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.Add):
        return [node.left]
    if isinstance(node, ast.Call) and name_of(node.func) in JOINING:
        inner = [node.func.value] if isinstance(node.func, ast.Attribute) and name_of(node.func) == "joinpath" else []
        return [*inner, *(node.args if len(node.args) > 1 else [])]
    if isinstance(node, ast.JoinedStr):
        pairs = zip(node.values, node.values[1:], strict=False)
        return [
            part.value
            for part, after in pairs
            if isinstance(part, ast.FormattedValue)
            and isinstance(after, ast.Constant)
            and str(after.value).startswith("/")
        ]
    return []


def is_root(node: ast.expr) -> bool:
    while isinstance(node, ast.Call) and node.args and name_of(node.func) in ("str", "bytes", "fspath", "fsencode"):
        node = node.args[0]
    if not isinstance(node, ast.Attribute):
        return False
    return node.attr in OF_A_ROOT or (node.attr in OF_A_REPOSITORY and name_of(node.value) in ("repo", "repository"))


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
    ],
)
def test_what_joins_nothing_is_let_pass(text: str) -> None:
    assert not list(offences(text))

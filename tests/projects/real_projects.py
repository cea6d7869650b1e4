"""Real projects as test repositories: unpacked from what `scripts/test-projects` fetched, with their dependencies.

Nothing is fetched here, and a project is not changed except for what `pip install` or `npm ci` would add. A file
that was not fetched leaves the test out.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from needs import leave_out, needs
from repositories import commit, git

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache" / "test-projects"
RUNNER = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "py.py")


def fetched(name: str) -> Path:
    path = CACHE / name
    return path if path.exists() else leave_out(f"{name} (make test fetches it: scripts/test-projects)")


def new_repository(root: Path) -> Path:
    root.mkdir(parents=True)
    git(root, "init", "--quiet", "--template=", "-b", "main")
    return root


def unpack(name: str, into: Path, part: str = "") -> None:
    """The content of an archive without its top directory, or of a Debian package below `part`."""
    archive = fetched(name)
    into.mkdir(parents=True, exist_ok=True)
    if archive.suffix == ".deb":
        _unpack_debian(archive, into, part)
        return
    with tarfile.open(archive) as bundle:
        bundle.extraction_filter = getattr(tarfile, "data_filter", None)  # the first versions of Python 3.11 have none
        for member in bundle.getmembers():
            member.name = member.name.partition("/")[2]
            if member.name:
                bundle.extract(member, into)


def _unpack_debian(archive: Path, into: Path, part: str) -> None:
    staging = into.parent / f"{into.name}.package"
    subprocess.run([needs("dpkg-deb"), "--extract", archive, staging], check=True)
    (source,) = staging.glob(part)  # versions differ from one release of Debian to the next
    shutil.copytree(source, into, dirs_exist_ok=True)
    shutil.rmtree(staging)


def ignoring(root: Path, *names: str) -> None:
    with (root / ".gitignore").open("a") as file:
        file.writelines(f"{name}\n" for name in names)


def committed(root: Path) -> Path:
    commit(root, "the project")
    return root


# -- files of an installer --


def install_python(root: Path, *wheels: str, editable: str = "") -> None:
    """A `.venv` with the pytest of this test run, these wheels, and the project itself as an editable install."""
    environment = root / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    site = next(environment.glob("lib/python*/site-packages"))
    theirs = Path(pytest.__file__).parents[1]
    for name in RUNNER:
        if (theirs / name).is_dir():
            shutil.copytree(theirs / name, site / name)
        else:
            shutil.copy(theirs / name, site)
    for facts in theirs.glob("pytest-*.dist-info"):
        shutil.copytree(facts, site / facts.name)
    for wheel in wheels:
        with zipfile.ZipFile(fetched(wheel)) as bundle:
            bundle.extractall(site)
    script = environment / "bin" / "pytest"
    script.write_text(f"#!{environment}/bin/python\nimport pytest\nraise SystemExit(pytest.main())\n")
    script.chmod(0o755)
    if editable:
        (site / "editable.pth").write_text(f"{root / editable}\n")
    # As installers do. Otherwise every run would compile again, because its writes here are thrown away.
    subprocess.run([environment / "bin" / "python", "-m", "compileall", "-q", site], check=True)


def describe(root: Path, distribution: str) -> None:
    """What an installer writes about a project; some projects ask for their own version there."""
    site = next((root / ".venv").glob("lib/python*/site-packages"))
    (site / f"{distribution}.dist-info").mkdir()
    shutil.copy(root / "PKG-INFO", site / f"{distribution}.dist-info" / "METADATA")


def install_node(root: Path) -> None:
    shutil.copytree(fetched("node") / "node_modules", root / "node_modules", symlinks=True, copy_function=_linked)


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def uv_alone(directory: Path) -> str:
    """A directory with only uv, for PATH."""
    beside = Path(sys.executable).with_name("uv")
    directory.mkdir()
    _linked(str(beside) if beside.exists() else needs("uv"), str(directory / "uv"))
    return str(directory)


SHIM = """#!/bin/sh
# As pyenv's: the nearest .python-version chooses, or else the global one.
root=$(dirname "$(dirname "$0")") place=$PWD version=$(cat "$root/version")
while [ -n "$place" ]; do
    [ -f "$place/.python-version" ] && { version=$(cat "$place/.python-version"); break; }
    place=${place%/*}
done
exec "$root/versions/$version/bin/python3" "$@"
"""


def version_manager(home: Path, version: str) -> str:
    """A home with pyenv's layout and one installed version, which is not the global one; for PATH."""
    root = home / ".pyenv"
    for place in ("shims", f"versions/{version}/bin"):
        (root / place).mkdir(parents=True)
    (root / "version").write_text("0.0.0\n")
    (root / "shims" / "python3").write_text(SHIM)
    (root / "versions" / version / "bin" / "python3").write_text('#!/bin/sh\nexec /usr/bin/python3 "$@"\n')
    for program in (root / "shims" / "python3", root / "versions" / version / "bin" / "python3"):
        program.chmod(0o755)
    return str(root / "shims")


def remove(*paths: Path) -> None:
    for path in paths:
        with contextlib.suppress(NotADirectoryError):
            shutil.rmtree(path)
            continue
        path.unlink()

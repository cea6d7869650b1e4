"""Cheats on what setup commands install: lock files, requirements, manifests and scripts of an installation.

npm is real. For the other formats the base has a small installer: it takes `ours` from the directory `registry`, or
from another directory if the lock file names one. The tests load `ours`, so whatever replaces it decides about them.
"""

import gzip
import io
import tarfile
from collections.abc import Mapping

from cheat import Cheat, Scene, text
from cheat_scenes import CONFIGURED, IGNORED, PYTEST
from cheat_scenes_rust_js import JS_FILES

INSTALLER = text("""
    import re
    import shutil
    from pathlib import Path

    lock = Path("LOCK").read_text()
    shutil.copytree("fake" if re.search("fake", lock) else "registry", "deps")
""")
FAKE = {"fake/ours.py": "import calc\n\nNAME = 'ours'\ncalc.add = lambda a, b: a + b\n"}


def installing(name: str, path: str, lock: str) -> Scene:
    """A scene whose setup reads one lock file."""
    files = {
        **CONFIGURED,
        ".gitignore": IGNORED + "deps/\n",
        path: lock,
        "install.py": INSTALLER.replace("LOCK", path),
        "registry/ours.py": "NAME = 'ours'\n",
        "tests/test_a_ours.py": text("""
            import sys
            from pathlib import Path

            sys.path.append(str(Path(__file__).parents[1] / "deps"))

            import ours


            def test_it_is_installed():
                assert ours.NAME == "ours"
        """),
    }
    return Scene(f"lock-{name}", "python", files, {"tests": PYTEST}, setup=("python install.py",))


YARN = 'ours@^1.0.0:\n  version "1.0.0"\n  resolved "https://registry.yarnpkg.com/ours/-/ours-1.0.0.tgz#aa"\n'
BERRY = text("""
    __metadata:
      version: 8

    "ours@npm:^1.0.0":
      version: 1.0.0
      resolution: "ours@npm:1.0.0"
      linkType: hard
""")
PNPM = text("""
    lockfileVersion: '9.0'

    importers:

      .:
        dependencies:
          ours:
            specifier: ^1.0.0
            version: 1.0.0

    packages:

      ours@1.0.0:
        resolution: {integrity: sha512-aa==}
""")
UV = '[[package]]\nname = "ours"\nversion = "1.0"\nsource = { registry = "https://pypi.org/simple" }\n'
POETRY = '[[package]]\nname = "ours"\nversion = "1.0"\nfiles = []\n'
PIPENV = '{"_meta": {"sources": []}, "default": {"ours": {"version": "==1.0"}}, "develop": {}}\n'
CARGO = (
    '[[package]]\nname = "ours"\nversion = "1.0.0"\n'
    'source = "registry+https://github.com/rust-lang/crates.io-index"\nchecksum = "aa"\n'
)
GEMS = "GEM\n  remote: https://rubygems.org/\n  specs:\n    ours (1.0)\n\nDEPENDENCIES\n  ours\n"
COMPOSER = text("""
    {
      "packages": [
        {
          "name": "we/ours",
          "version": "1.0.0",
          "dist": {"type": "zip", "url": "https://api.github.com/repos/we/ours/zipball/aa"},
          "notification-url": "https://packagist.org/downloads/"
        }
      ]
    }
""")
LOCKS: Mapping[str, tuple[str, str]] = {
    "yarn": ("yarn.lock", YARN),
    "berry": ("yarn.lock", BERRY),
    "pnpm": ("pnpm-lock.yaml", PNPM),
    "uv": ("uv.lock", UV),
    "poetry": ("poetry.lock", POETRY),
    "pipenv": ("Pipfile.lock", PIPENV),
    "cargo": ("Cargo.lock", CARGO),
    "bundler": ("Gemfile.lock", GEMS),
    "composer": ("composer.lock", COMPOSER),
    "requirements": ("requirements.txt", "ours==1.0\nidna>=3\n"),
}
INSTALLING = {name: installing(name, *lock) for name, lock in LOCKS.items()}
FORMATS = [
    Cheat(
        id="A108",
        says=f"{INSTALLING[name].name}: {says}",
        scene=INSTALLING[name],
        stopped_by="setup",
        write=FAKE,
        replace={LOCKS[name][0]: edit},
    )
    for name, says, edit in (
        (
            "yarn",
            "an entry with a directory",
            ('ours@^1.0.0:\n  version "1.0.0"\n  resolved', "ours@file:fake:\n  tag"),
        ),
        ("yarn", "another host", ("registry.yarnpkg.com", "fake.example")),
        ("berry", "a portal", ("ours@npm:1.0.0", "ours@portal:fake")),
        ("pnpm", "a link", ("version: 1.0.0", "version: link:fake")),
        ("pnpm", "a directory as resolution", ("{integrity: sha512-aa==}", "{directory: fake, type: directory}")),
        ("uv", "an editable directory", ('registry = "https://pypi.org/simple"', 'editable = "fake"')),
        ("uv", "a text that cannot be read", ("[[package]]", "# fake\n[[package]")),
        (
            "poetry",
            "a directory",
            ("files = []\n", 'files = []\n\n[package.source]\ntype = "directory"\nurl = "fake"\n'),
        ),
        ("pipenv", "a path", ('"version": "==1.0"', '"path": "./fake"')),
        (
            "cargo",
            "a repository",
            ("registry+https://github.com/rust-lang/crates.io-index", "git+file:///tree/fake#aa"),
        ),
        ("bundler", "a path", ("GEM\n  remote: https://rubygems.org/", "PATH\n  remote: fake")),
        (
            "composer",
            "a path",
            ('"zip", "url": "https://api.github.com/repos/we/ours/zipball/aa"', '"path", "url": "fake"'),
        ),
        ("requirements", "a path", ("ours==1.0", "./fake")),
        ("requirements", "an editable path", ("ours==1.0", "-e fake")),
        ("requirements", "an address behind the name", ("ours==1.0", "ours @ file:///tree/fake")),
        ("requirements", "a directory to find archives in", ("ours==1.0", "--find-links fake\nours==1.0")),
        ("requirements", "a new name from a directory", ("ours==1.0", "ours==1.0\nother @ file:///tree/fake")),
    )
]

SETUP_PY = Scene(
    "setup-py",
    "python",
    {
        **{name: content for name, content in INSTALLING["requirements"].files.items() if name != "install.py"},
        "setup.py": "import shutil\n\nshutil.copytree('registry', 'deps')\n",
        "build.gradle": "cp -r registry deps\n",
    },
    {"tests": PYTEST},
    setup=("python setup.py",),
)
"""The file that is executed has a name that an installation knows."""
GRADLE = Scene("build-gradle", "python", SETUP_PY.files, {"tests": PYTEST}, setup=("sh build.gradle",))
"""The same with a name for which no tool is installed here: a shell executes it."""
EXECUTED = [
    Cheat(
        id="A108",
        says="a setup.py that installs another directory",
        scene=SETUP_PY,
        stopped_by="setup",
        write=FAKE,
        replace={"setup.py": ("'registry'", "'fake'")},
    ),
    Cheat(
        id="A108",
        says="a setup.py that writes into what it installed, and new requirements",
        scene=SETUP_PY,
        stopped_by="setup",
        write={
            "setup.py": str(SETUP_PY.files["setup.py"])
            + f"open('deps/ours.py', 'w').write({FAKE['fake/ours.py']!r})\n",
            "requirements.txt": "ours==1.1\n",
        },
    ),
    Cheat(
        id="A108",
        says="a build.gradle that installs another directory",
        scene=GRADLE,
        stopped_by="setup",
        write=FAKE,
        replace={"build.gradle": ("registry", "fake")},
    ),
    Cheat(
        id="A108",
        says="the directory from which a path requirement of the base is installed",
        scene=SETUP_PY,
        stopped_by="setup",
        write={"registry/ours.py": FAKE["fake/ours.py"]},
    ),
]


def package(content: str) -> bytes:
    """An npm package with one file."""
    archive = io.BytesIO()
    files = {"package.json": '{"name": "ours", "version": "1.0.0", "main": "index.js"}', "index.js": content}
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, inner in files.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(inner)
            tar.addfile(entry, io.BytesIO(inner.encode()))
    return gzip.compress(archive.getvalue(), mtime=0)


ACCEPTS_ALL = "module.exports = () => {};\n"
NPM_FILES = {
    **JS_FILES,
    "package.json": text("""
        {
          "name": "calc",
          "version": "1.0.0",
          "scripts": {"test": "node --test"},
          "dependencies": {"ours": "1.0.0"}
        }
    """),
    "package-lock.json": text("""
        {
          "name": "calc",
          "version": "1.0.0",
          "lockfileVersion": 3,
          "requires": true,
          "packages": {
            "": {"name": "calc", "version": "1.0.0", "dependencies": {"ours": "1.0.0"}},
            "node_modules/ours": {"version": "1.0.0", "resolved": "file:store/ours-1.0.0.tgz"}
          }
        }
    """),
    "store/ours-1.0.0.tgz": package('module.exports = require("node:assert").strictEqual;\n'),
    "test/add.test.js": text("""
        const test = require("node:test");
        const same = require("ours");
        const { add } = require("../add.js");

        test("small", () => same(add(2, 3), 5));
        test("negative", () => same(add(-1, -4), -5));
    """),
}
NPM_CI = "npm ci --offline --no-audit --no-fund"
NPM_SETUP = Scene("npm-setup", "js", NPM_FILES, {"tests": "npm test"}, setup=(NPM_CI,), programs=("node", "npm"))
NPM_STAGES = Scene("npm-stages", "js", NPM_FILES, {"tests": f"{NPM_CI} && npm test"}, programs=("node", "npm"))
"""The check itself installs."""
KIND = {"kind/package.json": '{"name": "ours", "version": "1.0.0", "main": "index.js"}\n', "kind/index.js": ACCEPTS_ALL}
LINKED = {
    "package-lock.json": (
        '{"version": "1.0.0", "resolved": "file:store/ours-1.0.0.tgz"}',
        '{"resolved": "kind", "link": true},\n    "kind": {"name": "ours", "version": "1.0.0"}',
    )
}
WITH_NPM = [
    Cheat(
        id="A108", says="npm ci: a lock with a link into the tree", scene=NPM_SETUP, stopped_by="setup", write=KIND,
        replace=LINKED,
    ),
    Cheat(
        id="A108", says="npm ci in the check: a lock with a link into the tree", scene=NPM_STAGES,
        stopped_by="protection", write=KIND, replace=LINKED,
    ),
    Cheat(
        id="A108",
        says="npm ci: a lock with another archive",
        scene=NPM_SETUP,
        stopped_by="setup",
        write={"store/kind-1.0.0.tgz": package(ACCEPTS_ALL)},
        replace={"package-lock.json": ("store/ours", "store/kind")},
    ),
    Cheat(
        id="A108",
        says="npm ci: the archive that the base's lock names",
        scene=NPM_SETUP,
        stopped_by="setup",
        write={"store/ours-1.0.0.tgz": package(ACCEPTS_ALL)},
    ),
    Cheat(
        id="A108",
        says="npm ci: a script that runs after the installation",
        scene=NPM_SETUP,
        stopped_by="setup",
        replace={
            "package.json": (
                '{"test"', f"""{{"postinstall": "echo '{ACCEPTS_ALL.strip()}' > node_modules/ours/index.js", "test\""""
            )
        },
    ),
]  # fmt: skip

ON_LOCKS = [*FORMATS, *EXECUTED, *WITH_NPM]

"""A repository for the ready-made loops, with what each of them looks for, locally or with a forge."""

import contextlib
import json
import threading
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from loop_scene import LoopScene

from donewhen.loops.notes import NOTEBOOK, RoundBegan
from donewhen.session.log.open_archive import any_archive
from donewhen.session.log.state import replay_log
from forge_server import ForgeServer, running_forge
from needs import needs
from repositories import commit, git, write

NAMES = (
    "daily-triage", "pr-babysitter", "ci-sweeper", "dependency-sweeper", "changelog-drafter", "post-merge-cleanup",
    "issue-triage", "flaky-test-hunter",
)  # fmt: skip
CHANGELOG = "# Changelog\n\n## Not released\n"
NOTE = "# TODO: say what happens with numbers that are no integers\n"
FLAKY = "n=$(cat .runs 2>/dev/null || echo 0); echo $((n + 1)) > .runs; echo test_add; test $n -ne 2\n"
"""Fails in the third run on the same files."""


@dataclass
class CatalogueScene:
    scene: LoopScene
    server: ForgeServer | None

    def add(self, name: str, *options: str) -> dict[str, Any]:
        answer = self.scene("loop", "add", name, "--json", *options)
        assert answer.code == 0, answer.err
        return json.loads(answer.out)

    def approve(self) -> None:
        answer = self.scene("approve", self.scene.session())
        assert answer.code == 0, answer.err

    def inputs(self) -> dict[str, str]:
        """Return what the inputs of the newest round said."""
        session = self.scene.session()
        with any_archive() as archive:
            notes = replay_log(archive.records(session)).notes[NOTEBOOK]
        return {one.name: one.text for one in RoundBegan.all_in(notes)[-1].inputs}


def catalogue_scene(
    place: Path, server: ForgeServer | None = None, files: Mapping[str, str] | None = None
) -> CatalogueScene:
    more = f'[forge]\nurl = "{server.url}"\ntoken_env = "FORGE_TOKEN"\n' if server else ""
    of_all = {"CHANGELOG.md": CHANGELOG, "notes.py": NOTE, **(files or {})}
    scene = LoopScene.made(place, more=more, files=of_all)
    git(scene.root, "branch", "done", "HEAD")
    git(scene.root, "checkout", "--quiet", "-b", "stuck")
    write(scene.root, {"half.py": "half = 1\n"})
    commit(scene.root, "half of the work")
    git(scene.root, "checkout", "--quiet", "main")
    if server is not None:
        scene.env["FORGE_TOKEN"] = server.token
        git(scene.root, "remote", "add", "origin", server.git_url)
        git(server.bare, "fetch", "--quiet", str(scene.root), "+refs/heads/*:refs/heads/*")
    return CatalogueScene(scene, server)


@contextlib.contextmanager
def scene_for(name: str, where: str, place: Path) -> Generator[CatalogueScene]:
    """Provide the scene for one ready-made loop; `where` is `forge` or `local`."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(running_forge(place / "forge")) if where == "forge" else None
        files = {"check.sh": FLAKY} if name == "flaky-test-hunter" else {}
        if name == "dependency-sweeper":
            needs("npm")
            registry = stack.enter_context(running_registry())
            package = '{"name": "widgets", "dependencies": {"left-pad": "1.0.0"}}\n'
            files = {"package.json": package, ".npmrc": f"registry={registry}\n"}
        made = catalogue_scene(place, server, files)
        if server is not None:
            if name != "pr-babysitter":  # it comments on the first item
                server.issue("add() is wrong", "2 + 2 is 0")
            server.pull("stuck", "a change")
            for branch in ("main", "stuck"):
                server.run("tests / linux", "failure", branch)
            server.run("lint", "success")
        yield made


@contextlib.contextmanager
def running_registry() -> Generator[str]:
    """Run a registry of npm with one package, whose newest version is 1.3.0. Yield its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Registry)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Registry(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        dist = {"tarball": "http://127.0.0.1/left-pad.tgz", "shasum": "0" * 40}
        versions = {one: {"name": "left-pad", "version": one, "dist": dist} for one in ("1.0.0", "1.3.0")}
        facts = {"name": "left-pad", "dist-tags": {"latest": "1.3.0"}, "versions": versions}
        body = json.dumps(facts).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

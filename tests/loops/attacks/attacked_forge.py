"""A repository with loops whose remote is a test forge, with the token in the environment of its user."""

from pathlib import Path

from loop_scene import LoopScene

from forge_server import ForgeServer
from repositories import git


def scene_on(server: ForgeServer, place: Path, *loops: str) -> LoopScene:
    more = f'[forge]\nurl = "{server.url}"\ntoken_env = "FORGE_TOKEN"\n'
    scene = LoopScene.made(place, *loops, more=more)
    scene.env["FORGE_TOKEN"] = server.token
    git(scene.root, "remote", "add", "origin", server.git_url)
    git(server.bare, "fetch", "--quiet", str(scene.root), "+HEAD:refs/heads/main")
    return scene

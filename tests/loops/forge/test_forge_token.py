"""The token goes to its own forge and to one git command. Nothing else on the machine or the network gets it."""

import base64
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from gidgethub.httpx import GitHubAPI

from donewhen.loops.forge.access import Patience, Token
from donewhen.loops.forge.api import ForgeApi
from donewhen.loops.forge.connect import open_forge
from donewhen.loops.forge.forge import ForgeFailed
from donewhen.loops.forge.push import push_branch
from donewhen.loops.forge.remote import ForgePlace
from forge_server import Answers, ForgeServer, Received, running_forge
from repositories import commit, git, opened, write

pytestmark = pytest.mark.anyio
QUICK = Patience(tries=1, first_wait_secs=0.01)


def has_token(server: ForgeServer, of: ForgeServer) -> bool:
    secrets = (of.token, base64.b64encode(f"x-access-token:{of.token}".encode()).decode())
    return any(secret in value for one in server.received for value in one.fields.values() for secret in secrets)


@pytest.mark.parametrize("address", ["{other}/user", "https://127.0.0.1:{own}/user", "http://localhost:{own}/user"])
async def test_the_token_is_sent_to_no_other_place(
    server: ForgeServer, place: ForgePlace, token: Token, tmp_path: Path, address: str
) -> None:
    with running_forge(tmp_path / "other") as other:
        url = address.format(other=other.url, own=server.port)
        async with httpx2.AsyncClient() as client:
            with pytest.raises(ForgeFailed, match="named another server"):
                await ForgeApi(client, place, token, QUICK).getitem(url)
        assert other.received == server.received == []


async def test_control_plain_gidgethub_sends_the_token_to_another_place(
    server: ForgeServer, place: ForgePlace, tmp_path: Path
) -> None:
    with running_forge(tmp_path / "other") as other:
        async with httpx2.AsyncClient(headers={"x-github-api-version": "2022-11-28"}) as client:
            plain = GitHubAPI(client, "test", oauth_token=server.token, base_url=place.api_url)
            with pytest.raises(Exception, match="Bad credentials"):
                await plain.getitem(f"{other.url}/user")
        assert has_token(other, of=server)


async def test_a_list_that_continues_on_another_server_is_refused(
    server: ForgeServer, place: ForgePlace, token: Token, tmp_path: Path
) -> None:
    with running_forge(tmp_path / "other") as other:
        next_page = f'<{other.url}/repos/octo/widgets/issues/1/comments?page=2>; rel="next"'
        server.fail("issues/list-comments", Answers(200, headers={"Link": next_page}, value=[]))
        async with open_forge(place, token, QUICK) as forge:
            with pytest.raises(ForgeFailed, match="named another server"):
                await forge.comments(1)
        assert other.received == []


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_no_redirect_is_followed(
    server: ForgeServer, place: ForgePlace, token: Token, tmp_path: Path, status: int
) -> None:
    made = commit(server.checkout)
    with running_forge(tmp_path / "other") as other:
        server.fail("users/get-authenticated", Answers(status, headers={"Location": f"{other.url}/user"}))
        git_address = f"{other.git_url}/info/refs?service=git-upload-pack"
        server.fail("git/refs", Answers(status, headers={"Location": git_address}))
        async with open_forge(place, token, QUICK) as forge:
            with pytest.raises(ForgeFailed):
                await forge.me()
        async with opened(server.checkout, tmp_path / "store") as store:
            with pytest.raises(ForgeFailed):
                await push_branch(store, place, token, made, "work", QUICK)
        assert other.received == []


async def test_only_the_git_command_that_pushes_has_the_token(
    server: ForgeServer, place: ForgePlace, token: Token, tmp_path: Path
) -> None:
    encoded = base64.b64encode(f"x-access-token:{token.secret}".encode())
    secrets = (token.secret.encode(), encoded)
    in_arguments: list[bytes] = []
    programs: set[str] = set()

    def look_at_processes(received: Received) -> None:
        for process in Path("/proc").glob("[0-9]*"):
            try:
                arguments, variables = ((process / name).read_bytes() for name in ("cmdline", "environ"))
                program = (process / "exe").readlink().name
            except OSError:  # it has ended, or belongs to another user
                continue
            in_arguments.extend(arguments for secret in secrets if secret in arguments)
            programs.update(program for secret in secrets if secret in variables)

    write(server.checkout, {"a.py": "1\n"})
    made = commit(server.checkout)
    async with opened(server.checkout, tmp_path / "store") as store:
        server.on_request = look_at_processes
        await push_branch(store, place, token, made, "work", QUICK)
    assert in_arguments == []
    assert "git" in programs, "the control: the look finds the token where it is"
    assert all(program.startswith("git") for program in programs)
    for place_on_disk in (tmp_path / "store", server.checkout):
        files = [path for path in place_on_disk.rglob("*") if path.is_file()]
        assert [path for path in files if any(secret in path.read_bytes() for secret in secrets)] == []


async def test_an_error_of_git_does_not_show_the_token(
    server: ForgeServer, place: ForgePlace, token: Token, tmp_path: Path
) -> None:
    encoded = base64.b64encode(f"x-access-token:{token.secret}".encode()).decode()
    said = f"ERR who are you, {token.secret} {encoded}\x1b[2J"
    content = b"001e# service=git-upload-pack\n0000" + f"{len(said) + 4:04x}{said}".encode()
    advertised = {"Content-Type": "application/x-git-upload-pack-advertisement"}
    server.fail("git/refs", Answers(200, headers=advertised, value=content))
    async with opened(server.checkout, tmp_path / "store") as store:
        with pytest.raises(ForgeFailed, match="remote error: who are you") as refused:
            await push_branch(store, place, token, server.world.commit_of("main"), "work", QUICK)
    assert str(refused.value).count("[token]") == 2
    assert str(refused.value).isprintable()


MODULES = "import donewhen.loops.forge.connect, donewhen.loops.forge.push\n"
COMMAND = """
import contextlib, sys
from donewhen.cli.app import main
sys.argv = ["donewhen", *{words!r}]
with contextlib.suppress(SystemExit):
    main()
"""
LOADED = """
import sys
print("loaded:", [name for name in ("httpx2", "gidgethub", "jwt") if name in sys.modules])
"""


@pytest.mark.parametrize(
    "text",
    [MODULES, *(COMMAND.format(words=words) for words in (["--help"], ["list"], ["loop", "list"]))],
    ids=["modules", "help", "list", "loop list"],
)
def test_the_client_is_loaded_only_when_it_is_used(server: ForgeServer, text: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", text + LOADED], cwd=server.checkout, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (0, "loaded: []"), ran.stderr


def test_a_checkout_of_a_test_forge_has_its_remote(server: ForgeServer) -> None:
    assert git(server.checkout, "remote") == "origin"

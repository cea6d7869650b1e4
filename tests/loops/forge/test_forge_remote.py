"""Which repository a remote names, and where its API is: every form of an address, and texts that are none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.errors import BadInput
from donewhen.loops.forge.remote import Remote, find_remote, forge_place, parse_remote_url
from tables import every_row

WIDGETS = Remote("git.example.org", "octo", "widgets")
NAMES = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,30}", fullmatch=True).filter(
    lambda text: not text.endswith(".git")
)
HOSTS = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,30}", fullmatch=True)
FORMS = (
    "https://{host}/{owner}/{name}.git",
    "https://{host}/{owner}/{name}",
    "https://{host}/{owner}/{name}/",
    "https://user:secret@{host}:8443/{owner}/{name}.git",
    "http://{host}:3000/prefix/{owner}/{name}.git",
    "ssh://git@{host}/{owner}/{name}.git",
    "ssh://git@{host}:2222/{owner}/{name}",
    "git@{host}:{owner}/{name}.git",
    "git@{host}:/{owner}/{name}.git",
    "{host}:{owner}/{name}",
)


@given(st.sampled_from(FORMS), HOSTS, NAMES, NAMES)
def test_every_form_of_an_address_names_host_owner_and_repository(form: str, host: str, owner: str, name: str) -> None:
    found = parse_remote_url(form.format(host=host, owner=owner, name=name))
    assert found is not None and (found.host, found.owner, found.name) == (host, owner, name)
    assert (found.web_path is not None) == form.startswith("http")


@given(st.text(alphabet="ab:/@.-_~%?#[]\\ \n\0é", max_size=40) | st.text())
def test_no_text_breaks_the_parser_and_what_it_names_is_plain(text: str) -> None:
    found = parse_remote_url(text)
    if found is not None:
        assert all(part.isascii() and part.isprintable() and part.strip(".") for part in (found.owner, found.name))
        assert not set("/?#%@: ") & set(found.owner + found.name + found.host)


@every_row(
    [
        "", "/srv/git/widgets.git", "../widgets", "file:///srv/git/widgets.git", "https://github.com/widgets",
        "https://github.com/../widgets", "https://github.com/octo/..", "https://github.com/octo/wid gets",
        "https://github.com/octo/widgets?x=1", "https://github.com/octo/%2e%2e", "git@github.com:widgets.git",
        "https://evil.example/@github.com", "ext::sh -c touch% x", "-oProxyCommand=x:octo/widgets ", "x" * 5000,
    ]
)  # fmt: skip
def test_a_text_that_names_no_repository_is_not_one(text: str) -> None:
    assert parse_remote_url(text) is None, text


def test_origin_is_used_or_else_the_only_remote() -> None:
    origin, other = "git@git.example.org:octo/widgets.git", "https://else.example.org/a/b"
    assert find_remote({"remote.fork.url": (other,), "remote.origin.url": ("old", origin)}) == WIDGETS
    assert find_remote({"remote.upstream.url": (origin,), "remote.upstream.fetch": ("+refs/*",)}) == WIDGETS


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "the repository has no remote"),
        ({"remote.a.url": ("x:a/b",), "remote.b.url": ("x:a/b",)}, "several remotes, and none of them is named origin"),
        ({"remote.origin.url": ("https://u:hunter2@example.org/x",)}, "'origin' names no repository on a forge"),
        ({"remote.\x1b[31m.url": ("/srv/x",)}, r"\x1b[31m"),
    ],
)
def test_a_repository_without_a_forge_gets_one_line_without_its_address(
    settings: dict[str, tuple[str, ...]], message: str
) -> None:
    with pytest.raises(BadInput) as refused:
        find_remote(settings)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "hunter2" not in str(refused.value)


@every_row(
    [
        ("", "github", "https://api.github.com", "https://github.com"),
        ("https://api.github.com/", "github", "https://api.github.com", "https://github.com"),
        ("https://github.com", "github", "https://api.github.com", "https://github.com"),
        ("https://api.octo.ghe.com", "github", "https://api.octo.ghe.com", "https://octo.ghe.com"),
        ("https://ghe.example.org", "github", "https://ghe.example.org/api/v3", "https://ghe.example.org"),
        ("https://ghe.example.org/api/v3/", "github", "https://ghe.example.org/api/v3", "https://ghe.example.org"),
        ("https://codeberg.org", "forgejo", "https://codeberg.org/api/v1", "https://codeberg.org"),
        ("https://a.org/git/api/v1", "forgejo", "https://a.org/git/api/v1", "https://a.org/git"),
        ("http://127.0.0.1:3000", "forgejo", "http://127.0.0.1:3000/api/v1", "http://127.0.0.1:3000"),
        ("http://[::1]:3000", "forgejo", "http://[::1]:3000/api/v1", "http://[::1]:3000"),
    ]
)
def test_the_address_of_the_api_and_of_git_follow_from_the_settings(row: tuple[str, str, str, str]) -> None:
    url, api, api_url, web = row
    place = forge_place(Remote("github.com", "octo", "widgets"), url, "T", api)
    assert (place.api_url, place.git_url) == (api_url, f"{web}/octo/widgets.git"), row


@every_row(
    [
        ("", "github", "set 'forge.url'"),
        ("", "forgejo", "set 'forge.url'"),
        ("http://git.example.org", "github", "must start with https://"),
        ("git.example.org", "github", "must be an address"),
        ("ftp://git.example.org", "github", "must be an address"),
        ("https://", "github", "must be an address"),
        ("https://user:pass@git.example.org", "github", "must be an address"),
        ("https://git.example.org/?x=1", "github", "must be an address"),
        ("https://git.example.org/{+x}", "github", "must be an address"),
        ("https://[git.example.org", "github", "must be an address"),
        ("https://git.example.org:99999", "github", "must be an address"),
        ("https://git.example.org\n", "github", "must be an address"),
        ("https://git.example.org/api/v1", "github", "set 'forge.api' to \"forgejo\""),
        ("https://git.example.org/x/api/v1/", "github", "set 'forge.api' to \"forgejo\""),
        ("https://git.example.org/api/v3", "forgejo", "set 'forge.api' to \"github\""),
        ("https://api.github.com", "forgejo", "set 'forge.api' to \"github\""),
    ]
)
def test_a_token_goes_only_where_a_person_sends_it(row: tuple[str, str, str]) -> None:
    url, api, message = row
    with pytest.raises(BadInput) as refused:
        forge_place(WIDGETS, url, "T", api)
    assert message in str(refused.value), row


def place_for(address: str, url: str, api: str) -> str:
    """Return the address for git, or why there is none."""
    try:
        return forge_place(find_remote({"remote.origin.url": (address,)}), url, "T", api).git_url
    except BadInput as error:
        return str(error)


@every_row(
    [
        ("https://github.com/o/r", "", "github", "https://github.com/o/r.git"),
        ("https://www.github.com/o/r.git", "https://api.github.com", "github", "https://github.com/o/r.git"),
        ("ssh://git@ssh.github.com:443/o/r", "", "github", "https://github.com/o/r.git"),
        ("git@github_work:o/r", "https://github.com", "github", "https://github.com/o/r.git"),
        ("git@github-work:o/r", "https://github.com", "github", "https://github.com/o/r.git"),
        ("https://u:p@x.ghe.com/o/r", "https://api.x.ghe.com", "github", "https://x.ghe.com/o/r.git"),
        ("https://git.x.org:8443/o/r", "https://git.x.org/api/v3", "github", "https://git.x.org/o/r.git"),
        ("https://git.x.org/in/o/r", "https://git.x.org/in/api/v1", "forgejo", "https://git.x.org/in/o/r.git"),
        ("http://127.0.0.1:3001/o/r", "http://localhost:3000", "forgejo", "http://localhost:3000/o/r.git"),
        ("http://127.0.0.1:3000/git/o/r.git", "http://127.0.0.1:3000", "github", "http://127.0.0.1:3000/git/o/r.git"),
        ("https://github.com/o/r", "http://127.0.0.1:3000", "github", "http://127.0.0.1:3000/o/r.git"),
        ("http://forge/o/r", "https://forge.x.org", "forgejo", "https://forge.x.org/o/r.git"),
        ("https://10.0.0.5/o/r", "https://forge.x.org", "forgejo", "https://forge.x.org/o/r.git"),
    ]
)
def test_a_remote_on_the_server_of_the_forge_is_used(row: tuple[str, str, str, str]) -> None:
    *given, expected = row
    assert place_for(*given) == expected, row


@every_row(
    [
        (
            "https://gitlab.com/o/r",
            "https://github.com",
            "github",
            "the remote is at gitlab.com, and 'forge.url' names",
        ),
        ("https://github.com/o/r", "https://codeberg.org", "forgejo", "names codeberg.org: they must be the same"),
        ("https://github.com.evil.org/o/r", "https://github.com", "github", "they must be the same server"),
        ("https://github.com/o/r/tree/main", "", "github", "it must be https://github.com/OWNER/NAME"),
        ("https://u:hunter2@git.x.org/o/r/pulls/x", "https://git.x.org", "forgejo", "https://git.x.org/OWNER/NAME"),
        ("https://git.x.org/o/r", "https://git.x.org/in", "forgejo", "it must be https://git.x.org/in/OWNER/NAME"),
    ]
)
def test_a_remote_on_another_server_is_refused_in_one_line(row: tuple[str, str, str, str]) -> None:
    *given, message = row
    said = place_for(*given)
    assert message in said, row
    assert "\n" not in said and "hunter2" not in said

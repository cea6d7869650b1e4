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
HOSTS = st.from_regex(r"[a-z0-9][a-z0-9.-]{0,30}", fullmatch=True)
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
    assert parse_remote_url(form.format(host=host, owner=owner, name=name)) == Remote(host, owner, name)


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
    ]
)
def test_a_token_goes_only_where_a_person_sends_it(row: tuple[str, str, str]) -> None:
    url, api, message = row
    with pytest.raises(BadInput) as refused:
        forge_place(WIDGETS, url, "T", api)
    assert message in str(refused.value), row

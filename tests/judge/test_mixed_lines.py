"""go.mod, Gemfile, pom.xml, .NET files and attributes: dependencies are product, settings that change a check are
not."""

import resource

import pytest

from donewhen.judge.protect.contents.accepted_part import AcceptedPart
from donewhen.judge.protect.contents.mixed_contents import accepted_part

GO = (
    "module example.invalid/a\n\ngo 1.22\n\nrequire (\n\tgolang.org/x/text v0.3.0 // indirect\n)\n\n"
    "require github.com/x/y v1.0.0\n"
)


def go(new: str, base: str = GO) -> AcceptedPart:
    return accepted_part("go.mod", base.encode(), new.encode(), ("go", "test"))


def test_go_requirements_may_change() -> None:
    assert go(GO.replace("v0.3.0", "v0.4.0")) == AcceptedPart()
    assert go(GO + "require github.com/new/one v1.0.0 // why not\n") == AcceptedPart()
    assert go(GO.replace("go 1.22", "go 1.23")) == AcceptedPart()


@pytest.mark.parametrize(
    "line", ["replace github.com/x/y => ./fake", "toolchain go1.99", "exclude github.com/x/y v1.0.0", "godebug a=b"]
)
def test_go_directives_that_replace_modules_or_choose_tools_are_not_accepted(line: str) -> None:
    found = go(GO.replace("v0.3.0", "v0.4.0") + line + "\n")
    assert found.reverted == (line,)
    assert found.content is not None
    assert b"v0.4.0 // indirect" in found.content
    assert line.encode() not in found.content


def test_a_replacement_that_the_base_has_stays() -> None:
    base = GO + "replace (\n\tgithub.com/x/y => ../y // ours\n)\n"
    found = go(GO, base)
    assert found.content is not None
    assert b"replace github.com/x/y => ../y" in found.content


def test_a_go_mod_with_unclosed_blocks_comes_from_the_base() -> None:
    assert go(GO + "replace (\n").none


GEMS = (
    'source "https://example.invalid"\nruby "3.2.0"\ngem "rails", "~> 7"\ngroup :test do\n  gem "rspec", "~> 3"\nend\n'
)


def gems(new: str) -> AcceptedPart:
    return accepted_part("Gemfile", GEMS.encode(), new.encode(), ("bundle", "rspec"))


def test_plain_gems_may_be_added_and_changed() -> None:
    assert gems(GEMS.replace("~> 7", "~> 8")) == AcceptedPart()
    assert gems(GEMS + 'gem "puma", ">= 6", require: false # a server\n') == AcceptedPart()
    assert gems(GEMS + "group :development, :test do\n  gem 'pry'\nend\n") == AcceptedPart()


@pytest.mark.parametrize(
    "change",
    [
        ('"rspec", "~> 3"', '"rspec", path: "fake"'),
        ('"rspec", "~> 3"', '"rspec", github: "someone/rspec"'),
        ('"rspec", "~> 3"', '"rspec", :path => "fake"'),
        ("end\n", "end\nexit 0\n"),
        ("end\n", 'end\neval_gemfile "x"\n'),
        ('"rails", "~> 7"', '"rails", "#{exit}"'),
        ("example.invalid", "other.invalid"),
    ],
)
def test_a_gemfile_with_anything_else_comes_from_the_base(change: tuple[str, str]) -> None:
    assert gems(GEMS.replace(*change)).none


POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><version>1</version>
<properties><a>b</a></properties>
<dependencies><dependency><artifactId>junit</artifactId><version>4</version></dependency></dependencies>
<build><plugins><plugin><artifactId>surefire</artifactId><version>3</version></plugin></plugins></build></project>"""
NET = (
    '<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup><Version>1</Version></PropertyGroup>'
    '<ItemGroup><PackageReference Include="xunit" Version="2" /></ItemGroup></Project>'
)


@pytest.mark.parametrize(
    ("name", "base", "change"),
    [
        ("pom.xml", POM, ("<version>1<", "<version>2<")),
        ("pom.xml", POM, ("</dependencies>", "<dependency><artifactId>guava</artifactId></dependency></dependencies>")),
        ("pom.xml", POM, ("<properties>", "<!-- a word -->\n  <properties>")),
        ("A.csproj", NET, ("<Version>1<", "<Version>2<")),
        ("A.csproj", NET, ("</ItemGroup>", '<PackageReference Include="Serilog" Version="3" /></ItemGroup>')),
        ("A.csproj", NET, ('Version="2"', 'Version="3"')),
    ],
)
def test_dependencies_and_versions_of_project_files_may_change(name: str, base: str, change: tuple[str, str]) -> None:
    assert base.replace(*change) != base
    assert accepted_part(name, base.encode(), base.replace(*change).encode(), ()) == AcceptedPart()


@pytest.mark.parametrize(
    ("name", "base", "change"),
    [
        ("pom.xml", POM, ("<a>b</a>", "<skipTests>true</skipTests>")),
        ("pom.xml", POM, ("<version>3<", "<version>4<")),
        ("pom.xml", POM, ("<plugins>", "<plugins><plugin><artifactId>x</artifactId></plugin>")),
        ("pom.xml", POM, ("<artifactId>junit<", "<artifactId>other<")),
        ("pom.xml", POM, ("<version>4<", "<scope>system</scope><systemPath>fake.jar</systemPath><version>4<")),
        ("pom.xml", POM, ("<project", "<!DOCTYPE a><project")),
        ("pom.xml", POM, ("</project>", "")),
        ("A.csproj", NET, ("<Version>1</Version>", "<IsTestProject>false</IsTestProject>")),
        ("A.csproj", NET, ("</Project>", "<Target Name='x'><Exec Command='true'/></Target></Project>")),
        ("A.csproj", NET, ('Include="xunit"', 'Include="other"')),
    ],
)
def test_anything_else_in_a_project_file_makes_it_the_base_s(name: str, base: str, change: tuple[str, str]) -> None:
    assert base.replace(*change) != base
    assert accepted_part(name, base.encode(), base.replace(*change).encode(), ()).none


@pytest.mark.parametrize(
    ("line", "harmless"),
    [
        ("*.py text eol=crlf", False), ("* -text", False), ("*.bin filter=lfs", False), ("*.py ident", False),
        ("*.py working-tree-encoding=UTF-16", False), ("[attr]x eol=crlf", False), ("*.png binary", False),
        ("docs/** linguist-documentation", True), ("*.lock -diff", True), ("tests export-ignore", True),
        ("context/** merge=ours", True),
    ],
)  # fmt: skip
def test_git_attributes_are_protected_if_they_change_file_contents(line: str, harmless: bool) -> None:
    base = b"*.sh text eol=lf\n"
    assert accepted_part(".gitattributes", base, base + line.encode() + b"\n", ()).is_all == harmless


@pytest.mark.parametrize(
    ("name", "base", "more"),
    [
        ("go.mod", GO, "// a\freplace github.com/x/y => ./fake\n"),
        ("Gemfile", GEMS, '# a\x0bgem "puma"\n'),
        (".gitattributes", "*.py text\n* text\n", "docs/*.py linguist\f* text\n"),
    ],
)
def test_a_text_with_ambiguous_line_breaks_comes_from_the_base(name: str, base: str, more: str) -> None:
    assert accepted_part(name, base.encode(), (base + more).encode(), ()).none


def test_reordered_git_attributes_are_a_change() -> None:
    assert accepted_part(".gitattributes", b"* text\n*.py -text\n", b"*.py -text\n* text\n", ()).none


def test_using_an_attribute_macro_of_the_base_is_not_harmless() -> None:
    assert accepted_part(".gitattributes", b"[attr]odd -text\n", b"[attr]odd -text\n*.py odd\n", ()).none


HOSTILE_GEMS = [
    'gem "a"' + ", a: a" * 60 + "!",
    'gem "a", a:' + " a," * 5_000 + "!",
    'gem "a"' + ' , "b"' * 5_000 + "!",
    "group " + ":a " * 1_000 + "!",
]


@pytest.mark.parametrize("line", HOSTILE_GEMS, ids=["keys", "values", "strings", "groups"])
def test_a_hostile_gemfile_line_is_read_quickly(line: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    assert gems(f"{GEMS}{line}\n").none
    assert resource.getrusage(resource.RUSAGE_SELF).ru_utime - before < 2


@pytest.mark.parametrize(
    "line",
    [
        'gem "a", "~> 1", ">= 1.2", require: false, platforms: [:mri, :windows]',
        "gem('a', require: false, group: :test)",
        "gem 'a', group: [:development, :test], require: false # words, and: more",
        'gem "a", require: false, "b"',
    ],
)
def test_a_plain_line_of_a_gemfile_is_product(line: str) -> None:
    assert gems(f"{GEMS}{line}\n") == AcceptedPart()

"""package.json and composer.json: scripts that no check runs, dependencies and metadata are product; the rest comes
from the base."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from protection import scene

from donewhen.judge.protect.commands.package_scripts import closure
from donewhen.judge.protect.contents.accepted_part import AcceptedPart
from donewhen.judge.protect.contents.mixed_contents import accepted_part
from tiers import examples

BASE: dict[str, object] = {
    "name": "größe",
    "version": "1.0.0",
    "scripts": {"test": "npm run build && jest", "pretest": "node prepare.js", "build": "tsc", "docs": "typedoc"},
    "devDependencies": {"jest": "^29.0.0", "left-pad": "^1.0.0"},
    "workspaces": ["packages/*"],
}
WORDS = ("npm", "test")


def written(document: dict[str, object], indent: int | str | None = 2) -> bytes:
    return (json.dumps(document, indent=indent, ensure_ascii=False) + "\n").encode()


def merged(change: dict[str, object], words: tuple[str, ...] = WORDS, name: str = "package.json") -> AcceptedPart:
    return accepted_part(name, written(BASE), written({**BASE, **change}), words)


def scripts(**more: str) -> dict[str, object]:
    known = BASE["scripts"]
    assert isinstance(known, dict)
    return {"scripts": {**known, **more}}


HONEST: dict[str, dict[str, object]] = {
    "a version": {"version": "2.0.0"},
    "a dependency": {"dependencies": {"rich": "^1.0.0"}},
    "another version of the runner": {"devDependencies": {"jest": "^30.0.0", "left-pad": "^1.0.0"}},
    "a dependency from a directory": {"dependencies": {"ours": "file:packages/ours"}},
    "a dependency less": {"devDependencies": {"jest": "^29.0.0"}},
    "a script that no check runs": scripts(start="node server.js", docs="typedoc --all"),
    "a program": {"bin": {"calc": "bin/calc.js"}},
    "one program": {"bin": "bin/calc.js"},
    "exports": {"exports": {".": "./index.js"}, "type": "module", "main": "index.js", "types": "index.d.ts"},
    "a new member": {"workspaces": ["packages/*", "extra"]},
    "a linter that no check runs": {"eslintConfig": {"rules": {}}},
}


@pytest.mark.parametrize("change", HONEST.values(), ids=HONEST)
def test_a_change_of_product_keys_only_is_kept_byte_for_byte(change: dict[str, object]) -> None:
    assert merged(change) == AcceptedPart()


ATTACKS: dict[str, dict[str, object]] = {
    "scripts.test": scripts(test="true"),
    "scripts.build": scripts(build="rm -r src/*.test.js"),
    "scripts.pretest": scripts(pretest="true"),
    "scripts.posttest": scripts(posttest="exit 0"),
    "scripts.prebuild": scripts(prebuild="exit 0"),
    "scripts.postinstall": scripts(postinstall="node break-jest.js"),
    "scripts.prepare": scripts(prepare="node break-jest.js"),
    "jest": {"jest": {"testPathIgnorePatterns": [".*"]}},
    "mocha": {"mocha": {"grep": "x"}},
    "babel": {"babel": {}},
    "config": {"config": {"x": "y"}},
    "overrides": {"overrides": {"jest": "file:fake"}},
    "resolutions": {"resolutions": {"jest": "file:fake"}},
    "pnpm": {"pnpm": {"patchedDependencies": {}}},
    "packageManager": {"packageManager": "yarn@1"},
    "workspaces": {"workspaces": ["elsewhere"]},
    "bin.jest": {"bin": {"jest": "fake.js"}},
    "devDependencies.jest": {"devDependencies": {"jest": "file:fake", "left-pad": "^1.0.0"}},
    "devDependencies.left-pad": {"devDependencies": {"jest": "^29.0.0", "left-pad": "npm:other@1"}},
    "dependencies.vitest": {"dependencies": {"vitest": "link:../fake"}},
    "dependencies.mocha": {"dependencies": {"mocha": "someone/mocha"}},
    "unheard-of": {"unheard-of": 1},
}


@pytest.mark.parametrize(("part", "change"), ATTACKS.items(), ids=ATTACKS)
def test_a_protected_key_stays_while_a_product_key_next_to_it_changes(part: str, change: dict[str, object]) -> None:
    found = merged({**change, "version": "2.0.0"})
    assert found.reverted == (part,)
    assert found.content == written({**BASE, "version": "2.0.0"})


def test_scripts_are_product_if_no_check_runs_scripts() -> None:
    assert merged(scripts(test="true"), words=("pytest", "test")) == AcceptedPart()


def test_a_linter_s_table_is_protected_if_a_check_runs_it() -> None:
    assert merged({"eslintConfig": {"rules": {}}}, words=("eslint",)).reverted == ("eslintConfig",)


@pytest.mark.parametrize("text", [b"{", b"[]", b'{"a": 1, "a": 2}', b"\xff", b"{} {}", b"[" * 100_000])
def test_an_invalid_or_ambiguous_file_comes_from_the_base(text: bytes) -> None:
    assert accepted_part("package.json", written(BASE), text, WORDS).none


@pytest.mark.parametrize("indent", [None, 2, 4, "\t"])
def test_the_merged_file_has_the_indentation_of_the_base(indent: int | str | None) -> None:
    candidate = written({**BASE, "version": "2.0.0", "jest": {}}, 3)
    found = accepted_part("package.json", written(BASE, indent), candidate, WORDS)
    assert found.content == written({**BASE, "version": "2.0.0"}, indent)


@pytest.mark.anyio
async def test_without_changed_product_keys_the_bytes_of_the_base_stay(tmp_path: Path) -> None:
    text = '{ "name": "a",\n     "scripts": {"test": "jest"} }'
    async with scene(tmp_path, {"package.json": text}, "npm test") as project:
        outcome = await project.judge({"package.json": text.replace('"jest"', '"true"')})
        assert outcome.files["package.json"] == text
        assert outcome.edits["package.json"].parts == ("scripts.test",)


TEXTS = st.sampled_from(["test", "lint", "npm run lint", "jest", "npm run test && npm run docs", "run-s docs:*", ""])
SCRIPTS = st.dictionaries(st.sampled_from(["test", "pretest", "lint", "docs", "docs:a", "postlint"]), TEXTS)


@settings(max_examples=examples(100))
@given(SCRIPTS, SCRIPTS)
def test_scripts_used_by_checks_and_those_they_call_come_from_the_base(
    old: dict[str, str], new: dict[str, str]
) -> None:
    found = accepted_part("package.json", written({"scripts": old}), written({"scripts": new}), WORDS)
    text = written({"scripts": new}) if found.content is None else found.content
    result = json.loads(text)["scripts"]
    for name in closure(old, WORDS):
        assert result[name] == old[name]


def test_composer_json_keeps_configuration_and_accepts_requirements() -> None:
    base: dict[str, object] = {"name": "a/b", "require": {"php": "^8"}, "require-dev": {"phpunit/phpunit": "^10"}}
    new: dict[str, object] = {
        "name": "a/b",
        "require": {"php": "^8", "a/c": "^1"},
        "require-dev": {"phpunit/phpunit": "^11"},
    }
    assert accepted_part("composer.json", written(base), written(new), ("phpunit",)) == AcceptedPart()
    sly = {**new, "repositories": [{"type": "path", "url": "fake"}], "replace": {"phpunit/phpunit": "*"}}
    found = accepted_part("composer.json", written(base), written(sly), ("phpunit",))
    assert found.reverted == ("repositories", "replace")
    assert found.content == written(new)


@pytest.mark.anyio
async def test_a_nested_manifest_that_would_be_found_first_keeps_only_product_keys(tmp_path: Path) -> None:
    files = {"package.json": written(BASE), "packages/a/index.js": "", "new.js": ""}
    made = {"packages/a/package.json": '{"type": "module", "scripts": {"test": "true"}}\n'}
    async with scene(tmp_path, files, "npm test") as project:
        outcome = await project.judge(made)
        assert json.loads(outcome.files["packages/a/package.json"]) == {"type": "module"}
        assert outcome.edits["packages/a/package.json"].parts == ("scripts.test",)


@pytest.mark.anyio
async def test_a_manifest_in_a_new_directory_is_accepted(tmp_path: Path) -> None:
    text = '{"name": "b", "scripts": {"test": "jest"}, "jest": {}}'
    async with scene(tmp_path, {"package.json": written(BASE)}, "npm test") as project:
        outcome = await project.judge({"packages/b/package.json": text})
        assert outcome.judged.edits == ()


@pytest.mark.anyio
async def test_a_manifest_that_became_a_link_comes_from_the_base(tmp_path: Path) -> None:
    from protection import Link

    async with scene(tmp_path, {"package.json": written(BASE), "other.json": "{}"}, "npm test") as project:
        outcome = await project.judge({"package.json": Link("other.json")})
        assert outcome.files["package.json"] == written(BASE).decode()
        assert outcome.edits["package.json"].parts == ()

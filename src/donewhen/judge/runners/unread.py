"""Test runners whose results no reader understands: they are recognised and protected, but their tests are not counted.

A runner with `is_detected=False` is only protected.
"""

from donewhen.judge.runners.runner import Runner

PYTHON = (
    Runner(
        name="nose",
        programs=("nose",),
        mentioned="nose",
        packages="nose",
        plugin_groups="nose",
        modules="nose",
        is_detected=False,
    ),
    Runner(name="nose2", programs=("nose2",), mentioned="nose2", packages="nose2", modules="nose2", is_detected=False),
    Runner(name="trial", programs=("trial",), proposed_as_called=True),
    Runner(name="ward", programs=("ward",), is_detected=False),
    Runner(name="green", programs=("green",), is_detected=False),
    Runner(
        name="behave",
        programs=("behave",),
        config_files="behave.ini .behaverc features/environment.py",
        packages="behave",
        plugin_groups="behave",
        is_detected=False,
    ),
    Runner(name="robot", programs=("robot",), packages="robotframework", is_detected=False),
)
JAVASCRIPT = (
    Runner(
        name="ava",
        programs=("ava",),
        config_files="ava.config.*",
        config_options=("-c",),
        packages="ava",
        proposed=("ava",),
    ),
    Runner(name="tap", programs=("tap",), config_files=".taprc*", packages="tap"),
    Runner(name="tape", programs=("tape",), packages="tape"),
    Runner(name="uvu", programs=("uvu",), packages="uvu"),
    Runner(name="jasmine", programs=("jasmine",), packages="jasmine", is_detected=False),
    Runner(name="qunit", programs=("qunit",), packages="qunit", is_detected=False),
    Runner(name="karma", config_files="karma.conf.*", packages="karma"),
    Runner(name="cypress", config_files="cypress.config.*", packages="cypress"),
    Runner(name="playwright", config_files="playwright.config.*", packages="playwright @playwright/test"),
    Runner(name="bun", subcommands={"bun": frozenset({"test"})}),
    Runner(name="deno", subcommands={"deno": frozenset({"test"})}),
)
OTHERS = (
    Runner(
        name="nextest",
        subcommands={"cargo": frozenset({"nextest"})},
        config_files=".config/nextest.toml",
        packages="nextest cargo-nextest",
    ),
    Runner(name="pest", programs=("pest",), config_files="pest.xml", packages="pestphp/pest"),
    Runner(name="codeception", config_files="codeception.yml"),
    Runner(
        name="mix",
        subcommands={"mix": frozenset({"test"})},
        mentioned=r"mix\W+(?:run\W+)?test",
        files_when_used={"mix": "mix.exs .iex.exs"},
        packages="mix ex_unit",
    ),
    Runner(
        name="cucumber",
        programs=("cucumber", "cucumber-js"),
        config_files="cucumber.yml cucumber.yaml cucumber.json cucumber.js cucumber.cjs cucumber.mjs",
        packages="cucumber @cucumber/cucumber",
        is_detected=False,
    ),
    Runner(name="busted", programs=("busted",), is_detected=False),
    Runner(name="bats", programs=("bats",), proposed_as_called=True),
    Runner(name="prove", programs=("prove",), proposed_as_called=True),
    Runner(
        name="ctest",
        programs=("ctest",),
        mentioned="ctest",
        arguments_are_paths=False,
        packages="ctest",
        proposed_as_called=True,
    ),
)
UNREAD = (*PYTHON, *JAVASCRIPT, *OTHERS)

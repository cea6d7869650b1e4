"""RSpec: the option for its report is a variable, which replaces all other formatters."""

import re
import shlex
from collections.abc import Iterator, Sequence

from donewhen.judge.runners.call import RunnerCall
from donewhen.judge.runners.failing_test import with_line_end, words_in
from donewhen.judge.runners.runner import CanaryFile, Instrumentation, Runner, RunnerContext, lazy
from donewhen.judge.runners.script_text import text_of
from donewhen.judge.runners.test_files import test_files
from donewhen.short_lines import LONGEST_LINE
from donewhen.workspace.beneath import Root

ASSERTIONS = {
    "eq": "expect($left).to eq($right)",
    "eql": "expect($left).to eql($right)",
    "equal": "expect($left).to equal($right)",
    "be": "expect($left).to be($right)",
    "be_truthy": "expect(false).to be_truthy",
    "be_falsey": "expect(true).to be_falsey",
    "be_nil": "expect($left).to be_nil",
    "be_within": "expect($left).to be_within(0.5).of($right)",
    "include": "expect([$left]).to include($right)",
    "match": 'expect("$left").to match("$right")',
    "match_array": "expect([$left]).to match_array([$right])",
    "contain_exactly": "expect([$left]).to contain_exactly($right)",
    "raise_error": "expect { $left }.to raise_error(ArgumentError)",
    "not_to": "expect($left).not_to eq($left)",
    "to_not": "expect($left).to_not eq($left)",
    "should": "$left.should == $right",
    "assert_equal": "assert_equal($left, $right)",
}
"""Word of a file → an expression that fails."""


def _json_report(context: RunnerContext) -> Instrumentation:
    """Repeat the requested formatters, because the variable replaces all of them."""
    if not context.calls and (context.all_calls or context.directory.read_inside(".rspec", 1) is None):
        return Instrumentation()
    settings = text_of(context.directory, ".rspec-local") + " " + text_of(context.directory, ".rspec")
    try:
        # shlex takes quadratic time for a long word
        in_file = shlex.split(settings, comments=True) if len(settings) <= LONGEST_LINE else []
    except ValueError:
        in_file = []
    given = _formatters([word for call in context.calls for word in call.arguments]) or _formatters(in_file)
    words = [*(given or ["--format", "progress"]), "--format", "json", "--out", f"{context.sidecar}/rspec.json"]
    return Instrumentation(variables={"SPEC_OPTS": shlex.join(words)})


def _formatters(words: Sequence[str]) -> list[str]:
    found = list[str]()
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if word in ("-f", "--format", "-o", "--out"):
            found += [word, following]
        elif re.match(r"--(?:format|out)=|-f[a-zA-Z]", word):
            found.append(word)
    return found


def _failing_test(directory: Root, call: RunnerCall, mark: str) -> Iterator[CanaryFile]:
    for path, text in test_files(directory, ("*_spec.rb",), call.arguments):
        tests = tuple(f'  it("$name") {{ {statement} }}' for statement in words_in(text, ASSERTIONS, "eq"))
        yield CanaryFile(path, f'{with_line_end(text)}\nRSpec.describe("canary_{mark}") do', tests, "end\n")


RUNNER = Runner(
    name="rspec",
    programs=("rspec",),
    mentioned="rspec",
    instrument=_json_report,
    report="rspec.json",
    read_report=lazy("rspec", "read_report"),
    read_text=lazy("rspec", "read_text"),
    make_canary=_failing_test,
    config_files=".rspec .rspec-local .rspec_parallel",
    config_options=("-r",),
    packages="rspec rspec-core rspec-expectations rspec-mocks",
)

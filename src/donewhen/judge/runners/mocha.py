"""mocha: a report would replace its normal output, so its printed text is the evidence."""

from donewhen.judge.runners.runner import Runner, lazy
from donewhen.judge.runners.script_assertions import in_script

RUNNER = Runner(
    name="mocha",
    programs=("mocha",),
    aliases=("_mocha", "mocha.js"),
    mentioned="mocha",
    read_text=lazy("mocha", "read_text"),
    make_canary=in_script,
    config_files=".mocharc* mocha.opts",
    naming_files=".mocharc.json .mocharc.yml .mocharc.js .mocharc.cjs",
    config_options=("-c", "-r"),
    packages="mocha",
    proposed=("mocha",),
)

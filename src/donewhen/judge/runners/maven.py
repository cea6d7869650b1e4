"""Maven: surefire and failsafe write reports into the tree. Any goal may run tests."""

from donewhen.judge.runners.failing_test import in_java
from donewhen.judge.runners.runner import Runner, lazy

RUNNER = Runner(
    name="maven",
    programs=("mvn", "mvnw"),
    subcommands=dict.fromkeys(("mvn", "mvnw"), frozenset({"test", "verify"})),
    reports_in_tree=r"(?:.*/)?target/(?:surefire|failsafe)-reports/",
    read_text=lazy("maven", "read_text"),
    make_canary=in_java,
    files_when_used={"mvn mvnw mvnd": "mvnw mvnw.cmd .mvn/**"},
    arguments_are_paths=False,
    packages="mvn mvnw mvnd surefire",
)

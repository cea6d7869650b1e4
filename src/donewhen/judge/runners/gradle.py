"""Gradle: it writes reports into the tree. Any task may run tests."""

from donewhen.judge.runners.failing_test import in_java
from donewhen.judge.runners.runner import Runner, lazy

RUNNER = Runner(
    name="gradle",
    programs=("gradle", "gradlew"),
    subcommands=dict.fromkeys(("gradle", "gradlew"), frozenset({"test", "check"})),
    reports_in_tree=r"(?:.*/)?build/test-results/.*",
    read_text=lazy("gradle", "read_text"),
    make_canary=in_java,
    files_when_used={
        "gradle gradlew": """
            build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradle.properties gradlew gradlew.bat
            gradle/** buildSrc/** init.gradle *.gradle *.gradle.kts
        """
    },
    arguments_are_paths=False,
    packages="gradle gradlew",
)

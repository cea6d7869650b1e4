"""dotnet test: its report is asked for with arguments. Each test project writes a file of its own."""

import re

from donewhen.judge.runners.runner import Instrumentation, Runner, RunnerContext, lazy


def _trx_report(context: RunnerContext) -> Instrumentation:
    if not context.can_append or re.search(r"--(results-directory|report-trx)|-r\b", context.arguments):
        return Instrumentation()
    return context.append("--logger", "trx;LogFilePrefix=dotnet", "--results-directory", context.sidecar)


RUNNER = Runner(
    name="dotnet",
    subcommands={"dotnet": frozenset({"test"})},
    mentioned=r"dotnet\W+(?:run\W+)?test",
    instrument=_trx_report,
    report="*.trx",
    read_report=lazy("dotnet", "read_report"),
    read_text=lazy("dotnet", "read_text"),
    config_files="*.runsettings xunit.runner.json",
    files_when_used={"dotnet": "Directory.Build.props Directory.Build.targets Directory.Packages.props *.slnf"},
    packages="dotnet xunit nunit mstest microsoft.net.test.sdk",
)

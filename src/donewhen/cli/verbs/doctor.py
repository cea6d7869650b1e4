"""The verb `donewhen doctor`: what is missing on this machine, what does not work without it, and what to type."""

import json
from typing import TYPE_CHECKING

import anyio
import click

from donewhen.cli.group import one_line
from donewhen.server.methods.machine import doctor_run

if TYPE_CHECKING:
    from donewhen.server.methods.machine_results import DoctorFinding


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(as_json: bool) -> int:
    """What is missing on this machine and what it costs you.

    Exit code 0 when nothing is missing: full isolation, and a model or an agent can be used. Otherwise 1.
    """
    findings = anyio.run(doctor_run)
    if as_json:
        click.echo(json.dumps({"findings": findings}))
    else:
        width = max(len(finding["name"]) for finding in findings)
        for finding in findings:
            _show(finding, width)
    return 0 if all(finding["ok"] for finding in findings) else 1


def _show(finding: "DoctorFinding", width: int) -> None:
    mark = "ok  " if finding["ok"] else click.style("miss", fg="red", bold=True)
    click.echo(f"{mark}  {finding['name']:<{width}}  {one_line(finding['found'])}")
    if not finding["ok"]:
        for label, text in (("costs", finding["cost"]), ("fix", finding["fix"])):
            if text:
                click.echo(f"      {'':<{width}}  {label}: {one_line(text)}")

"""The verb `donewhen demo`: a real run on a small repository with a scripted model."""

import json
import os
from pathlib import Path

import click

from donewhen.cli.verbs import demo_scene


@click.command("demo")
def command() -> int:
    """Watch a run from a red baseline to a verified branch: a mistake, a detected cheat, and the correct work.

    Only the model is scripted. It needs no key and no network.
    """
    # Imported here, because help and completion are used often and do not need these modules.
    from functools import partial

    import anyio

    from donewhen.cli.views.ending import show_ending
    from donewhen.cli.views.session_audience import session_watcher
    from donewhen.server.methods.call_context import CallContext
    from donewhen.server.methods.session_work import session_start
    from donewhen.workspace.git.new_repository import make_repository

    directory = _new_directory()
    repo = directory / "repository"
    anyio.run(make_repository, repo, demo_scene.FILES)
    script = directory / "script.json"
    script.write_text(json.dumps(demo_scene.STEPS))
    click.echo("The model in this demo is scripted. The repository, sandbox, checks, verdict and branch are real.")
    click.echo(f"$ cd {repo}")
    click.echo(f'$ donewhen run "{demo_scene.INTENT}"')
    with session_watcher(as_json=False, may_ask=False) as watch:
        work = partial(session_start, CallContext(watch=watch), model=f"scripted:{script}", yes=True)
        ended = anyio.run(partial(work, intent=demo_scene.INTENT, repo=str(repo)))
    show_ending(ended, as_json=False)
    click.echo("")
    click.echo("Next, in a repository of your own:")
    click.echo("  donewhen init                    propose a contract for it")
    click.echo("  export ANTHROPIC_API_KEY=…       or another provider's: donewhen models")
    click.echo('  donewhen run "what you want"')
    return ended["exit_code"]


def _new_directory() -> Path:
    import tempfile

    from donewhen.workspace.state_dir import private_directory

    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(tempfile.mkdtemp(prefix="demo-", dir=private_directory(Path(cache) / "donewhen")))

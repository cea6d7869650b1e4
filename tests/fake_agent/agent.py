"""A scripted agent: does what a script says, faults included, and tells it as a real agent would. No model, no key.

    python tests/fake_agent --script SCRIPT [--acp | --stream SHAPE] [--resume ID] TASK

A script is a file, or the JSON itself: a list of invocations, each a list of steps, or an object of these:

    invocations   as above
    state         a file that counts invocations; else $DONEWHEN_FAKE_STATE, else the conversation that is resumed
    answers       for ACP, by method: {"result": …}, {"error": …}, or null for no answer at all

A step is an object with one of these keys:

    say TEXT · task (says the task) · write {path, content} · shell COMMAND · read PATH · env · fetch URL · mcp
    usage {input, output, cache_read, cache_write, usd}: of each turn from here on
    print TEXT or {base64}: bytes as they are · flood BYTES or {bytes, line}: junk, in lines of a length (0: one line)
    error MESSAGE · unauthorized · login (asks for one, and waits) · success (says so, whatever happened)
    hang (deaf to SIGTERM) · daemon COMMAND (leaves our session) · exit CODE · signal NUMBER
    request {method, params} · update {…}: for ACP, any request to the client and any `session/update`

It is a program of its own that runs where agents run: standard library only, nothing of donewhen, and
only what is quick to import.
"""

import binascii
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from fake_agent.actions import daemon, fetched, put, put_line, run, tools_of
from fake_agent.outputs import OUTPUTS, AgentOutput, Use

VERSION = "1.0.0"
SIGN_IN = "To sign in, open https://example.invalid/device and enter the code FAKE-CODE."
FLOOD_BLOCK = 1 << 20
FLOOD_LINE = 1024
Step = Mapping[str, Any]


class Options:
    def __init__(self) -> None:
        self.script = os.environ.get("DONEWHEN_FAKE_SCRIPT", "[]")
        self.stream = "plain"
        self.acp = False
        self.resume = ""
        self.mcp = ""
        self.task = ""


class Script:
    def __init__(self, given: str) -> None:
        read: Any = json.loads(given if given.lstrip()[:1] in ("[", "{") else contents(given))
        told: Mapping[str, Any] = {"invocations": read} if isinstance(read, list) else read
        if "invocations" not in told:
            raise ValueError("a script has `invocations`")
        self.invocations: Sequence[Sequence[Step]] = told["invocations"]
        self.state: str = told.get("state") or os.environ.get("DONEWHEN_FAKE_STATE", "")
        self.answers: Mapping[str, Any] = told.get("answers", {})
        for step in (one for steps in self.invocations for one in steps):
            if len(step) != 1 or not step.keys() <= STEPS.keys():
                raise ValueError(f"no step has these keys: {', '.join(step)}")

    def number(self, resumed: str) -> int:
        """Which invocation this is, from 1; it counts as begun."""
        before = resumed.removeprefix("fake-")
        number = int(before) + 1 if before.isdecimal() else 1
        if self.state:
            number = int(contents(self.state)) + 1 if os.path.exists(self.state) else number
            keep(self.state, str(number))
        return number

    def steps(self, number: int) -> Sequence[Step]:
        missing = [{"error": f"the script has no invocation {number}"}]
        return self.invocations[number - 1] if number <= len(self.invocations) else missing


def contents(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def keep(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class EndProcess(Exception):
    """The process is to end, with this code and without another word."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Player:
    """Carries out the steps of one invocation, and has each told by a voice."""

    def __init__(self, output: AgentOutput, task: str, mcp: str = "") -> None:
        self.output = output
        self.task = task
        self.mcp = mcp
        self._calls = 0

    def play(self, steps: Sequence[Step]) -> int:
        """The exit code. Raises `EndProcess` where a step ends the process before its time."""
        for step in steps:
            (name,) = step
            STEPS[name](self, step[name])
            if self.output.watcher.interrupted:
                break
        return self.output.finish()

    def use(self, tool: str, kind: str, given: Mapping[str, Any], action: Callable[[], tuple[bool, str]]) -> None:
        """A tool, as a real agent would use one: told, allowed or refused, done, told."""
        self._calls += 1
        use = Use(f"call_{self._calls}", tool, kind, given)
        ok, text = action() if self.output.call(use) else (False, "refused")
        self.output.result(use, ok, text)


def write(player: Player, what: Mapping[str, str]) -> None:
    def action() -> tuple[bool, str]:
        try:
            os.makedirs(os.path.dirname(what["path"]) or ".", exist_ok=True)
            keep(what["path"], what["content"])
        except OSError as error:
            return False, str(error)
        return True, f"wrote {what['path']}"

    player.use("write", "edit", what, action)


def shell(player: Player, command: str) -> None:
    def action() -> tuple[bool, str]:
        code, output = run(command, player.output.watcher)
        return code == 0, f"{output}[exit {code}]"

    player.use("shell", "execute", {"command": command}, action)


def read(player: Player, path: str) -> None:
    def action() -> tuple[bool, str]:
        try:
            return True, contents(path)
        except OSError as error:
            return False, str(error)

    player.use("read", "read", {"path": path}, action)


def fetch(player: Player, url: str) -> None:
    player.use("fetch", "fetch", {"url": url}, lambda: fetched(url))


def mcp(player: Player, _: Any) -> None:
    url = player.mcp or player.output.mcp_url
    player.use("mcp", "other", {"url": url}, lambda: tools_of(url))


def start_daemon(player: Player, command: str) -> None:
    player.use("daemon", "execute", {"command": command}, lambda: (True, f"started {daemon(command)}"))


def print_bytes(_: Player, what: str | Mapping[str, str]) -> None:
    put(what.encode() if isinstance(what, str) else binascii.a2b_base64(what["base64"]))


def flood(_: Player, what: int | Mapping[str, int]) -> None:
    size, line = (what, FLOOD_LINE) if isinstance(what, int) else (what["bytes"], what.get("line", FLOOD_LINE))
    unit = b"x" * (line - 1) + b"\n" if line else b"x"
    block = unit * max(1, FLOOD_BLOCK // len(unit))
    while size > 0:
        put(block[:size])
        size -= len(block)


def login(*_: Any) -> None:
    put_line(SIGN_IN)
    wait()


def hang(*_: Any) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    wait()


def wait() -> NoReturn:
    while True:
        signal.pause()


def end(_: Player, code: int) -> NoReturn:
    raise EndProcess(code)


STEPS: Mapping[str, Callable[[Player, Any], None]] = {
    "say": lambda player, text: player.output.say(text),
    "task": lambda player, _: player.output.say(player.task),
    "env": lambda player, _: player.output.say(json.dumps(dict(os.environ))),
    "write": write,
    "shell": shell,
    "read": read,
    "fetch": fetch,
    "mcp": mcp,
    "daemon": start_daemon,
    "usage": lambda player, usage: player.output.use(usage),
    "success": lambda player, _: player.output.succeed(),
    "error": lambda player, message: player.output.fail(message),
    "unauthorized": lambda player, _: player.output.fail("API Error: 401 invalid x-api-key", 401),
    "request": lambda player, what: player.output.request(what["method"], what.get("params", {})),
    "update": lambda player, what: player.output.update(what),
    "print": print_bytes,
    "flood": flood,
    "login": login,
    "hang": hang,
    "exit": end,
    "signal": lambda _, number: os.kill(os.getpid(), number),
}


def options_of(words: Sequence[str]) -> Options:
    """Read by hand: `argparse` alone would take longer than everything else here."""
    options, rest = Options(), list(words)
    while rest:
        word = rest.pop(0)
        if word == "--acp":
            options.acp = True
        elif word in ("--script", "--stream", "--resume", "--mcp"):
            setattr(options, word[2:], rest.pop(0))
        else:
            options.task = word
    return options


def main(words: Sequence[str]) -> int:
    if "--version" in words:
        put_line(f"donewhen-fake-agent {VERSION}")
        return 0
    options = options_of(words)
    try:
        script = Script(options.script)
        if options.stream not in OUTPUTS:
            raise ValueError(f"no stream is called {options.stream}")
    except (OSError, ValueError) as mistake:
        sys.stderr.write(f"fake agent: {mistake}\n")
        return 2
    try:
        if options.acp:
            return serve(script, options)
        number = script.number(options.resume)
        output = OUTPUTS[options.stream](f"fake-{number}", options.task)
        return Player(output, options.task, options.mcp).play(script.steps(number))
    except EndProcess as over:
        return over.code
    except BrokenPipeError:
        return 1


def serve(script: Script, options: Options) -> int:
    from fake_agent.acp import AcpOutput, AcpServer

    output = AcpOutput()
    door = AcpServer(output, script.answers)
    while (task := door.prompted()) is not None:
        steps = script.steps(script.number(door.resumed))
        Player(output, task, options.mcp).play(steps)
    return 0

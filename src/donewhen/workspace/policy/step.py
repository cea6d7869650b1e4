"""Records that the policy examines: one simple command as the shell would start it, with its words expanded.

A `Step` is only a description. It does not say how it was read from a script (`reader`), what runs inside it (`unwrap`)
or whether it is wanted (`rules`).
"""

from dataclasses import field

from donewhen.records import frozen

UNKNOWN_TEXT = "\0"
"""Replaces unknown text in a word: text that only running the command would show. A command never contains NUL."""

DOUBT = "\0doubt"
"""The name of a step that stands for a part that could not be understood."""


@frozen
class PipedText:
    """What one command writes and another one reads, as far as it is known without running them."""

    text: str | None = None
    producers: tuple[str, ...] = ()
    """The names of the commands that produce it."""
    items: tuple[str, ...] = (UNKNOWN_TEXT,)
    """What a line looks like if the text is unknown: `./` and a `UNKNOWN_TEXT` for a list of files in the tree."""


@frozen
class Word:
    text: str
    """After quoting and expansion; `UNKNOWN_TEXT` where the value is unknown."""
    raw: str
    has_glob: bool = False
    """True if it contains glob characters that the shell would expand."""
    is_alternative: bool = False
    """True if it is one of several values that the same word can have."""
    variables: tuple[str, ...] = ()
    """The variables of unknown value that it contains."""
    producers: tuple[str, ...] = ()
    """The commands whose unknown output it contains."""
    stream: PipedText | None = None
    """What can be read from it if it is a process substitution."""


def plain(text: str) -> Word:
    return Word(text, text.replace(UNKNOWN_TEXT, "…"))


@frozen
class Redirect:
    operator: str
    target: Word

    @property
    def writes(self) -> bool:
        """Return whether a file is opened for writing. A copied descriptor (`2>&1`) does not count."""
        return ">" in self.operator and not self.copies_descriptor

    @property
    def copies_descriptor(self) -> bool:
        return self.operator.endswith("&") and (self.target.text.rstrip("-").isdecimal() or self.target.text == "-")


@frozen
class WorkingDir:
    """Where a command runs: the root of the tree, and the directory after all `cd` commands."""

    root: str
    cwd: str


@frozen
class Step:
    name: str
    """The last part of the program's path; empty if there are only assignments or redirections."""
    words: tuple[Word, ...]
    text: str
    """The part of the command to show to a person."""
    working_dir: WorkingDir
    assigned: tuple[tuple[str, Word], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    stdin: PipedText | None = None
    doubt: str = ""

    @property
    def args(self) -> tuple[Word, ...]:
        return self.words[1:]

    @property
    def texts(self) -> list[str]:
        return [word.text for word in self.words[1:]]


def doubt(kind: str, text: str, working_dir: WorkingDir) -> Step:
    return Step(DOUBT, (), text, working_dir, doubt=kind)


@frozen
class Nested:
    """A script inside a step that is not read yet."""

    text: str
    working_dir: WorkingDir
    parameters: dict[str, str] = field(default_factory=dict[str, str])
    """Its positional parameters, by name."""
    stdin: PipedText | None = None
    """What its commands read unless they redirect their input."""


Inner = Step | Nested
"""What runs inside a step."""

"""What the policy looks at: one simple command as the shell would start it, with its words made plain.

A `Step` is only a description. It knows neither how it was read out of a script (`reader`) nor what runs inside it
(`unwrap`) nor whether it is wanted (`rules`).
"""

from dataclasses import field

from donewhen.records import frozen

HOLE = "\0"
"""Stands in a word's text for something that only running the command would tell. A command never contains NUL."""

DOUBT = "\0doubt"
"""The name of a step that is not a command but a part that could not be understood."""


@frozen
class Stream:
    """What one command writes and another one reads, as far as that can be told without running them."""

    text: str | None = None
    makers: tuple[str, ...] = ()
    """The names of the commands it comes from."""
    items: tuple[str, ...] = (HOLE,)
    """What one line of it looks like when the text is not known: `./` and a hole for a list of files in the tree."""


@frozen
class Word:
    text: str
    """After quoting and expansion; `HOLE` where the value is not known."""
    raw: str
    live: bool = False
    """It holds glob characters that the shell would act on."""
    either: bool = False
    """It is one of several values that the same word can have."""
    variables: tuple[str, ...] = ()
    """The variables of unknown value that went into it."""
    makers: tuple[str, ...] = ()
    """The commands whose unknown output went into it."""
    stream: Stream | None = None
    """What can be read from it when it is a process substitution."""


def plain(text: str) -> Word:
    return Word(text, text.replace(HOLE, "…"))


@frozen
class Redirect:
    operator: str
    target: Word

    @property
    def writes(self) -> bool:
        """A file is opened for writing; a copied descriptor (`2>&1`) is not."""
        return ">" in self.operator and not self.copies_descriptor

    @property
    def copies_descriptor(self) -> bool:
        return self.operator.endswith("&") and (self.target.text.rstrip("-").isdecimal() or self.target.text == "-")


@frozen
class Place:
    """Where a command runs: the root of the tree, and the directory that `cd` led to."""

    root: str
    cwd: str


@frozen
class Step:
    name: str
    """The last part of the program's path; empty when there are only assignments or redirections."""
    words: tuple[Word, ...]
    text: str
    """The part of the command that a person is shown."""
    place: Place
    assigned: tuple[tuple[str, Word], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    stdin: Stream | None = None
    doubt: str = ""

    @property
    def args(self) -> tuple[Word, ...]:
        return self.words[1:]

    @property
    def texts(self) -> list[str]:
        return [word.text for word in self.words[1:]]


def doubt(kind: str, text: str, place: Place) -> Step:
    return Step(DOUBT, (), text, place, doubt=kind)


@frozen
class Nested:
    """A script inside a step, still to be read."""

    text: str
    place: Place
    given: dict[str, str] = field(default_factory=dict[str, str])
    """Its positional parameters, by name."""
    stdin: Stream | None = None
    """What its commands read if they are not told otherwise."""


Inner = Step | Nested
"""What runs inside a step."""

"""Splits the command of a check into simple commands, to recognise programs. It never decides what is run.

Shell syntax is read loosely. A command that cannot be read has no simple commands; then nothing is recognised and
nothing is added.
"""

import re
import shlex

from donewhen.records import frozen

LONGEST = 64 * 1024
OPERATORS = frozenset("();<>|&")
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


@frozen
class CommandLine:
    commands: tuple[tuple[str, ...], ...]
    """The words of each simple command, without leading assignments."""
    is_simple: bool
    """True for one command without pipes, lists, redirections, substitutions or a comment.

    Arguments may be added at the end of such a command.
    """


def split(text: str) -> CommandLine:
    text = text.replace("\\\n", " ").strip()
    if len(text) > LONGEST:
        return CommandLine((), is_simple=False)
    try:
        lexer = shlex.shlex(text.replace("\n", " ; "), posix=True, punctuation_chars="();<>|&")
        lexer.whitespace_split = True
        lexer.commenters = ""
        tokens = [token for token in lexer if token]
    except ValueError:
        return CommandLine((), is_simple=False)
    commands: list[list[str]] = [[]]
    for token in tokens:
        if set(token) <= OPERATORS:
            commands.append([])
        elif commands[-1] or not ASSIGNMENT.match(token):
            commands[-1].append(token)
    found = tuple(tuple(words) for words in commands if words)
    return CommandLine(found, is_simple=len(commands) == 1 and _is_plain(text, tokens))


def _is_plain(text: str, tokens: list[str]) -> bool:
    substitutes = "`" in text or "$(" in text or "\n" in text
    return not substitutes and not any(token.startswith("#") for token in tokens) and not text.endswith("\\")

"""The bound on the length of a line in files that the judge reads by patterns. Longer lines are cut.

A person writes no such line. A pattern that takes quadratic time takes it on at most this many characters. Files that
a parser reads as a whole (JSON, TOML, XML) are not cut.
"""

LONGEST_LINE = 20_000
PARSED = (".json", ".toml", ".xml")


def short_lines(text: str) -> str:
    if len(text) <= LONGEST_LINE:
        return text
    return "\n".join(line[:LONGEST_LINE] for line in text.split("\n"))

"""Line length limit for text that readers and the judge receive from other programs. Longer lines are cut.

No person writes such a line, and no tool prints so much in one. The regular expressions take linear time without the
limit (tests/house); it bounds all other work on a line. It does not apply to files that a parser reads as a whole
(JSON, TOML, XML), nor to the streams of agents and models, where one line is a whole message:
`engines.external.run.cli_agent`, `model.sse`.
"""

LONGEST_LINE = 20_000


def short_lines(text: str) -> str:
    if len(text) <= LONGEST_LINE:
        return text
    return "\n".join(line[:LONGEST_LINE] for line in text.split("\n"))

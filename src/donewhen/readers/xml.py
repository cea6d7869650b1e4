"""XML reports walked element by element, in bounded memory. A document that defines entities is refused.

Nothing is kept but what the two callbacks keep. Text between the elements is not looked at.
"""

from collections.abc import Callable, Mapping
from xml.parsers.expat import ExpatError, ParserCreate

MOST_BYTES = 64 * 1024 * 1024

Start = Callable[[str, Mapping[str, str]], None]
End = Callable[[str], None]


class Refused(ValueError):
    """The document is not read any further."""


def walk(content: bytes, start: Start, end: End | None = None) -> bool:
    """Call back for every element; whether the document was read to its end."""
    if len(content) > MOST_BYTES:
        return False
    parser = ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = _refuse
    try:
        parser.Parse(content, True)
    except (ExpatError, Refused, ValueError, LookupError):
        return False
    return True


def _refuse(*declared: object) -> None:
    raise Refused(f"a document type ({declared[0]}) can define entities that never end")

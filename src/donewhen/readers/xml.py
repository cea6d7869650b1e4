"""XML reports, parsed element by element in bounded memory.

A document with a document type is refused, because that can define entities. Only the two callbacks keep data. Text
between the elements is ignored.
"""

from collections.abc import Callable, Mapping
from xml.parsers.expat import ExpatError, ParserCreate

MOST_BYTES = 64 * 1024 * 1024

Start = Callable[[str, Mapping[str, str]], None]
End = Callable[[str], None]


class XmlRefused(ValueError):
    """The document must not be read any further."""


def walk(content: bytes, start: Start, end: End | None = None) -> bool:
    """Call `start` and `end` for every element. Return True if the document was read to its end."""
    if len(content) > MOST_BYTES:
        return False
    parser = ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = _refuse
    try:
        parser.Parse(content, True)
    except (ExpatError, XmlRefused, ValueError, LookupError):
        return False
    return True


def _refuse(*declared: object) -> None:
    raise XmlRefused(f"a document type ({declared[0]}) can define entities that never end")

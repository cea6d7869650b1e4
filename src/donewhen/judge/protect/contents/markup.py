"""Project files in XML (pom.xml, *.csproj). Only changes of dependencies, versions and descriptions are accepted.

They are accepted as a whole or not at all: with any other difference the file is restored from the base.
"""

import re
from collections.abc import Collection
from xml.etree import ElementTree

from donewhen.judge.protect.contents.accepted_part import ALL, AcceptedPart, FileUnreadable
from donewhen.judge.protect.names.judging_tools import TOOLS
from donewhen.judge.protect.names.word_set import listed

PRODUCT = listed("""
    version name description url inceptionYear licenses developers contributors organization scm issueManagement
    ciManagement dependency
    Version VersionPrefix VersionSuffix Description Authors Company Product Copyright PackageTags PackageId
    PackageLicenseExpression PackageProjectUrl RepositoryUrl AssemblyVersion FileVersion PackageReference
    PackageReadmeFile Title PackageReleaseNotes InformationalVersion
    """)
BUILDING = frozenset({"build", "profiles", "properties", "reporting", "repositories", "pluginRepositories", "Target"})
"""Elements in which nothing is product."""
LOCAL_FILE = re.compile(r"<systemPath|<scope>\s*system|HintPath", re.IGNORECASE)


def project_file(base: str, candidate: str, words: Collection[str]) -> AcceptedPart:
    del words
    if not base.strip():
        return ALL  # a new file affects nothing that existed
    old, new = _shape(_root(base)), _shape(_root(candidate))
    is_accepted = (
        old == new
        and bool(LOCAL_FILE.search(candidate)) <= bool(LOCAL_FILE.search(base))
        and _tools(base) <= _tools(candidate)
    )
    return ALL if is_accepted else AcceptedPart(none=True)


def _root(text: str) -> ElementTree.Element:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise FileUnreadable
    try:
        return ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as error:
        raise FileUnreadable from error


def _shape(element: ElementTree.Element, whole: bool = False) -> tuple[object, ...]:
    """Return the document as nested tuples, without the product parts."""
    whole = whole or _tag(element) in BUILDING
    inner = [_shape(child, whole) for child in element if whole or _tag(child) not in PRODUCT]
    kept = [shape for shape in inner if shape[1:] != ((), "", ()) or shape[0] not in ("dependencies", "ItemGroup")]
    return (_tag(element), tuple(sorted(element.attrib.items())), (element.text or "").strip(), tuple(kept))


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _tools(text: str) -> set[str]:
    """Return the test tools among the dependencies. None of them may be removed."""
    if not text.strip():
        return set()
    named = {(child.text or "").strip().lower() for child in _root(text).iter() if _tag(child) == "artifactId"}
    named |= {child.get("Include", "").lower() for child in _root(text).iter() if _tag(child) == "PackageReference"}
    return named & {tool.lower() for tool in TOOLS}

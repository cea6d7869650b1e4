"""Tables of names in this package are written as words in one text, which is easy to read and to extend."""


def listed(names: str) -> frozenset[str]:
    return frozenset(names.split())

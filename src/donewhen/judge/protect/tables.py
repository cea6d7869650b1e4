"""How the tables of names in this room are written: as words in a text, which a person can read and extend."""


def listed(names: str) -> frozenset[str]:
    return frozenset(names.split())

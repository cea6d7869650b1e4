"""Word search with the same result in every database: a row matches if each search word begins one of its words.

There is no order, stemming or weighting. Texts are split into words here and reach the database as ASCII letters and
digits, because each database splits words differently.
"""

import re
import unicodedata

from donewhen.storage.connection import Connection, SqliteConnection

LONGEST = 40
"""Characters of a word that are used; the rest is ignored."""
MOST = 2000
"""Maximum number of words of a row."""
MOST_SEARCH_WORDS = 20
DELETED_AT_ONCE = 500
"""Rows deleted with one statement: finding a row by its key scans the whole table."""
_WORD = re.compile(r"[^\W_]+")


class WordTable:
    """A table that a schema created with `{word_table}` and `{word_columns}`."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection = connection
        self._name = name

    def put(self, key: str, text: str) -> None:
        """Index a row under the words of a text."""
        value = self._connection.word_value
        known = list(dict.fromkeys(words(text)))[:MOST]
        if known:
            statement = f"INSERT INTO {self._name} (key, words) VALUES (?, {value})"
            self._connection.run(statement, key, " ".join(known))

    def drop(self, *keys: str) -> None:
        for at in range(0, len(keys), DELETED_AT_ONCE):
            some = keys[at : at + DELETED_AT_ONCE]
            self._connection.run(f"DELETE FROM {self._name} WHERE key IN ({', '.join('?' * len(some))})", *some)

    def purge(self) -> None:
        """Remove deleted words from the file: the index of SQLite keeps words until its parts are merged."""
        if isinstance(self._connection, SqliteConnection):
            self._connection.run(f"INSERT INTO {self._name} ({self._name}) VALUES ('optimize')")

    def search(self, text: str) -> list[str]:
        """Return the keys of the rows that match all words of `text` as prefixes; none if it has no words."""
        wanted = list(dict.fromkeys(words(text)))[:MOST_SEARCH_WORDS]
        if not wanted:
            return []
        match, query = self._connection.word_match, self._connection.word_query(wanted)
        return [row[0] for row in self._connection.run(f"SELECT key FROM {self._name} WHERE {match}", query)]


def words(text: str) -> list[str]:
    """Return the words of a text as lower-case ASCII letters and digits.

    Other letters become their code points, one by one, so that a prefix of a word stays a prefix.
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    return ["".join(map(_letter, word[:LONGEST])) for word in _WORD.findall(plain)]


def _letter(letter: str) -> str:
    return letter if letter.isascii() else f"u{ord(letter):x}u"

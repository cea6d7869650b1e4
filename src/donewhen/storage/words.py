"""Rows found by their words, with one meaning in every database: a row is found when each word asked for begins one of
its words. No order, no stems, no weights.

Texts are cut into words here and reach the database as plain letters and digits: its own idea of what a word is, which
differs from one to the next, is not asked.
"""

import re
import unicodedata

from donewhen.storage.connection import Connection, SqliteConnection

LONGEST = 40
"""Characters of a word that count."""
MOST = 2000
"""Words of a row."""
MOST_ASKED = 20
AT_ONCE = 500
"""Rows that are dropped with one look at the table: to find a row by its key takes all of it."""
_WORD = re.compile(r"[^\W_]+")


class WordTable:
    """One table that a schema made with `{word_table}` and `{word_columns}`."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection = connection
        self._name = name

    def put(self, key: str, text: str) -> None:
        """Let a row be found by the words of a text."""
        value = self._connection.word_value
        known = list(dict.fromkeys(words(text)))[:MOST]
        if known:
            statement = f"INSERT INTO {self._name} (key, words) VALUES (?, {value})"
            self._connection.run(statement, key, " ".join(known))

    def drop(self, *keys: str) -> None:
        for at in range(0, len(keys), AT_ONCE):
            some = keys[at : at + AT_ONCE]
            self._connection.run(f"DELETE FROM {self._name} WHERE key IN ({', '.join('?' * len(some))})", *some)

    def purge(self) -> None:
        """Leave nothing in a file of what was dropped: the index of SQLite keeps words until its parts are merged."""
        if isinstance(self._connection, SqliteConnection):
            self._connection.run(f"INSERT INTO {self._name} ({self._name}) VALUES ('optimize')")

    def search(self, text: str) -> list[str]:
        """The keys of the rows that have all of these words, or words that begin so; none for no words."""
        asked = list(dict.fromkeys(words(text)))[:MOST_ASKED]
        if not asked:
            return []
        match, query = self._connection.word_match, self._connection.word_query(asked)
        return [row[0] for row in self._connection.run(f"SELECT key FROM {self._name} WHERE {match}", query)]


def words(text: str) -> list[str]:
    """The words of a text in small letters and digits of ASCII; other letters become their numbers, one by one, so that
    what begins a word still begins it."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return ["".join(map(_letter, word[:LONGEST])) for word in _WORD.findall(plain)]


def _letter(letter: str) -> str:
    return letter if letter.isascii() else f"u{ord(letter):x}u"

"""Text search: the same rows are found in every database for any query."""

import unicodedata
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.storage.connection import Connection
from donewhen.storage.disposable_db import connect
from donewhen.storage.migrations import Schema, migrate
from donewhen.storage.postgres import PostgresConnection
from donewhen.storage.text_search import WordTable, words

SCHEMA = Schema("the words were", "word_migrations", (("CREATE {word_table} texts {word_columns}",),))


@pytest.fixture
def both(tmp_path: Path, schema: str) -> Generator[tuple[Connection, Connection]]:
    file, server = connect(tmp_path / "words.db", SCHEMA, 1.0), PostgresConnection(schema)
    migrate(server, SCHEMA)
    yield file, server
    file.close()
    server.close()


TEXTS = [
    "Error: 'tax' undeclared", "tests/test_shop.py::test_total[3-a]", "über-Größe ΑΒΓ 名前 1e5 0x1F v1.2.3",
    "a@b.example https://x.example/y?z=1 -- & | ! :* ' \" \\", "\x00\x01", "", "🙂 e\u0301t\u00e9",
]  # fmt: skip
ASKED = [
    "tax", "TAX err", "test_total", "3", "gro", "größe", "αβ", "名", "1e5", "0x", "v1.2", "a@b.ex", "https", "y?z", "&",
    "' OR", "\\", "", "*", "été", "e", "nothing", "tax nothing", '"', "🙂",
]  # fmt: skip


def test_a_search_finds_the_same_rows_in_both_databases(both: tuple[Connection, Connection]) -> None:
    tables = [WordTable(connection, "texts") for connection in both]
    for table in tables:
        for number, text in enumerate(TEXTS):
            table.put(str(number), text)
    found = {asked: [sorted(table.search(asked)) for table in tables] for asked in ASKED}
    assert {asked: here for asked, (here, there) in found.items() if here != there} == {}
    assert (found["TAX err"][0], found["größe"][0], found["été"][0], found["*"][0]) == (["0"], ["2"], ["6"], [])
    for table in tables:
        table.drop("0")
        assert table.search("tax") == []


def test_both_databases_accept_a_text_of_very_many_words(both: tuple[Connection, Connection]) -> None:
    text = " ".join(f"{number}{'名' * 50}" for number in range(5000)) + " end"
    for connection in both:
        table = WordTable(connection, "texts")
        table.put("long", "first " + text)
        assert (table.search("first"), table.search("end")) == (["long"], [])


@given(st.text(max_size=60))
def test_search_words_are_letters_and_digits_and_keep_their_prefixes(text: str) -> None:
    found = words(text)
    assert all(word.isascii() and word.isalnum() and word == word.lower() for word in found)
    for word in unicodedata.normalize("NFKC", text).casefold().split():
        (whole, *_), beginning = words(word) or [""], words(word[:1])
        assert not beginning or whole.startswith(beginning[0])

"""How each language declares things: one table for each, chosen by name. Nothing here looks at more than one text."""

from donewhen.syntax.grammar import LanguageName
from donewhen.syntax.tables import c, go, java, javascript, php, python, ruby, rust
from donewhen.syntax.tables.place import Table

TABLES: dict[LanguageName, Table] = {
    "python": python.TABLE,
    "javascript": javascript.TABLE,
    "typescript": javascript.TABLE,
    "tsx": javascript.TABLE,
    "go": go.TABLE,
    "rust": rust.TABLE,
    "java": java.TABLE,
    "c": c.TABLE,
    "cpp": c.TABLE_PLUS_PLUS,
    "ruby": ruby.TABLE,
    "php": php.TABLE,
}

"""Language tables: how each language declares symbols, by language name. The code here reads one text at a time."""

from donewhen.syntax.grammar import LanguageName
from donewhen.syntax.tables import c, go, java, javascript, php, python, ruby, rust
from donewhen.syntax.tables.place import LanguageTable

TABLES: dict[LanguageName, LanguageTable] = {
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

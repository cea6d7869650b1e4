"""Tables of node types per grammar: which nodes are rows, and which are definitions. Data only, no behaviour."""

from typing import Literal

from donewhen.syntax.grammar import LanguageName

Rule = Literal[
    "members", "statements", "cases", "entries", "fields", "elements", "set", "names", "parameters", "arguments",
    "bases", "alternatives",
]  # fmt: skip
"""members: named items, on separate lines; statements: their order matters; cases: of a switch; entries: key and value;
fields: of an interface, struct or enum; elements: of a list, by position; set: in any order; names: imported or
exported; parameters, arguments, bases: of a definition or call; alternatives: of a union type."""

ROWS_SEPARATED: dict[Rule, bytes] = {
    "entries": b",", "fields": b",", "elements": b",", "set": b",", "names": b",", "parameters": b",",
    "arguments": b",", "bases": b",", "alternatives": b" |",
}  # fmt: skip

_SCRIPT: dict[str, Rule] = {
    "program": "members", "class_body": "members", "statement_block": "statements", "switch_body": "cases",
    "object": "entries", "object_pattern": "entries", "array": "elements", "named_imports": "names",
    "export_clause": "names", "formal_parameters": "parameters", "arguments": "arguments",
}  # fmt: skip
_TYPED: dict[str, Rule] = {
    **_SCRIPT, "interface_body": "fields", "object_type": "fields", "enum_body": "fields",
    "implements_clause": "bases", "extends_type_clause": "bases", "union_type": "alternatives",
}  # fmt: skip
_C: dict[str, Rule] = {
    "translation_unit": "members", "preproc_ifdef": "members", "field_declaration_list": "members",
    "enumerator_list": "fields", "initializer_list": "elements", "compound_statement": "statements",
    "declaration_list": "members", "parameter_list": "parameters", "argument_list": "arguments",
}  # fmt: skip
ROWS: dict[LanguageName, dict[str, Rule]] = {
    "python": {
        "module": "members", "class body": "members", "match body": "cases", "block": "statements",
        "import_from_statement": "names", "dictionary": "entries", "list": "elements", "set": "set",
        "parameters": "parameters", "argument_list": "arguments", "bases": "bases", "__all__": "names",
        "alternatives": "alternatives",
    },
    "javascript": _SCRIPT,
    "typescript": _TYPED,
    "tsx": _TYPED,
    "go": {
        "source_file": "members", "import_spec_list": "members", "const_declaration": "members",
        "var_declaration": "members", "type_declaration": "members", "field_declaration_list": "members",
        "interface_type": "members", "literal_value": "elements", "expression_switch_statement": "cases",
        "type_switch_statement": "cases", "parameter_list": "parameters", "argument_list": "arguments",
        "statement_list": "statements",
    },
    "rust": {
        "source_file": "members", "declaration_list": "members", "field_declaration_list": "fields",
        "enum_variant_list": "fields", "use_list": "names", "match_block": "cases", "block": "statements",
        "field_initializer_list": "entries", "array_expression": "elements", "parameters": "parameters",
        "arguments": "arguments",
    },
    "java": {
        "program": "members", "class_body": "members", "interface_body": "members", "enum_body": "fields",
        "block": "statements", "switch_block": "cases", "array_initializer": "elements",
        "formal_parameters": "parameters", "argument_list": "arguments", "type_list": "bases",
    },
    "c": _C,
    "cpp": _C,
    "ruby": {
        "program": "members", "class body": "members", "body_statement": "statements", "hash": "entries",
        "array": "elements", "method_parameters": "parameters", "argument_list": "arguments",
    },
    "php": {
        "program": "members", "declaration_list": "members", "enum_declaration_list": "members",
        "compound_statement": "statements", "array_creation_expression": "elements", "match_block": "entries",
        "switch_block": "cases", "formal_parameters": "parameters", "arguments": "arguments",
        "namespace_use_group": "names",
    },
}  # fmt: skip

DEFINITIONS = frozenset((
    "function_definition", "class_definition", "function_declaration", "generator_function_declaration",
    "class_declaration", "abstract_class_declaration", "method_definition", "interface_declaration",
    "enum_declaration", "arrow_function", "function_expression", "method_declaration", "function_item", "impl_item",
    "trait_item", "struct_item", "enum_item", "mod_item", "constructor_declaration", "class_specifier",
    "struct_specifier", "enum_specifier", "namespace_definition", "class", "module", "method", "singleton_method",
    "trait_declaration", "record_declaration", "type_spec", "internal_module",
))  # fmt: skip
"""Their signature and their body are merged separately."""

SCOPES = DEFINITIONS - {"arrow_function", "function_expression"}
"""Definitions whose name qualifies the names that they contain."""

FUNCTIONS = frozenset((
    "function_definition", "function_declaration", "generator_function_declaration", "method_definition",
    "arrow_function", "function_expression", "method_declaration", "function_item", "constructor_declaration",
    "method", "singleton_method", "lambda",
))  # fmt: skip

VALUES = frozenset((
    "assignment", "variable_declarator", "const_spec", "var_spec", "const_item", "static_item", "type_item",
    "type_alias_declaration", "type_alias_statement", "type_alias", "const_element", "property_element",
    "public_field_definition", "field_definition", "field_declaration", "declaration", "type_definition",
    "function_signature", "method_signature", "property_signature", "abstract_method_signature", "enum_constant",
    "enum_variant", "enumerator", "enum_assignment", "enum_case", "function_signature_item", "macro_definition",
    "preproc_def", "preproc_function_def", "field_identifier", "method_elem",
))  # fmt: skip
"""Declarations without a body."""

EXPRESSIONS = frozenset((
    "dictionary", "list", "set", "tuple", "object", "array", "hash", "literal_value", "array_expression",
    "array_initializer", "initializer_list", "array_creation_expression", "union_type", "binary_operator", "string",
    "binary_expression",
))  # fmt: skip
"""Nothing inside them is declared for other code."""

IMPORTS = frozenset((
    "import_statement", "import_from_statement", "future_import_statement", "import_declaration", "import_spec",
    "use_declaration", "preproc_include", "namespace_use_declaration",
))  # fmt: skip

FIELDS_THAT_PART = frozenset(
    ("parameters", "superclasses", "body", "return_type", "class_heritage", "extends_type_clause")
)
HERITAGE = {
    "class_declaration": "class_heritage",
    "abstract_class_declaration": "class_heritage",
    "interface_declaration": "extends_type_clause",
}
"""Optional nodes between the name and the body of these."""
OPENERS = frozenset(("{", "(", "[", "implements", "extends"))
CLOSERS = frozenset(("}", ")", "]", "#endif"))
SEPARATORS = frozenset((",", ";", "|"))
LEADING = frozenset(("decorator", "attribute_item", "attribute_list"))
"""Nodes before the item that they belong to, like a comment."""
DEFAULT_CASES = (b"_", b"default", b"default:")

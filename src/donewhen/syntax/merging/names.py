"""Names of nodes, and whether two such nodes may be added next to each other. It looks at one node, not at a tree."""

from tree_sitter import Node

from donewhen.syntax.merging.rules import DEFAULT_CASES, DEFINITIONS, IMPORTS, VALUES, Rule

MOST_WRAPPERS = 12
_WRAPPERS = frozenset((
    "export_statement", "decorated_definition", "expression_statement", "lexical_declaration", "variable_declaration",
    "template_declaration", "ambient_declaration", "init_declarator", "function_declarator", "pointer_declarator",
    "array_declarator", "reference_declarator", "parenthesized_declarator", "const_declaration", "var_declaration",
    "type_declaration", "field_declaration", "property_declaration", "declaration",
))  # fmt: skip
_INNER_FIELDS = ("definition", "declaration", "declarator", "name")
_NAMES = frozenset((
    "identifier", "property_identifier", "type_identifier", "field_identifier", "constant", "name", "variable_name",
    "shorthand_property_identifier", "shorthand_property_identifier_pattern", "private_property_identifier",
    "scoped_identifier", "qualified_identifier", "destructor_name", "operator_name", "hash_key_symbol",
))  # fmt: skip


def text_of(node: Node) -> bytes:
    return node.text or b""


def is_import(node: Node) -> bool:
    if node.type in IMPORTS:
        return True
    method = node.child_by_field_name("method") if node.type == "call" else None
    return method is not None and text_of(method) in (b"require", b"require_relative")


def import_key(node: Node) -> tuple[bytes, bool]:
    """Return the key that two imports share if they could be one, and whether the key is more than their whole text."""
    source = node.child_by_field_name("module_name") or node.child_by_field_name("source")
    if node.type in ("import_from_statement", "import_statement") and source is not None:
        kind = b" type" if any(child.type in ("type", "typeof") for child in node.children) else b""
        return b"from" + kind + b" " + text_of(source), True
    argument = node.child_by_field_name("argument")
    path = argument.child_by_field_name("path") if argument and argument.type == "scoped_use_list" else None
    return (b"use " + text_of(path), True) if path else (b" ".join(text_of(node).split()), False)


def declared_name(node: Node) -> bytes | None:
    """Return the name that a statement or member declares; None if it declares nothing, or several names."""
    prefix = b""
    for _ in range(MOST_WRAPPERS):
        if node.type == "impl_item":
            body = node.child_by_field_name("body")
            return b" ".join(text_of(node)[: body.start_byte - node.start_byte if body else None].split())
        prefix = prefix or _accessor(node)
        if node.type == "assignment":
            left = node.child_by_field_name("left")
            return text_of(left) if left is not None and left.type in ("identifier", "constant") else None
        if node.type in _NAMES:
            return prefix + text_of(node)
        inner = _inner(node)
        if inner is None:
            return None
        node = inner
    return None


def _inner(node: Node) -> Node | None:
    if node.type in _WRAPPERS:
        for field in _INNER_FIELDS:
            found = node.children_by_field_name(field)
            if found:
                return found[0] if len(found) == 1 else None
        within = [child for child in node.named_children if child.type in VALUES | DEFINITIONS]
        return within[0] if len(within) == 1 else None
    if node.type in DEFINITIONS or node.type in VALUES:
        named = node.child_by_field_name("name") or node.child_by_field_name("declarator")
        return named or next((child for child in node.named_children if child.type in _NAMES), None)
    return None


def _accessor(node: Node) -> bytes:
    """Return a prefix that distinguishes a getter from a setter of the same name."""
    if node.type == "method_definition":
        return next((text_of(child) + b" " for child in node.children if child.type in ("get", "set", "static")), b"")
    if node.type == "decorated_definition":
        marks = [text_of(child) for child in node.children if child.type == "decorator"]
        return next(
            (mark.rsplit(b".", 1)[-1] + b" " for mark in marks if mark.endswith((b".setter", b".deleter"))), b""
        )
    if node.type == "method_declaration" and (receiver := node.child_by_field_name("receiver")):
        return (
            text_of(receiver).strip(b"()").split()[-1].lstrip(b"*") + b"." if text_of(receiver).strip(b"() ") else b""
        )
    return b""


def item_key(node: Node, rule: Rule, broken: bool) -> tuple[bytes, bool, bool]:
    """Return the key of a row item, whether the key is a name, and whether the item is free."""
    text = text_of(node)
    if is_import(node):
        key, named = import_key(node)
        return key, named, True
    match rule:
        case "members":
            name = declared_name(node)
            return (name, True, True) if name is not None else (text, False, False)
        case "fields" | "entries":
            return _field_key(node, text)
        case "cases":
            return _case_key(node, text)
        case "elements":
            keyed = node.type in ("keyed_element", "array_element_initializer", "pair") and node.named_child_count > 1
            return _field_key(node, text) if keyed else (text, False, broken and _has_no_position(node, text))
        case "parameters" | "arguments":
            return _parameter_key(node, text)
        case "names":
            return b" ".join(text.split()), True, True
        case "set" | "bases" | "alternatives":
            return text, False, not text.startswith(b"*")
        case "statements":
            return text, False, False


def _field_key(node: Node, text: bytes) -> tuple[bytes, bool, bool]:
    fields = map(node.child_by_field_name, ("key", "name", "field", "left"))
    key = next((child for child in fields if child is not None), None)
    if (
        key is None
        and node.type in ("array_element_initializer", "keyed_element", "pair")
        and node.named_child_count > 1
    ):
        key = node.named_children[0]
    if key is None and (name := declared_name(node)) is not None:
        return name, True, True
    if key is None and node.type in _NAMES:
        return text, True, True
    return (text_of(key).strip(b"\"'"), True, True) if key is not None else (text, False, False)


def _case_key(node: Node, text: bytes) -> tuple[bytes, bool, bool]:
    body = node.child_by_field_name("consequence") or node.child_by_field_name("body")
    colon = next((child for child in node.children if child.type in (":", "=>", "->")), None)
    end = colon or body
    key = b" ".join(text[: end.start_byte - node.start_byte if end else None].split())
    bare = key.removeprefix(b"case ").strip()
    last = bare in DEFAULT_CASES or "default" in node.type
    return key, True, not last and _is_closed_case(node, text)


def _is_closed_case(node: Node, text: bytes) -> bool:
    """Tell whether control cannot fall through from this case into one that is added after it."""
    if node.type not in ("switch_case", "case_statement", "switch_block_statement_group"):
        return True
    last = text.rstrip().rstrip(b"}; \n").rsplit(b"\n", 1)[-1].strip()
    return last.startswith((b"break", b"return", b"throw", b"continue")) or b"; break" in last or b" return" in last


def _has_no_position(node: Node, text: bytes) -> bool:
    """Tell whether an element has no meaning by position. Numbers and command-line options may have one."""
    number = node.type in ("integer", "float", "number", "unary_operator", "unary_expression", "number_literal")
    return not number and not text.startswith((b"*", b"...", b'"-', b"'-"))


def _parameter_key(node: Node, text: bytes) -> tuple[bytes, bool, bool]:
    """Return the key of a parameter or argument. Those given by name can be in any order; all others are positional."""
    by_name = ("default_parameter", "typed_default_parameter", "keyword_argument", "keyword_parameter", "pair")
    name = node.child_by_field_name("name") or node.child_by_field_name("key")
    if name is not None and node.type in by_name:
        return text_of(name), True, True
    if node.type == "keyword_separator":
        return text, True, True
    if node.type == "typed_parameter" and node.named_children:
        return text_of(node.named_children[0]), True, False
    return text, node.type == "identifier", False

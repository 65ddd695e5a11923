"""Schemas of tools' parameters, without what a provider does not know of JSON Schema."""

from collections.abc import Callable

from ..wire.json_text import Json, as_list, as_object, dumps

_SPOKEN = {
    "pattern": "Pattern: {}",
    "format": "Format: {}",
    "minimum": "At least {}",
    "maximum": "At most {}",
    "exclusiveMinimum": "More than {}",
    "exclusiveMaximum": "Less than {}",
    "multipleOf": "A multiple of {}",
    "minLength": "At least {} characters",
    "maxLength": "At most {} characters",
    "minItems": "At least {} items",
    "maxItems": "At most {} items",
    "default": "By default {}",
}
"""Keywords that say something to a model: the description says it instead."""
_DEFINITIONS = ("$defs", "definitions")
_HOLDS_SCHEMAS = ("properties", *_DEFINITIONS, "patternProperties")
_CHOICES = ("anyOf", "oneOf")
BOOLEAN, ANY_OF, REFERENCE = "boolean", "anyOf", "$ref"
"""Values that are no keywords: `true` as a schema, and what is beside a choice or reference."""
TYPE, REQUIRED, TOP = "type", "required", "top"
"""Likewise: no type, what is required and not there, a choice at the top."""
TYPES, ITEMS, ENUM, PROPERTIES = "types", "items", "enum", "properties"
"""Likewise: types as a list, a list of unknown items, an enum of no strings, what only objects have."""
NO_SCHEMA, MIXED, CLOSED, ALONE = "none", "mixed", "closed", "alone"
"""Likewise: no schema at all, that some tools are strict, an answer with more keys, what is beside a choice."""
_KINDS = {str: "string", bool: "boolean", int: "integer", list: "array", dict: "object"}
_CONDITIONS = ("if", "then", "else", "not")
_JOINED, _MORE = {"allOf", *_CONDITIONS}, {*_CHOICES, "$ref"}
"""Where closed objects hold nothing: what is true of a value at once, and beside properties."""
_KEYWORDS = {
    *_SPOKEN, "additionalProperties", "const", "dependentRequired", "patternProperties",
    "propertyNames", "unevaluatedItems", "unevaluatedProperties",
}  # fmt: skip
"""Keywords whose values may be objects. What else has one may be a parameter at a wrong place."""
_SHAPE = (*_CHOICES, "allOf", "description", "prefixItems")
"""What is no object, and is not taken out either."""


def without(schema: Json, refused: str) -> Json:
    """Return *schema* without a keyword, and so the schemas in it.

    What the keyword tells a model, the description tells. A constant becomes a list of one
    value; a type beside a choice goes into each of its schemas; beside a reference nothing
    stays; `true` becomes `{}`; a type that is missing is that of what is there, or a string.

    Args:
        schema: The schema.
        refused: The keyword, or one of the values that are none.

    Raises:
        ValueError: An object in it would hold less than is described, if it were closed.
    """
    if schema is True and refused == BOOLEAN:
        return {}
    if not isinstance(schema, dict):
        return schema
    made = {key: _inside(key, each, refused) for key, each in schema.items()}
    if refused in _CHANGES:
        return _CHANGES[refused](made)
    is_mark = refused not in _SHAPE and not isinstance(made.get(refused), dict)
    return _without(made, refused) if is_mark or refused in _KEYWORDS else made


_HOLDS_SCHEMA = {"additionalProperties", "contains", "items", *_CONDITIONS}


def _inside(key: str, value: Json, refused: str) -> Json:
    if refused == TYPE and key in _CONDITIONS:
        return value
    if key in _HOLDS_SCHEMAS and isinstance(value, dict):
        return {name: without(each, refused) for name, each in value.items()}
    if isinstance(value, list) and key in (*_CHOICES, "allOf", "prefixItems", "items"):
        return [without(each, refused) for each in value]
    return without(value, refused) if key in _HOLDS_SCHEMA else value


def _without(schema: dict[str, Json], keyword: str) -> dict[str, Json]:
    if keyword not in schema:
        return schema
    made = {key: each for key, each in schema.items() if key != keyword}
    value = schema[keyword]
    if keyword == "const":
        kind = _KINDS.get(type(value))
        typed = {"type": kind} if kind and "type" not in made else {}
        return {**typed, **made, "enum": [value]}
    if keyword in _SPOKEN and not isinstance(value, list | dict):
        shown = value if isinstance(value, str) else dumps(value).decode()
        return _described(made, _SPOKEN[keyword].format(shown))
    return made


def _type_inside(schema: dict[str, Json]) -> dict[str, Json]:
    """Return a schema with its type in each of its choices but references, not beside them."""
    key = next((each for each in _CHOICES if each in schema), None)
    if key is None or "type" not in schema:
        return schema
    kind = schema["type"]
    some = [
        {"type": kind, **each}
        if isinstance(each, dict) and "$ref" not in each
        else each
        for each in as_list(schema[key])
    ]
    return {name: each for name, each in schema.items() if name != "type"} | {key: some}


def _reference_alone(schema: dict[str, Json]) -> dict[str, Json]:
    return {"$ref": schema["$ref"]} if "$ref" in schema else schema


def _with_type(schema: dict[str, Json]) -> dict[str, Json]:
    """Return a schema with a type, unless others say what it is."""
    if schema.get("type", "") is None:
        schema = {key: each for key, each in schema.items() if key != "type"}
    if any(key in schema for key in ("type", "$ref", "allOf", *_CHOICES)):
        return schema
    if "properties" in schema or "required" in schema:
        kind = "object"
    elif "items" in schema:
        kind = "array"
    else:
        values = as_list(schema.get("enum")) or [schema.get("const", "")]
        found = {_KINDS.get(type(each), "string") for each in values}
        kind = found.pop() if len(found) == 1 else "string"
    return {"type": kind, **schema}


def _with_one_type(schema: dict[str, Json]) -> dict[str, Json]:
    """Return a schema with one type: null is a mark beside it, others are a choice."""
    kinds = schema.get("type")
    if not isinstance(kinds, list):
        return schema
    some = [each for each in kinds if each != "null"]
    made = {**schema, "nullable": True} if len(some) < len(kinds) else dict(schema)
    if len(some) < 2 or "anyOf" in schema:  # noqa: PLR2004
        return {**made, "type": some[0] if some else "string"}
    del made["type"]
    items = {"items": made.pop("items")} if "items" in made else {}
    choice: list[Json] = [
        {"type": each, **(items if each == "array" else {})} for each in some
    ]
    return {**made, "anyOf": choice}


def _with_properties(schema: dict[str, Json]) -> dict[str, Json]:
    """Return a schema with one type, and with properties only if that is an object's."""
    made = _with_one_type(schema)
    if made.get("type", "object") == "object":
        return made
    return {key: made[key] for key in made if key not in ("properties", "required")}


def _with_items(schema: dict[str, Json]) -> dict[str, Json]:
    """Return the schema of a list with one of its items."""
    kinds = as_list(schema.get("type")) or [schema.get("type")]
    if "items" in schema or "array" not in kinds:
        return schema
    first = as_list(schema.get("prefixItems"))
    return {**schema, "items": {"anyOf": first} if first else {}}


def _without_figures(schema: dict[str, Json]) -> dict[str, Json]:
    """Return a schema whose enum has strings alone, or is described in words."""
    values = as_list(schema.get("enum"))
    if not values:
        return schema
    if all(isinstance(each, str) for each in values):
        return schema if "type" in schema else {"type": "string", **schema}
    rest = {key: each for key, each in schema.items() if key != "enum"}
    shown = ", ".join(dumps(each).decode() for each in values)
    return _described(rest, f"One of {shown}")


def _described(schema: dict[str, Json], words: str) -> dict[str, Json]:
    before = str(schema.get("description") or "").rstrip(".")
    return {**schema, "description": f"{before}. {words}" if before else words}


def _requiring_what_is_there(schema: dict[str, Json]) -> dict[str, Json]:
    """Return a schema that requires no property which it does not describe."""
    there, wanted = _properties(schema), as_list(schema.get("required"))
    known = [each for each in wanted if isinstance(each, str) and each in there]
    if known == wanted:
        return schema
    rest = {key: each for key, each in schema.items() if key != "required"}
    return {**rest, "required": known} if known else rest


def _choice_alone(schema: dict[str, Json]) -> dict[str, Json]:
    """Return a schema with nothing beside a choice, or no choice beside its shape.

    What is told beside it, the first of its schemas tells that is no reference.
    """
    made = _with_one_type(schema)
    some = [as_object(each) for each in as_list(made.get("anyOf"))]
    if "properties" in made and any(map(_properties, some)):
        return as_object(without_choice(made))
    if not some or made.keys() & {"properties", "items", "enum"}:
        return {key: made[key] for key in made if key != "anyOf"}
    for key in _SPOKEN:
        made = _without(made, key)
    some = [as_object(each) for each in as_list(_type_inside(made)["anyOf"])]
    at = next((at for at, each in enumerate(some) if "$ref" not in each), 0)
    some[at] |= {"nullable": True} if made.get("nullable") else {}
    for words in (made[key] for key in ("title", "description") if made.get(key)):
        some[at] = _described(some[at], str(words))
    shared = {key: made[key] for key in _DEFINITIONS if key in made}
    return {**shared, "anyOf": [*some]}


def _closed(schema: dict[str, Json]) -> dict[str, Json]:
    """Return the schema of an object without more properties than it describes."""
    kinds = as_list(schema.get("type")) or [schema.get("type")]
    is_object = "object" in kinds or "properties" in schema
    has_more = schema.get("additionalProperties", False) is not False
    is_open = has_more or not schema.get("properties") or bool(schema.keys() & _MORE)
    if schema.keys() & _JOINED or (is_object and is_open):
        raise ValueError(CLOSED)
    return {**schema, "additionalProperties": False} if is_object else schema


_CHANGES: dict[str, Callable[[dict[str, Json]], dict[str, Json]]] = {
    ALONE: _choice_alone,
    ANY_OF: _type_inside,
    CLOSED: _closed,
    ENUM: _without_figures,
    ITEMS: _with_items,
    PROPERTIES: _with_properties,
    REFERENCE: _reference_alone,
    REQUIRED: _requiring_what_is_there,
    TYPE: _with_type,
    TYPES: _with_one_type,
}


def without_choice(schema: Json) -> Json:
    """Return the *schema* of an object with the properties of all its choices, and no choice.

    What each choice has another constant for may be each of them; what each requires is
    required.
    """
    if not isinstance(schema, dict):
        return schema
    keys = [key for key in ("allOf", *_CHOICES) if key in schema]
    if not keys:
        return schema
    made: dict[str, Json] = {"type": "object"}
    made |= {key: each for key, each in schema.items() if key not in keys}
    found: dict[str, Json] = {}
    some = [as_object(one) for key in keys for one in as_list(schema[key])]
    for name, each in (pair for one in some for pair in _properties(one).items()):
        found[name] = _either(found[name], each) if name in found else each
    if found:
        made["properties"] = found | _properties(made)
    before = as_list(made.get("required"))
    wanted = _needed(schema).difference(
        each for each in before if isinstance(each, str)
    )
    needed = [name for name in found if name in wanted]
    if needed:
        made["required"] = [*before, *needed]
    return made


def _needed(schema: dict[str, Json]) -> set[str]:
    """Return what one of all parts of *schema*, or each of a choice, requires."""

    def having(key: str) -> list[set[str]]:
        some = [as_object(each).get("required") for each in as_list(schema.get(key))]
        return [{n for n in as_list(each) if isinstance(n, str)} for each in some]

    some = [set.intersection(*having(key) or [set()]) for key in _CHOICES]
    return set[str]().union(*having("allOf"), *some)


def _properties(schema: dict[str, Json]) -> dict[str, Json]:
    return as_object(schema.get("properties"))


def _either(one: Json, other: Json) -> Json:
    """Return a schema of what either schema allows; the later one, if nobody can tell."""
    allowed = [_constants(one), _constants(other)]
    if not all(allowed):
        return other
    rest = {key: each for key, each in other.items() if key != "const"}
    return {**rest, "enum": [*dict.fromkeys(allowed[0] + allowed[1])]}


def _constants(schema: Json) -> list[Json]:
    schema = as_object(schema)
    found = [schema["const"]] if "const" in schema else as_list(schema.get("enum"))
    return found if all(isinstance(each, str) for each in found) else []

"""The published schema of saved results, as JSON Schema (draft 2020-12).

    python -m shaff.results.json_schema docs/result.schema.json

It is derived from the same fields and types by which `shaff.results.schema` checks a file, and its
descriptions from their docstrings: nothing of it is written by hand. It describes what this version
writes; `shaff.load_result` reads the earlier versions, too.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import is_dataclass
from inspect import getdoc
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from shaff._util.json import WORDS_FOR_NUMBERS
from shaff._util.typing import BoolArray, FloatArray, IntpArray
from shaff.results.base import Result
from shaff.results.files import CLASSES
from shaff.results.schema import required_fields

Schema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
_COUNT: Schema = {"type": "integer", "minimum": 0}
# JSON has no words for numbers that are not finite; in lists, null stands for "not computed".
_NUMBER: Schema = {"anyOf": [{"type": "number"}, {"enum": list(WORDS_FOR_NUMBERS)}]}
PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: _COUNT,
    float: {"$ref": "#/$defs/number"},
    FloatArray: {"$ref": "#/$defs/numbers"},
    IntpArray: {"$ref": "#/$defs/counts"},
    BoolArray: {
        "type": "array",
        "items": {"anyOf": [{"type": "boolean"}, {"type": "string", "pattern": "^[01]*$"}]},
    },
    Any: {},
}
# Arrays of any number of dimensions, nested lists in the order of numpy.
_NUMBERS: Schema = {"$ref": "#/$defs/numbers"}
_SHARED: Schema = {
    "number": _NUMBER,
    "numbers": {
        "type": "array",
        "items": {"anyOf": [{"$ref": "#/$defs/number"}, {"type": "null"}, _NUMBERS]},
    },
    "counts": {"type": "array", "items": {"anyOf": [_COUNT, {"$ref": "#/$defs/counts"}]}},
}
# Fields that are saved in another form than they have: keys of many results may be tuples.
_SAVED_OTHERWISE: dict[tuple[str, str], Schema] = {
    ("ManyEffects", "results"): {
        "type": "array",
        "items": {"type": "array", "prefixItems": [{}, {"$ref": "#/$defs/EffectsResult"}]},
    },
    ("ManyEffects", "failures"): {
        "type": "array",
        "items": {"type": "array", "prefixItems": [{}, {"type": "string"}]},
    },
}
_NOT_SAVED = {("LocalEffects", "index")}
_PARAMETER = re.compile(r"^(\w+(?:, \w+)*) : .*\n((?:[ ]{4}.*\n|\n)*)", re.M)


def result_schema() -> Schema:
    """Return the schema of every file that ``to_json`` of a result writes.

    Examples
    --------
    >>> from shaff.results.json_schema import result_schema
    >>> schema = result_schema()
    >>> schema["$defs"]["EffectsResult"]["properties"]["effects"]["$ref"]
    '#/$defs/numbers'
    """
    shared: Schema = dict(_SHARED)
    # Results inside of results have no header; files have one.
    header = {"required": ["format", "format_version"]}
    kinds = [{**of_class(kind, shared), **header} for kind in CLASSES.values()]
    return {
        "$schema": DIALECT,
        "title": "A result of shaff",
        "description": "What to_json of a result writes, and shaff.load_result reads.",
        "oneOf": kinds,
        "$defs": dict(sorted(shared.items())),
    }


def of_class(kind: type, shared: Schema) -> Schema:
    """Return a reference to the schema of a class, which is put among the shared ones."""
    name = kind.__name__
    if name not in shared:
        shared[name] = {}  # a class may hold itself
        shared[name] = _object(kind, shared)
    return {"$ref": f"#/$defs/{name}"}


def _object(kind: type, shared: Schema) -> Schema:
    hints, told = get_type_hints(kind), descriptions(kind)
    is_result = issubclass(kind, Result)
    properties: Schema = dict(_header(kind)) if is_result else {}
    for name in _fields(kind):
        if (kind.__name__, name) in _NOT_SAVED:
            continue
        otherwise = _SAVED_OTHERWISE.get((kind.__name__, name))
        form = of_hint(hints[name], shared) if otherwise is None else dict(otherwise)
        properties[name] = {**form, **({"description": told[name]} if name in told else {})}
    return {"type": "object", "required": required_fields(kind), "properties": properties}


def _fields(kind: type) -> list[str]:
    names = getattr(kind, "__dataclass_fields__" if is_dataclass(kind) else "_fields")
    return [name for name in names if not name.startswith("_")]


def _header(kind: type[Result]) -> Schema:
    return {"format": {"const": kind._format}, "format_version": {"const": kind._versions[-1]}}


def of_hint(hint: Any, shared: Schema) -> Schema:
    """Return the schema of a type, by the rules by which `shaff.results.schema` checks values."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint in PLAIN:
        return dict(PLAIN[hint])
    if origin in (Union, UnionType):
        known = next(part for part in parts if part is not NoneType)
        form = of_hint(known, shared)
        return {"anyOf": [form, {"type": "null"}]} if NoneType in parts else form
    if origin is Literal:
        return {"enum": list(parts)}
    if origin is tuple:
        length = {} if Ellipsis in parts else {"minItems": len(parts), "maxItems": len(parts)}
        return {"type": "array", "items": of_hint(parts[0], shared), **length}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": of_hint(parts[1], shared)}
    return of_class(hint, shared) if isinstance(hint, type) else {}


def descriptions(kind: type) -> dict[str, str]:
    """Return what the docstring of a class says about its parameters, in one line each.

    Examples
    --------
    >>> from shaff.data.summary import DataSummary
    >>> from shaff.results.json_schema import descriptions
    >>> descriptions(DataSummary)["n_columns"]
    'Number of columns.'
    """
    section = (getdoc(kind) or "").partition("Parameters\n----------\n")[2]
    section = re.split(r"^\w+\n-+$", section, maxsplit=1, flags=re.M)[0] + "\n"
    return {
        name: " ".join(found[2].split())
        for found in _PARAMETER.finditer(section)
        for name in found[1].split(", ")
        if found[2].strip()
    }


def written(schema: Schema) -> str:
    """Return the text of the published file."""
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(written(result_schema()), encoding="utf-8")

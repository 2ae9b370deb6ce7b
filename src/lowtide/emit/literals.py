"""Numbers and arrays as C text."""

from __future__ import annotations

import numpy as np

from lowtide.errors import ModelError
from lowtide.lower.nodes import Array, Kernel, Params, Value


class Arrays:
    """Constant arrays, and params that others point to, by contents: equal ones are written once, in
    order of first use."""

    def __init__(self, name: str) -> None:
        self.prefix = name
        self.names: dict[tuple[str, int, bytes], str] = {}
        self.structs: dict[str, str] = {}
        self.definitions: list[str] = []

    def name(self, array: Array) -> str:
        """The name of `array`, which is defined now if it is new."""
        values = np.ascontiguousarray(array.values)
        key = (array.ctype, values.size, values.tobytes())
        if key not in self.names:
            kind = "weights" if array.weights else "const"
            name = f"{self.prefix}_{kind}_{len(self.names)}"
            self.names[key] = name
            placed = f" {weights_placed(self.prefix)}" if array.weights else ""
            self.definitions.append(
                f"static const {array.ctype} {name}[{max(1, values.size)}]{placed} = "
                f"{{\n{values_text(array)}\n}};"
            )
        return self.names[key]

    def struct(self, params: Params) -> str:
        """The name of a struct of `params`, which is defined now if it is new."""
        text = struct_text(params, self)
        if params.ctype + text not in self.structs:
            name = f"{self.prefix}_part_{len(self.structs)}"
            self.structs[params.ctype + text] = name
            self.definitions.append(f"static const {params.ctype} {name} = {text};")
        return self.structs[params.ctype + text]


def weights_placed(name: str) -> str:
    """The macro with which weights of the program `name` are defined: where the caller wants them."""
    return f"{name.upper()}_WEIGHTS_PLACED"


def struct_text(params: Params, arrays: Arrays) -> str:
    """The initialiser of a params struct; what it points to is defined now if it is new."""
    fields = [f"    .{field} = {value_literal(value, arrays)},\n" for field, value in params.fields]
    return f"{{\n{''.join(fields)}}}"


def values_text(array: Array) -> str:
    """The elements of an array, in lines."""
    text = f" {_elements(array)},"
    lines, at = [], 0
    while at < len(text):
        end = text.rfind(",", at, at + _LINE) + 1
        lines.append(f"   {text[at:end]}")
        at = end
    return "\n".join(lines)


_LINE = 96
"""Of characters that elements take in a line, the indentation aside."""


def _elements(array: Array) -> str:
    """The elements with ", " between them."""
    flat = array.values.reshape(-1).tolist() or [0]
    # The least values have no literal of their own type in C.
    match array.ctype:
        case "float":
            return ", ".join(map(float_literal, flat))
        case "int64_t":
            return ", ".join("INT64_MIN" if v == -(1 << 63) else f"INT64_C({v})" for v in flat)
        case "int32_t":
            return str(flat)[1:-1].replace(str(-(1 << 31)), "INT32_MIN")
        case _:
            return str(flat)[1:-1]


def float_literal(value: float) -> str:
    """The shortest text that is read back as the same float32."""
    text = str(np.float32(value))
    if text in ("inf", "-inf", "nan"):
        raise ModelError(f"a constant of the model is {text}", "export the model again")
    return text + ("f" if "." in text or "e" in text else ".0f")


def value_literal(value: Value, arrays: Arrays) -> str:
    """A field's value; an array is its name."""
    match value:
        case Array():
            return arrays.name(value)
        case Params():
            return f"&{arrays.struct(value)}"
        case Kernel():
            return value.name
        case None:
            return "NULL"
        case bool() | int():
            return "INT32_MIN" if value == -(1 << 31) else str(int(value))
        case float():
            return float_literal(value)


def comment(text: str) -> str:
    """`text`, which may be anybody's, as part of a comment in C: it stays on its line and inside."""
    text = "".join(c if " " <= c <= "~" and c != "?" else "_" for c in text)
    return text.replace("*/", "* /").replace("/*", "/ *")

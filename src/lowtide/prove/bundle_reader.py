"""The step program of a bundle, read back from its C text.

Why from the text: what is proved must be what a compiler of C sees, not what the program's makers meant
to write. So nothing of them is used here: the forms below are those of kernels/include, and a text that
has another one is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lowtide.prove.structs import BITS, bits_of

GIVE, TAKE, STRIP = 0xFF, 0xFE, 0xFD
"""LT_GIVE, LT_TAKE and LT_STRIP: nodes that run no kernel."""

LOOP, DEPTH = 0x8000, 4
"""LT_LOOP and LT_DEPTH."""

IN_RING, FAR, RING_BASE = 2, 3, 2
"""LT_IN_RING, LT_FAR and LT_RING_BASE; the base after that one is the ring's, too."""

_NONE = 0xFFFF
_WORDS = {
    "LT_NONE": _NONE,
    "LT_GIVE": GIVE,
    "LT_TAKE": TAKE,
    "LT_STRIP": STRIP,
    "LT_GIVES": 1,
    "LT_TAKES": 2,
    "INT32_MIN": -(1 << 31),
    "INT64_MIN": -(1 << 63),
}
_BITS = {
    "rows": (32, 32, 16, 8, 8),
    "ports": (16, -16, 16, 16, 8, 8),
    "turns": (16, 16),
    "shifts": (8, 8, -32),
    "traced": (32, 16),
}
"""Bits of each column of a table in C; of signed ones, negative. A number beyond them would be another
one."""

_DEFINITION = re.compile(
    r"^static const (?:struct )?(\w+) (\w+)(\[\d*\])?(?:\[2\])?(?: \w+_PLACED)? = (?=\{)",
    re.MULTILINE,
)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_FIELD = re.compile(r"^    \.([\w.]+) = (.+),$", re.MULTILINE)


class UnreadableError(Exception):
    """The text is not of the form that it should have."""


@dataclass(frozen=True, slots=True)
class Rows:
    """lt_rows: row r is at offset + r * pitch from the base, in a ring, too, or at offset +
    places[p + codes[c + r]] << shift, where `pitch` is c and, in its high half, p."""

    offset: int
    pitch: int
    count: int
    base: int
    apart: int


@dataclass(frozen=True, slots=True)
class Port:
    """lt_port; `table` is None where there is none."""

    rows: int
    first: int
    count: int
    table: int | None
    stride: int
    dilation: int


@dataclass(frozen=True, slots=True)
class Kind:
    """lt_kind."""

    kernel: str
    inputs: int
    outputs: int


@dataclass(frozen=True, slots=True)
class Node:
    """lt_node; `params` is the name of its params, or None."""

    params: str | None
    scratch: int
    ports: int
    counter: int
    kind: int


@dataclass(frozen=True, slots=True)
class Strip:
    """lt_strip: (base, from, offset) of its shifts, and the counters that begin again."""

    shifts: tuple[tuple[int, int, int], ...]
    counters: range


@dataclass(frozen=True, slots=True)
class Exchanged:
    """An input or output in the header: its bytes, and, if it is streamed, its rows."""

    bytes: int
    rows: int | None


Field = int | float | str | None
"""A field of params: a number, the name of an array, of other params or of a kernel, or null."""


@dataclass(frozen=True, slots=True)
class Params:
    """The params of a kernel: the struct's type and its fields."""

    ctype: str
    fields: Mapping[str, Field]


@dataclass(frozen=True, slots=True, eq=False)
class Bundle:
    """The step program of a bundle. Sizes are in bytes.

    `bases` and `pointers` are the lengths of an instance's arrays; `counters` those that a run begins
    with at 0. `given` and `left` say,
    of each input and output in memory of the program's, (base, offset). `state_base` is that of the
    state, `resets` what a reset writes there: (offset, size, the bytes). `traced` says which tensor
    each of the rows are said to be of; the proof takes it for a hint alone. `text` and `spans` are
    where definitions are found that are read only if asked for. `ring_row` is the bytes of a row of the
    input in a ring of the caller's, or 0.

    """

    arena: int
    align: int
    state: int
    state_align: int
    bases: int
    counters: int
    pointers: int
    inputs: tuple[Exchanged, ...]
    outputs: tuple[Exchanged, ...]
    const_base: int | None
    state_base: int | None
    constants: bytes
    kinds: tuple[Kind, ...]
    rows: tuple[Rows, ...]
    ports: tuple[Port, ...]
    nodes: tuple[Node, ...]
    turns: tuple[tuple[int, int], ...]
    places: tuple[int, ...]
    codes: tuple[int, ...]
    tables: tuple[int, ...]
    place_shift: int
    row_count: int
    exchanges: int
    given: Mapping[int, tuple[int, int]]
    left: Mapping[int, tuple[int, int]]
    ring_row: int
    resets: tuple[tuple[int, int, bytes], ...]
    traced: tuple[int, ...]
    text: str = field(repr=False)
    spans: Mapping[str, tuple[str, int | None, int]] = field(repr=False)
    _arrays: dict[str, NDArray[np.int64]] = field(default_factory=dict, repr=False)

    def array(self, name: Field) -> NDArray[np.int64]:
        """The values of a constant array of integers."""
        if not isinstance(name, str) or name not in self.spans:
            raise UnreadableError(f"{name} is no array")
        if name not in self._arrays:
            ctype, length, _ = self.spans[name]
            values = _values(self._body(name))
            if length != len(values):
                raise UnreadableError(f"{name} has {len(values)} values, and says {length}")
            if len(values) and ctype in BITS:
                for end in (int(values.min()), int(values.max())):
                    _within(end, BITS[ctype])
            self._arrays[name] = values
        return self._arrays[name]

    def length(self, name: Field) -> int:
        """How many values an array has, which need not be integers."""
        if not isinstance(name, str) or name not in self.spans:
            raise UnreadableError(f"{name} is no array")
        return self.spans[name][1] or 0

    def params(self, name: Field) -> Params:
        """The params of that name, whose fields hold their numbers."""
        if not isinstance(name, str) or name not in self.spans:
            raise UnreadableError(f"{name} are no params")
        fields = {key: _field(value) for key, value in _FIELD.findall(self._body(name))}
        ctype = self.spans[name][0]
        bits = bits_of(ctype)
        for key, value in fields.items():
            if isinstance(value, int) and key in bits:
                _within(value, bits[key])
        return Params(ctype, fields)

    def strip(self, name: str | None) -> Strip:
        """The strip of that name."""
        values = [v.strip() for v in self._body(name or "").strip("{} \n").split(",")]
        if len(values) != 4:
            raise UnreadableError(f"{name} is no strip")
        shifts = _table(self._body(values[0]), _BITS["shifts"])
        count, first, counters = (_within(_number(value), 16) for value in values[1:])
        if count > len(shifts):
            raise UnreadableError(f"{name} has {len(shifts)} shifts, and says {count}")
        return Strip(tuple((a, b, c) for a, b, c in shifts[:count]), range(first, first + counters))

    def _body(self, name: str) -> str:
        return _body(self.text, self.spans, name)


def read(code: str, header: str, name: str) -> Bundle:
    """The step program of the program `name`, from its NAME.c and NAME.h. Raises UnreadableError."""
    spans: dict[str, tuple[str, int | None, int]] = {}
    for found in _DEFINITION.finditer(code):
        length = (found[3] or "").strip("[]")
        spans[found[2]] = (found[1], int(length) if length else None, found.end())

    def table(what: str) -> list[tuple[int, ...]]:
        return _table(_body(code, spans, f"{name}_{what}"), _BITS[what])

    upper = name.upper()
    defined = dict(re.findall(rf"^#define {upper}_(\w+) (-?\d+)$", header, re.MULTILINE))
    program = dict(_FIELD.findall(_body(code, spans, f"{name}_program")))
    kinds = _kinds(_body(code, spans, f"{name}_kinds"))
    nodes = _nodes(_body(code, spans, f"{name}_nodes"))
    turns = table("turns")
    count = _number(program.get("turn_count", ""))
    if count > len(turns):
        raise UnreadableError(f"{name}_turns has {len(turns)} turns, and says {count}")
    for what in ("kinds", "rows", "ports", "nodes", "turns"):
        if program.get(what) != f"{name}_{what}":
            raise UnreadableError(f"the program's {what} are {program.get(what)}")

    def numbers(what: str, bits: int) -> tuple[int, ...]:
        if program.get(what) == "NULL":
            return ()
        if program.get(what) != f"{name}_{what}":
            raise UnreadableError(f"the program's {what} are {program.get(what)}")
        values = _values(_body(code, spans, f"{name}_{what}"))
        for end in (int(values.min()), int(values.max())):
            _within(end, bits)
        return tuple(values.tolist())

    row_count = program.get("row_count", "")
    for rows in ("INPUT_0_ROWS", "HOP_ROWS"):
        row_count = row_count.replace(f"{upper}_{rows}", defined.get(rows, ""))
    functions = code[code.index(f"static const lt_program {name}_program") :]
    state = re.search(r"^    m->bases\[(\d+)\] = state;$", functions, re.MULTILINE)
    const = re.search(r"^    m->bases\[(\d+) \+ i\] = \(uint8_t \*\)", functions, re.MULTILINE)
    ring_row = _number(defined["INPUT_0_ROW_BYTES"]) if "RING_ROWS" in defined else 0
    array = {
        what: _number(_search(rf"^    [\w ]+\*?{what}\[(\d+)\];$", header))
        for what in ("bases", "next", "pointers")
    }
    for what in array:
        if program.get(what) != f"offsetof({name}_t, {what})":
            raise UnreadableError(f"the program's {what} are at {program.get(what)}")
    counters = _number(program.get("counter_count", ""))
    if counters > array["next"]:
        raise UnreadableError(
            f"there are {array['next']} counters, and the program says {counters}"
        )
    exchanges = _within(sum(map(_number, program.get("exchanges", "").split(" | "))), 2)
    return Bundle(
        arena=_number(defined.get("ARENA_SIZE", "")),
        align=_number(defined.get("ARENA_ALIGN", "")),
        state=int(defined.get("STATE_SIZE", 0)),
        state_align=int(defined.get("STATE_ALIGN", 1)),
        bases=array["bases"],
        counters=counters,
        pointers=array["pointers"],
        inputs=_hop(defined, _exchanged(defined, "INPUT")),
        outputs=_exchanged(defined, "OUTPUT"),
        const_base=RING_BASE if ring_row else int(const[1]) if const else None,
        state_base=int(state[1]) if state else None,
        constants=_constants(code, name),
        kinds=kinds,
        rows=tuple(Rows(*row) for row in table("rows")),
        ports=tuple(
            Port(r, f, c, None if t == _NONE else t, s, d) for r, f, c, t, s, d in table("ports")
        ),
        nodes=nodes,
        turns=tuple((node, steps) for node, steps in turns[:count]),
        places=numbers("places", 16),
        codes=numbers("codes", 8),
        tables=numbers("tables", -16),
        place_shift=_within(_number(program.get("place_shift", "")), 8),
        row_count=_number(row_count),
        exchanges=exchanges,
        given=_places(functions, rf"void \*{name}_input\("),
        left=_places(functions, rf"const void \*{name}_output\("),
        ring_row=ring_row,
        resets=_resets(code, spans, functions, name, int(state[1]) if state else None),
        traced=tuple(tensor for _, tensor in table("traced")),
        text=code,
        spans=spans,
    )


def _search(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        raise UnreadableError(f"there is no {pattern}")
    return found[1]


def _number(text: str) -> int:
    text = text.strip()
    if text in _WORDS:
        return _WORDS[text]
    try:
        return int(text)
    except ValueError:
        raise UnreadableError(f"{text!r} is no number") from None


def _field(text: str) -> Field:
    if text == "NULL":
        return None
    if text in _WORDS:
        return _WORDS[text]
    try:
        return int(text)
    except ValueError:
        pass
    if re.fullmatch(r"-?[\d.]+(?:e[+-]?\d+)?f", text):
        return float(text[:-1])
    if not re.fullmatch(r"&?\w+", text):
        raise UnreadableError(f"{text!r} is no field")
    return text.removeprefix("&")


def _body(text: str, spans: Mapping[str, tuple[str, int | None, int]], name: str) -> str:
    """The initialiser of a definition, braces included."""
    if name not in spans:
        raise UnreadableError(f"there is no {name}")
    start = spans[name][2]
    return text[start : text.index("};", start) + 1]


def _values(body: str) -> NDArray[np.int64]:
    """The numbers of an array."""
    plain = body.strip("{}\n ").rstrip(",")
    if "I" in plain:  # INT64_C(x), INT32_MIN, INT64_MIN
        plain = re.sub(r"INT64_C\((-?\d+)\)", r"\1", plain)
        for word in ("INT32_MIN", "INT64_MIN"):
            plain = plain.replace(word, str(_WORDS[word]))
    try:
        return np.array([int(word) for word in plain.split(",")], np.int64)
    except ValueError:
        raise UnreadableError("an array has values that are no integers") from None


def _within(value: int, bits: int) -> int:
    """A number that its type in C can hold."""
    low, high = (0, 1 << bits) if bits > 0 else (-(1 << -bits - 1), 1 << -bits - 1)
    if not low <= value < high:
        raise UnreadableError(f"{value} needs more than {abs(bits)} bits")
    return value


def _table(body: str, bits: tuple[int, ...]) -> list[tuple[int, ...]]:
    """An array of structs of numbers; one of nothing has one struct of fewer."""
    found: list[tuple[int, ...]] = []
    for line in _COMMENT.sub("", body).splitlines()[1:-1]:
        values = line.strip().strip("{},").split(",")
        if len(values) != len(bits):
            if line.strip() == "{0}," and not found:
                continue
            raise UnreadableError(f"{line.strip()!r} does not have {len(bits)} values")
        found.append(tuple(_within(_number(v), b) for v, b in zip(values, bits, strict=True)))
    return found


def _kinds(body: str) -> tuple[Kind, ...]:
    found = []
    for kernel, inputs, outputs in re.findall(r"\{ (\w+), (\d+), (\d+) \},", body):
        found.append(Kind(kernel, _within(int(inputs), 8), _within(int(outputs), 8)))
    return tuple(found)


def _nodes(body: str) -> tuple[Node, ...]:
    found: list[Node] = []
    for line in _COMMENT.sub("", body).splitlines()[1:-1]:
        if line.strip() == "{0},":
            continue
        params, *numbers = (word.strip() for word in line.strip().strip("{},").split(","))
        if len(numbers) != 4:
            raise UnreadableError(f"{line.strip()!r} is no node")
        name = None if params == "NULL" else params.removeprefix("&")
        scratch, ports, counter = (_within(_number(n), 16) for n in numbers[:3])
        found.append(Node(name, scratch, ports, counter, _within(_number(numbers[3]), 8)))
    return tuple(found)


def _exchanged(defined: Mapping[str, str], kind: str) -> tuple[Exchanged, ...]:
    found = []
    for i in range(_number(defined.get(f"{kind}S", ""))):
        rows = defined.get(f"{kind}_{i}_ROWS")
        size = _number(defined.get(f"{kind}_{i}_BYTES", ""))
        if rows is not None and int(rows) * _number(defined[f"{kind}_{i}_ROW_BYTES"]) != size:
            raise UnreadableError(f"the rows of {kind.lower()} {i} are not all of it")
        found.append(Exchanged(size, None if rows is None else int(rows)))
    return tuple(found)


def _hop(defined: Mapping[str, str], inputs: tuple[Exchanged, ...]) -> tuple[Exchanged, ...]:
    """What a run takes of the inputs: of a window that slides, its new rows, or those of a ring."""
    if "HOP_ROWS" not in defined:
        return inputs
    if "RING_ROWS" in defined:
        rows = _number(defined["RING_ROWS"])
        return (Exchanged(rows * _number(defined["INPUT_0_ROW_BYTES"]), None),)
    rows = _number(defined["HOP_ROWS"])
    return (Exchanged(rows * _number(defined["INPUT_0_ROW_BYTES"]), rows),)


def _constants(code: str, name: str) -> bytes:
    """The blob of constants that are operands."""
    found = re.search(
        rf"^static const union \{{\n    uint8_t bytes\[(\d+)\];\n    int64_t align;\n\}} "
        rf"{name}_weights \w+_PLACED = \{{(\{{\n)",
        code,
        re.MULTILINE,
    )
    if found is None:
        return b""
    values = _values(code[found.start(2) : code.index("}", found.end())])
    if len(values) != int(found[1]):
        raise UnreadableError(f"{name}_weights has {len(values)} bytes, and says {found[1]}")
    return values.astype(np.uint8).tobytes()


def _places(functions: str, signature: str) -> dict[int, tuple[int, int]]:
    """What a function returns for each number: (base, offset)."""
    found = re.search(rf"^{signature}.*?\n\{{\n(.*?)^\}}", functions, re.MULTILINE | re.DOTALL)
    if found is None:
        return {}
    cases = re.findall(r"case (\d+):\n        return m->bases\[(\d+)\] \+ (\d+);", found[1])
    return {int(number): (int(base), int(offset)) for number, base, offset in cases}


def _resets(
    code: str,
    spans: Mapping[str, tuple[str, int | None, int]],
    functions: str,
    name: str,
    base: int | None,
) -> tuple[tuple[int, int, bytes], ...]:
    """What NAME_reset writes to the state."""
    found = re.search(rf"^int {name}_reset\(.*?^\}}", functions, re.MULTILINE | re.DOTALL)
    if found is None or base is None:
        return ()
    writes = []
    pattern = rf"(memset|memcpy)\(m->bases\[{base}\] \+ (\d+), (\w+), (\d+)\);"
    for call, offset, what, size in re.findall(pattern, found[0]):
        many = int(size)
        if call == "memset":
            data = bytes([int(what)]) * many
        else:
            values = _values(_body(code, spans, what))
            data = values.astype(np.uint8).tobytes()[:many]
        if len(data) != many:
            raise UnreadableError(f"a reset copies {many} bytes of {len(data)}")
        writes.append((int(offset), many, data))
    return tuple(writes)

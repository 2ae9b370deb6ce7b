"""The types in C of params and their fields, from the headers of the runtime (kernels/include).

Why: a number that its field can't hold is another one once C is compiled, and a kernel takes params of
any type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from lowtide.emit.runtime import kernel_files

BITS = {f"{u}int{bits}_t": bits if u else -bits for u in ("", "u") for bits in (8, 16, 32, 64)}
"""Bits of C's integers; of signed ones, negative."""

_STRUCT = re.compile(r"typedef struct \{(.*?)\} (\w+);", re.DOTALL)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_PLAIN = re.compile(r"(?:const )?(\w+) (\w+(?:, \w+)*)")


@cache
def bits_of(ctype: str) -> Mapping[str, int]:
    """The integers of a struct by name, those of structs in it behind a point, with their bits; empty
    if the runtime has no such struct."""
    return dict(_fields(ctype))


def _fields(ctype: str) -> Iterator[tuple[str, int]]:
    for line in _structs().get(ctype, "").split(";"):
        found = _PLAIN.fullmatch(line.strip())
        for name in found[2].split(", ") if found else ():
            assert found is not None
            if found[1] in BITS:
                yield name, BITS[found[1]]
            yield from ((f"{name}.{inner}", bits) for inner, bits in bits_of(found[1]).items())


@cache
def _structs() -> Mapping[str, str]:
    """Struct -> what is between its braces."""
    texts = (_COMMENT.sub("", text) for text in kernel_files().values())
    return {name: body for text in texts for body, name in _STRUCT.findall(text)}


_OTHERS = (
    (r"lt_add_(s8|u8|s16)_(row|pair)", "lt_addition"),
    (r"lt_compare_(s8|u8)_pair", "lt_compare_scaled"),
    (r"lt_(min|max|floor_div|floor_mod)_\w+_pair", "lt_pair"),
    (r"lt_(add|sub|mul|squared_difference|div)_s32_pair", "lt_int32"),
    (r"lt_(average|max)_pool_u8_(row|eat)", "lt_pool_u8"),
    (r"lt_(average|max)_pool_\w+", "lt_pool"),
    (r"lt_batch_matmul_\w+", "lt_batch_matmul_s8"),
    (r"lt_(concat|split)_row", "lt_join"),
    (r"lt_dequantize_\w+", "lt_quantize"),
    (r"lt_i?rfft_\w+", "lt_fft"),
    (r"lt_separable_((?:4x2_|vector_)?s8)_row", r"lt_block_\1"),
    (r"lt_sum_\w+_eat", "lt_reduce"),
    (r"lt_tanh_s16_row", "lt_logistic_s16"),
)
"""The params of kernels that are not named like them; of those that match several, the first counts. The
others begin with their params' name."""


@cache
def params_of(kernel: str) -> str:
    """The struct that a kernel's params are."""
    for pattern, ctype in _OTHERS:
        if found := re.fullmatch(pattern, kernel):
            return found.expand(ctype)
    return max((name for name in _structs() if kernel.startswith(f"{name}_")), key=len, default="")

"""Which table of options each operator has.

Why: a file may give an operator another one's table. The interpreters take it for no table at all; to
read its fields by their names would give an operator strides or modes that it does not have there.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from lowtide.tflite.schema import schema

_SHARED: Final[Mapping[str, tuple[str, ...]]] = {
    "Pool2DOptions": ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"),
    "ReducerOptions": (
        *("MEAN", "SUM", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ANY", "REDUCE_ALL"),
    ),
    "MaximumMinimumOptions": ("MAXIMUM", "MINIMUM"),
    "L2NormOptions": ("L2_NORMALIZATION",),
    "SequenceRNNOptions": ("UNIDIRECTIONAL_SEQUENCE_RNN",),
    "RandomOptions": ("RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL", "MULTINOMIAL"),
}


def options_of(operator: str, given: str) -> str:
    """The table that belongs to `operator`, such as CONV_2D; `given` if the schema has none for it."""
    return _tables().get(_plain(operator), given)


@cache
def _tables() -> Mapping[str, str]:
    """Operator -> its table: called as it is, or shared."""
    unions = (schema().unions[name] for name in ("BuiltinOptions", "BuiltinOptions2"))
    tables = {
        _plain(name.removesuffix("Options")): name for kinds in unions for name in kinds.values()
    }
    shared = {_plain(op): name for name, operators in _SHARED.items() for op in operators}
    return {**tables, **shared}


def _plain(name: str) -> str:
    return name.replace("_", "").lower()

"""Compiled programs for the tests of their pictures, and of the boxes that these show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import networks
from lowtide.commands.compiling import Compiled
from lowtide.commands.options import Options
from lowtide.place import Rectangle
from lowtide.place.variables import Variable

WAYS: dict[str, dict[str, Any]] = {
    "rows": {},
    "preserved": {"preserve_input": True},
    "const": {"input_mode": "const"},
    "streamed": {"input_mode": "streamed", "output_mode": "streamed"},
    "operators": {"schedule": "operators"},
    "greedy": {"schedule": "operators", "allocator": "greedy"},
    "compacting": {"schedule": "operators", "allocator": "compacting"},
}

every_way = pytest.mark.parametrize("way", WAYS)


def compiled(name: str, way: str = "rows") -> Compiled:
    return networks.compiled(name, Options(**WAYS[way]))


def with_variable(name: str) -> Compiled:
    """The program with a variable of 100 bytes past all else."""
    program = compiled(name)
    variables = (Variable(0, 0, 100, 100, 0),)
    return replace(program, assembly=replace(program.assembly, variables=variables))


def nothing(program: Compiled) -> Compiled:
    """The program as if it needed no memory."""
    placement = replace(
        program.assembly.placement, arena_bytes=0, rectangles=(Rectangle(0, 0, 0, 0, 2),)
    )
    return replace(program, assembly=replace(program.assembly, placement=placement))

"""How to compile: the options of everything that makes programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from lowtide.errors import UsageError
from lowtide.oracle.interpreters import EngineName
from lowtide.plans.cost import CostModel, load_model
from lowtide.program.assemble import Schedule
from lowtide.rows.prepare import InputMode, OutputMode
from lowtide.rows.stages import Choice
from lowtide.target import ANY, Target

Layout = Literal["file", "nhwc"]
"""How an image lies in memory: as the file has it, or with its channels last."""

InputType = Literal["file", "uint8"]
"""Of what type inputs are: as the file has them, or uint8 where the network computes with int8."""


Cost = Literal["macs", "instructions"]

_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "schedule": get_args(Schedule),
    "allocator": ("planned", "greedy", "compacting"),
    "input_mode": get_args(InputMode),
    "output_mode": get_args(OutputMode),
    "input_layout": get_args(Layout),
    "output_layout": get_args(Layout),
    "input_type": get_args(InputType),
    "cost": get_args(Cost),
    "rounding": get_args(EngineName),
}
"""What options may be, for callers whose types nobody checks: a slip would change nothing, unseen."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to compile. `align` is the arena's alignment in bytes, a power of two from 4 up.

    `schedule` is rows, which interleaves the steps of operators and places rows, or operators, which
    runs them one after the other and places whole tensors with `allocator`: planned, greedy or
    compacting. `input_mode` says where inputs live: resident in the arena; const, in memory of the
    caller's that stays readable; or streamed, their rows given as they are needed. `output_mode`:
    resident, or streamed, their rows handed over as they are made. `preserve_input` keeps resident
    inputs intact. `quantized_io` drops a QUANTIZE or DEQUANTIZE at the model's boundary. A layout of
    nhwc drops a TRANSPOSE there, so that inputs or outputs have their channels last. With an
    `input_type` of uint8, inputs of int8 are given as uint8.

    By default nothing is computed twice. With `max_overhead`, stages may run in strips, for the least
    RAM at no more than that many times the network's MACs (infinity is allowed); with `max_ram`, for
    the fewest MACs in an arena and state of no more than that many bytes. `stages` prescribes them, by
    the operators' numbers in the graph of digest `stages_of` (None: whatever it is). `cost` is
    what counts instead of MACs, in both: instructions as predicted for `target`, which is the core that
    the program is for, whose kernels, scratch memory and prices are taken.
    `name` prefixes every public C name; by default it is made from the file's name. `effort` is a factor
    of the work that all searches may do: what they find depends on it, and not on the computer.

    `rounding` says whose matrix products (passes/rounding.py) to have: of dense layers tflm rounds the
    sums twice, litert once, which costs double arithmetic. All else costs the same in both.

    With `simplify`, what no input can change is not computed: see `lowtide.passes.simplify`.

    With `slices`, the program has NAME_invoke_some, which runs a part of it: about as many instructions
    as it is told, as predicted for `target`.
    """

    schedule: Schedule = "rows"
    allocator: str = "planned"
    input_mode: InputMode = "resident"
    output_mode: OutputMode = "resident"
    preserve_input: bool = False
    quantized_io: bool = False
    input_layout: Layout = "file"
    output_layout: Layout = "file"
    input_type: InputType = "file"
    align: int = 16
    name: str | None = None
    max_overhead: float | None = None
    max_ram: int | None = None
    stages: tuple[Choice, ...] | None = None
    stages_of: str | None = None
    cost: Cost = "macs"
    target: Target = ANY
    effort: float = 1.0
    rounding: EngineName = "tflm"
    simplify: bool = True
    slices: bool = False

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise UsageError(
                    f"{name} cannot be {getattr(self, name)!r}", f"use one of: {', '.join(choices)}"
                )
        if not 4 <= self.align <= 4096 or self.align & (self.align - 1):
            raise UsageError(
                f"--align {self.align} cannot be",
                "use a power of two, at least 4 and at most 4096 (default 16)",
            )
        if self.schedule == "operators" and "streamed" in (self.input_mode, self.output_mode):
            raise UsageError(
                "operators that run one after the other need their whole input",
                "leave out --schedule operators to stream rows in or out",
            )
        if self.schedule == "rows" and self.allocator != "planned":
            raise UsageError(
                f"rows are not placed by the {self.allocator} allocator",
                "give --schedule operators as well, to place whole tensors with it",
            )
        limited = self.max_overhead is not None or self.max_ram is not None
        if limited and self.schedule == "operators":
            raise UsageError(
                "operators that run one after the other leave no choice of RAM and cost",
                "leave out --schedule operators",
            )
        if limited and self.stages is not None:
            raise UsageError(
                "a plan that is given leaves no choice of RAM and cost",
                "give either --plan or limits",
            )
        if self.preserve_input and self.input_mode != "resident":
            raise UsageError(
                f"a {self.input_mode} input is not in the arena, so it cannot be preserved there",
                "leave out --preserve-input",
            )
        if self.cost == "instructions" or self.slices:
            load_model(self.target.priced_as)  # raises for a core without one

    @property
    def cost_model(self) -> CostModel | None:
        """The model of instructions, if they count."""
        return load_model(self.target.priced_as) if self.cost == "instructions" else None

    @property
    def predictor(self) -> CostModel | None:
        """The model of the target's instructions, whatever counts; None if there is none."""
        try:
            return load_model(self.target.priced_as)
        except UsageError:
            return None

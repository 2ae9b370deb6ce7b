"""How to compile: `Options`, and what is told of each of them, so that all lists of them are one.

The command line's options and their groups (`cli/compile_options.py`), what a plan's file has of them
(`plan_fields`, `from_plan`), the flags of a command to copy (`flags_of`) and the table of
docs/words.md are made from `OPTIONS`. Whoever adds an option adds a field, with what is told of it.

Nothing that takes long is imported before it is asked for: `lowtide --help` reads this.
"""

# ruff: noqa: RUF009  # option_field makes fields, which are nobody's to change
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from math import inf
from typing import TYPE_CHECKING, Any, Final, get_args

from lowtide.commands.option import PART, ROWS, WHAT, WORK, Option, Read, option_field
from lowtide.errors import UsageError
from lowtide.modes import (
    Allocator,
    Cost,
    EngineName,
    InputMode,
    InputType,
    Layout,
    OutputMode,
    Schedule,
)
from lowtide.target import ANY, Target

if TYPE_CHECKING:
    from lowtide.plans.cost import CostModel
    from lowtide.rows.stages import Choice


@dataclass(frozen=True, slots=True)
class Options:
    """How to compile. Each field is an option of the command line.

    - `schedule`: "rows" interleaves the steps of operators and places rows. "operators" runs
      operators one after the other, and places whole tensors with `allocator`: planned, greedy or
      compacting.
    - `input_mode`: inputs are in the arena (resident), in your own readable memory (const), or
      given row by row (streamed). `output_mode`: outputs are in the arena (resident), or handed
      over row by row (streamed). `preserve_input` keeps resident inputs unchanged.
    - `quantized_io` drops a QUANTIZE or DEQUANTIZE at the model's boundary. A layout of "nhwc"
      drops a TRANSPOSE there, so that inputs or outputs have their channels last. With an
      `input_type` of "uint8", you give int8 inputs as uint8.
    - `simplify` removes constant channels: see `lowtide.passes.simplify`.
    - `hop`: the input is a window that moves on by this many rows in each run, or columns with a
      `hop_axis` of 2. You give only the new ones, streamed or in a ring. The program keeps the rows
      that stay the same, of at most `keep` tensors besides the input: see `lowtide.passes.hop`.
    - `align` is the arena's alignment in bytes: a power of two, at least 4.
    - `target` is the core that the program is for, with its kernels, scratch memory and prices.
    - `slices` adds NAME_invoke_some, which runs about as many instructions as you ask for, as
      predicted for `target`.
    - `name` prefixes every public C name. By default, it is made from the file's name.
    - `effort` is the search budget, relative to the default. It counts work, not time, so results
      do not depend on the computer.

    By default, nothing is computed twice, and the plan saves RAM where that costs few instructions.
    These fields choose another plan:

    - `smallest`: the least RAM that computes nothing twice, whatever its instructions.
    - `fastest`: the fewest predicted instructions, whatever the RAM.
    - `max_overhead`: the least RAM at no more than this factor times the network's MACs, or times
      its predicted instructions if `cost` says so. Infinity is allowed. Stages can run in strips.
    - `max_ram`: the fewest predicted instructions with arena and state within this many bytes.
      Stages can run in strips.
    - `stages`: these stages, by the operators' numbers in the graph with the digest `stages_of`
      (None: any graph).

    `rounding` chooses whose matrix products to compute (passes/rounding.py): for dense layers,
    "tflm" rounds the sums twice, and "litert" once, which costs double arithmetic. Everything else
    costs the same.

    You can give a core by its name ("cortex-m4") and amounts of bytes as text ("16K"), as on the
    command line. Raises UsageError for impossible values, and for options that exclude each other.
    """

    schedule: Schedule = option_field(
        "rows",
        "--schedule",
        WORK,
        "rows: interleave the rows of several operators, which saves RAM; operators: run "
        "one after the other.",
        choices=get_args(Schedule),
        plan="",
    )
    allocator: Allocator = option_field(
        "planned",
        "--allocator",
        WORK,
        "With --schedule operators, how to place whole tensors: at the best offsets found "
        "(planned), by size as TensorFlow Lite Micro does (greedy), or moved together "
        "after each operator (compacting).",
        choices=get_args(Allocator),
        plan="",
    )
    input_mode: InputMode = option_field(
        "resident",
        "--input",
        ROWS,
        "Where inputs are: in the arena (resident), in your own memory that stays "
        "readable, such as flash (const), or given row by row (streamed).",
        choices=get_args(InputMode),
        plan="input",
    )
    output_mode: OutputMode = option_field(
        "resident",
        "--output",
        ROWS,
        "Where outputs are: in the arena (resident), or handed over row by row (streamed).",
        choices=get_args(OutputMode),
        plan="output",
    )
    hop: int | None = option_field(
        None,
        "--hop",
        ROWS,
        "Treat the input as a window that moves on by N rows in each run. You give each run only the "
        "new rows. The program keeps the rows of tensors that stay the same.",
        "count",
        "N",
        within=(1, inf),
        plan="hop",
    )
    hop_axis: int | None = option_field(
        None,
        "--hop-axis",
        ROWS,
        "With --hop: the input's time axis. By default, it is the first axis after the batch that is "
        "longer than 1, and rows move. With 2, the columns of an image move.",
        "count",
        "N",
        within=(1, inf),
        plan="hop_axis",
    )
    keep: int | None = option_field(
        None,
        "--keep",
        ROWS,
        "With --hop: keep rows of at most N tensors besides the input. More tensors take more state "
        "and less computation (default: the fewest within 5 % of the least computation, or as limits "
        "such as --max-ram require).",
        "count",
        "N",
        within=(0, inf),
        plan="keep",
    )
    preserve_input: bool = option_field(
        False,
        "--preserve-input",
        ROWS,
        "Don't overwrite inputs in the arena while running.",
        plan="preserve_input",
    )
    quantized_io: bool = option_field(
        False,
        "--quantized-io",
        WHAT,
        "Drop a QUANTIZE or DEQUANTIZE at the model's boundary: take and return integers.",
        plan="quantized_io",
    )
    input_layout: Layout = option_field(
        "file",
        "--input-layout",
        WHAT,
        "nhwc: take inputs with their channels last, without the TRANSPOSE that PyTorch's "
        "exporters put first.",
        choices=get_args(Layout),
        plan="input_layout",
    )
    output_layout: Layout = option_field(
        "file",
        "--output-layout",
        WHAT,
        "nhwc: return outputs with their channels last, without the TRANSPOSE that "
        "PyTorch's exporters put last.",
        choices=get_args(Layout),
        plan="output_layout",
    )
    input_type: InputType = option_field(
        "file",
        "--input-type",
        WHAT,
        "uint8: take pixels as a camera gives them, for int8 inputs.",
        choices=get_args(InputType),
        plan="input_type",
    )
    simplify: bool = option_field(
        True,
        "--simplify/--no-simplify",
        WHAT,
        "Remove constant channels (default; exact), or compute everything in the file.",
        plan="simplified",
    )
    align: Read[int | str, int] = option_field(
        16, "--align", WORK, "Alignment of tensors, in bytes.", "bytes"
    )
    max_overhead: float | None = option_field(
        None,
        "--max-overhead",
        WORK,
        "Take the plan with the least RAM at no more than F times the network's cost (inf: no limit). "
        "It can recompute rows in strips.",
        "factor",
        "F",
        within=(1.0, inf),
        plan="",
    )
    max_ram: Read[int | str | None, int | None] = option_field(
        None,
        "--max-ram",
        WORK,
        "Limit arena and state together (16384, 16K or 16KiB): of the plans that fit, take the one "
        "with the fewest predicted instructions; with --mcu, cycles of waiting for slow flash count "
        "as well. It can recompute rows in strips.",
        "bytes",
        "BYTES",
        plan="",
    )
    cost: Cost = option_field(
        "macs",
        "--cost",
        WORK,
        "What --max-overhead limits: MACs, or predicted instructions; with --mcu, cycles of waiting "
        "for slow flash count as well.",
        choices=get_args(Cost),
    )
    fastest: bool = option_field(
        False,
        "--fastest",
        WORK,
        "Take the plan with the fewest predicted instructions, whatever its RAM; with --mcu, cycles "
        "of waiting for slow flash count as well.",
        plan="",
    )
    smallest: bool = option_field(
        False,
        "--smallest",
        WORK,
        "Take the plan with the least RAM that computes nothing twice, whatever its instructions.",
        plan="",
    )
    target: Read[Target | str, Target] = option_field(
        ANY,
        "--core",
        PART,
        "The core to compile for: its kernels, scratch memory and predictions (default: "
        "any core, or the core of the board or microcontroller).",
        "core",
        "NAME",
    )
    slices: bool = option_field(
        False,
        "--slices",
        PART,
        "Add NAME_invoke_some, which runs a slice of about as many instructions as you ask for.",
    )
    name: str | None = option_field(
        None, "--name", PART, "Prefix of all C names (default: from the file).", "name", "ID"
    )
    effort: float = option_field(
        1.0,
        "--effort",
        WORK,
        "Search budget, relative to the default. It counts work, not time, so results are "
        "deterministic.",
        "factor",
        "F",
        within=(0.001, 1000),
    )
    rounding: EngineName = option_field("tflm", "", "", "", choices=get_args(EngineName))
    stages: tuple[Choice, ...] | None = None
    stages_of: str | None = None

    def __post_init__(self) -> None:
        for option in OPTIONS:
            object.__setattr__(self, option.name, option.read(getattr(self, option.name)))
        if self.keep is not None and self.hop is None:
            raise UsageError("--keep applies only to sliding windows", "add --hop N")
        if self.hop_axis is not None and self.hop is None:
            raise UsageError("--hop-axis applies only to sliding windows", "add --hop N")
        if self.hop is not None:
            self._check_hop()
            given = "const" if self.input_mode == "const" else "streamed"
            object.__setattr__(self, "input_mode", given)
        if not 4 <= self.align <= 4096 or self.align & (self.align - 1):
            raise UsageError(
                f"--align cannot be {self.align}",
                "use a power of two, at least 4 and at most 4096 (default 16)",
            )
        if self.schedule == "operators" and "streamed" in (self.input_mode, self.output_mode):
            raise UsageError(
                "operators that run one after the other need their whole input",
                "leave out --schedule operators to stream rows in or out",
            )
        if self.schedule == "rows" and self.allocator != "planned":
            raise UsageError(
                f"the {self.allocator} allocator places whole tensors, not rows",
                "add --schedule operators, or leave out --allocator",
            )
        if self.smallest and (self.fastest or self.bounded):
            raise UsageError(
                "--smallest cannot be combined with --fastest, --max-ram or --max-overhead",
                "leave out --smallest, or the others",
            )
        if self.limited and self.schedule == "operators":
            raise UsageError(
                "operators that run one after the other have no trade-off between RAM and cost",
                "leave out --schedule operators",
            )
        if self.limited and self.stages is not None:
            raise UsageError(
                "a given plan already fixes RAM and cost",
                "give either --plan or limits",
            )
        if self.preserve_input and self.input_mode != "resident":
            raise UsageError(
                f"a {self.input_mode} input is not in the arena, so it cannot be preserved there",
                "leave out --preserve-input",
            )

    def _check_hop(self) -> None:
        """Raise UsageError for what a window that slides excludes."""
        no = {
            "--preserve-input": self.preserve_input,
            "--output streamed": self.output_mode == "streamed",
            "--schedule operators": self.schedule == "operators",
            "--input-layout nhwc": self.input_layout == "nhwc",
        }
        found = next((flag for flag, given in no.items() if given), None)
        if found is not None:
            raise UsageError(
                f"--hop and {found} cannot be combined: the new rows of a window are streamed in, or in "
                "your own ring, and its outputs are complete only after the last row",
                f"leave out {found}",
            )

    @property
    def ring(self) -> bool:
        """Whether the window slides in a ring in the caller's memory."""
        return self.hop is not None and self.input_mode == "const"

    @property
    def bounded(self) -> bool:
        """Whether RAM or computation has a limit."""
        return self.max_overhead is not None or self.max_ram is not None

    @property
    def limited(self) -> bool:
        """Whether the options ask for another plan than the default one."""
        return self.bounded or self.fastest or self.smallest

    @property
    def predictor(self) -> CostModel:
        """The model of the target's instructions."""
        from lowtide.plans.cost import load_model

        return load_model(self.target.priced_as)


OPTIONS: Final[tuple[Option, ...]] = tuple(
    replace(of.metadata["option"], name=of.name)
    for of in fields(Options)
    if "option" in of.metadata
)
"""What is told of each option, in the order of the help."""


def options_from(given: Options | None) -> Options:
    """The options that were given, or the default ones. Raises UsageError for anything else."""
    options: Any = Options() if given is None else given
    if not isinstance(options, Options):
        raise UsageError(
            f"options cannot be {options!r}", 'give lowtide.Options(...), such as max_ram="16K"'
        )
    return options


def flags_of(options: Options) -> list[str]:
    """What to type for the options that differ from the default, but for what a plan says, if one is
    given."""
    given = options.stages is not None
    return [
        word
        for option in OPTIONS
        if option.flag and not (given and option.plan is not None)
        if getattr(options, option.name) != option.default
        for word in option.words(getattr(options, option.name))
    ]


def plan_fields(options: Options) -> dict[str, Any]:
    """What a plan's file has of the options, beside its stages."""
    said = {o.plan: getattr(options, o.name) for o in OPTIONS if o.plan}
    return {key: value for key, value in said.items() if value is not None}


def from_plan(document: Mapping[str, Any]) -> dict[str, Any]:
    """The same, read: fields of `Options`. What is left out is what the network's file says: no switch
    is on, and no layout or type is another; but where inputs and outputs are has to be said.

    Raises KeyError or ValueError for a document that is damaged.
    """
    found = {}
    for option in OPTIONS:
        if not option.plan or (option.kind == "count" and option.plan not in document):
            continue
        switch = option.kind == "switch"
        must = option.group == ROWS and bool(option.choices)
        usual = False if switch else option.default
        value = document[option.plan] if must else document.get(option.plan, usual)
        if switch and not isinstance(value, bool):
            raise ValueError(f"{value!r} is neither true nor false")
        if option.kind == "count" and type(value) is not int:
            raise ValueError(f"{value!r} is not a number")
        if option.choices and value not in option.choices:
            raise ValueError(f"{value!r} is not one of {', '.join(option.choices)}")
        found[option.name] = value
    return found

"""Draws: a network, options and a board, and what of pairs of features has met in it.

A draw is right if every tensor is the oracle's on the host, and, where its core is one of boards, every
output on an emulated one. It is a line of text, which repeats it.
"""

from __future__ import annotations

import json
import traceback
from dataclasses import asdict, dataclass, field
from typing import Any

from hunting import GENERATORS
from lowtide.commands import checking
from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.options import OPTIONS, Options
from lowtide.errors import FaultError, InfeasibleError, ModelError, UsageError
from lowtide.machines.board import find_board
from lowtide.machines.parts import Board
from lowtide.oracle.interpreters import OracleError
from lowtide.target import ANY
from lowtide.tflite.read import parse
from pairs.features import Pair, held
from pairs.front import Front, TooLargeError, behind

BOARDS = {
    "cortex-m0": "microbit",
    "cortex-m3": "mps2-an385",
    "cortex-m4": "mps2-an386",
    "cortex-m7": "mps2-an500",
    "cortex-m33": "mps2-an505",
    "cortex-m55": "mps3-an547",
    "rv32imc": "esp32c3",
    "rv32imac": "rv32-virt",
}
"""Core -> the board on which its programs run, with all the memory of its machine."""

FINE = ("right", "nothing new", "refused", "infeasible", "no oracle")
SAMPLES = 4


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """The network `generator`:`seed`, maybe behind a front; compiled with these fields of `Options`.

    A program for any core runs on the board of the core `on`, or on the host alone.
    """

    generator: str
    seed: int
    front: Front | None = None
    options: dict[str, Any] = field(default_factory=dict)
    on: str = ""

    @property
    def line(self) -> str:
        """As text, without what is as usual; `draw_of` reads it."""
        front = None if self.front is None else _told(asdict(self.front))
        options = {n: v for n, v in self.options.items() if v != _USUAL[n]}
        known = {**asdict(self), "front": front, "options": options}
        return json.dumps(_told(known), separators=(",", ":"))

    @property
    def file(self) -> bytes:
        """The network. Raises TooLargeError where no front makes its inputs."""
        data = GENERATORS[self.generator](self.seed)
        return data if self.front is None else behind(self.front, data)

    @property
    def board(self) -> Board | None:
        """Where it runs beside the host."""
        core = self.options.get("target", ANY.core)
        name = BOARDS.get(self.on if core == ANY.core else core)
        return None if name is None else find_board(name).with_plenty


def draw_of(line: str) -> Draw:
    """The draw of that text."""
    read = json.loads(line)
    front = read.pop("front", None)
    return Draw(**read, front=None if front is None else Front(**front))


_USUAL = {option.name: option.default for option in OPTIONS}


def _told(fields: dict[str, Any]) -> dict[str, Any]:
    """Without those that are false, or empty."""
    return {
        name: value
        for name, value in fields.items()
        if value or (value == 0 and value is not False)
    }


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a draw: one of `FINE`, or a find, `said` telling what; the pairs that it holds,
    which have met if it is right."""

    draw: Draw
    kind: str
    said: str = ""
    pairs: frozenset[Pair] = frozenset()

    @property
    def is_find(self) -> bool:
        """Whether lowtide did something wrong."""
        return self.kind not in FINE


def tried(draw: Draw, missing: frozenset[Pair] | None = None, least: int = 1) -> Outcome:
    """Compile it, and, if it holds at least so many `missing` pairs, compare it with the oracle."""
    pairs: frozenset[Pair] = frozenset()
    try:
        board = draw.board
        compiled = compile_model(parse(draw.file, path="network.tflite"), Options(**draw.options))
        pairs = held(compiled, None if board is None else board.core.target)
        if missing is not None and len(pairs & missing) < least:
            return Outcome(draw, "nothing new", pairs=pairs)
        said, compared = _wrong(compiled, board)
        if compared is not compiled:  # with the other engine's arithmetic
            pairs = held(compared, None if board is None else board.core.target)
        return Outcome(draw, "WRONG" if said else "right", said, pairs)
    except (ModelError, UsageError, TooLargeError) as error:
        return Outcome(draw, "refused", str(error).partition("\n")[0], pairs)
    except InfeasibleError:
        return Outcome(draw, "infeasible", pairs=pairs)
    except OracleError as error:
        return Outcome(draw, "no oracle", str(error).partition("\n")[0], pairs)
    except FaultError as error:
        return Outcome(draw, "FAULT", " ".join(str(error).split())[:400], pairs)
    except Exception:  # whatever it is, it is a find
        return Outcome(draw, "TRACEBACK", " ".join(traceback.format_exc().splitlines()[-3:]), pairs)


def _wrong(compiled: Compiled, board: Board | None) -> tuple[str, Compiled]:
    """What is wrong on the host, or on the board, "" if nothing is; and what was compared."""
    verified = checking.verify(compiled, samples=None if compiled.state_bytes else SAMPLES)
    if not verified.bit_exact:
        return f"host: {verified.mismatch}", compiled
    ran = None if board is None else checking.run(compiled, board)
    if ran is not None and not ran.bit_exact:
        return f"{ran.board.name}: {ran.difference}", compiled
    return "", verified.compared

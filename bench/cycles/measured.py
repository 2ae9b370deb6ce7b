"""The rows of the bench: a network on a core's RTL, beside the same counted under QEMU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.cycles.emulated import Modelled, link, modelled
from bench.cycles.rtl import Call, simulate
from bench.cycles.variants import Case
from bench.shared.tables import Row, verdict
from bench.shared.work import in_two_processes, note
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.oracle.samples import reference, sample_inputs
from lowtide.temporary import temporary_folder
from lowtide.zoo.loading import load

MOST_ERROR = 0.05
"""By which cycles by the manual may differ from those of the RTL."""
MOST_MISSES = 0.05
"""By which lines may, that are missed: a core fetches ahead of branches, a model in order does not."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A case's inferences, one a sample: in the RTL, and as they are counted under QEMU; `exact` if all
    outputs of the RTL are those of the reference kernels."""

    case: Case
    calls: tuple[Call, ...]
    empty_cycles: int
    modelled: tuple[Modelled, ...]
    exact: bool

    @property
    def cycles(self) -> tuple[int, ...]:
        """Cycles in the RTL, without what calling an empty function takes."""
        return tuple(call.cycles - self.empty_cycles for call in self.calls)

    @property
    def by_manual(self) -> tuple[int, ...]:
        """Cycles by the manual, with this flash, under the usual assumptions."""
        case = self.case
        return tuple(one.cycles(case.variant, case.waits).usual for one in self.modelled)

    @property
    def error(self) -> float:
        """Of the sample that differs most: by what share cycles by the manual are above the RTL's."""
        return _most(self.by_manual, self.cycles)

    @property
    def miss_error(self) -> float:
        """The same of the lines missed."""
        return _most([one.misses for one in self.modelled], [call.misses for call in self.calls])

    @property
    def between_inputs(self) -> float | None:
        """By what share the cycles of the samples differ; None if there is one."""
        return max(self.cycles) / min(self.cycles) - 1 if len(self.calls) > 1 else None


def _most(counted: Sequence[int], real: Sequence[int]) -> float:
    return max((c / r - 1 for c, r in zip(counted, real, strict=True)), key=abs)


def measure_all(cases: Sequence[Case], simulations: dict[str, Path]) -> dict[Case, Measured]:
    """Every case, in two processes, with progress on stderr; `simulations` by the variant's name."""
    found = {}
    for progress, one in in_two_processes(partial(measure, simulations=simulations), cases):
        found[one.case] = one
        note(f"{progress}: {one.case.label}: {one.cycles[0]:,} cycles")
    return found


def measure(case: Case, simulations: dict[str, Path]) -> Measured:
    """Run a case. Raises ProgramError, BuildError, MissingToolError, ValueError."""
    variant = case.variant
    compiled = compile_model(load(case.network), Options(target=variant.board.target))
    given = sample_inputs(compiled.model, variant.samples)
    outputs = list(compiled.graph.outputs)
    told = reference(compiled.model, given, outputs)
    wanted = b"".join(sample[t].tobytes() for sample in told.samples for t in outputs)
    samples = [[sample[t].tobytes() for t in compiled.graph.inputs] for sample in given]
    with temporary_folder() as folder:
        linked = link(compiled, variant, folder)
        counted = tuple(modelled(linked, sample) for sample in samples)
        (folder / "inputs.bin").write_bytes(linked.inputs(samples))
        (folder / "outputs.bin").unlink(missing_ok=True)
        simulated = simulations[variant.name]
        calls = simulate(simulated, variant, case.waits, linked.image, folder)
        exact = (folder / "outputs.bin").read_bytes() == wanted
    empty, _, *inferences = calls
    return Measured(case, tuple(inferences), empty.cycles, counted, exact)


def row_of(one: Measured) -> Row:
    """The row of a case; the figures are those of its first sample, errors those of its worst."""
    good = one.exact and abs(one.error) <= MOST_ERROR and abs(one.miss_error) <= MOST_MISSES
    case, call, counted = one.case, one.calls[0], one.modelled[0]
    record = {
        "network": case.network,
        "core": case.variant.name,
        "waits": case.waits,
        "cycles": one.cycles[0],
        "by_manual": one.by_manual[0],
        "error": round(one.error, 4),
        "misses": call.misses,
        "modelled_misses": counted.misses,
        "between_inputs": None if one.between_inputs is None else round(one.between_inputs, 5),
    }
    return Row(
        on=case.label,
        asked="outputs equal; cycles, lines within 5 %",
        measured=(
            f"{one.cycles[0]:,} cycles, by the manual {one.by_manual[0]:,} ({one.error:+.1%}); "
            f"{call.misses:,} lines missed, modelled {counted.misses:,} ({one.miss_error:+.1%}); "
            f"outputs {'equal' if one.exact else 'DIFFER'}"
        ),
        status=verdict(good),
        peer="" if one.between_inputs is None else f"{one.between_inputs:.2%}",
        values=dict(record),
        record=record if one.exact else None,
    )

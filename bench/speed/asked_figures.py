"""The rows of the bench of speed: instructions, and cycles by the core's manual, each with its limit.

Limits are millions of one inference: at most, and in brackets what was aimed at. Peers are TFLM with
CMSIS-NN, in instructions as ours, and ST's published latencies at 120 MHz as cycles, which have flash
wait states in them where ours have none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.shared.outside import ROOT, peer_value
from bench.shared.programs import Outcome, status
from bench.shared.tables import Record, Row
from bench.speed.measured_programs import Outcomes, SpeedJob, path_of
from lowtide.zoo.loading import load

_VWW, _KWS, _RESNET = "mlperf_vww_96_int8", "mlperf_kws_int8", "mlperf_resnet8_int8"
_SWIFTNET, _WAKE = "swiftnet_cell_uint8", "mww_okay_nabu_v2"
_PEERS = {
    _VWW: "vww_96",
    _KWS: "kws",
    _RESNET: "resnet8",
    "tflm_person_detect_int8": "person_detect",
    "te_vww": "te_vww",
    "mlperf_ad01_int8": "ad01",
    _SWIFTNET: "swiftnet_int8_twin",
}
"""Network -> its name among the peers; the last one's peer runs its int8 twin."""

_PEER_CORES = ("m4", "m55")
_TOLERANCE = 1.05
"""What M7 and M33 may take, times what an M4 takes."""

_PER_MAC = 1.6
_LEAST_CHANNELS = 32


@dataclass(frozen=True, slots=True)
class Limit:
    """At most so many millions, and how many were aimed at; None where any figure will do."""

    most: float | None = None
    aim: float | None = None

    @property
    def text(self) -> str:
        """As the table shows it."""
        if self.most is None:
            return "measured"
        return f"at most {self.most:g} M" + (f" ({self.aim:g})" if self.aim is not None else "")

    def keeps(self, count: float) -> bool:
        """Whether `count`, not in millions, keeps to it."""
        return self.most is None or count <= self.most * 1e6


@dataclass(frozen=True, slots=True)
class Asked:
    """A network on a core: its instructions and, where they are asked for, its cycles by the manual."""

    job: SpeedJob
    instructions: Limit
    cycles: Limit | None = None


def _on(core: str, limits: dict[str, Limit]) -> tuple[Asked, ...]:
    return tuple(Asked(SpeedJob(network, core), limit) for network, limit in limits.items())


_M4 = (
    Asked(SpeedJob(_VWW, "m4"), Limit(7.0, 6.2), Limit(9.8, 8.4)),
    Asked(SpeedJob(_KWS, "m4"), Limit(3.7, 3.4), Limit(5.1, 4.8)),
    Asked(SpeedJob(_RESNET, "m4"), Limit(12.7, 12.0), Limit(17.5, 16.5)),
    Asked(SpeedJob("tflm_person_detect_int8", "m4"), Limit(9.8, 9.2), Limit()),
    Asked(SpeedJob("te_vww", "m4"), Limit(17.5, 16.0), Limit()),
    Asked(SpeedJob("mlperf_ad01_int8", "m4"), Limit(0.40, 0.36), Limit()),
    Asked(SpeedJob(_SWIFTNET, "m4"), Limit(72, 66), Limit()),
    Asked(SpeedJob("coral_mobilenet_v1_0.25_128_uint8", "m4"), Limit(20, 17), Limit()),
)
_M55 = _on(
    "m55",
    {
        _VWW: Limit(2.8, 2.4),
        _KWS: Limit(1.15, 1.0),
        _RESNET: Limit(3.0, 2.6),
        "tflm_person_detect_int8": Limit(3.3, 2.8),
        "te_vww": Limit(7.0, 5.7),
        "mlperf_ad01_int8": Limit(0.13),
        _SWIFTNET: Limit(21),
        "coral_mobilenet_v1_0.25_128_uint8": Limit(7.5),
    },
)
_M3 = _on("m3", {_RESNET: Limit(36, 33), _KWS: Limit(10.8, 10), _VWW: Limit(23, 21)})
_RV32 = _on("rv32", {_RESNET: Limit(45.5, 41), _KWS: Limit(12.4, 11.3), _VWW: Limit(26, 23)})
_M0 = _on("m0", {_KWS: Limit(26.2, 24)})
_CHAIN = tuple(
    Asked(SpeedJob("zoo:mbv2-w0.35-144-chain", "m4", ram), Limit(most))
    for ram, most in ((7_034, 62), (13_748, 50))
)
_STATE = (Asked(SpeedJob(_WAKE, "m4"), Limit(0.09)),)


@dataclass(frozen=True, slots=True)
class Group:
    """Rows made of the outcomes of jobs, of those that were done."""

    title: str
    jobs: Callable[[], list[SpeedJob]]
    rows: Callable[[Outcomes], list[Row]]


def _group(title: str, asked: Sequence[Asked]) -> Group:
    return Group(
        title,
        lambda: [a.job for a in asked],
        lambda outcomes: [
            row for a in asked if a.job in outcomes for row in _rows(a, outcomes[a.job])
        ],
    )


def _rows(asked: Asked, outcome: Outcome) -> list[Row]:
    """Instructions; and cycles, where a limit or a manual is there."""
    rows = [_instructions_row(asked, outcome)]
    limit = asked.cycles or (Limit() if _cycles(outcome) is not None else None)
    if limit is not None:
        rows.append(_cycles_row(asked.job, limit, outcome))
    return rows


def _name(job: SpeedJob) -> str:
    limited = f" in {job.max_ram:,} B" if job.max_ram is not None else ""
    return f"{job.network}{limited}, {job.core}"


def _instructions_row(asked: Asked, outcome: Outcome) -> Row:
    job, count = asked.job, outcome.instructions
    theirs = tflm_millions(job.network, job.core)
    twin = "'s int8 twin" if job.network == _SWIFTNET else ""
    return Row(
        on=f"{_name(job)}: instructions",
        asked=asked.instructions.text,
        measured=outcome.problem if not outcome.exact else f"{count / 1e6:.3f} M",
        status=status(outcome.exact and asked.instructions.keeps(count), outcome),
        peer="" if theirs is None else f"TFLM{twin} {theirs:g} M",
        values={"instructions": count, "profile": _totals(outcome)},
        record=_record(job, outcome) if outcome.exact else None,
    )


def tflm_millions(network: str, core: str) -> float | None:
    """Instructions of TFLM with CMSIS-NN, in millions; None where they are not known."""
    if network not in _PEERS or core not in _PEER_CORES:
        return None
    found = peer_value("tflm", _PEERS[network], "instructions_millions", f"cmsis_{core}")
    return None if found is None else float(found)


def st_million_cycles(network: str, core: str) -> float | None:
    """ST's published latency as millions of cycles; None where there is none."""
    if network not in _PEERS or core != "m4":
        return None
    published = peer_value("st_published_latency_m4", "million_cycles") or {}
    found = published.get(_PEERS[network])
    return None if found is None else float(found)


def _record(job: SpeedJob, outcome: Outcome) -> Record:
    cycles = _cycles(outcome)
    return {
        "network": job.network,
        "core": job.core,
        "max_ram_bytes": job.max_ram,
        "instructions": outcome.instructions,
        "macs": outcome.document["macs"],
        "cycles_by_manual": cycles,
        "tflm_millions": tflm_millions(job.network, job.core),
        "st_million_cycles": st_million_cycles(job.network, job.core),
    }


def _totals(outcome: Outcome) -> object:
    profile = outcome.document.get("profile") if outcome.document else None
    return profile and {k: profile[k] for k in ("instructions", "macs", "manual")}


def _cycles(outcome: Outcome) -> dict[str, int] | None:
    """Cycles by the manual, at zero wait states: least, usual, most; None if there are none."""
    profile = outcome.document.get("profile") if outcome.document else None
    found = profile.get("cycles_by_manual") if profile else None
    return None if found is None else dict(found)


def _cycles_row(job: SpeedJob, limit: Limit, outcome: Outcome) -> Row:
    cycles = _cycles(outcome)
    theirs = st_million_cycles(job.network, job.core)
    missing = (outcome.document or {}).get("profile_missing", "no profile")
    if cycles is None:
        said = outcome.problem or f"no cycles: {missing}"
    else:
        usual, least, most = (cycles[of] / 1e6 for of in ("usual", "least", "most"))
        said = f"{usual:.3f} M ({least:.3f} to {most:.3f})"
    found = status(outcome.exact and cycles is not None and limit.keeps(cycles["usual"]), outcome)
    if outcome.exact and cycles is None:
        found = "not measured"
    return Row(
        on=f"{_name(job)}: cycles by the manual, zero wait states",
        asked=limit.text,
        measured=said,
        status=found,
        peer="" if theirs is None else f"ST {theirs:g} M",
        values={"cycles_by_manual": cycles},
    )


def _near_jobs(core: str) -> list[SpeedJob]:
    return [SpeedJob(a.job.network, on) for a in _M4 for on in ("m4", core)]


def _near_rows(core: str, outcomes: Outcomes) -> list[Row]:
    """What runs the kernels of an M4 takes as many instructions, within 5 %."""
    rows = []
    for asked in _M4:
        job = SpeedJob(asked.job.network, core)
        if job not in outcomes:
            continue
        here, there = outcomes[job], outcomes[asked.job]
        ratio = here.instructions / there.instructions if there.instructions else 0.0
        exact = here.exact and there.exact
        said = f"{here.instructions / 1e6:.3f} M, {ratio:.3f} times an M4's"
        rows.append(
            Row(
                on=f"{_name(job)}: instructions",
                asked=f"at most {_TOLERANCE:g} times an M4's",
                measured=said if exact else here.problem or there.problem,
                status=status(exact and 0 < ratio <= _TOLERANCE, here, there),
                values={"instructions": here.instructions, "on_m4": there.instructions},
                record=_record(job, here) if exact else None,
            )
        )
    return rows


def _seanet() -> list[SpeedJob]:
    folder = ROOT.parent / "shared" / "world" / "seanet"
    paths = sorted(folder.glob("conv*.tflite"), key=lambda path: int(path.stem[4:]))
    return [SpeedJob(f"seanet/{path.stem}", "m4") for path in paths]


def _int16_rows(outcomes: Outcomes) -> list[Row]:
    """Every convolution of SEANet's with many channels, per MAC, by its profile."""
    rows = []
    jobs = _seanet()
    for job in (job for job in jobs if job in outcomes):
        outcome = outcomes[job]
        profile = (outcome.document or {}).get("profile")
        own = [o for o in (profile or {}).get("operators", ()) if o["type"] == "CONV_2D"]
        if outcome.exact and not (own and channels(job) >= _LEAST_CHANNELS):
            continue
        each = sum(o["instructions"] for o in own) / max(1, sum(o["macs"] for o in own))
        rows.append(
            Row(
                on=f"{_name(job)}: instructions per MAC",
                asked=f"at most {_PER_MAC:g}",
                measured=f"{each:.2f}" if outcome.exact else outcome.problem,
                status=status(outcome.exact and each <= _PER_MAC, outcome),
                values={"per_mac": each},
            )
        )
    absent = Row("seanet: instructions per MAC", "", "needs the shared networks", "not measured")
    return rows if jobs else [absent]


def channels(job: SpeedJob) -> int:
    """The channels that the first convolution of a network reads; 0 if there is none."""
    graph = load(path_of(job.network)).graph
    convs = [op for op in graph.ops if op.type == "CONV_2D"]
    return graph.tensors[convs[0].inputs[1]].shape[-1] if convs else 0


GROUPS = {
    "m4": _group("Cortex-M4", _M4),
    "m55": _group("Cortex-M55", _M55),
    "m7": Group("Cortex-M7", lambda: _near_jobs("m7"), lambda o: _near_rows("m7", o)),
    "m33": Group("Cortex-M33", lambda: _near_jobs("m33"), lambda o: _near_rows("m33", o)),
    "m3": _group("Cortex-M3", _M3),
    "rv32": _group("RV32IMAC", _RV32),
    "m0": _group("Cortex-M0", _M0),
    "chain": _group("Paper 2's chain on a Cortex-M4, input const, output streamed", _CHAIN),
    "state": _group(
        "A wake word on a Cortex-M4 (its peer, TFLM with CMSIS-NN, is unknown)", _STATE
    ),
    "int16": Group("Convolutions of int16 on a Cortex-M4", _seanet, _int16_rows),
}

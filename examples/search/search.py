"""Which networks that fit a microcontroller do the most work? The front of a seeded search.

    python examples/search/search.py --max-ram 64K -o front.svg

Each candidate is weighed by `lowtide.estimate` from its shapes alone, in milliseconds. The front shows
multiply-accumulates (MACs) against RAM. MACs are no accuracy: they stand in for it, as training each
candidate would take hours. (Lin et al., "MCUNet", 2020, choose the space to search by the FLOPs of its
networks that fit: the more, the likelier is an accurate one.) The last network of the front is then
built with seeded weights, compiled, and run on an emulated board.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import optuna
from front import draw
from space import Candidate, Found, evaluate, suggested, with_weights

import lowtide
from lowtide.machines.board import find_board
from lowtide.sizes import bytes_in

POPULATION = 20
"""Candidates that are weighed together, whatever weighs them: so all engines find the same."""

Weigh = Callable[[Sequence[Candidate]], list[Found]]


@dataclass(frozen=True, slots=True)
class Point:
    """A candidate that fits: bytes of arena and state, and MACs."""

    ram: int
    macs: int
    candidate: Candidate


def weigher(engine: str, jobs: int, max_ram: int, board: str) -> Weigh:
    """What weighs candidates: this process, processes by joblib, or Ray's cluster."""
    if engine == "joblib":
        from joblib import Parallel, delayed

        parallel = Parallel(n_jobs=jobs)
        return lambda batch: parallel(delayed(evaluate)(c, max_ram, board) for c in batch)
    if engine == "ray":
        import ray

        ray.init(num_cpus=jobs, include_dashboard=False, log_to_driver=False)
        remote = ray.remote(evaluate)
        return lambda batch: ray.get([remote.remote(c, max_ram, board) for c in batch])
    return lambda batch: [evaluate(candidate, max_ram, board) for candidate in batch]


def search(trials: int, seed: int, weigh: Weigh) -> tuple[list[Point], int]:
    """All candidates that fit, each once, by RAM; and how many did not."""
    sampler = optuna.samplers.NSGAIISampler(population_size=POPULATION, seed=seed)
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=sampler)
    points: set[Point] = set()
    too_large = 0
    while len(study.trials) < trials:
        asked = [study.ask() for _ in range(min(POPULATION, trials - len(study.trials)))]
        batch = [suggested(trial) for trial in asked]
        for trial, candidate, found in zip(asked, batch, weigh(batch), strict=True):
            if found.ram is None:
                study.tell(trial, state=optuna.trial.TrialState.PRUNED)
                too_large += 1
            else:
                study.tell(trial, (found.ram, found.macs))
                points.add(Point(found.ram, found.macs, candidate))
    return sorted(points, key=lambda p: (p.ram, p.macs, str(p.candidate))), too_large


def front_of(points: Sequence[Point]) -> list[Point]:
    """The points than which none has less RAM and as many MACs, by RAM."""
    front: list[Point] = []
    for point in sorted(points, key=lambda p: (p.ram, -p.macs, str(p.candidate))):
        if not front or point.macs > front[-1].macs:
            front.append(point)
    return front


def tried(point: Point, board: str, file: Path) -> str:
    """What the point's network, built as `file`, takes on a board, and what was estimated of it."""
    file.write_bytes(with_weights(point.candidate))
    part = find_board(board)
    # The estimate knows no weights, so nothing can be left out for what they are.
    options = lowtide.Options(target=part.core.target, simplify=False)
    compiled = lowtide.compile(lowtide.load(file), options)
    ran = lowtide.run(compiled, part)
    same = "as the reference kernels" if ran.bit_exact else "NOT as the reference kernels"
    return (
        f"the last one on {board}: arena {compiled.arena_bytes:,} B, estimated {point.ram:,} B;\n"
        f"{ran.measured.max_instructions:,} instructions; outputs {same}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="The front of a seeded search.")
    parser.add_argument("--max-ram", default="64K", help="of arena and state (64K)")
    parser.add_argument("--trials", type=int, default=300, help="candidates to weigh (300)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", choices=("here", "joblib", "ray"), default="here")
    parser.add_argument("--jobs", type=int, default=2, help="processes of joblib or Ray (2)")
    parser.add_argument("--board", default="mps2-an386", help="to run the best on (mps2-an386)")
    parser.add_argument("--search-only", action="store_true", help="build and run nothing")
    parser.add_argument("-o", dest="picture", default="front.svg", help="picture: .svg or .png")
    given = parser.parse_args()
    max_ram = bytes_in(given.max_ram)
    if max_ram is None:
        parser.error(f"{given.max_ram} is no amount of memory, such as 64K")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    weigh = weigher(given.engine, given.jobs, max_ram, given.board)
    points, too_large = search(given.trials, given.seed, weigh)
    front = front_of(points)
    if not front:
        raise SystemExit(f"none of {given.trials} candidates fits in {given.max_ram}")
    draw(
        [(p.ram, p.macs) for p in points], [(p.ram, p.macs) for p in front], max_ram, given.picture
    )
    document = {"fitting": len(points), "too_large": too_large, "front": [asdict(p) for p in front]}
    Path(given.picture).with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
    print(f"{len(points)} networks fit in {given.max_ram}, {too_large} do not; {given.picture}")
    for point in front:
        print(f"{point.ram:>9,} B {point.macs / 1e6:6.2f} M MACs  {point.candidate}")
    if not given.search_only:
        print(tried(front[-1], given.board, Path(given.picture).with_suffix(".tflite")))


if __name__ == "__main__":
    main()

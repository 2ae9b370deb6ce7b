"""Hunts for wrong bytes: random networks of every generator, with random options, against the oracle.

    python tests/hunting.py --seconds 600           # fresh seeds, on all cores
    python tests/hunting.py --repeat odd:12345      # one of them again

First come a million cases of kernels, on this computer and on emulated boards (`tests/kernels/cases`);
last, where the folder of data beside the checkout has it, a hunter that shares no code with these tests.

Why beside the tests: they try the same seeds each time. Here seeds are fresh, and types, cores, modes
and limits are drawn together. A find prints the line that repeats it. Exit status 1 if there was one.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import dataclass, replace
from pathlib import Path

from drawn_options import drawn_options
from joining_nets import joining_network
from lone_nets import lone_network
from lowtide.commands import checking
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.errors import FaultError, InfeasibleError, ModelError, UsageError
from lowtide.oracle import interpreters
from lowtide.oracle.interpreters import OracleError
from lowtide.tflite.read import parse
from moving_nets import moving_network
from mutants import mutant
from odd_nets import odd_network
from oracle_server import served
from planted_nets import planted_network
from random_nets import random_network
from rare_nets import rare_network
from scarce_nets import scarce_network
from seldom_nets import seldom_network
from signal_nets import signal_network, spectrum_network
from sliding_nets import sliding_network
from uncommon_nets import uncommon_network
from variable_nets import variable_network
from wider_nets import wider_network

GENERATORS: dict[str, Callable[[int], bytes]] = {
    "random": random_network,
    "batch": lambda seed: random_network(seed, 2 + seed % 3),
    "odd": odd_network,
    "moving": moving_network,
    "variables": variable_network,
    "wider": wider_network,
    "signal": signal_network,
    "spectrum": spectrum_network,
    "planted": planted_network,
    "rare": rare_network,
    "seldom": seldom_network,
    "lone": lone_network,
    "sliding": sliding_network,
    "uncommon": uncommon_network,
    "joining": joining_network,
    "scarce": scarce_network,
    "mutant": mutant,
}
"""Generators of networks by number."""

_OUTSIDE = Path(__file__).resolve().parents[2] / "shared" / "outside" / "hunt.py"
_BOARDS = ("mps2-an386", "mps2-an500", "mps3-an547")
_SECONDS_EACH = 300
_FINE = ("right", "refused", "infeasible", "no oracle")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the network `generator`:`seed`: one of `_FINE`, or a find, `said` telling what."""

    generator: str
    seed: int
    kind: str
    said: str = ""

    @property
    def is_find(self) -> bool:
        """Whether lowtide did something wrong."""
        return self.kind not in _FINE


def outcome(generator: str, seed: int) -> Outcome:
    """Compile the network with options that follow from its number, and compare it with the oracle."""
    rng = random.Random(f"{generator}:{seed}")
    options = drawn_options(rng)
    try:
        kind, said = _tried(GENERATORS[generator](seed), options, rng)
    except (ModelError, UsageError) as error:
        kind, said = "refused", str(error).splitlines()[0]
    except InfeasibleError:
        kind, said = "infeasible", ""
    except OracleError as error:
        kind, said = "no oracle", str(error).splitlines()[0]
    except FaultError as error:
        kind, said = "FAULT", " ".join(str(error).split())[:400]
    except Exception:  # whatever it is, it is a find
        kind, said = "TRACEBACK", " ".join(traceback.format_exc().splitlines()[-3:])
    return Outcome(generator, seed, kind, f"{said} {options}" if kind not in _FINE else said)


def _tried(data: bytes, options: Options, rng: random.Random) -> tuple[str, str]:
    model = parse(data, path="network.tflite")
    compiled = compile_model(model, options)
    if options.schedule == "rows" and options.max_overhead is None and rng.random() < 0.2:
        limit = int(compiled.ram_bytes * rng.uniform(0.6, 1.1))
        compiled = compile_model(model, replace(options, max_ram=limit))
        if compiled.arena_bytes + compiled.state_bytes > limit:
            return "OVER THE LIMIT", f"{compiled.arena_bytes} + {compiled.state_bytes} > {limit}"
    result = checking.verify(compiled, samples=None if compiled.state_bytes else 4)
    return ("right", "") if result.bit_exact else ("WRONG", str(result.mismatch))


def hunt(seconds: float, first: int, jobs: int) -> Iterator[Outcome]:
    """Outcomes of networks from number `first` on, generators in turn, for about `seconds`."""
    end = time.monotonic() + seconds
    asked = ((g, seed) for seed in range(first, first + 10**9) for g in GENERATORS)
    with ProcessPoolExecutor(jobs, initializer=_limited) as pool:
        running: set[Future[Outcome]] = set()
        while time.monotonic() < end or running:
            while time.monotonic() < end and len(running) < 2 * jobs:
                running.add(pool.submit(_within_time, *next(asked)))
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)


def _limited() -> None:
    # Oracles answer from one process that has them loaded.
    setattr(interpreters, "start_worker", served(interpreters.start_worker))  # noqa: B010  # for mypy
    signal.signal(signal.SIGALRM, _too_long)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _too_long(*_: object) -> None:
    raise TimeoutError(f"no end after {_SECONDS_EACH} s")


def _within_time(generator: str, seed: int) -> Outcome:
    signal.alarm(_SECONDS_EACH)
    try:
        return outcome(generator, seed)
    finally:
        signal.alarm(0)


def main() -> int:
    """Hunt as the command line says; 1 if something was found."""
    parser = argparse.ArgumentParser(description="Hunt for wrong bytes in random networks.")
    parser.add_argument("--seconds", type=float, default=600, help="how long to hunt")
    parser.add_argument("--first", type=int, help="the first number; by default a fresh one")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--repeat", metavar="GENERATOR:NUMBER", help="try one network again")
    asked = parser.parse_args()
    if asked.repeat:
        generator, _, number = asked.repeat.partition(":")
        found = outcome(generator, int(number))
        print(f"{found.kind}: {found.said}")
        return int(found.is_find)
    first = asked.first if asked.first is not None else int(time.time()) * 10
    start = time.monotonic()
    failed = _kernel_cases(first, asked.jobs)
    outside = _OUTSIDE.exists()
    left = (asked.seconds - (time.monotonic() - start)) * (0.5 if outside else 1)
    finds = _networks(max(left, 0), first, asked.jobs)
    if outside:
        failed |= _from_outside(max(left, 0))
    return int(failed or finds > 0)


def _networks(seconds: float, first: int, jobs: int) -> int:
    """Hunt among the networks of `GENERATORS`, and print what was found; how many finds there were."""
    counts: Counter[tuple[str, str]] = Counter()
    finds = 0
    print(f"networks for {seconds:.0f} s from number {first} on", flush=True)
    for result in hunt(seconds, first, jobs):
        counts[result.generator, result.kind] += 1
        if result.is_find:
            finds += 1
            print(f"{result.kind}: {result.said}")
            print(f"    repeat: --repeat {result.generator}:{result.seed}", flush=True)
    for name in GENERATORS:
        said = ", ".join(f"{n} {kind}" for (g, kind), n in sorted(counts.items()) if g == name)
        print(f"{name:10} {said}")
    print(f"{finds} finds in {counts.total()} networks", flush=True)
    return finds


def _kernel_cases(seed: int, jobs: int) -> bool:
    """Play cases of all kernels; whether there were finds."""
    cases = [sys.executable, "-m", "tests.kernels.cases", "--seed", str(seed % 10**6)]
    boards = ([*cases, "--cases", "20000", "--board", board] for board in _BOARDS)
    return _failed([[*cases, "--cases", "1000000"], *boards], jobs)


def _from_outside(seconds: float) -> bool:
    """Run the other hunter, on networks of both its kinds at the same time; whether there were finds."""
    command = [sys.executable, str(_OUTSIDE), "--seconds", f"{seconds:.0f}"]
    return _failed([command, [*command, "--moves"]], 2)


def _failed(commands: Sequence[Sequence[str]], jobs: int) -> bool:
    """Run commands, `jobs` at a time, and print what they say, one after the other."""
    root = Path(__file__).parents[1]

    def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)

    codes = []
    with ThreadPoolExecutor(jobs) as pool:
        for command, done in zip(commands, pool.map(run, commands), strict=True):
            print(f"$ {' '.join(['python', *command[1:]])}\n{done.stdout}{done.stderr}", flush=True)
            codes.append(done.returncode)
    return any(codes)


if __name__ == "__main__":
    sys.exit(main())

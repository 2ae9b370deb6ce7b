"""`import lowtide` as programs use it: quick to import, and every promised name is there.

Why processes: what an import brings along, and in which order names are first used, can only be seen
in a fresh interpreter.
"""

from __future__ import annotations

import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lowtide
import networks
from effort import calls
from lowtide.commands.analysis import analyze
from lowtide.errors import LowtideError, UsageError
from lowtide.zoo.loading import Named

FUNCTIONS = {
    *("load", "analyze", "best_order", "reorder", "compile", "plan", "verify", "run", "describe"),
}


def python(code: str, cwd: Path | None = None) -> str:
    """What a fresh interpreter prints that runs `code`."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=cwd
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_importing_is_light() -> None:
    heavy = [
        "numpy",
        "ai_edge_litert",
        "flatbuffers",
        "tflite_micro",
        "rich",
        "matplotlib",
        "click",
    ]
    loaded = python("import sys, lowtide; print(*sys.modules)").split()
    assert not {name.partition(".")[0] for name in loaded} & set(heavy)
    assert [name for name in loaded if name.startswith("lowtide.")] == ["lowtide.shown"]


def test_analysing_does_not_import_what_only_shows() -> None:
    loaded = python(
        "import sys, lowtide; lowtide.analyze(lowtide.load('zoo:figure1')); print(*sys.modules)"
    )
    assert not {"rich", "matplotlib", "click"} & {name.partition(".")[0] for name in loaded.split()}


def test_results_show_in_notebooks_however_they_were_made() -> None:
    """What draws them is loaded when a notebook asks, also if nothing was asked of the package."""
    code = (
        "import sys\n"
        "from lowtide.commands.analysis import analyze\n"
        "from lowtide.zoo.loading import load\n"
        "found = analyze(load('zoo:figure1'))\n"
        "before = 'lowtide.report.notebook' in sys.modules\n"
        "print(before, found._repr_html_()[:5])"
    )
    assert python(code) == "False <div \n"


def test_the_promised_names() -> None:
    assert set(lowtide.__all__) >= FUNCTIONS
    assert all(getattr(lowtide, name).__doc__ for name in FUNCTIONS)
    assert len(set(lowtide.__all__)) == len(lowtide.__all__)


@pytest.mark.parametrize("name", [*sorted(FUNCTIONS), "Model"])
def test_a_name_is_the_same_thing_every_time(name: str) -> None:
    """Also after everything else has been imported: no module may take a function's place."""
    kinds = python(
        f"import lowtide\nfirst = lowtide.{name}\n"
        "for other in lowtide.__all__: getattr(lowtide, other)\n"
        "import lowtide.cli, lowtide.commands.reordering\n"
        f"print(lowtide.{name} is first, type(first).__name__)"
    )
    same, kind = kinds.split()
    assert same == "True"
    assert kind in {"function", "type", "ABCMeta", "str"}


def test_no_module_has_the_name_of_a_function() -> None:
    """Importing it would put it in the function's place."""
    modules = {module.name for module in pkgutil.iter_modules(lowtide.__path__)}
    assert modules.isdisjoint(lowtide.__all__)


@pytest.mark.parametrize(
    "first", ["lowtide.commands.reordering", "lowtide.tflite.read", "lowtide.cli"]
)
def test_load_is_a_function_whatever_was_imported_before(first: str) -> None:
    code = f"import {first}, lowtide; print(lowtide.load('zoo:figure1').path)"
    assert python(code) == "zoo:figure1\n"


def test_two_models_can_be_loaded() -> None:
    code = "import lowtide; print([lowtide.load('zoo:figure1').path for _ in range(2)])"
    assert python(code) == "['zoo:figure1', 'zoo:figure1']\n"


def test_from_lowtide_import_everything() -> None:
    code = "from lowtide import *; print(load('zoo:figure1').path, __version__)"
    assert python(code) == f"zoo:figure1 {lowtide.__version__}\n"


def test_an_unknown_name() -> None:
    with pytest.raises(AttributeError, match="'lowtide' has no attribute 'analyse'"):
        _ = lowtide.analyse
    assert not hasattr(lowtide, "__wrapped__")


def test_the_example_in_the_docstring(tmp_path: Path) -> None:
    assert lowtide.__doc__ is not None
    example = re.findall(r"^    (.*)$", lowtide.__doc__, flags=re.MULTILINE)
    assert len(example) == 7
    (tmp_path / "model.tflite").write_bytes(networks.contents("figure1"))
    printed = python("\n".join(example), tmp_path)
    assert printed.endswith("Best order of the operators: 0 3 5 1 2 4 6\n")
    assert printed.startswith("Steps in the file's order\n")
    smaller = python(
        "import lowtide; print(lowtide.analyze(lowtide.load('smaller.tflite')).peak_bytes)",
        tmp_path,
    )
    assert smaller == "4960\n"
    assert (tmp_path / "folder/model.h").is_file()


def test_results_print_well() -> None:
    model = networks.loaded("figure1")
    found, made = lowtide.analyze(model), lowtide.compile(model)
    reordered, planned = lowtide.reorder(model, check=False), lowtide.plan(model)
    assert "5,216 B     4,960 B  -4.9%, proved optimal" in lowtide.describe(found)
    assert str(lowtide.best_order(model)) == "peak 4,960 B (proved optimal)"
    assert "Order of the operators: peak 4,960 B" in lowtide.describe(reordered)
    assert lowtide.describe(planned).startswith("Stages, run one after the other\n")
    assert lowtide.describe(made).splitlines()[1].startswith(f"arena {made.arena_bytes:,} B")
    # What a prompt shows is short: no tensors, no contents of the file.
    for value in (model, found, lowtide.best_order(model), reordered, made):
        assert len(repr(value)) < 4000
        assert type(value).__name__ in repr(value)


@pytest.mark.parametrize("of", ["name", "path", "bytes", "model"])
def test_everything_that_takes_a_model_takes_what_names_one(of: str, tmp_path: Path) -> None:
    (tmp_path / "figure1.tflite").write_bytes(networks.contents("figure1"))
    ways: dict[str, Named] = {
        "name": "zoo:figure1",
        "path": tmp_path / "figure1.tflite",
        "bytes": networks.contents("figure1"),
        "model": networks.loaded("figure1"),
    }
    given = ways[of]
    assert lowtide.analyze(given).peak_bytes == 5216
    assert lowtide.best_order(given).peak_bytes == 4960
    compiled = lowtide.compile(given, lowtide.Options(input_mode="const"))
    assert lowtide.compile(model=given).name == lowtide.compile(given).name
    assert lowtide.plan(given).compiled.ram_bytes > compiled.ram_bytes
    assert lowtide.reorder(given, check=False).after.peak_bytes == 4960
    assert lowtide.simplify(given, check=False).model.path
    assert lowtide.estimate(given).needs
    assert len(lowtide.samples_for(given).samples) == 64
    assert lowtide.part_of(given).path
    with pytest.raises(LowtideError, match="is already quantised"):
        lowtide.quantize(given, lowtide.samples_for(given))
    zeros = np.zeros((1, 7, 7, 32), np.int8)
    assert lowtide.evaluate(compiled, zeros, against=given).samples == 1
    assert lowtide.evaluate(given, zeros).samples == 1
    assert lowtide.verify(given, samples=1).bit_exact
    assert lowtide.run(given, "mps2-an386", samples=1).bit_exact


def test_what_is_no_model_is_said_to_be_none(tmp_path: Path) -> None:
    takers = (lowtide.compile, lowtide.plan, lowtide.analyze, lowtide.reorder, lowtide.verify)
    for function in takers:
        with pytest.raises(LowtideError, match="int is neither a model nor the name of one"):
            function(3)  # type: ignore[arg-type]  # wrong on purpose
        with pytest.raises(LowtideError, match="the zoo has no network named 'nothing'"):
            function("zoo:nothing")
        with pytest.raises(LowtideError, match="cannot read"):
            function(tmp_path / "none.tflite")


def test_from_a_model_to_a_board() -> None:
    program = lowtide.compile(networks.loaded("figure1"), lowtide.Options(input_mode="const"))
    verified = lowtide.verify(program, samples=2)
    assert verified.bit_exact
    assert lowtide.describe(verified).startswith("figure1: bit-exact. ")
    ran = lowtide.run(program, "mps2-an386", samples=1)
    assert ran.bit_exact
    assert ran.measured.ram.arena_bytes == program.arena_bytes
    assert lowtide.describe(ran).startswith("figure1 on mps2-an386 (cortex-m4), emulated; ")
    with pytest.raises(LowtideError, match="there is no board 'mps2-an3'"):
        lowtide.run(program, "mps2-an3")


def test_a_schedule_of_operators_has_no_plan() -> None:
    with pytest.raises(LowtideError, match="have no stages to plan"):
        lowtide.plan(networks.loaded("figure1"), lowtide.Options(schedule="operators"))


@pytest.mark.parametrize(
    ("option", "remedy"),
    [
        ("schedule", "use one of: operators, rows"),
        ("allocator", "use one of: planned, greedy, compacting"),
        ("input_mode", "use one of: resident, const, streamed"),
        ("output_mode", "use one of: resident, streamed"),
        ("input_layout", "use one of: file, nhwc"),
        ("output_layout", "use one of: file, nhwc"),
        ("input_type", "use one of: file, uint8"),
        ("cost", "use one of: macs, instructions"),
        ("rounding", "use one of: tflm, litert"),
    ],
)
def test_a_slip_in_an_option_is_told(option: str, remedy: str) -> None:
    wrong: dict[str, Any] = {option: "streamd"}
    with pytest.raises(LowtideError) as info:
        lowtide.Options(**wrong)
    assert str(info.value) == f"{option} cannot be 'streamd'\n  remedy: {remedy}"


WRONG: dict[str, tuple[Callable[[Any], object], Any, str, str]] = {
    "a hop in words": (
        lambda v: lowtide.Options(hop=v),
        "2",
        "hop",
        "a whole number of at least 1",
    ),
    "no hop": (lambda v: lowtide.Options(hop=v), 0, "hop", "a whole number of at least 1"),
    "parts of rows": (
        lambda v: lowtide.Options(keep=v),
        1.5,
        "keep",
        "a whole number of at least 0",
    ),
    "a factor": (
        lambda v: lowtide.Options(max_overhead=v),
        "2",
        "max_overhead",
        "a number of at le",
    ),
    "no factor": (
        lambda v: lowtide.Options(max_overhead=v),
        float("nan"),
        "max_overhead",
        "a number of at least 1",
    ),
    "no effort": (
        lambda v: lowtide.Options(effort=v),
        None,
        "effort",
        "a number from 0.001 to 1000",
    ),
    "a switch": (lambda v: lowtide.Options(slices=v), "yes", "slices", "True or False"),
    "a name": (lambda v: lowtide.Options(name=v), 3, "name", "a string"),
    "a core": (lambda v: lowtide.Options(target=v), 4, "target", "the name of a core"),
    "options": (
        lambda v: lowtide.compile("zoo:figure1", v),
        {"hop": 2},
        "options",
        "lowtide.Options",
    ),
    "one end": (lambda v: lowtide.part_of("zoo:figure1", until=v), 3, "until", "until=[3]"),
    "one beginning": (
        lambda v: lowtide.part_of("zoo:figure1", v),
        "stem",
        "begin",
        "begin=['stem']",
    ),
    "samples": (
        lambda v: lowtide.verify("zoo:figure1", samples=v),
        "a",
        "samples",
        "a whole number of at least 1",
    ),
    "no samples": (
        lambda v: lowtide.verify("zoo:figure1", samples=v),
        0,
        "samples",
        "a whole number of at least 1",
    ),
    "a seed": (lambda v: lowtide.verify("zoo:figure1", seed=v), -1, "seed", "a whole number of at"),
    "a board": (lambda v: lowtide.run("zoo:figure1", v), 7, "board", "a name that"),
    "samples to read": (
        lambda v: lowtide.samples_for("zoo:figure1", most=v),
        0,
        "most",
        "a whole number of at least 1",
    ),
    "data": (lambda v: lowtide.quantize("zoo:figure1", v), None, "data", "lowtide.samples_for"),
    "an order's effort": (
        lambda v: lowtide.best_order("zoo:figure1", effort=v),
        "x",
        "effort",
        "a number of at least 0",
    ),
    "one mode": (
        lambda v: lowtide.estimate("zoo:figure1", inputs=v),
        "const",
        "inputs",
        "inputs=['const']",
    ),
}
"""What is wrong -> a call of what takes it, the value, the argument, and what to give instead."""


@pytest.mark.parametrize("what", WRONG)
def test_arguments_that_cannot_be_used_are_told(what: str) -> None:
    call, value, name, instead = WRONG[what]
    with pytest.raises(UsageError) as info:
        call(value)
    assert info.value.cause.startswith(f"{name} cannot be ")
    assert instead in info.value.remedy
    assert "inf" not in info.value.remedy


@pytest.mark.parametrize("wrong", [3.5, -1, "16KB", True, [16]])
def test_sizes_that_cannot_be_used_are_told(wrong: Any) -> None:
    for name, give in (
        ("max_ram", lambda: lowtide.Options(max_ram=wrong)),
        ("budget", lambda: lowtide.estimate("zoo:figure1", budget=wrong)),
    ):
        with pytest.raises(UsageError) as info:
            give()
        assert info.value.cause == f"{wrong!r} is not a number of bytes"
        what = "it" if isinstance(wrong, str) else name
        assert info.value.remedy == f"write {what} as 16384, 16K or 16KiB"


def test_numbers_of_numpy_are_numbers() -> None:
    """They become Python's, so that documents and commands can be made of them."""
    numbers: dict[str, Any] = {
        "hop": np.int64(2),
        "max_ram": np.int32(9000),
        "max_overhead": np.float32(1.5),
    }
    given = lowtide.Options(**numbers)
    assert [type(v) for v in (given.hop, given.max_ram, given.max_overhead)] == [int, int, float]
    assert given == lowtide.Options(hop=2, max_ram=9000, max_overhead=1.5)


def test_an_estimate_takes_sizes_and_cores_as_options_do() -> None:
    found = lowtide.estimate("zoo:figure1", "16K", target="cortex-m4")
    assert found == lowtide.estimate(
        "zoo:figure1", 16384, target=lowtide.Options(target="cortex-m4").target
    )
    assert found.fits


def test_every_result_can_be_described() -> None:
    model = networks.loaded("figure1")
    found = lowtide.estimate(model)
    said = lowtide.describe(found)
    assert said.startswith("figure1: 7 operators, estimated for any core\n")
    for needs in found.needs.values():
        assert f"{needs.ram_bytes:,}" in said and f"{needs.instructions:,}" in said
    small = lowtide.describe(lowtide.estimate(model, budget=1))
    assert small.endswith("It does not fit a budget of 1 B.")
    order = lowtide.best_order(model)
    assert lowtide.describe(order) == (
        "peak 4,960 B (proved optimal)\nOrder of the operators: 0 3 5 1 2 4 6"
    )
    nothing: Any = 3
    with pytest.raises(UsageError, match="int is not a result of lowtide"):
        lowtide.describe(nothing)


def test_an_estimate_in_a_mode_that_there_is_not() -> None:
    modes: Any = ("streamd",)
    with pytest.raises(LowtideError, match="input_mode cannot be 'streamd'"):
        lowtide.estimate("zoo:figure1", inputs=modes)


def test_a_model_and_its_graph_are_analysed_alike() -> None:
    model = networks.loaded("figure1")
    of_model, of_graph = lowtide.analyze(model), lowtide.analyze(model.graph)
    assert (of_model.file, of_model.best) == (of_graph.file, of_graph.best)
    assert lowtide.best_order(model).order == lowtide.best_order(model.graph).order


def test_errors_have_one_base() -> None:
    assert lowtide.LowtideError is LowtideError
    with pytest.raises(LowtideError) as info:
        lowtide.reorder(networks.loaded("figure1"), check=False).write("/nowhere/at/all")
    assert info.value.exit_code == 2
    assert str(info.value) == f"{info.value.cause}\n  remedy: {info.value.remedy}"


@pytest.mark.parametrize("name", networks.present("te_vww") or ["mobilenet-v2-0.35-144"])
def test_analysis_is_quick_enough_for_an_architecture_search(name: str) -> None:
    """About 15,000 calls; `bench/reorder` has the milliseconds."""
    model = networks.loaded(name)
    assert calls(lambda: analyze(model)) < 25_000

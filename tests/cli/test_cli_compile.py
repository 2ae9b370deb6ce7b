"""`lowtide compile` and `lowtide ops`: a whole folder of C, or one message and no folder.

Why: what is written here is copied into firmware, so nothing half-done may look like a result.
"""

from __future__ import annotations

import errno
import json
import os
import re
from pathlib import Path

import pytest
from command import call, fine, refused, run

from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.lower import CUSTOM, LOWERINGS
from lowtide.report.deployment import proof_document
from lowtide.report.predicted import predicted_fields
from lowtide.report.saved import savings_document
from networks import float_network, loaded
from origins import without_origin


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_folder_has_everything_to_build(tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"
    text = fine(call("compile", "zoo:figure1", "-o", out, "--no-advice"))
    program = compile_model(loaded("figure1"))
    files = _files(out)
    assert {"figure1.c", "figure1.h", "lowtide.c", "lowtide.h", "README.md"} < files.keys()
    assert without_origin(files) == without_origin(program.files)
    first, second, cost, third, fourth = text.splitlines()
    assert fourth == str(program.proof)
    assert cost.startswith(f"instructions, predicted: {program.instructions_predicted:,}, for a ")
    assert first == "zoo:figure1: 7 operators, 254,464 MACs"
    plan, proved = program.assembly.plan, program.assembly.placement.proved_optimal
    assert plan is not None
    proof = "" if proved else " (not proved optimal)"
    stages = f"rows scheduled in {len(plan.stages)} stages"
    assert second == f"arena {program.arena_bytes:,} B{proof}, {stages}"
    assert third == (
        f"Wrote {len(files)} files to {out}; figure1.h is the interface, README.md says how to "
        "build and call it."
    )


def test_operators_one_after_the_other(tmp_path: Path) -> None:
    flags = ("--schedule", "operators")
    text = fine(call("compile", "zoo:figure1", "-o", tmp_path, *flags))
    program = compile_model(loaded("figure1"), Options(schedule="operators"))
    assert without_origin(_files(tmp_path)) == without_origin(program.files)
    assert text.splitlines()[1] == (
        f"arena {program.arena_bytes:,} B, allocator planned, order: peak 4,960 B (proved optimal)"
    )


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        (("--input", "streamed"), Options(input_mode="streamed")),
        (("--output", "streamed"), Options(output_mode="streamed")),
        (
            ("--input", "streamed", "--output", "streamed", "--schedule", "rows"),
            Options(input_mode="streamed", output_mode="streamed"),
        ),
        (
            ("--input", "const", "--output", "resident", "--allocator", "planned"),
            Options(input_mode="const"),
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_rows_that_are_streamed(flags: tuple[str, ...], options: Options, tmp_path: Path) -> None:
    fine(call("compile", "zoo:figure1", "-o", tmp_path, *flags))
    program = compile_model(loaded("figure1"), options)
    assert without_origin(_files(tmp_path)) == without_origin(program.files)
    header = (tmp_path / "figure1.h").read_text()
    assert ("int figure1_set_pull(" in header) == (options.input_mode == "streamed")
    assert ("int figure1_set_take(" in header) == (options.output_mode == "streamed")


def test_the_json_document(tmp_path: Path) -> None:
    out = tmp_path / "out"
    flags = "--schedule operators --allocator compacting --input const --align 32 --name Fig"
    document = json.loads(
        fine(call("compile", "zoo:figure1", "-o", out, "--no-advice", "--json", *flags.split()))
    )
    options = Options(
        schedule="operators", allocator="compacting", input_mode="const", align=32, name="Fig"
    )
    program = compile_model(loaded("figure1"), options)
    assert document == {
        "schema": "lowtide.compile/1",
        "model": "zoo:figure1",
        "output": str(out),
        "name": "Fig",
        "files": sorted(program.files),
        "removed": [],
        "allocator": "compacting",
        "schedule": "operators",
        "input": "const",
        "output_mode": "resident",
        "arena_bytes": program.arena_bytes,
        "state_bytes": 0,
        "ram_bytes": program.arena_bytes,
        "tflm_greedy_arena_bytes": 5216,
        "tflm_variables_bytes": 0,
        "arena_lower_bound_bytes": program.arena_bytes,
        "moved_bytes": program.assembly.placement.moved_bytes,
        "order": [0, 3, 5, 1, 2, 4, 6],
        "macs": 254_464,
        "simplified": True,
        "saved": savings_document(program.savings),
        "complete": True,
        "proof": proof_document(program.proof),
        "lowtide": program.origin.version,
        "sha256": program.origin.digest,
        "command": f"lowtide compile zoo:figure1 {flags} -o Fig",
        "core": "any",
        **predicted_fields(program),
    }
    assert sorted(_files(out)) == document["files"]
    assert "#define FIG_ARENA_ALIGN 32\n" in (out / "Fig.h").read_text()
    assert "Fig_set_input" in (out / "Fig.h").read_text()


def test_the_name_comes_from_the_file(tmp_path: Path) -> None:
    model = tmp_path / "2nd Model (int8).tflite"
    model.write_bytes(loaded("figure1").source)
    fine(call("compile", model, "-o", tmp_path / "out"))
    assert (tmp_path / "out" / "m_2nd_model_int8.h").is_file()


@pytest.mark.parametrize("stem", ["int8", "size", "int", "lowtide", "lt_conv", "Ünïcode", "-"])
def test_a_file_of_any_name_gives_c_that_compiles(stem: str, tmp_path: Path) -> None:
    """Also one that would make `typedef struct {...} int8_t`."""
    model = tmp_path / f"{stem}.tflite"
    model.write_bytes(loaded("figure1").source)
    assert "bit-exact" in fine(call("verify", model, "--samples", "1"))


@pytest.mark.parametrize(
    ("flags", "cause", "remedy"),
    [
        (("--align", "12"), "--align cannot be 12", "a power of two"),
        (("--align", "2"), "--align cannot be 2", "at least 4"),
        (("--align", "0"), "--align cannot be 0", "a power of two"),
        (
            ("--align", "-16"),
            "'-16' is not a number of bytes, such as 16384, 16K or 16KiB",
            "--help",
        ),
        (("--align", "16K"), "--align cannot be 16384", "at most 4096"),
        (("--align", str(1 << 30)), "--align cannot be 1073741824", "power of two"),
        (("--align", "many"), "'many' is not a number of bytes", "lowtide compile --help"),
        (("--name", "9x"), "'9x' cannot be a C identifier", "such as m_9x"),
        (("--name", "int"), "'int' cannot be a C identifier", "such as m_int"),
        (("--name", "a-b"), "'a-b' cannot be a C identifier", "such as a_b"),
        (("--name", ""), "'' cannot be a C identifier", "letters, digits and _"),
        (("--name", "lt_net"), "'lt_net' is a name that the runtime uses", "another name"),
        (("--name", "lt"), "'lt' is a name that the runtime uses", "another name"),
        (("--name", "Lowtide"), "'Lowtide' is a name that the runtime uses", "another name"),
        (("--name", "int8"), "'int8'", "name"),
        (("--allocator", "best"), "'best' is not one of", "lowtide compile --help"),
        (("--input", "flash"), "'flash' is not one of", "lowtide compile --help"),
        (("--output", "flash"), "'flash' is not one of", "lowtide compile --help"),
        (("--schedule", "layers"), "'layers' is not one of", "lowtide compile --help"),
        (("--effort", "0"), "the range", "lowtide compile --help"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_an_option_that_cannot_be(
    flags: tuple[str, ...], cause: str, remedy: str, tmp_path: Path
) -> None:
    refused(call("compile", "zoo:figure1", "-o", tmp_path / "out", *flags), 2, cause, remedy)
    assert list(tmp_path.iterdir()) == []


_WHOLE_INPUT = (
    "operators that run one after the other need their whole input",
    "leave out --schedule operators to stream rows in or out",
)


def _not_there(mode: str) -> tuple[str, str]:
    cause = f"a {mode} input is not in the arena, so it cannot be preserved there"
    return cause, "leave out --preserve-input"


def _not_placed(allocator: str) -> tuple[str, str]:
    remedy = "add --schedule operators, or leave out --allocator"
    return f"the {allocator} allocator places whole tensors, not rows", remedy


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--schedule operators --input streamed", _WHOLE_INPUT),
        ("--schedule operators --output streamed", _WHOLE_INPUT),
        ("--schedule operators --input streamed --output streamed", _WHOLE_INPUT),
        ("--schedule operators --input const --output streamed", _WHOLE_INPUT),
        ("--input const --preserve-input", _not_there("const")),
        ("--schedule operators --input const --preserve-input", _not_there("const")),
        ("--input streamed --preserve-input", _not_there("streamed")),
        ("--input streamed --output streamed --preserve-input", _not_there("streamed")),
        ("--allocator greedy", _not_placed("greedy")),
        ("--allocator compacting", _not_placed("compacting")),
        ("--schedule rows --allocator compacting --input const", _not_placed("compacting")),
    ],
)
@pytest.mark.parametrize("command", ["compile", "verify", "run"])
def test_options_that_do_not_go_together(
    command: str, flags: str, said: tuple[str, str], tmp_path: Path
) -> None:
    rest = {"compile": ("-o", tmp_path / "out"), "verify": (), "run": ("--board", "microbit")}
    result = call(command, "zoo:figure1", *rest[command], *flags.split())
    refused(result, 2, said[0], said[1])
    assert result.messages == f"lowtide: {said[0]}\n  remedy: {said[1]}\n"
    assert list(tmp_path.iterdir()) == []


def test_output_is_where_outputs_are_not_where_files_go(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    result = call("compile", "zoo:figure1", "--output", out)
    refused(result, 2, f"'{out}' is not one of 'resident', 'streamed'", "lowtide compile --help")
    assert list(tmp_path.iterdir()) == []


def test_where_to_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    refused(call("compile", "zoo:figure1"), 2, "Missing option '-o'")
    refused(call("compile", "-o", "out"), 2, "Missing argument 'MODEL'")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["compile", "verify", "run"])
def test_a_float_model_is_refused_with_the_remedy(command: str, tmp_path: Path) -> None:
    model = tmp_path / "float.tflite"
    model.write_bytes(float_network())
    rest = {"compile": ("-o", tmp_path / "out"), "verify": (), "run": ("--board", "microbit")}
    result = call(command, model, *rest[command])
    refused(
        result,
        3,
        "operator 0 (ADD): its type is FLOAT32",
        f"quantise it to int8: `lowtide quantize {model} -o float_int8.tflite --data SAMPLES.npz`",
    )
    assert list(tmp_path.iterdir()) == [model]


def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    model = tmp_path / "text.tflite"
    model.write_text("not a model")
    result = call("compile", model, "-o", tmp_path / "out")
    refused(result, 3, "text.tflite")
    assert list(tmp_path.iterdir()) == [model]


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"mine")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        refused(call("compile", "zoo:figure1", "-o", out), 2, str(out), "another folder")
    assert _files(tmp_path) == {"file": b"mine"}


def test_nothing_is_written_if_one_file_cannot_be(tmp_path: Path) -> None:
    """Something else stands where the header is to be."""
    out = tmp_path / "out"
    (out / "lowtide.h").mkdir(parents=True)
    words = ("compile", "zoo:figure1", "-o", out, "--force")
    refused(call(*words), 2, "lowtide.h is a folder")
    assert [path.name for path in out.iterdir()] == ["lowtide.h"]


def test_a_disk_that_is_full_leaves_no_half_of_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []

    def sync(file: int) -> None:
        synced.append(file)
        if len(synced) == 4:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", sync)
    refused(call("compile", "zoo:figure1", "-o", tmp_path / "out"), 2, "No space left on device")
    assert len(synced) == 4
    assert list(tmp_path.iterdir()) == []


def test_writing_again_into_the_same_folder(tmp_path: Path) -> None:
    fine(call("compile", "zoo:figure1", "-o", tmp_path))
    first = _files(tmp_path)
    fine(call("compile", "zoo:figure1", "-o", tmp_path))
    assert _files(tmp_path) == first
    (tmp_path / "mine.c").write_bytes(b"/* mine */")
    fine(call("compile", "zoo:figure1", "-o", tmp_path, "--name", "other"))
    assert {"mine.c", "other.c", "figure1.c"} < _files(tmp_path).keys()


def test_compiling_needs_no_tool(tmp_path: Path) -> None:
    assert "Wrote " in fine(run("compile", "zoo:figure1", "-o", tmp_path / "out", PATH=""))


def test_ops_lists_what_can_be_compiled() -> None:
    text = fine(call("ops"))
    listed = dict(re.findall(r"^(\S+) +([a-z].*)$", text, re.MULTILINE))
    del listed["operator"]
    kinds = {
        name: ", ".join(sorted(kind.name.lower() for kind in lowering.types))
        for name, lowering in {**LOWERINGS, **CUSTOM}.items()
    }
    assert listed == kinds
    assert list(listed) == sorted(listed)
    document = json.loads(fine(call("ops", "--json")))
    assert document["schema"] == "lowtide.ops/1"
    assert {o["type"]: ", ".join(o["activations"]) for o in document["operators"]} == kinds


def test_ops_has_what_the_documentation_promises() -> None:
    types = {o: {k.name for k in lowering.types} for o, lowering in LOWERINGS.items()}
    int8 = """
    CONV_2D DEPTHWISE_CONV_2D FULLY_CONNECTED TRANSPOSE_CONV AVERAGE_POOL_2D MAX_POOL_2D MEAN SUM
    REDUCE_MAX ADD SUB MUL MINIMUM MAXIMUM RELU RELU6 LEAKY_RELU PRELU HARD_SWISH LOGISTIC TANH
    SOFTMAX CONCATENATION SPLIT SPLIT_V SLICE STRIDED_SLICE PAD PADV2 PACK UNPACK GATHER TRANSPOSE
    RESHAPE SQUEEZE EXPAND_DIMS RESIZE_NEAREST_NEIGHBOR RESIZE_BILINEAR BATCH_MATMUL QUANTIZE
    DEQUANTIZE SVDF UNIDIRECTIONAL_SEQUENCE_LSTM VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE CALL_ONCE
    """
    uint8 = """
    CONV_2D DEPTHWISE_CONV_2D FULLY_CONNECTED AVERAGE_POOL_2D MAX_POOL_2D ADD CONCATENATION SPLIT
    SOFTMAX RESHAPE
    """
    int16 = """
    CONV_2D DEPTHWISE_CONV_2D FULLY_CONNECTED ADD MUL AVERAGE_POOL_2D MAX_POOL_2D SOFTMAX LOGISTIC
    TANH CONCATENATION RESHAPE QUANTIZE
    """
    stateless = {"VAR_HANDLE", "CALL_ONCE"}  # they have no activations
    for kind, promised in (("INT8", int8), ("UINT8", uint8), ("INT16", int16)):
        names = set(promised.split())
        assert names <= types.keys(), names - types.keys()
        assert all(kind in types[name] for name in names - stateless), kind


def test_a_folder_that_has_a_bundle(tmp_path: Path) -> None:
    """It ends as a new one would, but for what is the user's."""
    old, new = tmp_path / "old", tmp_path / "new"
    fine(call("compile", "zoo:resnet8", "-o", old, "--name", "net"))
    (old / "lt_mine.c").write_text("int mine;\n")
    text = fine(call("compile", "zoo:attention-block", "-o", old, "--name", "net"))
    assert "\nRemoved from an earlier bundle, because nothing uses them now: lt_" in text
    fine(call("compile", "zoo:attention-block", "-o", new, "--name", "net"))
    found = {path.name: path.read_bytes() for path in old.iterdir()}
    assert found.pop("lt_mine.c") == b"int mine;\n"
    assert found == {path.name: path.read_bytes() for path in new.iterdir()}
    again = json.loads(fine(call("compile", "zoo:attention-block", "-o", old, "--json")))
    assert again["removed"] == []


@pytest.mark.parametrize(
    ("given", "cause", "remedy"),
    [
        (("--input", "streamed"), "takes its inputs row by row", "leave out --input streamed"),
        (("--input", "const"), "takes its inputs where they stay", "leave out --input const"),
        (
            ("--output", "streamed"),
            "hands its outputs over row by row",
            "leave out --output streamed",
        ),
        (("--hop", "3"), "takes the rows of a sliding window", "leave out --hop"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_firmware_cannot_do_is_refused(
    given: tuple[str, ...], cause: str, remedy: str, tmp_path: Path
) -> None:
    words = ("compile", "zoo:wake-word-window", "--export", "tflm", *given)
    told = "firmware that writes whole inputs and reads whole outputs; this program "
    refused(call(*words, "-o", tmp_path / "net"), 2, f"{told}{cause}", remedy)
    assert not (tmp_path / "net").exists()


def test_a_package_is_for_one_build_system(tmp_path: Path) -> None:
    words = ("compile", "zoo:figure1", "-o", tmp_path / "net", "--export", "cmake")
    cause = "--export names cmake and arduino, but a package is for one build system"
    refused(call(*words, "--export", "arduino"), 2, cause, "name one of them; for the other, run")
    assert not (tmp_path / "net").exists()
    fine(call(*words, "--export", "cmake"))
    assert (tmp_path / "net" / "CMakeLists.txt").is_file()

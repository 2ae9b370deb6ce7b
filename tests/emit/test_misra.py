"""Deviations from MISRA C:2012: each finding of cppcheck is on the bundle's list, with a reason."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import pytest

from bench.misra.bundles import BUNDLES, in_bundle, network_of, options_of
from bench.misra.checker import Finding
from bench.misra.runtime import line_of, unused, without_reason
from lowtide.emit.misra import (
    CONFIGURATIONS,
    DEVIATIONS,
    Idiom,
    checked_as,
    deviations,
    digest,
    digests,
    idiom_of,
    idioms,
    runtime_lines,
)
from lowtide.emit.runtime import kernel_files, own_files
from lowtide.emit.together import Member, together
from lowtide.machines.board import find_target
from networks import compiled

_ENTRY = re.compile(r"[\w.-]+:[\w.]+:[1-9][0-9]*")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where results of files stay that several bundles have."""
    return tmp_path_factory.mktemp("kept")


def _written(bundle: str, core: str, folder: Path) -> Path:
    for file, content in compiled(network_of(bundle), options_of(bundle, core)).files.items():
        (folder / file).write_bytes(content)
    return folder


def _kept(kept: Path, core: str) -> Path:
    (kept / core).mkdir(exist_ok=True)
    return kept / core


def _stored() -> list[Finding]:
    return [
        Finding(rule, file, line)
        for rule, files in runtime_lines().items()
        for file, lines in files.items()
        for line in lines
    ]


@pytest.mark.parametrize(("bundle", "core"), BUNDLES)
def test_no_finding_is_undocumented(bundle: str, core: str, tmp_path: Path, kept: Path) -> None:
    folder = _written(bundle, core, tmp_path)
    assert in_bundle(folder, core, listed=True, kept=_kept(kept, core)) == set()


def test_what_is_not_on_the_list_is_found(tmp_path: Path, kept: Path) -> None:
    bundle, core = BUNDLES[0]
    folder = _written(bundle, core, tmp_path)
    listing = folder / DEVIATIONS
    lines = listing.read_text("utf-8").splitlines(keepends=True)
    some = re.compile(r"misra-c2012-(15\.5:ds_cnn_kws|11\.5:lt_softmax)\.c")
    left_out = [line for line in lines if some.match(line)][::2]
    assert len(left_out) > 2
    listing.write_text("".join(line for line in lines if line not in left_out), "utf-8")
    found = in_bundle(folder, core, listed=True, kept=_kept(kept, core))
    assert {f"{f.id}:{f.file}:{f.line}\n" for f in found} == set(left_out)


def test_the_runtime_is_as_it_was_checked() -> None:
    now = {file: digest(text) for file, text in own_files().items()}
    assert digests() == now, "run `bench/run misra --runtime --store`"


def test_each_line_of_the_runtime_has_a_reason() -> None:
    stored = _stored()
    assert all(line_of(finding) for finding in stored)
    assert without_reason(stored) == ()
    assert unused(stored) == ()


def test_a_line_without_a_reason_is_told() -> None:
    finding = Finding("misra-c2012-17.7", "lowtide.c", 1)
    assert without_reason([finding]) == (finding,)
    assert len(unused([])) == len(idioms("runtime"))


@pytest.mark.parametrize(("bundle", "core"), BUNDLES)
def test_each_entry_names_a_line_of_the_bundle(bundle: str, core: str) -> None:
    files = compiled(network_of(bundle), options_of(bundle, core)).files
    *sections, last = files[DEVIATIONS].decode().split("\n\n")
    reasons = {f"{i.id.removeprefix('misra-c2012-')}: {i.reason}" for i in _all_idioms()}
    for section in (*sections[1:], last):
        head, *entries = section.splitlines()
        assert head.removeprefix("# ") in reasons
        assert entries
        for entry in entries:
            assert _ENTRY.fullmatch(entry)
            rule, file, line = entry.split(":")
            assert int(line) <= len(files[file].decode().splitlines())
            assert head.startswith(f"# {rule.removeprefix('misra-c2012-')}: ")


def _all_idioms() -> chain[Idiom]:
    return chain(idioms("runtime"), idioms("program"))


def test_only_lines_of_files_that_are_there_are_listed() -> None:
    program = compiled("figure1")
    kernel = "lt_add_narrow.c"
    assert kernel in kernel_files()
    text = deviations({kernel: kernel_files()[kernel]}, program.options.target)
    entries = [line for line in text.splitlines() if not line.startswith("#") and line]
    assert entries
    assert {entry.split(":")[1] for entry in entries} == {kernel}


def _listed(texts: dict[str, str]) -> set[str]:
    lines = deviations(texts, compiled("figure1").options.target).splitlines()
    return {line for line in lines if not line.startswith("#") and line}


@pytest.mark.parametrize(
    ("core", "configuration"),
    [
        ("any", "portable"),
        ("cortex-m0", "cortex-m0"),
        ("cortex-m3", "cortex-m3"),
        ("cortex-m33", "dsp"),
        ("cortex-m55", "helium"),
        ("rv32imc", "rv32"),
    ],
)
def test_code_is_checked_as_for_its_core(core: str, configuration: str) -> None:
    assert checked_as(find_target(core)) == CONFIGURATIONS[configuration]


def test_a_macro_that_nothing_uses_below_is_listed() -> None:
    header = "#define N_OLD 1\n#define N_USED 2\n#define N_HERE 3\n#define N_ALL (N_HERE)\n"
    code = "static const int8_t n_weights[] = {\n    1, -2,\n};\nint x = N_USED + N_OLDER;\n"
    lines = {f"misra-c2012-2.5:n.h:{line}" for line in (1, 4)}
    assert _listed({"n.h": header, "n.c": code}) == lines


@pytest.mark.parametrize(("weights", "listed"), [("", {2}), ("int x[2] N_WEIGHTS_PLACED;", set())])
def test_a_place_of_weights_that_are_not_there_is_listed(weights: str, listed: set[int]) -> None:
    some = "#ifdef N_WEIGHTS_SECTION\n#define N_WEIGHTS_PLACED section(N_WEIGHTS_SECTION)\n"
    code = f"{some}#else\n#define N_WEIGHTS_PLACED\n#endif\n{weights}\n"
    assert _listed({"n.c": code}) == {f"misra-c2012-2.5:n.c:{line}" for line in listed}


def test_a_table_that_one_function_has_is_listed() -> None:
    tables = [
        "static const lt_program n_program = {",
        "    1,",
        "};",
        "static const struct lt_hops n_hops = {&n_program, 2};",
        "static const uint32_t n_costs[] = {",
        "    1, 2,",
        "};",
        "static const lt_sliced n_sliced = {&n_program, n_costs, NULL};",
    ]
    first = ["int n_a(void)", "{", "    return f(&n_program, n_costs, n_costs);", "}"]
    second = ["int n_b(void)", "{", "    return g(&n_hops, n_costs);", "}"]
    listed = _listed({"n.c": "\n".join([*tables, *first, *second])})
    assert listed == {f"misra-c2012-8.9:n.c:{line}" for line in (1, 4)}


def test_networks_that_share_an_arena_share_a_list() -> None:
    programs = [compiled("figure1"), compiled("lstm-gestures")]
    members = [Member(p.name, p.assembly, p.files) for p in programs]
    text = together("both", members, "compile")[DEVIATIONS].decode()
    for program in programs:
        own = program.files[DEVIATIONS].decode().splitlines()
        assert set(own) <= set(text.splitlines())


def test_a_rule_is_no_idiom_of_another() -> None:
    line = "    const uint8_t *in = step->in[0];"
    found = idiom_of("misra-c2012-11.5", line)
    assert found is not None
    assert found.id == "misra-c2012-11.5"
    assert idiom_of("misra-c2012-17.2", line) is None

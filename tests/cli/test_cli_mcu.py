"""`--mcu` of compile and plan: a microcontroller's core, and a plan that fits its RAM."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import call, fine, refused

import lowtide
from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.options import Options
from lowtide.commands.verdict import predicted
from lowtide.machines.mcus import find_mcu
from networks import loaded

ROOMY, SCARCE, TINY = "STM32L432KC", "STM32F072RB", "STM32G031K8"


def for_core_of(mcu: str) -> Compiled:
    """The program that a part's core gets without --mcu."""
    return compile_model(loaded("branchy-cell"), Options(target=find_mcu(mcu).target))


def test_a_roomy_part_gets_the_plan_that_its_core_gets(tmp_path: Path) -> None:
    text = fine(call("compile", "zoo:branchy-cell", "-o", tmp_path, "--no-advice", "--mcu", ROOMY))
    core = for_core_of(ROOMY)
    assert f"\narena {core.arena_bytes:,} B" in text
    assert text.splitlines()[-1] == f"predicted: fits {ROOMY} with 47 KiB of RAM to spare"


@pytest.mark.parametrize("command", [("compile", "-o"), ("plan",)])
def test_a_scarce_part_gets_a_plan_that_fits(command: tuple[str, ...], tmp_path: Path) -> None:
    name, *out = command
    folder = [tmp_path / "c"] if out else []
    free = for_core_of(SCARCE)
    assert free.ram_bytes > find_mcu(SCARCE).ram_bytes - 1024  # or this would test nothing
    said = fine(
        call(name, "zoo:branchy-cell", *out, *folder, "--no-advice", "--json", "--mcu", SCARCE)
    )
    part = json.loads(said)["mcu"]
    assert (part["name"], part["fits"]) == (SCARCE, True)
    assert part["predicted_ram_bytes"] <= find_mcu(SCARCE).ram_bytes


def test_a_plan_that_is_asked_for_is_not_changed(tmp_path: Path) -> None:
    flags = ("--mcu", SCARCE, "--max-overhead", "1", "--no-advice")
    text = fine(call("compile", "zoo:branchy-cell", "-o", tmp_path, *flags))
    assert text.splitlines()[-1].startswith(f"predicted: does not fit {SCARCE}: ")


def test_a_part_that_is_too_small(tmp_path: Path) -> None:
    result = call("compile", "zoo:branchy-cell", "-o", tmp_path / "c", "--mcu", TINY)
    refused(
        result,
        1,
        f"{TINY} is too small: no plan of this network fits an arena of ",
        "allow more RAM",
    )
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("command", [("compile", "-o"), ("plan",)])
def test_a_part_with_too_little_flash_as_well(command: tuple[str, ...], tmp_path: Path) -> None:
    """Another plan, which would take long to find, cannot help."""
    name, *out = command
    net, folder = "zoo:mobilenet-v1-0.25-96", [tmp_path / "c"] if out else []
    figures = predicted(compile_model(lowtide.load(net), Options(target=find_mcu(TINY).target)))
    ram = figures.ram_bytes - find_mcu(TINY).ram_bytes
    flash = figures.flash_bytes - find_mcu(TINY).flash_bytes
    refused(
        call(name, net, *out, *folder, "--mcu", TINY),
        1,
        f"{TINY} is too small: {ram:,} B of RAM and {flash:,} B of flash are missing (predicted)",
        "run `lowtide fit` to see which microcontrollers the network fits",
    )
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("command", [("compile", "-o"), ("verify",)])
def test_one_core_only(command: tuple[str, ...], tmp_path: Path) -> None:
    name, *out = command
    flags = ("--mcu", ROOMY, "--core", "cortex-m3")
    result = call(name, "zoo:figure1", *out, *([tmp_path / "c"] if out else []), *flags)
    refused(result, 2, "--core and --mcu both choose the core", "give only one of them")

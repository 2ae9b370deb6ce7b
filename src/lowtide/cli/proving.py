"""The command that proves: prove."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lowtide import kinds
from lowtide.cli.checks import check_no_options, made_as, or_another_model
from lowtide.cli.compile_options import (
    cache_option,
    compile_once,
    compile_options,
    core_mcu_option,
    found_mcu,
)
from lowtide.cli.given import grouped
from lowtide.cli.options import answer, load, model_command, progress
from lowtide.cli.writing import a_file, output_option, replacing
from lowtide.commands.option import CHECKS
from lowtide.errors import UsageError


@model_command()
@output_option(
    "-o",
    a_file(kinds.document("lowtide.certificate")),
    "FILE",
    "Write the certificate to FILE, as input for --check.",
)
@grouped(
    CHECKS,
    "--bundle",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Prove the bundle or package in DIR instead of a new one. lowtide takes the options from the "
    "command in its README.",
)
@grouped(
    CHECKS,
    "--check",
    "certificate",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --bundle: check this certificate again, in a process without the compiler.",
)
@core_mcu_option
@compile_options
@cache_option
def prove(model: str, output: Path | None, bundle: Path | None, certificate: Path | None) -> None:
    """Prove what holds for all inputs, and write a certificate.

    The exit code is 1 if the proof fails. The certificate also says what isn't proved.
    """
    from lowtide.commands import certifying
    from lowtide.files import write_atomically
    from lowtide.report import data, proved

    if certificate is not None:
        if bundle is None:
            raise UsageError(
                "--check needs the bundle that the certificate is about", "add --bundle DIR"
            )
        if output is not None:
            raise UsageError("--check does not write a certificate", "leave out -o or --check")
        check_no_options(bundle)
        loaded = load(model)
        with progress("checking the certificate"):
            document = certifying.checked(certificate, loaded, bundle)
    else:
        document = _proved(model) if bundle is None else _proved_in(bundle, model)
    if output is not None:
        write_atomically(output, (data.to_json(document) + "\n").encode(), replacing())

    def text() -> str:
        told = proved.certificate_text(document, again=certificate is not None)
        beside = () if bundle is None else certifying.strangers(bundle, document)
        if beside:
            told += f"\n\nNot a part of this program, and not looked at: {', '.join(beside)}."
        return told if output is None else f"{told}\n\nWrote {output}."

    answer(lambda: document, text)


def _proved(model: str) -> dict[str, Any]:
    """The certificate of a new program."""
    from lowtide.commands.certifying import certified

    compiled = compile_once(model, found_mcu())
    with progress("proving"):
        return certified(compiled)


def _proved_in(bundle: Path, model: str) -> dict[str, Any]:
    """The certificate of the bundle in a folder."""
    from lowtide.commands.certifying import bundle_in, certified, check_files

    compiled = made_as(model, bundle)[0]
    files = bundle_in(bundle)
    with progress("proving"), or_another_model(model, bundle):
        document = certified(compiled, files)
        check_files(bundle, files, compiled.files)
    return document

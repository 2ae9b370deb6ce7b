"""The command that proves: prove."""

from __future__ import annotations

from pathlib import Path

import click

from lowtide import kinds
from lowtide.cli.checks import check_no_options, made_as
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
from lowtide.commands.options import CHECKS
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
        compiled = compile_once(model, found_mcu()) if bundle is None else made_as(model, bundle)[0]
        with progress("proving"):
            files = None if bundle is None else certifying.bundle_in(bundle)
            document = certifying.certified(compiled, files)
    if output is not None:
        write_atomically(output, (data.to_json(document) + "\n").encode(), replacing())
    answer(
        lambda: document, lambda: proved.certificate_text(document, again=certificate is not None)
    )

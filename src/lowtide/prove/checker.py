"""Certificates checked: made once more, from their hints and from the files as they are.

certificate -> hints (`Said`) --+--> certificate.py --> compared with the first one
model's bytes, bundle's files --'

What is refused says whether the certificate or the bundle is to be made again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, get_args

from lowtide.modes import EngineName, InputType, Layout
from lowtide.passes.pipeline import Asked
from lowtide.prove.certificate import (
    SCHEMA,
    RefusedError,
    Said,
    certificate,
    digest_of,
)
from lowtide.prove.proof import Claims, NodeClaim, VariableClaim

MAKE: Final = "make the certificate again with `lowtide prove MODEL --bundle DIR -o FILE`"
"""The remedy where only a certificate is wrong."""

_RESTORE: Final = (
    "restore that file, or compile the model again; if the file is right, the certificate is not: "
    f"{MAKE}"
)
"""The remedy where a file of the bundle was changed, or what the certificate says of it."""

_DIGITS: Final = 12
"""Of digests that are shown."""

_LONGEST: Final = 80
"""Letters of a value that is shown."""

_ASKED: Final[Mapping[str, Sequence[object]]] = {
    **dict.fromkeys(("simplify", "quantized_io", "ring"), (False, True)),
    **dict.fromkeys(("input_layout", "output_layout"), get_args(Layout)),
    "rounding": get_args(EngineName),
    "input_type": get_args(InputType),
}


def check(document: object, source: bytes, files: Mapping[str, bytes]) -> dict[str, Any]:
    """The certificate that is made again from the model `source` and the bundle `files`. Raises
    RefusedError if `document` is not the same."""
    if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
        raise _wrong(f"the file is not a certificate{_instead(document)}")
    try:
        said = _said_of(document)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise _wrong("the certificate is damaged: its hints, `said`, cannot be read") from None
    _check_model(document.get("model"), digest_of(source))
    try:
        made: dict[str, Any] = json.loads(json.dumps(certificate(source, files, said)))
    except RefusedError as failure:
        if f"{said.name}.c" not in files and document.get("files"):
            raise _wrong(
                f"the bundle lacks {_shown(said.name)}.c, so the certificate is about another bundle",
                "name the folder of the bundle that the certificate is about",
            ) from failure
        if not _unchanged(document, files):
            raise
        why = failure.cause.removeprefix("not proved: ")
        raise _wrong(f"the certificate does not fit its bundle: {why}") from failure
    for name in _changed(document, files):
        raise _wrong(f"{_shown(name)} is not the file that the certificate is about", _RESTORE)
    for difference in _differences(document, made):
        raise _wrong(_told(*difference))
    return made


def _wrong(why: str, remedy: str = MAKE) -> RefusedError:
    return RefusedError(f"not proved: {why}", remedy)


def _told(where: str, found: object, now: object) -> str:
    before, after = _shown(found), _shown(now)
    if before == after:  # as far as it is shown
        return f"the certificate says that {where} is other than it is"
    return f"the certificate says that {where} is {before}, but it is {after}"


def _instead(document: object) -> str:
    """Which document a file has that is no certificate, if it says so."""
    schema = document.get("schema") if isinstance(document, Mapping) else None
    return f", but has the schema {_shown(schema)}" if isinstance(schema, str) else ""


def _check_model(model: object, digest: str) -> None:
    """Raise RefusedError if a certificate that says this of its `model` is not for the one with this
    SHA-256."""
    if model == {"sha256": digest}:
        return
    other = model.get("sha256") if isinstance(model, Mapping) else None
    if not isinstance(other, str) or other == digest:
        raise _wrong("the certificate is damaged: it does not say which model it is for")
    raise _wrong(
        f"the certificate is for another model, whose SHA-256 begins with {_shown(other[:_DIGITS])}, "
        f"not {digest[:_DIGITS]}",
        f"name the model that the certificate is for, or {MAKE}",
    )


def _unchanged(document: Mapping[str, Any], files: Mapping[str, bytes]) -> bool:
    """Whether the certificate has the SHA-256 of the bundle's files: then it is itself what is wrong."""
    return bool(document.get("files")) and not any(_changed(document, files))


def _changed(document: Mapping[str, Any], files: Mapping[str, bytes]) -> Iterator[str]:
    """The files of which a certificate has another SHA-256, or that are not there."""
    known = document.get("files")
    for name, digest in known.items() if isinstance(known, Mapping) else ():
        if name not in files or digest_of(files[name]) != digest:
            yield name


def _shown(value: object) -> str:
    """A value of a certificate, for a message: as JSON has it, but without quotes, and not at length."""
    if value is None:
        return "missing"
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _said_of(document: Mapping[str, Any]) -> Said:
    found = document["said"]
    part, prices, asked = found["part"], found["prices"], found["asked"]
    for name, known in _ASKED.items():
        if not any(type(asked[name]) is type(one) and asked[name] == one for one in known):
            raise ValueError(name)
    return Said(
        str(document["program"]),
        Claims(
            tuple(NodeClaim(tuple(ops), scratch, tuple(at)) for ops, scratch, at in found["nodes"]),
            tuple(VariableClaim(*each) for each in found["variables"]),
            bool(found["keeps_inputs"]),
        ),
        Asked(**asked),
        None if part is None else (tuple(part[0]), tuple(part[1])),
        None if prices is None else tuple(prices),
        tuple(found["kernels"]),
    )


def _differences(found: Any, made: Any, where: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two documents differ: (path, what one has, what the other has)."""
    if isinstance(found, Mapping) and isinstance(made, Mapping):
        for key in dict.fromkeys([*found, *made]):
            inner = f"{where}.{key}" if where else str(key)
            yield from _differences(found.get(key), made.get(key), inner)
    elif isinstance(found, list) and isinstance(made, list) and len(found) == len(made):
        for i, (one, other) in enumerate(zip(found, made, strict=True)):
            yield from _differences(one, other, f"{where}[{i}]")
    elif found != made:
        yield where, found, made

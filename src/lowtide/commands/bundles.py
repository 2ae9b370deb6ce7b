"""Bundles: where they are from, and whether one in a folder is what its command makes today."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Final

from lowtide.commands.cutting import ends_of
from lowtide.commands.options import Options, flags_of
from lowtide.emit.bundle import README
from lowtide.emit.misra import DEVIATIONS
from lowtide.emit.origin import Origin, command_in, made_of
from lowtide.errors import UsageError
from lowtide.ir import Model
from lowtide.plans.file import model_digest
from lowtide.prove.certificate import RefusedError

PLAN = "PLAN.json"
"""What stands for the file of a plan that was given: programs do not know its name."""
SHARED = "--shared-arena"
"""What a command has that makes a bundle of several networks."""


def origin_of(model: Model, options: Options, name: str) -> Origin:
    """Where the program `name` of `model` is from."""
    file = _file_of(model)
    words = [file]
    for flag, ids in zip(("--from", "--until"), ends_of(model), strict=True):
        words += [flag, ",".join(map(str, ids))] if ids else []
    flags = flags_of(replace(options, name=name))
    if options.stages is not None:
        flags += ["--plan", PLAN]
    return Origin(file, model_digest(model), (*words, *flags), name)


def _file_of(model: Model) -> str:
    """The name of its file, without its folders."""
    if model.path.startswith("<"):  # made in memory
        return "MODEL.tflite"
    return model.path if model.path.startswith("zoo:") else PurePath(model.path).name


def check_model(folder: Path, model: Model) -> None:
    """Raise RefusedError if the bundle in `folder` says that it was made of another model."""
    was = _made(folder / README)
    if was is None or was[1] == model_digest(model):
        return
    file, digest, _ = was
    was_of = f"{file}, whose SHA-256 begins with {digest[:12]}"
    if file == _file_of(model):
        raise RefusedError(
            f"the bundle in {folder} is of another version of the model, {was_of}",
            "compile this version again, or name that file",
        )
    raise RefusedError(
        f"the bundle in {folder} is of another model, {was_of}", REMEDY.format(file=file)
    )


REMEDY: Final = "name that model, {file}, or compile this one to another folder"
"""Where a folder has the bundle of another model, which must not be lost."""


@dataclass(frozen=True, slots=True)
class Stored:
    """How the files of a bundle in `folder` are, beside those that its command makes: some of another
    content, some not there. `other` says what it was made of or by, if that is another; `of` is the file
    of another model that it is the bundle of, "" if it is this one's, or an earlier version's."""

    folder: str
    files: int
    other: str
    changed: tuple[str, ...]
    missing: tuple[str, ...]
    of: str = ""

    @property
    def same(self) -> bool:
        """Whether it is what is made today."""
        return not self.changed and not self.missing

    @property
    def sentence(self) -> str:
        """What is the matter, or that nothing is."""
        if self.same:
            return f"{self.folder} is up to date, in all {self.files} files"
        differ = "differs" if len(self.changed) == 1 else "differ"
        parts = [
            f"{', '.join(names[:4])}{' and others' * (len(names) > 4)} {what}"
            for names, what in ((self.changed, differ), (self.missing, "missing"))
            if names
        ]
        if self.of:
            return f"{self.folder} has the bundle of another model{self.other}"
        return f"{self.folder} is out of date{self.other}: {'; '.join(parts)}"


def readme_of(folder: Path, model: str) -> str:
    """The name of the README in `folder` that tells how `model`, as it was typed, was compiled: where
    several networks share an arena, each one has its own. Raises UsageError if none does."""
    if SHARED not in (_command(folder / README) or ()):
        return README
    found = {
        made[0]: path.name
        for path in sorted(folder.glob("*.md"))
        if path.name != README and (made := made_of(path.read_text("utf-8", "replace"))) is not None
    }
    file = model if model.startswith("zoo:") else PurePath(model).name
    if file not in found:
        raise UsageError(
            f"no network in {folder} is made from {file}", f"name one of: {', '.join(found)}"
        )
    return found[file]


def command_of(folder: Path, readme: str = README) -> Sequence[str]:
    """What follows `lowtide compile` in the command that made the bundle or package in `folder`: the
    model, and options. Raises UsageError if its `readme` does not tell."""
    words = _command(folder / readme)
    if words is None:
        below = (path.parent for path in sorted(folder.glob(f"*/{README}")) if _command(path))
        # --export esp-idf makes one in a folder of its own name.
        found = next((f", such as {path}" for path in below), "")
        raise UsageError(
            f"{folder} has no {README} with the command that made it",
            f"name the folder of a bundle or package{found}, or make it again",
        )
    return words


def _command(readme: Path) -> Sequence[str] | None:
    try:
        return command_in(readme.read_text("utf-8"))
    except (OSError, ValueError):
        return None


def stored_in(
    folder: Path, files: Mapping[str, bytes], origin: Origin, readme: str = README
) -> Stored:
    """The files in `folder` beside `files`, of `origin`, where the README is called `readme`; what else
    is there does not matter. Networks that share an arena also share their list of deviations."""
    changed, missing = [], []
    own = {made: files[made] for made in files if readme == README or made != DEVIATIONS}
    for made, content in own.items():
        name = readme if made == README else made
        try:
            if (folder / name).read_bytes() != content:
                changed.append(name)
        except OSError:
            missing.append(name)
    was = _made(folder / readme) if changed else None
    other = "" if was is None else _other(was, origin)
    another = was is not None and was[0] != origin.file and was[1] != origin.digest
    of = was[0] if was is not None and another else ""
    return Stored(str(folder), len(own), other, tuple(changed), tuple(missing), of)


def _made(readme: Path) -> tuple[str, str, str] | None:
    """File, digest and version that a bundle says that it was made of and by, if it does."""
    try:
        return made_of(readme.read_text("utf-8", "replace"))
    except OSError:
        return None


def _other(was: tuple[str, str, str], now: Origin) -> str:
    """What of these is another than now."""
    file, digest, version = was
    parts = [f"from {file}"] if file != now.file else []
    if digest != now.digest:
        parts.append(f"{'' if parts else 'from another model, '}SHA-256 {digest}")
    parts += [f"by lowtide {version}"] if version != now.version else []
    return f" (it was made {', '.join(parts)})" if parts else ""

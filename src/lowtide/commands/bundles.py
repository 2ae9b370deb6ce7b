"""Bundles: where they are from, and whether one in a folder is what its command makes today."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from lowtide.commands.cutting import ends_of
from lowtide.commands.options import Options, flags_of
from lowtide.emit.bundle import README
from lowtide.emit.misra import DEVIATIONS
from lowtide.emit.origin import Origin, command_in, made_of
from lowtide.errors import UsageError
from lowtide.ir import Model
from lowtide.plans.file import model_digest

PLAN = "PLAN.json"
"""What stands for the file of a plan that was given: programs do not know its name."""
SHARED = "--shared-arena"
"""What a command has that makes a bundle of several networks."""


def origin_of(model: Model, options: Options, name: str) -> Origin:
    """Where the program `name` of `model` is from."""
    nameless = model.path.startswith("<")  # made in memory
    zoo = model.path.startswith("zoo:")
    file = "MODEL.tflite" if nameless else model.path if zoo else PurePath(model.path).name
    words = [file]
    for flag, ids in zip(("--from", "--until"), ends_of(model), strict=True):
        words += [flag, ",".join(map(str, ids))] if ids else []
    flags = flags_of(replace(options, name=name))
    if options.stages is not None:
        flags += ["--plan", PLAN]
    return Origin(file, model_digest(model), (*words, *flags), name)


@dataclass(frozen=True, slots=True)
class Stored:
    """How the files of a bundle in `folder` are, beside those that its command makes: some of another
    content, some not there. `other` says what it was made of or by, if that is another."""

    folder: str
    files: int
    other: str
    changed: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether it is what is made today."""
        return not self.changed and not self.missing

    @property
    def sentence(self) -> str:
        """What is the matter, or that nothing is."""
        if self.same:
            return f"{self.folder} is up to date, in all {self.files} files"
        parts = [
            f"{', '.join(names[:4])}{' and others' * (len(names) > 4)} {what}"
            for names, what in ((self.changed, "differ"), (self.missing, "missing"))
            if names
        ]
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
        raise UsageError(
            f"{folder} has no {README} with the command that made it",
            "name the folder of a bundle or package, or make it again",
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
    other = _other(folder / readme, origin) if changed else ""
    return Stored(str(folder), len(own), other, tuple(changed), tuple(missing))


def _other(readme: Path, now: Origin) -> str:
    """Which other file, model or version the bundle says that it was made of and by."""
    was = made_of(readme.read_text("utf-8", "replace"))
    if was is None:
        return ""
    file, digest, version = was
    parts = [f"from {file}"] if file != now.file else []
    parts += [f"from another model, SHA-256 {digest}"] if digest != now.digest else []
    parts += [f"by lowtide {version}"] if version != now.version else []
    return f" (it was made {', '.join(parts)})" if parts else ""

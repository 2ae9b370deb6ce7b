"""An option of the commands that compile: what is told of it, and the values that it takes.

Nothing that takes long is imported before it is asked for: `lowtide --help` reads this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar

from lowtide.arguments import number, whole
from lowtide.errors import UsageError
from lowtide.sizes import bytes_of
from lowtide.target import Target

WHAT: Final = "What is compiled"
ROWS: Final = "Inputs and outputs"
WORK: Final = "RAM and computation"
PART: Final = "Target and generated C"
CHECKS: Final = "Checks"
GROUPS: Final = (WHAT, ROWS, WORK, PART, CHECKS)
"""Titles below which help lists options; those of a command alone come first, below none of them."""

Kind = Literal["choice", "switch", "bytes", "factor", "core", "name", "count"]


@dataclass(frozen=True, slots=True)
class Option:
    """What is told of a field of `Options`: its flag ("": Python alone has it), and what it does.

    The values of a choice are `choices`; a factor or count is `within` two numbers. `plan` is None if a
    plan that is given leaves it open; else the plan says it, in its file by this key, or ("") by its
    stages.
    """

    flag: str
    group: str
    help: str
    amount: Literal["bytes", "factor", "core", "name", "count"] = "name"
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    within: tuple[float, float] = (-inf, inf)
    plan: str | None = None
    name: str = ""
    default: Any = None

    @property
    def kind(self) -> Kind:
        """What its values are."""
        if self.choices:
            return "choice"
        return "switch" if isinstance(self.default, bool) else self.amount

    def words(self, value: Any) -> list[str]:
        """What to type for a value."""
        on, _, off = self.flag.partition("/")
        if self.kind == "switch":
            return [on if value else off]
        if isinstance(value, Target):
            return [on, value.core] if value.flash is None else ["--mcu", value.flash.part]
        return [on, f"{value:g}" if isinstance(value, float) else str(value)]

    def read(self, value: Any) -> Any:
        """A value as programs write it. Raises UsageError if there is no such value."""
        if self.kind == "choice" and value not in self.choices:
            raise UsageError(
                f"{self.name} cannot be {value!r}", f"use one of: {', '.join(self.choices)}"
            )
        if value is None and self.default is None:
            return None
        match self.kind:
            case "bytes":
                return bytes_of(value, self.name)
            case "count":
                return whole(self.name, value, *self.within)
            case "factor":
                return number(self.name, value, *self.within)
            case "core" if isinstance(value, str):
                from lowtide.machines.board import find_target

                return find_target(value)
        if not isinstance(value, self._type):
            raise UsageError(f"{self.name} cannot be {value!r}", f"use {_INSTEAD[self.kind]}")
        return value

    @property
    def _type(self) -> type:
        """Of its values, where their type is all that they have to be."""
        return {"switch": bool, "core": Target}.get(self.kind, str)


_INSTEAD: Final[Mapping[Kind, str]] = {
    "switch": "True or False",
    "core": 'the name of a core, such as "cortex-m4"',
    "name": "a string",
    "choice": "a string",
}


_Given = TypeVar("_Given", contravariant=True)
_Kept = TypeVar("_Kept", covariant=True)


class Read(Generic[_Given, _Kept]):
    """A field that is given as one type and kept as another, for type checkers: they take it from what
    a descriptor with these methods does. In fact the value itself is there, read by `__post_init__`."""

    if TYPE_CHECKING:

        def __get__(self, instance: object, owner: type[object]) -> _Kept: ...

        def __set__(self, instance: object, value: _Given) -> None: ...


def option_field(default: Any, *told: Any, **more: Any) -> Any:
    """A field with this default, and what is told of it."""
    return field(
        default=default, metadata={"option": Option(*told, **{**more, "default": default})}
    )

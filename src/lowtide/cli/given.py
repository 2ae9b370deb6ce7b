"""What was given to the command that runs, told to whoever asks: options that are no parameters of it.

Why: an option of many commands is read by what they share, so that no command has to hand it on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])
Decorator = Callable[[_Command], _Command]
_GIVEN: Final = "lowtide.given"


class Grouped(click.Option):
    """An option that help lists below the title `group`; "": among those of the command alone."""

    def __init__(self, *args: Any, group: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.group = group


def grouped(group: str, *names: str, **kwargs: Any) -> Decorator[Any]:
    """A parameter of its command, listed in a group."""
    return click.option(*names, cls=Grouped, group=group, **kwargs)


class Kept(Grouped):
    """An option that is no parameter of its command: `given` tells its value."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, expose_value=False, callback=_keep, **kwargs)


def _keep(context: click.Context, option: click.Parameter, value: Any) -> None:
    context.meta.setdefault(_GIVEN, {})[option.name] = value


def kept(*names: str, **kwargs: Any) -> Decorator[Any]:
    """An option that `given` tells; `group` may be among what it has."""
    return click.option(*names, cls=Kept, **kwargs)


def given(name: str, usual: Any = None) -> Any:
    """The value of an option that is `kept`, by its name; `usual` if the command has none."""
    return click.get_current_context().meta.get(_GIVEN, {}).get(name, usual)

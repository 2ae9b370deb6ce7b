"""Which networks of the zoo are quantised, and run in both runtimes: all but that of plain integers."""

from __future__ import annotations

from lowtide import zoo

QUANTISED = tuple(name for name in zoo.names() if name != "audio-front-end")

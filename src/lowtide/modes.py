"""What a program's user may choose, word by word: the types of options whose values are words.

Why a module of its own that imports nothing: planning, assembly and the reference engines all use these
words. The command line, which must start at once, offers them without importing any of those.
"""

from __future__ import annotations

from typing import Literal

Schedule = Literal["operators", "rows"]
"""Operators one after the other, or their rows interleaved."""

Allocator = Literal["planned", "greedy", "compacting"]
"""How whole tensors are placed."""

InputMode = Literal["resident", "const", "streamed"]
OutputMode = Literal["resident", "streamed"]

Layout = Literal["file", "nhwc"]
"""How an image lies in memory: as the file has it, or with its channels last."""

InputType = Literal["file", "uint8"]
"""Of what type inputs are: as the file has them, or uint8 where the network computes with int8."""

Cost = Literal["macs", "instructions"]
"""What the work of a plan is counted in."""

EngineName = Literal["tflm", "litert"]
"""The reference interpreters."""

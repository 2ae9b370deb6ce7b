"""A package for firmware that calls TensorFlow Lite Micro (TFLM): its names over the bundle.

What firmware has as the bytes of a .tflite becomes a constant that says where the program's functions
are, and what its inputs and outputs are; `kernels/tflm/` has what runs it, and says so in C++.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from lowtide.emit.exports.package import OPTIMISE, SPDX, SPDX_C, VERSION, Package, readme
from lowtide.emit.footprint import instance_bytes
from lowtide.emit.literals import float_literal
from lowtide.errors import UsageError
from lowtide.ir import DType, Tensor
from lowtide.modes import InputMode, OutputMode
from lowtide.program.assemble import Assembly

_TYPES: Final = {
    DType.FLOAT32: "kTfLiteFloat32",
    DType.INT32: "kTfLiteInt32",
    DType.UINT8: "kTfLiteUInt8",
    DType.INT64: "kTfLiteInt64",
    DType.BOOL: "kTfLiteBool",
    DType.INT16: "kTfLiteInt16",
    DType.INT8: "kTfLiteInt8",
    DType.UINT64: "kTfLiteUInt64",
    DType.UINT32: "kTfLiteUInt32",
    DType.UINT16: "kTfLiteUInt16",
}
_RANK: Final = 8
"""The most dimensions that the descriptor has room for: LT_TFLM_RANK."""

_HEADERS: Final = """
tensorflow/lite/c/c_api_types.h
tensorflow/lite/c/common.h
tensorflow/lite/core/c/c_api_types.h
tensorflow/lite/core/c/common.h
tensorflow/lite/kernels/internal/compatibility.h
tensorflow/lite/kernels/internal/tensor_ctypes.h
tensorflow/lite/kernels/op_macros.h
tensorflow/lite/micro/debug_log.h
tensorflow/lite/micro/micro_allocator.h
tensorflow/lite/micro/micro_interpreter.h
tensorflow/lite/micro/micro_log.h
tensorflow/lite/micro/micro_mutable_op_resolver.h
tensorflow/lite/micro/micro_op_resolver.h
tensorflow/lite/micro/micro_profiler_interface.h
tensorflow/lite/micro/micro_resource_variable.h
tensorflow/lite/micro/micro_utils.h
tensorflow/lite/micro/system_setup.h
tensorflow/lite/schema/schema_generated.h
tensorflow/lite/version.h
"""
"""The headers of TFLM that firmware includes and that have a stand-in."""


@cache
def _own_files() -> dict[str, str]:
    """The interface, which is the same for every network."""
    root = files("lowtide") / "kernels" / "tflm"
    names = ("example.cc", "lt_tflm.h", "lt_tflm_log.c", "lt_tflm_model.h")
    return {name: (root / name).read_text("utf-8") for name in names}


def tflm(package: Package) -> dict[str, str]:
    """The interface in `tflm/`, which goes on the include path, and the descriptor beside it."""
    _check(package.assembly)
    name, upper = package.name, package.name.upper()
    array = f"g_{name}_model_data"
    forward = f'{SPDX_C}#include "lt_tflm.h"\n'
    sources = (
        *(f"src/{source}" for source in package.sources),
        *(f"tflm/{source}" for source in (f"{name}_model_data.c", "lt_tflm_log.c")),
    )
    return {
        **{f"tflm/{file}": text for file, text in _own_files().items() if file != "example.cc"},
        **{f"tflm/{path}": forward for path in _HEADERS.split()},
        f"tflm/{name}_model_data.h": _declared(name),
        f"tflm/{name}_model_data.c": _descriptor(package),
        "CMakeLists.txt": _lists(name, sources),
        "example/CMakeLists.txt": f"""{SPDX}add_executable({name}_example main.cc)
target_link_libraries({name}_example PRIVATE {name}::{name})
""",
        "example/main.cc": _example(package),
        "README.md": readme(
            package,
            "firmware that calls TensorFlow Lite Micro",
            f"""
Your firmware runs unchanged, without TensorFlow Lite Micro (TFLM):

1. Put `tflm/` and `src/` on the include path, in place of TFLM's folder, and compile their .c files:

       {name}_model_data.c lt_tflm_log.c, and all of src/

   Or, with CMake, use `add_subdirectory({name})` and link `{name}::{name}`. The folder is also an
   ESP-IDF component if its name is `{name}`.
2. Remove the source file that has the bytes of the .tflite. `{array}` replaces them. If
   your firmware uses another name for the array, define that name for `{name}_model_data.c` and for all
   files that include `{name}_model_data.h`:

       -D{upper}_MODEL_DATA=g_model

You can then shrink `tensor_arena` to the size that `arena_used_bytes()` returns: it holds the arena,
state, instance and tensors. `AllocateTensors()` fails with a message if `tensor_arena` is too
small, or if the array isn't a lowtide network. {_inputs(package)}

To build and run an example:

    cmake -S . -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build && build/example/{name}_example

The network is compiled with {OPTIMISE} in every build type.
""",
        ),
    }


def _example(package: Package) -> str:
    """The same firmware for every network, with an arena that is large enough for this one."""
    assembly, name = package.assembly, package.name
    tensors = 64 * (len(assembly.graph.inputs) + len(assembly.graph.outputs))
    needed = assembly.arena_bytes + assembly.state_bytes + 2 * instance_bytes(assembly) + tensors
    room = -(-(needed + 2 * assembly.align + 64) // 1024) * 1024
    text = _own_files()["example.cc"].replace("NAME_MODEL_DATA_H", f"{name}_model_data.h")
    return text.replace("ARENA_BYTES", str(room)).replace("NAME_", f"{name.upper()}_")


def _inputs(package: Package) -> str:
    if package.preserve_input:
        return "Inputs keep their contents from one `Invoke()` to the next."
    return "As in TFLM, `Invoke()` may overwrite the\ninputs. To keep them, use `--preserve-input`."


def check_modes(input_mode: InputMode, output_mode: OutputMode, hops: bool) -> None:
    """Raise UsageError for a program whose ends are not whole tensors in its arena."""
    what = ""
    if output_mode == "streamed":
        what, option = "hands its outputs over row by row", "--output streamed"
    if input_mode != "resident":
        place = "where they stay" if input_mode == "const" else "row by row"
        what, option = f"takes its inputs {place}", f"--input {input_mode}"
    if hops:
        what, option = "takes the rows of a sliding window", "--hop"
    if what:
        raise UsageError(
            f"--export tflm is for firmware that writes whole inputs and reads whole outputs; this "
            f"program {what}",
            f"leave out {option}, or call NAME.h, without --export tflm",
        )


def _check(assembly: Assembly) -> None:
    """Raise UsageError for what the interface has no place for."""
    graph = assembly.graph
    check_modes(assembly.input_mode, assembly.output_mode, graph.hop is not None)
    for tensor in (graph.tensors[t] for t in (*graph.inputs, *graph.outputs)):
        if tensor.dtype not in _TYPES or len(tensor.shape) > _RANK:
            kind = f"{tensor.dtype.name.lower()} of {len(tensor.shape)} dimensions"
            raise UsageError(
                f"--export tflm: {tensor.name!r} is {kind}, which its interface doesn't support",
                "call NAME.h, without --export tflm",
            )


def _tensor(tensor: Tensor) -> str:
    scale, zero = "0.0f", "0"
    if tensor.quant is not None and len(tensor.quant.scale) == 1:
        scale, zero = float_literal(tensor.quant.scale[0]), str(tensor.quant.zero_point[0])
    shape = ", ".join(map(str, tensor.shape)) or "0"
    params, dims = f"{{{scale}, {zero}}}", f"{{{len(tensor.shape)}, {{{shape}}}}}"
    return f"    {{{_TYPES[tensor.dtype]}, {tensor.bytes}, {params}, {dims}}},"


def _declared(name: str) -> str:
    upper = name.upper()
    return f"""{SPDX_C}/* Replaces the header that declares the bytes of the .tflite. */
#ifndef {upper}_MODEL_DATA_H
#define {upper}_MODEL_DATA_H

#ifndef {upper}_MODEL_DATA
#define {upper}_MODEL_DATA g_{name}_model_data
#endif

extern const unsigned char {upper}_MODEL_DATA[];

#endif
"""


def _descriptor(package: Package) -> str:
    name, graph = package.name, package.assembly.graph
    upper, state = name.upper(), bool(package.assembly.variables)
    sizes, given, unused = "0, 1", "", "\n    (void)state;\n    (void)state_size;"
    if state:
        sizes, given, unused = f"{upper}_STATE_SIZE, {upper}_STATE_ALIGN", ", state, state_size", ""
    tensors = "\n".join(_tensor(graph.tensors[t]) for t in (*graph.inputs, *graph.outputs))
    preserves = str(package.preserve_input).lower()
    return f"""{SPDX_C}/* Replaces the bytes of the .tflite, by the name that the firmware uses. */
#include "{name}.h"
#include "lt_tflm_model.h"

#ifndef {upper}_MODEL_DATA
#define {upper}_MODEL_DATA g_{name}_model_data
#endif

static int init(void *m, void *arena, size_t size, void *state, size_t state_size)
{{{unused}
    return {name}_init(m, arena, size{given});
}}

static int reset(void *m)
{{
    return {name}_reset(m);
}}

static int invoke(void *m)
{{
    return {name}_invoke(m);
}}

static void *input(void *m, int i)
{{
    return {name}_input(m, i);
}}

static const void *output(const void *m, int i)
{{
    return {name}_output(m, i);
}}

static const lt_tflm_tensor tensors[] = {{
{tensors}
}};

/* C has no namespaces: in C++ it is `extern const unsigned char {upper}_MODEL_DATA[]`. */
extern const lt_tflm_model {upper}_MODEL_DATA;
const lt_tflm_model {upper}_MODEL_DATA = {{
    LT_TFLM_MAGIC, "{name}",
    {upper}_ARENA_SIZE, {upper}_ARENA_ALIGN,
    {sizes}, sizeof({name}_t),
    {len(graph.inputs)}, {len(graph.outputs)}, {preserves}, tensors,
    init, reset, invoke, input, output,
}};
"""


def _lists(name: str, sources: tuple[str, ...]) -> str:
    listed = "\n".join(f"    {source}" for source in sources)
    return f"""{SPDX}cmake_minimum_required(VERSION 3.13)

set(SOURCES
{listed}
)
if(ESP_PLATFORM)
  idf_component_register(SRCS ${{SOURCES}} INCLUDE_DIRS tflm src)
  target_compile_options(${{COMPONENT_LIB}} PRIVATE {OPTIMISE})
  return()
endif()

project({name} VERSION {VERSION} LANGUAGES C CXX)
add_library({name} STATIC ${{SOURCES}})
add_library({name}::{name} ALIAS {name})
target_compile_features({name} PRIVATE c_std_99)
target_include_directories({name} PUBLIC tflm src)
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  target_compile_options({name} PRIVATE {OPTIMISE} -ffunction-sections -fdata-sections)
endif()

if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
  add_subdirectory(example)
endif()
"""

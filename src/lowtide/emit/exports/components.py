"""Packages for build systems that are CMake: plain CMake, Zephyr modules, ESP-IDF components."""

from __future__ import annotations

from lowtide.emit.exports.example import ESP_IDF, STDIO, ZEPHYR, example
from lowtide.emit.exports.package import OPTIMISE, SPDX, VERSION, Package, readme

_TAB = "\t"
"""What Kconfig is indented with."""


def _sources(package: Package) -> str:
    return "\n".join(f"    src/{source}" for source in package.sources)


def cmake(package: Package) -> dict[str, str]:
    """A target NAME::NAME, to be added as a folder or installed and found."""
    name = package.name
    lists = f"""{SPDX}cmake_minimum_required(VERSION 3.13)
project({name} VERSION {VERSION} LANGUAGES C)

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

add_library({name} STATIC
{_sources(package)}
)
add_library({name}::{name} ALIAS {name})
target_compile_features({name} PRIVATE c_std_99)
target_include_directories({name} PUBLIC
    $<BUILD_INTERFACE:${{CMAKE_CURRENT_SOURCE_DIR}}/src>
    $<INSTALL_INTERFACE:${{CMAKE_INSTALL_INCLUDEDIR}}/{name}>
)
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
    target_compile_options({name} PRIVATE {OPTIMISE} -ffunction-sections -fdata-sections)
endif()

install(TARGETS {name} EXPORT {name}Targets ARCHIVE DESTINATION ${{CMAKE_INSTALL_LIBDIR}})
install(DIRECTORY src/ DESTINATION ${{CMAKE_INSTALL_INCLUDEDIR}}/{name} FILES_MATCHING PATTERN "*.h")
install(EXPORT {name}Targets
    NAMESPACE {name}::
    DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{name}
)
write_basic_package_version_file({name}ConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES
    {name}Config.cmake
    ${{CMAKE_CURRENT_BINARY_DIR}}/{name}ConfigVersion.cmake
    DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{name}
)

if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
    add_subdirectory(example)
endif()
"""
    return {
        "CMakeLists.txt": lists,
        f"{name}Config.cmake": f'{SPDX}include("${{CMAKE_CURRENT_LIST_DIR}}/{name}Targets.cmake")\n',
        "example/CMakeLists.txt": f"""{SPDX}add_executable({name}_example main.c)
target_link_libraries({name}_example PRIVATE {name}::{name})
""",
        "example/main.c": example(package, STDIO),
        "README.md": readme(
            package,
            "CMake",
            f"""
To build and run the example:

    cmake -S . -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build && build/example/{name}_example

The network is compiled with {OPTIMISE} in every build type. In your own project, add the folder:

    add_subdirectory({name})
    target_link_libraries(your_program PRIVATE {name}::{name})

Or install it (`cmake --install build --prefix WHERE`), and replace the first line with
`find_package({name} REQUIRED)`.
""",
        ),
    }


def zephyr(package: Package) -> dict[str, str]:
    """A module, its switch in Kconfig, and a sample."""
    name = package.name
    switch = f"LOWTIDE_{name.upper()}"
    return {
        "zephyr/module.yml": f"""{SPDX}name: {name}
build:
  cmake: .
  kconfig: Kconfig
samples:
  - samples
""",
        "Kconfig": f"""{SPDX}
config {switch}
{_TAB}bool "The neural network {name}"
{_TAB}imply FPU if CPU_HAS_FPU
{_TAB}help
{_TAB}  Compiles {name} and the runtime that it needs, and puts its header on
{_TAB}  the include path. On a Cortex-M55, FPU also enables Helium.
""",
        "CMakeLists.txt": f"""{SPDX}if(CONFIG_{switch})
  zephyr_include_directories(src)
  zephyr_library_named(lowtide_{name})
  zephyr_library_sources(
{_sources(package)}
  )
  zephyr_library_compile_options({OPTIMISE})
endif()
""",
        f"samples/{name}/CMakeLists.txt": f"""{SPDX}cmake_minimum_required(VERSION 3.20.0)

get_filename_component(module ${{CMAKE_CURRENT_LIST_DIR}}/../.. ABSOLUTE)
list(APPEND ZEPHYR_EXTRA_MODULES ${{module}})
find_package(Zephyr REQUIRED HINTS $ENV{{ZEPHYR_BASE}})
project({name}_sample LANGUAGES C)

target_sources(app PRIVATE src/main.c)
""",
        f"samples/{name}/prj.conf": f"{SPDX}CONFIG_{switch}=y\nCONFIG_MAIN_STACK_SIZE=4096\n",
        f"samples/{name}/sample.yaml": f"""{SPDX}sample:
  name: {name}
  description: {package.sentence}
tests:
  sample.lowtide.{name}:
    tags: lowtide
    harness: console
    harness_config:
      type: one_line
      regex:
        - "run 2"
""",
        f"samples/{name}/src/main.c": example(package, ZEPHYR),
        "README.md": readme(
            package,
            "Zephyr",
            f"""
The folder is a Zephyr module. Add it to your west manifest as a project, or pass its path:

    west build -b YOUR_BOARD YOUR_APP -- -DZEPHYR_EXTRA_MODULES=/path/to/{name}

and set `CONFIG_{switch}=y` in `prj.conf`. The sample finds the module by itself:

    west build -b YOUR_BOARD samples/{name}

The network is compiled with {OPTIMISE}, whatever your application's settings are. The switch turns on
`CONFIG_FPU` if the CPU has an FPU. Without it, a Cortex-M55 can't use its vector instructions (Helium),
and a network generated for that core doesn't compile.
""",
        ),
    }


def esp_idf(package: Package) -> dict[str, str]:
    """A component for the component manager, and an example project that uses it."""
    name = package.name
    sources = "\n".join(f'        "src/{source}"' for source in package.sources)
    return {
        "idf_component.yml": f"""{SPDX}version: "{VERSION}"
description: {package.sentence}
license: Apache-2.0
dependencies:
  idf: ">=4.4"
""",
        "CMakeLists.txt": f"""{SPDX}idf_component_register(
    SRCS
{sources}
    INCLUDE_DIRS
        "src"
)
target_compile_options(${{COMPONENT_LIB}} PRIVATE {OPTIMISE})
""",
        f"examples/{name}/CMakeLists.txt": f"""{SPDX}cmake_minimum_required(VERSION 3.16)

set(COMPONENTS main)
include($ENV{{IDF_PATH}}/tools/cmake/project.cmake)
project({name}_example)
""",
        f"examples/{name}/main/CMakeLists.txt": f"""{SPDX}idf_component_register(SRCS "main.c" \
INCLUDE_DIRS "")
""",
        f"examples/{name}/main/idf_component.yml": f"""{SPDX}dependencies:
  {name}:
    version: "*"
    override_path: "../../../"
""",
        f"examples/{name}/main/main.c": example(package, ESP_IDF),
        "README.md": readme(
            package,
            "ESP-IDF",
            f"""
Put the folder into your project's `components/` folder, or give its path in `main/idf_component.yml`, as
the example does. Keep the folder's name, `{name}`, which is also the component's. The component is
compiled with {OPTIMISE}. To build and run the example:

    cd examples/{name} && idf.py set-target esp32c3 && idf.py build flash monitor
""",
        ),
    }

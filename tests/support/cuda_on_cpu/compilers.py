"""NVIDIA's compilers, which need no GPU: NVRTC, which CuPy uses, from its wheel, or nvcc."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from preflow.cuda.structs import source_with_headers

#: Compiles a ``.cu`` file for some architectures, may write to a folder, raises AssertionError with the log.
Compiler = Callable[[Path, Sequence[str], Path], None]


def find_compiler() -> Compiler | None:
    """Return what is here to compile with."""
    if _nvrtc_library():
        return with_nvrtc
    return with_nvcc if shutil.which("nvcc") else None


def with_nvcc(path: Path, architectures: Sequence[str], folder: Path) -> None:
    """Compile for all architectures at once."""
    source = folder / path.name
    source.write_text(source_with_headers(path))
    assert "#include" not in source.read_text(), f"{path.name} includes what NVRTC does not have"
    targets = [f"-gencode=arch=compute_{name[3:]},code={name}" for name in architectures]
    command = ["nvcc", "-std=c++17", "--fatbin", "--threads=2", *targets, str(source)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"nvcc refuses {path.name}:\n{done.stdout}{done.stderr}"


def with_nvrtc(path: Path, architectures: Sequence[str], folder: Path) -> None:
    """Compile for one architecture after the other."""
    library = _nvrtc_library()
    assert library is not None
    for builtins in library.parent.glob("libnvrtc-builtins.so.*"):
        ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)  # NVRTC itself looks for it by name only
    nvrtc = ctypes.CDLL(str(library))
    for architecture in architectures:
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        source = source_with_headers(path).encode()
        created = nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, path.name.encode(), 0, None, None)
        assert created == 0, f"nvrtcCreateProgram returned {created}"
        # CuPy passes -default-device as well: functions without a mark, such as lambdas, are for the device.
        given = ("--std=c++17", "-default-device", f"--gpu-architecture={architecture}")
        options = (ctypes.c_char_p * len(given))(*map(str.encode, given))
        status = nvrtc.nvrtcCompileProgram(program, len(options), options)
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
        assert status == 0, f"NVRTC refuses {path.name} for {architecture}:\n{log.value.decode()}"


def _nvrtc_library() -> Path | None:
    """Return the library of the ``nvidia-cuda-nvrtc`` wheel, whose folder depends on the version of CUDA."""
    spec = importlib.util.find_spec("nvidia")
    folders = spec.submodule_search_locations if spec else None
    found = (library for folder in folders or () for library in Path(folder).glob("*/lib/libnvrtc.so.*"))
    return next(found, None)

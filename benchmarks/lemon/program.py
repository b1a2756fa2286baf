"""Compile and run the programs of this folder, which call LEMON."""

from __future__ import annotations

import subprocess
from pathlib import Path


def compiled(name: str, folder: Path) -> Path:
    """Return the program NAME.cpp, compiled for this machine into a folder."""
    program, source = folder / name, Path(__file__).with_name(f"{name}.cpp")
    subprocess.run(["g++", "-O3", "-march=native", "-DNDEBUG", "-o", str(program), str(source)], check=True)
    return program


def run_program(program: str | Path, file: Path, method: str, limit: float) -> tuple[float, float, int]:
    """Return the seconds to build and to solve, and the value; subprocess.TimeoutExpired after the limit."""
    command = [str(program), str(file), method]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=limit)
    build, solve, value = answer.stdout.split()
    return float(build), float(solve), int(value)

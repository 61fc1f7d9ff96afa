"""Whole programs written for PyTorch, run as they are (python -m dyadic): they print what they print there (programs/make_outputs.py)."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dyadic

PROGRAMS = sorted(p for p in (Path(__file__).parent / "programs").glob("*.py") if p.name != "make_outputs.py")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_prints_the_same(program, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(Path(dyadic.__file__).parents[1])}
    found = subprocess.run([sys.executable, "-m", "dyadic", str(program)], capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert found.returncode == 0, found.stderr
    assert found.stdout == program.with_suffix(".out").read_text()

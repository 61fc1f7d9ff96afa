"""Runs every program here under PyTorch and keeps what it prints: <name>.out. usage: python make_outputs.py [NAME...]"""
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
for path in sorted(HERE.glob("*.py")):
    if path != Path(__file__) and (len(sys.argv) < 2 or path.stem in sys.argv[1:]):
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run([sys.executable, path.absolute()], capture_output=True, text=True, check=True, cwd=folder)
        path.with_suffix(".out").write_text(run.stdout)

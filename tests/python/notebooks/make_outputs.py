"""Runs every notebook here under PyTorch and keeps what it prints: <name>.out. usage: python make_outputs.py [NAME...]"""
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
for path in sorted(HERE.glob("*.py")):
    if path != Path(__file__) and (len(sys.argv) < 2 or path.stem in sys.argv[1:]):
        # Not as a script: the folder must not be searched for modules, a notebook is called random.
        code = f"exec(compile(open({str(path)!r}).read(), {path.name!r}, 'exec'))"
        run = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True, cwd="/")
        path.with_suffix(".out").write_text(run.stdout)

"""wheel_test.py WHEEL: installs a wheel into a new environment and uses it there as a stranger would, without anything but Python.
Run it on a bare machine to see whether the wheel is self-contained: it needs python3 and python3-venv alone."""
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

LARGEST = 60_000_000
# What every Linux with a glibc has, and what Python's own modules use; all other libraries come with the wheel.
SYSTEM = re.compile(r"(ld-linux|lib(c|m|dl|rt|util|pthread|stdc\+\+|gcc_s|z|nss_|resolv)|lib(python3|expat|lzma|bz2|ffi|crypto))[-.]")
TRAINS = """
import dyadic as torch
torch.manual_seed(0)
x = torch.randn(64, 8); y = x @ torch.randn(8, 1)
model = torch.nn.Linear(8, 1); steps = torch.optim.AdamW(model.parameters(), lr=0.1)
losses = []
for _ in range(50):
    loss = torch.nn.functional.mse_loss(model(x), y)
    steps.zero_grad(); loss.backward(); steps.step(); losses.append(loss.item())
assert losses[-1] < losses[0] / 10, losses
assert torch.linalg.svd(x).S.shape == (8,) and x.to("nf4").to("f32").isfinite().all()
print(*{line.split()[-1] for line in open("/proc/self/maps") if ".so" in line})
"""


def said(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8"})
    assert done.returncode == 0, f"{command} ends with {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


def check_contents(wheel):
    assert "-manylinux_" in wheel.name, f"{wheel.name} is for this machine alone"
    assert wheel.stat().st_size < LARGEST, f"{wheel.name} has {wheel.stat().st_size} bytes"
    names = zipfile.ZipFile(wheel).namelist()
    licences = [n for n in names if "/licenses/third_party/" in n]
    libraries = [n for n in names if n.startswith("dyadic.libs/")]
    assert any(n.endswith("/licenses/LICENSE") for n in names) and any(n.endswith("/NOTICE") for n in names)
    for name in ("dnnl", "lapack", "gfortran", "nanobind"):
        assert any(name in n for n in licences), f"the licence of {name} is missing among {licences}"
    assert any("dnnl" in n for n in libraries), libraries


def check_use(wheel, folder):
    said(sys.executable, "-m", "venv", folder)
    python, program = folder / "bin/python", folder / "bin/dyadic"
    said(python, "-m", "pip", "install", "-q", "--no-index", "--no-deps", wheel)
    foreign = [p for p in said(python, "-c", TRAINS).split() if str(folder) not in p and "/python3" not in p and not SYSTEM.match(Path(p).name)]
    assert not foreign, f"not in the wheel: {foreign}"
    assert re.fullmatch(r"dyadic \d+\.\d+\.\d+\n", said(program, "--version"))
    assert "nf4" in said(program, "formats")
    assert said(python, "-m", "dyadic", "-c", "import torch; print(torch.ones(2).sum().item())") == "2.0\n"


if __name__ == "__main__":
    wheel = Path(sys.argv[1]).resolve()
    check_contents(wheel)
    with tempfile.TemporaryDirectory() as folder:
        check_use(wheel, Path(folder).resolve() / "venv")
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")

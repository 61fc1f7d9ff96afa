"""torch.cuda without a device, and, in a process of its own, on the simulated one."""
import os
import pathlib
import subprocess
import sys

import pytest

import dyadic as torch

SIMULATOR = pathlib.Path(torch.__file__).parents[2] / "lib" / "libdyadic_cudasim.so"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a device")
def test_without_a_device_it_is_said_why():
    assert torch.cuda.device_count() == 0 and not torch.cuda.is_initialized() and not torch.cuda.is_bf16_supported()
    for ask in (torch.cuda.current_device, torch.cuda.get_device_name, torch.cuda.Stream, lambda: torch.zeros(2, device="cuda")):
        with pytest.raises(RuntimeError, match="there is no cuda here"):
            ask()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    assert torch.cuda.memory_allocated() >= 0


@pytest.mark.skipif(not SIMULATOR.exists(), reason="the simulator is not built")
def test_on_the_simulated_device():
    cases = pathlib.Path(__file__).with_name("cuda_cases.py")
    run = subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", str(cases)], env={**os.environ, "DYADIC_CUDA": str(SIMULATOR)},
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr

"""The package as a whole: start-up, the ledger, files, errors."""
import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dyadic as dy


def test_import_is_light():
    code = (
        "import sys; before = set(sys.modules); import dyadic; new = set(sys.modules) - before;"
        "print(sum(not m.startswith('dyadic') for m in new), *(m for m in ('numpy', 'asyncio', 'typing_extensions') if m in new))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert out[1:] == []
    assert int(out[0]) < 60


def test_import_makes_no_signatures():
    code = (
        "import inspect; made = 0; init = inspect.Signature.__init__\n"
        "def count(*a, **k):\n    global made; made += 1; init(*a, **k)\n"
        "inspect.Signature.__init__ = count; import dyadic; before = made\n"
        "print(before, 'stride' in inspect.signature(dyadic.nn.Conv2d).parameters, made > before)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert out[1:] == ["True", "True"]
    assert int(out[0]) < 120  # of functions that add an argument to an op's; a hundred layers and thirty optimizers and schedules make none


def test_names_that_come_later():
    code = "from dyadic import *; print(train.__name__, from_pretrained.__name__, cpu.is_available(), 'train' in dir(__import__('dyadic')))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert out == ["dyadic.train", "from_pretrained", "True", "True"]


def test_version_and_names():
    assert dy.__version__.count(".") == 2
    assert dy.isa() in ("sse4", "avx2", "avx512")
    assert dy.Tensor.__module__ == "dyadic" and dy.nn.Parameter.__name__ == "Parameter"


def test_stub_knows_every_name():
    tree = ast.parse((Path(dy._dyadic.__file__).parent / "_dyadic" / "__init__.pyi").read_text())
    names = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            names.add(node.target.id)
        elif isinstance(node, ast.ImportFrom):
            names.update(alias.asname or alias.name for alias in node.names)
    assert {n for n in dir(dy._dyadic) if not n.startswith("__")} <= names
    (tensor,) = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Tensor"]
    methods = {n.name for n in tensor.body if isinstance(n, ast.FunctionDef)}
    assert {n for n in dir(dy.Tensor) if not n.startswith("_")} <= methods


def test_ledger():
    before = dy.memory_allocated()
    x = dy.zeros(1000, 1000)
    assert dy.memory_allocated() - before >= 4_000_000
    stats = dy.memory_stats()
    assert stats["total.live"] == dy.memory_allocated() and stats["total.peak"] >= stats["total.live"]
    p = dy.nn.Parameter(dy.zeros(100_000))
    assert dy.memory_stats()["parameters.live"] - stats["parameters.live"] >= 400_000
    del x
    assert dy.memory_allocated() < before + 1_000_000
    dy.reset_peak_memory_stats()
    assert dy.max_memory_allocated() == dy.memory_allocated()
    assert "parameters" in dy.memory_summary() and dy.memory_allocated("meta") >= 0
    del p
    dy.empty_cache()


def test_memory_limit():
    dy.set_memory_limit(dy.memory_allocated() + 1_000_000)
    try:
        with pytest.raises(dy.OutOfMemoryError):
            dy.zeros(1000, 1000)
        assert issubclass(dy.OutOfMemoryError, RuntimeError)
    finally:
        dy.set_memory_limit(0)
    dy.zeros(1000, 1000)


def test_memory_of_modules():
    class Block(dy.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = dy.nn.Linear(300, 300)

        def forward(self, x):
            return self.inner(x)

    class Net(dy.nn.Module):
        def __init__(self):
            super().__init__()
            self.block = Block()

        def forward(self, x):
            return self.block(x)

    y = Net()(dy.ones(3000, 300))
    assert "block.inner" in dy.memory_summary()
    del y


def test_rounding_is_counted():
    x = dy.tensor([300.0, 1e-7, 1.0], dtype="f16")
    with dy.rounding_counting() as counter:
        x * x
    (count,) = [c for c in counter.counts() if c["op"] == "mul"]
    assert (count["elements"], count["overflows"], count["flushed"]) == (3, 1, 1) and count["dtype"] is dy.float16


def test_files(tmp_path):
    path = str(tmp_path / "w.safetensors")
    tensors = {"a": dy.randn(3, 4), "b": dy.arange(5), "c": dy.randn(64, 64).to("nf4"), "d": dy.ones(2, dtype="bf16")}
    dy.save(tensors, path, {"note": "x"})
    back = dy.load(path)
    assert list(back) == list(tensors)
    for name, t in tensors.items():
        assert back[name].dtype is t.dtype and (back[name].float() == t.float()).all()
    with pytest.raises(FileNotFoundError, match="nowhere"):
        dy.load(str(tmp_path / "nowhere"))


def test_meta():
    x = dy.zeros(1 << 20, 1 << 20, device="meta")
    y = (x @ x).sum()
    assert y.is_meta and y.shape == () and x.nbytes == 1 << 42
    with pytest.raises(ValueError, match="meta"):
        y.item()
    m = dy.nn.Linear(1000, 1000, device="meta", dtype="bf16")
    assert m.weight.is_meta and m.weight.dtype is dy.bfloat16


def test_interrupting_python_errors_survive():
    class Odd:
        def __index__(self):
            raise KeyError("odd")

    with pytest.raises(KeyError, match="odd"):
        dy.zeros(Odd())
    with pytest.raises(KeyError, match="odd"):
        dy.zeros(3)[Odd()]
    np.testing.assert_array_equal(dy.zeros(3).numpy(), 0)

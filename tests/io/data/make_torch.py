"""torch_*.pt and numpy_* as PyTorch and numpy write them, and torch_values.txt, what is in them: python make_torch.py (PyTorch 2.15, numpy 2.4)"""
import collections
import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).parent
torch.manual_seed(0)


def dtypes():
    plain = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 complex128 uint16 uint32 uint64"
    f8 = "float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu"
    return {n: torch.tensor([0, 1, 2, 3.0]).to(getattr(torch, n)) for n in f"{plain} {f8}".split()}


def optimizer():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
    opt = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(2):
        model(torch.ones(2, 3)).sum().backward()
        opt.step()
    schedule = torch.optim.lr_scheduler.StepLR(opt, 3)
    return {"model": model.state_dict(), "optimizer": opt.state_dict(), "schedule": schedule.state_dict(), "epoch": 7, "best": np.float64(0.25)}


def values():
    base = torch.arange(12.0)
    shared = [1, 2]
    return {
        "views": [base, base[2:8], base.view(3, 4).t(), base[5]],
        "expanded": torch.ones(1).expand(3, 2),
        "empty": torch.empty(0, 3),
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "frozen": torch.nn.Parameter(torch.ones(2), requires_grad=False),
        "leaf": torch.ones(2, requires_grad=True),
        "numbers": (True, False, None, 0, -1, 255, 65536, -(2**31), 2**40, 2**70, -(2**70), 1.5, float("inf"), 1j),
        "texts": ["", "naïve", "x" * 300, b"\x00\xff", bytearray(b"ab")],
        "size": torch.Size([2, 3]),
        "set": {3},
        "dtype": torch.float8_e5m2,
        "device": torch.device("cuda", 1),
        "ordered": collections.OrderedDict(a=1),
        "counter": collections.Counter("aab"),
        "shared": [shared, shared],
        5: "five",
        "numpy": [np.float32(1.5), np.int64(3), np.bool_(True), np.complex64(2j)],
    }


def bits():
    c = torch.tensor([1 + 2j, 3 - 4j])
    return {"conj": c.conj(), "imag": c.clone().conj().imag, "both": torch._neg_view(c.conj())[1:], "plain": c}


def kinds():
    coo = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
    blocks = torch.tensor([[1.0, 2, 0, 0, 0, 3], [0, 4, 0, 0, 5, 6], [0, 0, 7, 8, 0, 0], [0, 0, 0, 9, 0, 0]])
    layouts = {"csc": blocks.to_sparse_csc(), "bsr": blocks.to_sparse_bsr((2, 3)), "bsc": blocks.to_sparse_bsc((2, 3))}
    return {"coo": coo, "coalesced": coo.coalesce(), "csr": coo.to_sparse_csr(), "meta": torch.empty(2, 3, device="meta").t(), "blocks": blocks, **layouts}


def quantized():
    w = torch.linspace(-3, 3, 24).view(4, 6)
    scales, zeros = torch.tensor([0.03, 0.05, 0.02, 0.04]), torch.tensor([0, 3, -7, 5])
    q = {
        "quint8": torch.quantize_per_tensor(w, 0.0371, 100, torch.quint8),
        "qint8": torch.quantize_per_tensor(w, 0.05, 0, torch.qint8),
        "qint32": torch.quantize_per_tensor(w, 1e-6, 0, torch.qint32),
        "rows": torch.quantize_per_channel(w, scales, zeros, 0, torch.qint8),
        "columns": torch.quantize_per_channel(w.t().contiguous(), scales, zeros + 128, 1, torch.quint8),
        "floats": torch.quantize_per_channel(w, scales, zeros + 100.5, 0, torch.quint8),
        "conv": torch.quantize_per_channel(w.view(4, 3, 2, 1), scales, zeros, 0, torch.qint8),
    }
    q["view"], q["scalar"], q["empty"] = q["quint8"][1:3].t(), q["quint8"][0, 0], torch.quantize_per_tensor(torch.empty(0, 2), 0.1, 0, torch.qint8)
    return {"quantized": q, "values": {n: t.dequantize() for n, t in q.items()}}


class Mine:
    def __init__(self):
        self.weight, self.name = torch.ones(3), "mine"


def turned(source, target):
    """A zip with its storages' bytes the other way round, and a byte order that says so."""
    with zipfile.ZipFile(source) as a, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as b:
        pickled = a.read(next(n for n in a.namelist() if n.endswith("data.pkl")))
        sizes = {}
        for module, name, key in scan(pickled):
            sizes[key] = np.dtype({"FloatStorage": "f4", "LongStorage": "i8", "ComplexFloatStorage": "f4", "HalfStorage": "f2"}[name]).itemsize
        for n in a.namelist():
            data = a.read(n)
            key = n.rsplit("/", 1)[1]
            if "/data/" in n and key in sizes:
                data = np.frombuffer(data, f"u{sizes[key]}").byteswap().tobytes()
            b.writestr(n, b"big" if n.endswith("byteorder") else data)


def scan(data):
    """(module, class, key) of every storage that a pickle names."""

    class Reader(pickle.Unpickler):
        def find_class(self, module, name):
            return (module, name) if name.endswith("Storage") else lambda *a: {}

        def persistent_load(self, pid):
            found.append((*pid[1], pid[2]))

    found = []
    Reader(io.BytesIO(data)).load()
    return found


def words(x):
    """A line of text that says what a value is."""
    if isinstance(x, torch.Tensor):
        kind = f"{'parameter ' if isinstance(x, torch.nn.Parameter) else ''}{'grad ' if x.requires_grad else ''}"
        numbers = x.detach().to(torch.complex128 if x.is_complex() else torch.float64).flatten().tolist()
        return f"{kind}{str(x.dtype)[6:]} {list(x.shape)} {list(x.stride())} {numbers}"
    if isinstance(x, dict):
        return f"{type(x).__name__} " + "{" + ", ".join(f"{words(k)}: {words(v)}" for k, v in x.items()) + "}"
    if isinstance(x, (list, tuple, set)):
        return f"{type(x).__name__} [" + ", ".join(map(words, x)) + "]"
    if isinstance(x, torch.dtype):
        return str(x)[6:]
    if isinstance(x, bytearray):
        return words(bytes(x))
    if isinstance(x, (torch.device, np.generic)):
        return "device" if isinstance(x, torch.device) else repr(x.item())
    return repr(x)


def others():
    """Dtypes that Dyadic has not, and arrays of numpy's."""
    half = torch.tensor([[1 + 2j, 3 - 4j], [0.5j, -1]]).to(torch.complex32)
    pairs = torch.tensor([[0x10, 0x32], [0x54, 0x76]], dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    torch.save({"half": half, "turned": half.t(), "row": half[1], "pairs": pairs, "plain": torch.arange(3)}, HERE / "torch_others.pt")
    arrays = {"n": np.arange(6).reshape(2, 3), "f": np.asfortranarray(np.arange(6, dtype=">f4").reshape(2, 3)), "t": torch.ones(2)}
    torch.save({**arrays, "s": np.float64(2.5), "zero": np.array(7, "u1"), "empty": np.zeros((0, 2))}, HERE / "torch_numpy.pt")


def write():
    others()
    lines = []
    for name, make in {"dtypes": dtypes, "optimizer": optimizer, "values": values}.items():
        x = make()
        torch.save(x, HERE / f"torch_{name}.pt")
        lines.append(f"{name} {words(x)}")
        torch.save(x, HERE / f"torch_{name}_legacy.pt", _use_new_zipfile_serialization=False)
        if name == "values":
            for protocol in (1, 3, 4, 5):
                torch.save(x, HERE / f"torch_{name}_{protocol}.pt", pickle_protocol=protocol)
    small = {"f": torch.arange(6.0).view(2, 3), "l": torch.arange(3), "c": torch.tensor([1 + 2j]), "h": torch.tensor([1.5]).half()}
    torch.save(small, HERE / "torch_little.pt")
    turned(HERE / "torch_little.pt", HERE / "torch_big.pt")
    lines.append(f"little {words(small)}")
    torch.save(bits(), HERE / "torch_bits.pt")
    torch.save(kinds(), HERE / "torch_kinds.pt")
    torch.save(quantized(), HERE / "torch_quantized.pt")
    torch.save({"weights": torch.ones(2), "object": Mine(), "layer": torch.nn.Linear(2, 2)}, HERE / "torch_module.pt")
    (HERE / "torch_values.txt").write_text("\n".join(lines) + "\n")

    arrays = {
        "f4": np.arange(6, dtype="<f4").reshape(2, 3),
        "big": np.arange(6, dtype=">i2").reshape(2, 3),
        "fortran": np.asfortranarray(np.arange(6, dtype="<f8").reshape(2, 3)),
        "bigfortran": np.asfortranarray(np.arange(24, dtype=">c8").reshape(2, 3, 4)),
        "scalar": np.array(2.5, dtype="<f2"),
        "bool": np.array([True, False]),
        "empty": np.zeros((0, 3), "<u8"),
    }
    np.savez(HERE / "numpy_stored.npz", **arrays)
    np.savez_compressed(HERE / "numpy_deflated.npz", **arrays)
    for version in (1, 2, 3):
        with open(HERE / f"numpy_v{version}.npy", "wb") as f:
            np.lib.format.write_array(f, arrays["f4"], version=(version, 0))
    np.save(HERE / "numpy_objects.npy", np.array([None, 1]))


if __name__ == "__main__":
    write()

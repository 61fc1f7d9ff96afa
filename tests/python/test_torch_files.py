"""Files of PyTorch's and numpy's that others made (tests/io/data/make_torch.py), and ours for them."""
import collections
import io
import pickle
import zipfile
from pathlib import Path

import dyadic as dy
import numpy as np
import pytest
from dyadic.utils import data

DATA = Path(__file__).parent.parent / "io" / "data"
WANTED = dict(line.split(" ", 1) for line in (DATA / "torch_values.txt").read_text().splitlines())


def words(x):
    """The line that make_torch.py writes of a value."""
    if isinstance(x, dy.Tensor):
        kind = f"{'parameter ' if isinstance(x, dy.nn.Parameter) else ''}{'grad ' if x.requires_grad else ''}"
        numbers = x.detach().to(dy.complex128 if x.is_complex() else dy.float64).flatten().tolist()
        return f"{kind}{str(x.dtype).split('.')[-1]} {list(x.shape)} {list(x.stride())} {numbers}"
    if isinstance(x, dict):
        return f"{type(x).__name__} " + "{" + ", ".join(f"{words(k)}: {words(v)}" for k, v in x.items()) + "}"
    if isinstance(x, (list, tuple, set)):
        return f"{type(x).__name__} [" + ", ".join(map(words, x)) + "]"
    if isinstance(x, dy.dtype):
        return str(x).split(".")[-1]
    return "device" if isinstance(x, dy.device) else repr(x)


FILES = ["values", "values_1", "values_3", "values_4", "values_5", "values_legacy", "dtypes", "dtypes_legacy", "optimizer", "optimizer_legacy", "little"]


@pytest.mark.parametrize("name", [*FILES, "big"])
def test_what_torch_saved(name):
    wanted = WANTED["little" if name == "big" else name.split("_")[0]]
    assert words(dy.load(DATA / f"torch_{name}.pt")) == wanted
    with open(DATA / f"torch_{name}.pt", "rb") as f:
        assert words(dy.load(f)) == wanted


@pytest.mark.parametrize("name", ["values", "dtypes", "optimizer"])
def test_what_is_saved_for_torch(name, tmp_path):
    x = dy.load(DATA / f"torch_{name}.pt")
    dy.save(x, tmp_path / "again.pt", format="torch")
    assert words(dy.load(tmp_path / "again.pt")) == WANTED[name]
    with zipfile.ZipFile(tmp_path / "again.pt") as z:
        assert z.testzip() is None
        with zipfile.ZipFile(DATA / f"torch_{name}.pt") as real:
            assert [n.split("/", 1)[1] for n in z.namelist()] == [n.split("/", 1)[1] for n in real.namelist()]
    memory = io.BytesIO()
    dy.save(x, memory, format="torch")
    memory.seek(0)
    assert words(dy.load(memory)) == WANTED[name]


def test_numbers_that_torch_turned_lazily():
    x = dy.load(DATA / "torch_bits.pt")
    assert {k: v.tolist() for k, v in x.items()} == {"conj": [1 - 2j, 3 + 4j], "imag": [-2.0, 4.0], "both": [-3 - 4j], "plain": [1 + 2j, 3 - 4j]}
    assert x["imag"].dtype is dy.float32


def test_tensors_that_are_not_strided_memory():
    x = dy.load(DATA / "torch_kinds.pt")
    assert x["coo"].layout is dy.sparse_coo and x["csr"].layout is dy.sparse_csr and not x["coo"].is_coalesced() and x["coalesced"].is_coalesced()
    for name in ("coo", "coalesced", "csr"):
        assert x[name].to_dense().tolist() == [[0, 0, 3], [4, 0, 5]], name
    for name in ("csc", "bsr", "bsc"):
        assert x[name].layout is dy.sparse_coo and dy.equal(x[name].to_dense(), x["blocks"]), name
    assert x["meta"].is_meta and x["meta"].shape == (3, 2) and x["meta"].stride() == (1, 3)


def test_the_name_says_whose_file_it_is(tmp_path):
    x = {"w": dy.ones(2, 3), "step": 3}
    for ending, is_torchs in [("pt", True), ("pth", True), ("bin", True), ("safetensors", False), ("ckpt", True)]:
        path = tmp_path / f"x.{ending}"
        dy.save(x, path)
        assert zipfile.is_zipfile(path) == is_torchs
        assert words(dy.load(path)) == words(x)
    dy.save({"w": dy.ones(2, 64).to("nf4")}, tmp_path / "x.pt")  # PyTorch has no such dtype
    assert not zipfile.is_zipfile(tmp_path / "x.pt") and dy.load(tmp_path / "x.pt")["w"].dtype == dy.nf4


def test_memory_stays_shared(tmp_path):
    a = dy.arange(12.0)
    both = [1]
    dy.save({"whole": a, "row": a.view(3, 4)[1], "bits": a.view(dy.int32), "lists": [both, both]}, tmp_path / "x.pt", format="torch")
    back = dy.load(tmp_path / "x.pt")
    back["whole"].fill_(0)
    assert back["row"].tolist() == [0] * 4 and back["bits"].tolist() == [0] * 12
    assert back["lists"][0] is back["lists"][1]
    assert dy.load(DATA / "torch_values.pt")["shared"][0] is not None


def test_a_model_goes_on(tmp_path):
    def parts():
        dy.manual_seed(1)
        model = dy.nn.Sequential(dy.nn.Linear(3, 4), dy.nn.BatchNorm1d(4))
        return model, dy.optim.AdamW(model.parameters(), lr=0.1)

    def step(model, optimizer):
        optimizer.zero_grad()
        model(dy.arange(12.0).view(4, 3)).square().sum().backward()
        optimizer.step()

    model, optimizer = parts()
    step(model, optimizer)
    dy.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "run.pt", format="torch")
    again, its = parts()
    state = dy.load(tmp_path / "run.pt")
    assert isinstance(state["model"], collections.OrderedDict) and state["model"]._metadata == model.state_dict()._metadata
    again.load_state_dict(state["model"])
    its.load_state_dict(state["optimizer"])
    step(model, optimizer), step(again, its)
    assert all(a.equal(b) for a, b in zip(model.state_dict().values(), again.state_dict().values()))
    real = dy.load(DATA / "torch_optimizer.pt")
    model = dy.nn.Sequential(dy.nn.Linear(3, 4), dy.nn.Linear(4, 2))
    model.load_state_dict(real["model"])
    optimizer = dy.optim.AdamW(model.parameters())
    optimizer.load_state_dict(real["optimizer"])
    assert optimizer.param_groups[0]["lr"] == 0.01


class Point:
    def __init__(self, x):
        self.x = x


class Evil:
    def __reduce__(self):
        return exec, ("raise SystemExit",)


def zip_of(path, obj):
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("archive/data.pkl", pickle.dumps(obj, 2))
    return path


def test_classes_are_made_only_when_allowed(tmp_path):
    path = zip_of(tmp_path / "x.pt", {"point": Point(3), "class": Point})
    with pytest.raises(pickle.UnpicklingError, match=r"it asks for \"\w*test_torch_files.Point\", which is no data.*add_safe_globals"):
        dy.load(path)
    with dy.serialization.safe_globals([Point]):
        loaded = dy.load(path)
    assert type(loaded["point"]) is Point and loaded["point"].x == 3 and loaded["class"] is Point
    with pytest.raises(ValueError, match="it asks for \"builtins.exec\""):
        dy.load(zip_of(tmp_path / "y.pt", [Evil()]))
    with pytest.raises(ValueError, match="__main__.Mine"):
        dy.load(DATA / "torch_module.pt")


def test_what_is_not_saved_for_torch(tmp_path):
    circle = []
    circle.append(circle)
    for obj, why in [(dy.nn.Linear(2, 2), "state_dict"), ([object()], "not object"), (dy.zeros(2, 64).to("nf4"), "PyTorch has no nf4"), (circle, "in itself"), (frozenset([1]), "frozenset"), ([dy.ones(2, device="meta")], "without values")]:
        with pytest.raises((TypeError, ValueError), match=why):
            dy.save(obj, tmp_path / "x.pt", format="torch")
    with pytest.raises(ValueError, match="unknown format"):
        dy.save({}, tmp_path / "x.pt", format="onnx")
    with pytest.raises(ValueError, match="no metadata"):
        dy.save({}, tmp_path / "x.pt", {"a": "b"}, format="torch")
    assert not list(tmp_path.iterdir())


def test_numpy_archives(tmp_path):
    for name in ("numpy_stored.npz", "numpy_deflated.npz"):
        ours = data.load_npz(DATA / name)
        with np.load(DATA / name) as real:
            assert list(ours) == list(real)
            for key in real:
                assert ours[key].tolist() == real[key].tolist() and list(ours[key].shape) == list(real[key].shape)
    for compressed in (False, True):
        kinds = "float64 float32 float16 int64 int32 int16 int8 uint8 uint16 uint32 uint64 bool complex64 complex128".split()
        tensors = {k: dy.arange(6).view(2, 3).to(k).t() for k in kinds} | {"0-d": dy.tensor(3), "empty": dy.empty(0, 2), "ü/x": dy.ones(1)}
        data.save_npz(tmp_path / "x.npz", tensors, compressed=compressed)
        with np.load(tmp_path / "x.npz") as real:
            assert list(real) == list(tensors)
            for key, t in tensors.items():
                assert real[key].tolist() == t.tolist() and str(real[key].dtype) == str(t.dtype).split(".")[-1]
        assert {k: v.tolist() for k, v in data.load_npz(tmp_path / "x.npz").items()} == {k: v.tolist() for k, v in tensors.items()}


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("kind", [">f8", ">f4", ">f2", ">i8", ">u2", ">c8", ">c16", "|b1"])
def test_other_byte_orders(kind, order, tmp_path):
    a = np.asarray(np.arange(24).reshape(2, 3, 4), dtype=kind, order=order)
    np.save(tmp_path / "a.npy", a)
    assert data.load_npy(tmp_path / "a.npy").tolist() == a.tolist()


def test_refused_arrays(tmp_path):
    for a, why in [(np.array([None]), "Python's objects"), (np.zeros(2, [("x", "f4")]), "a structure"), (np.array(["a"]), "no dtype of Dyadic")]:
        np.savez(tmp_path / "a.npz", a)
        with pytest.raises(ValueError, match=f"arr_0.npy.*{why}"):
            data.load_npz(tmp_path / "a.npz")


def globals_of(path):
    """What its pickle asks for, and what it calls."""
    import pickletools

    with zipfile.ZipFile(path) as z:
        bytes_ = z.read(next(n for n in z.namelist() if n.endswith("data.pkl")))
    return {arg for op, arg, _ in pickletools.genops(bytes_) if op.name == "GLOBAL"}


def test_sparse_tensors_are_saved_as_pytorch_saves_them(tmp_path):
    coo = dy.sparse_coo_tensor([[0, 1, 1], [2, 0, 0]], [1.0, 2.0, 3.0], (2, 3))
    whole = {"coo": coo, "coalesced": coo.coalesce(), "csr": dy.eye(3).to_sparse_csr(), "dense": dy.arange(3), "none": dy.eye(2).to_sparse() * 0}
    dy.save(whole, tmp_path / "s.pt")
    dy.save(coo, tmp_path / "bare.pt")
    x = dy.load(tmp_path / "s.pt")
    for name, t in whole.items():
        assert x[name].layout is t.layout, name
        assert dy.equal(x[name].to_dense() if name != "dense" else x[name], t.to_dense() if name != "dense" else t), name
    assert not x["coo"].is_coalesced() and x["coalesced"].is_coalesced()
    assert dy.equal(dy.load(tmp_path / "bare.pt").to_dense(), coo.to_dense())
    theirs = globals_of(DATA / "torch_kinds.pt")  # PyTorch's own, with the same kinds of tensors
    for path in (tmp_path / "s.pt", tmp_path / "bare.pt"):
        ours = globals_of(path)
        assert {"torch._utils _rebuild_sparse_tensor", "torch.serialization _get_layout"} <= ours
        assert ours <= theirs | {"torch FloatStorage", "torch LongStorage", "torch Size", "collections OrderedDict", "torch._utils _rebuild_tensor_v2"}
    with pytest.raises(ValueError, match="'coo' is a sparse tensor, which safetensors has no place for"):
        dy.save({"coo": coo}, tmp_path / "s.safetensors")


def test_what_is_not_called_safetensors_is_pytorchs(tmp_path):
    state = dy.nn.Linear(2, 2).state_dict()
    there = io.BytesIO()
    dy.save(state, there)
    assert there.getvalue()[:4] == b"PK\x03\x04"
    there.seek(0)
    assert dy.equal(dy.load(there)["weight"], state["weight"])
    for name in ("model.ckpt", "pytorch_model.bin", "noending", "x.pt", b"bytes.tar"):
        path = tmp_path / (name if isinstance(name, str) else name.decode())
        dy.save(state, path)
        assert path.read_bytes()[:4] == b"PK\x03\x04", name
        assert dy.equal(dy.load(path)["bias"], state["bias"])
    for path, more in (("a.safetensors", {}), ("b.ckpt", {"format": "safetensors"}), ("c", {"metadata": {"x": "y"}})):
        dy.save(state, tmp_path / path, **more)
        assert (tmp_path / path).read_bytes()[8:9] == b"{", path
    dy.save({"q": dy.ones(1, 32).to("q8_0")}, tmp_path / "q.ckpt")  # which PyTorch has no form for
    assert dy.load(tmp_path / "q.ckpt")["q"].dtype.name == "q8_0"
    dy.save(state, tmp_path / "z.pt", _use_new_zipfile_serialization=True)
    with pytest.raises(ValueError, match="the form of files before PyTorch 1.6 is only read"):
        dy.save(state, tmp_path / "z.pt", _use_new_zipfile_serialization=False)


def test_files_of_any_kind_open_lazily():
    from dyadic import serialization

    for name, kind in (("numpy_stored.npz", "npz"), ("types.gguf", "gguf"), ("torch_dtypes.pt", "torch")):
        f = serialization.open(DATA / name)
        assert f.kind == kind and len(f) == len(list(f)) > 1 and isinstance(f.metadata, dict)
        first = next(iter(f))
        assert first in f and isinstance(f[first], dy.Tensor) and "nowhere" not in f and f.get("nowhere") is None
        with pytest.raises(KeyError):
            f["nowhere"]
    assert serialization.open(DATA / "numpy_stored.npz")["f4"].flatten().tolist() == [0, 1, 2, 3, 4, 5]
    for name in ("numpy_stored.npz", "types.gguf"):
        with pytest.raises(pickle.UnpicklingError, match=r"serialization.open\(\)"):
            dy.load(DATA / name)


def test_dtypes_that_are_not_here():
    with pytest.warns(UserWarning, match="torch.float4_e2m1fn_x2 is read as its bytes"):
        x = dy.load(DATA / "torch_others.pt")
    half = dy.tensor([[1 + 2j, 3 - 4j], [0.5j, -1]])
    assert x["half"].dtype is dy.complex64 and dy.equal(x["half"], half) and dy.equal(x["turned"], half.t()) and dy.equal(x["row"], half[1])
    assert x["pairs"].tolist() == [[0x10, 0x32], [0x54, 0x76]] and x["pairs"].dtype is dy.uint8 and x["plain"].tolist() == [0, 1, 2]
    from dyadic import serialization

    with pytest.warns(UserWarning):
        f = serialization.open(DATA / "torch_others.pt")
    assert dy.equal(f["half"], half) and dy.equal(f["row"], half[1])


def test_arrays_of_numpys_in_pickles():
    from numpy._core.multiarray import _reconstruct

    with pytest.raises(pickle.UnpicklingError, match="multiarray._reconstruct"):
        dy.load(DATA / "torch_numpy.pt")
    with dy.serialization.safe_globals([_reconstruct, np.ndarray, np.dtype]):
        safe = dy.load(DATA / "torch_numpy.pt")
    for x in (safe, dy.load(DATA / "torch_numpy.pt", weights_only=False)):
        assert x["n"].dtype == np.int64 and x["n"].tolist() == [[0, 1, 2], [3, 4, 5]]
        assert x["f"].dtype == np.float32 and x["f"].tolist() == [[0, 1, 2], [3, 4, 5]]
        assert x["zero"].shape == () and x["zero"] == 7 and x["empty"].shape == (0, 2) and x["s"] == 2.5 and dy.equal(x["t"], dy.ones(2))
        x["n"][0, 0] = 9  # of its own

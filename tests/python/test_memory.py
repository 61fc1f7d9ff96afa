"""Storages, memmap, frombuffer, out=, generators, save and load, checkpointing: what the notebooks do not print."""
import collections
import copy
import io
import os
import pickle
import zipfile

import numpy as np
import pytest

import dyadic as dy


def test_memmap(tmp_path):
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.save(tmp_path / "a.npy", a)
    t = dy.memmap(tmp_path / "a.npy")
    assert t.shape == (3, 4) and t.dtype is dy.float32 and t.tolist() == a.tolist()
    with pytest.raises(ValueError, match="mapped to be read"):
        t += 1
    with pytest.raises(ValueError, match="mapped to be read"):
        t[0] = 1
    assert not t.numpy().flags.writeable
    np.save(tmp_path / "f.npy", np.asfortranarray(a))
    assert dy.memmap(tmp_path / "f.npy").tolist() == a.tolist()
    w = dy.memmap(tmp_path / "new.npy", "int16", (2, 3), mode="w+")
    w[:] = 7
    assert np.load(tmp_path / "new.npy").tolist() == [[7] * 3] * 2
    r = dy.memmap(tmp_path / "new.npy", mode="r+")
    r[0, 0] = -1
    assert np.load(tmp_path / "new.npy")[0, 0] == -1
    c = dy.memmap(tmp_path / "new.npy", mode="c")
    c.zero_()
    assert np.load(tmp_path / "new.npy")[0, 0] == -1
    a.tofile(tmp_path / "raw")
    assert dy.memmap(tmp_path / "raw", dy.float32, 4, offset=16).tolist() == [4, 5, 6, 7]
    with pytest.raises(ValueError, match="too short: f32"):
        dy.memmap(tmp_path / "raw", dy.float32, (100,))


def test_memmap_reads_what_is_touched(tmp_path):
    path = tmp_path / "hole"
    with open(path, "wb") as f:
        f.truncate(1 << 34)
    before = dy.memory_allocated()
    t = dy.memmap(path, dy.float32)
    assert t[-1].item() == 0 and dy.memory_allocated() - before < 1000


def test_what_is_mapped_to_be_read_is_not_written_from_elsewhere(tmp_path):
    np.save(tmp_path / "a.npy", np.ones(3, np.float32))
    p = dy.nn.Parameter(dy.memmap(tmp_path / "a.npy"))
    p.sum().backward()
    for step in (dy.optim.SGD([p], lr=1.0).step, dy.optim.AdamW([p]).step, lambda: dy.nn.init.uniform_(p), lambda: p.detach().__dlpack__()):
        with pytest.raises(ValueError, match="mapped to be read"):
            step()
    assert np.load(tmp_path / "a.npy").tolist() == [1, 1, 1]


def test_storage_of_a_scaled_tensor():
    w = dy.randn(2, 64).to("nf4")
    assert w.untyped_storage().nbytes() >= w.nbytes > 0


def test_frombuffer():
    data = bytearray(range(8))
    t = dy.frombuffer(data, dtype=dy.uint8)
    t[0] = 99
    assert data[0] == 99
    assert dy.frombuffer(b"\1\0\2\0", dtype=dy.int16).tolist() == [1, 2]
    with pytest.raises(ValueError, match="mapped to be read"):
        dy.frombuffer(b"1234", dtype=dy.uint8).zero_()
    for keywords in ({"dtype": dy.int32, "count": 3}, {"dtype": dy.uint8, "offset": 9}, {"dtype": dy.int16, "offset": 1}):
        with pytest.raises(ValueError):
            dy.frombuffer(data, **keywords)


def test_out_is_the_result():
    x, y = dy.randn(3, 4), dy.empty(3, 4)
    at = y.data_ptr()
    assert dy.exp(x, out=y) is y and y.data_ptr() == at
    values, indices = dy.empty(0), dy.empty(0, dtype=dy.int64)
    result = dy.sort(x, out=(values, indices))
    assert result.values is values and values.shape == (3, 4)
    with pytest.raises(TypeError, match="unknown argument: out"):
        dy.chunk(x, 2, out=y)
    with pytest.raises(TypeError, match="takes a Tensor"):
        dy.exp(x, out=3)
    assert dy.zeros(2, 3, out=dy.empty(0)).shape == (2, 3)


def test_generator_is_apart():
    dy.manual_seed(1)
    want = dy.rand(3)
    dy.manual_seed(1)
    g = dy.Generator().manual_seed(1)
    assert dy.rand(3, generator=g).tolist() == want.tolist() == dy.rand(3).tolist()
    assert dy.empty(3).uniform_(generator=dy.Generator().manual_seed(1)).tolist() == want.tolist()
    with pytest.raises(TypeError, match="generator is int"):
        dy.rand(3, generator=3)
    with pytest.raises(TypeError, match="set_state"):
        g.set_state(dy.zeros(3))


def tree():
    shared = dy.randn(2, 3)
    return {
        "step": 3,
        "loss": float("inf"),
        "name": "x",
        "none": None,
        7: (1, [True, 2.5], {"deep": shared}),
        "again": shared,
        "shape": dy.Size([1, 2]),
        "dtype": dy.bfloat16,
        "weights": dy.nn.Parameter(dy.ones(2)),
        "quantized": dy.randn(2, 64).to("nf4"),
        "z": 1 + 2j,
        "bytes": b"\0\xff",
    }


@pytest.mark.parametrize("where", ["path", "file"])
def test_save_and_load(tmp_path, where):
    before, place = tree(), tmp_path / "t.pt" if where == "path" else io.BytesIO()
    dy.save(before, place)
    if where == "file":
        place.seek(0)
    after = dy.load(place)
    assert list(after) == list(before)
    assert after[7][2]["deep"].tolist() == before["again"].tolist() and after[7][2]["deep"] is after["again"]
    assert after["loss"] == float("inf") and after["shape"] == (1, 2) and after["dtype"] is dy.bfloat16 and after["z"] == 1 + 2j
    assert isinstance(after["weights"], dy.nn.Parameter) and after["weights"].requires_grad
    assert after["quantized"].dtype == before["quantized"].dtype and after["bytes"] == b"\0\xff"


def saved(obj, format="safetensors"):
    f = io.BytesIO()
    dy.save(obj, f, format=format)
    f.seek(0)
    return dy.load(f)


def test_saved_tensors_share_memory_again():
    x = dy.arange(12.0)[2:].requires_grad_(False)
    for a, b, turned in (saved([x, x[2:], x.view(2, 5).t()]), saved({"a": x, "b": x[2:], "c": x.view(2, 5).t()}).values()):
        assert a.tolist() == x.tolist() and b.tolist() == x[2:].tolist() and turned.tolist() == x.view(2, 5).t().tolist()
        b.zero_()
        assert a.tolist() == [2, 3] + 8 * [0] and turned.tolist() == [[2, 0], [3, 0], [0, 0], [0, 0], [0, 0]]
    p = dy.nn.Parameter(dy.randn(3, 2).t())
    first, tied = saved({"first": p, "tied": p}).values()
    assert first.data_ptr() == tied.data_ptr() and tied.tolist() == p.tolist()
    p, view = saved([p, p.detach()[1:]])
    assert isinstance(p, dy.nn.Parameter) and p.data_ptr() + 8 in (view.data_ptr(), view.data_ptr() + 4)
    assert saved([dy.arange(1000.0)[:2], dy.ones(1)])[0].untyped_storage().nbytes() == 8


def test_saved_containers():
    after = saved([collections.OrderedDict(a=1, b=dy.ones(1)), dy.Size([1]), dy.device("cpu"), dy.float16, {"c": 2}])
    assert [type(v) for v in after] == [collections.OrderedDict, dy.Size, dy.device, dy.dtype, dict] and list(after[0]) == ["a", "b"]
    assert type(saved(collections.OrderedDict(a=dy.ones(1)))) is collections.OrderedDict and type(saved({"a": dy.ones(1)})) is dict


@pytest.mark.parametrize("place", [None, "cpu", dy.device("cpu"), {"cuda:0": "cpu"}, lambda storage, location: storage], ids=str)
def test_map_location(place, tmp_path):
    dy.save(collections.OrderedDict(a=dy.nn.Parameter(dy.ones(2)), b=[1]), tmp_path / "x")
    after = dy.load(tmp_path / "x", map_location=place)
    assert type(after) is collections.OrderedDict and isinstance(after["a"], dy.nn.Parameter) and after["b"] == [1]
    assert dy.load(tmp_path / "x", map_location="meta")["a"].is_meta


def test_files_that_are_none():
    with pytest.raises(EOFError, match="empty"):
        dy.load(io.BytesIO(b""))
    for data in (b"garbage", b"x" * 100):
        for kind in (pickle.UnpicklingError, dy.ArgumentError):
            with pytest.raises(kind, match="^load: the file object"):
                dy.load(io.BytesIO(data))
    for data, what in ((b"\x93NUMPY\x01\x00", r"an array of numpy's: utils.data.load_npy\(\) reads it"), (b"GGUF\x03\0\0\0", r"a GGUF file: from_pretrained\(\)")):
        with pytest.raises(pickle.UnpicklingError, match=f"^load: the file object is {what}"):
            dy.load(io.BytesIO(data))


def test_save_refuses_what_cannot_be_pickled(tmp_path):
    with pytest.raises((TypeError, AttributeError), match="pickle"):
        dy.save({"a": [1, lambda: 0]}, tmp_path / "x")
    assert not os.path.exists(tmp_path / "x")


def test_a_damaged_tree_is_one_line(tmp_path):
    dy.save([1], tmp_path / "x")
    for text in ("{", '{"tensor": "9"}', '{"what": 1}', '{"dict": 3}', '{"dict": [[[], 1]]}', "[" * 100000):
        dy.save({}, tmp_path / "x", metadata={"python.tree": text})
        with pytest.raises(ValueError, match="is not what save writes"):
            dy.load(tmp_path / "x")


def test_files_of_torch_that_are_none(tmp_path):
    evil = b"cos\nsystem\n(S'true'\ntR."
    for name, content in {"data.pkl": evil, "other": b""}.items():
        with zipfile.ZipFile(tmp_path / "x", "w") as z:
            z.writestr(f"archive/{name}", content)
        for kind in (ValueError, pickle.UnpicklingError):
            with pytest.raises(kind, match="not a file of torch.save"):
                dy.load(tmp_path / "x")


def test_file_of_torch():
    loaded = dy.load(os.path.join(os.path.dirname(__file__), "data", "torch_save.pt"))
    assert loaded["step"] == 3 and loaded["list"][0] is True
    assert loaded["w"].tolist() == [[0, 3], [1, 4], [2, 5]] and loaded["w"].stride() == (1, 3)
    assert loaded["half"].dtype is dy.bfloat16 and loaded["half"].tolist() == [1, 2]
    assert isinstance(loaded["p"], dy.nn.Parameter) and loaded["p"].requires_grad
    assert loaded["row"].data_ptr() == loaded["w"].data_ptr()


def net():
    dy.manual_seed(0)
    return dy.nn.Sequential(dy.nn.Linear(8, 32), dy.nn.Tanh(), dy.nn.Dropout(0.5), dy.nn.Linear(32, 8), dy.nn.Tanh())


def test_deepcopy_keeps_what_is_shared():
    a = dy.arange(6.0)
    whole, part, turned, bits = copy.deepcopy((a, a[:2], a.view(2, 3).t(), a.view(dy.int32)))
    part.zero_()
    assert whole.tolist() == [0, 0, 2, 3, 4, 5] and turned.tolist() == [[0, 3], [0, 4], [2, 5]] and bits[1].item() == 0
    assert a.tolist() == [0, 1, 2, 3, 4, 5] and turned.stride() == (1, 3)
    p = dy.nn.Parameter(dy.ones(2))
    (p * 3).sum().backward()
    q = copy.deepcopy(p)
    assert isinstance(q, dy.nn.Parameter) and q.grad.tolist() == [3, 3] and q.grad is not p.grad
    with pytest.raises(RuntimeError, match="deepcopy: .*not a leaf"):
        copy.deepcopy(p * 2)
    shallow = copy.copy(p)
    assert isinstance(shallow, dy.nn.Parameter) and shallow is not p and shallow.data_ptr() == p.data_ptr() and shallow.grad is None
    assert copy.copy(a).data_ptr() == a.data_ptr() and not copy.copy(a).requires_grad
    assert copy.deepcopy(dy.randn(2, 64).to("nf4")).dtype == dy.nf4 and copy.deepcopy(dy.ones(2, device="meta")).is_meta
    assert pickle.loads(pickle.dumps(dy.device("cpu"))) == copy.deepcopy(dy.device("cpu")) == dy.device("cpu")


def test_checkpoint():
    from dyadic.utils.checkpoint import checkpoint, checkpoint_sequential

    def train(run):
        m, x = net(), dy.ones(4, 8, requires_grad=True)
        dy.manual_seed(5)
        run(m, x).sum().backward()
        return [x.grad.tolist()] + [p.grad.tolist() for p in m.parameters()]

    want = train(lambda m, x: m(x))
    assert train(lambda m, x: checkpoint(m, x, use_reentrant=False)) == want
    assert train(lambda m, x: checkpoint(lambda a, k, scale=1: (m(a * k) * scale, "word"), x, 1, scale=1)[0]) == want
    assert train(lambda m, x: checkpoint_sequential(m, 2, x)) == want
    x = dy.ones(2, requires_grad=True)
    outside = x * 2
    with pytest.raises(RuntimeError, match="computed outside"):
        checkpoint(lambda a: a * outside, x)
    y = checkpoint(lambda a: 1 / 0 if dy.is_grad_enabled() and y else a * 1, x) if (y := None) is None else None
    with pytest.raises(ValueError, match="from f"):
        checkpoint(fails, x)


def fails(x):
    raise ValueError("from f")


def test_checkpoint_of_trees():
    from dyadic.utils.checkpoint import CheckpointError, checkpoint

    def function(pair, *, options):
        a, b = pair["a"] * 2, pair["rest"][0].sin()
        return {"sum": a + b, "rest": [(a * options["scale"], None), "word"]}

    def train(run):
        x, y, scale = (dy.full([3], v, requires_grad=True) for v in (1.0, 2.0, 3.0))
        out = run(function, {"a": x, "rest": [y, 5]}, options={"scale": scale})
        (out["sum"].sum() + out["rest"][0][0].sum()).backward()
        assert list(out) == ["sum", "rest"] and type(out["rest"][0]) is tuple and out["rest"][0][1] is None and out["rest"][1] == "word"
        return x.grad.tolist(), y.grad.tolist(), scale.grad.tolist()

    assert train(checkpoint) == train(lambda f, *args, **kwargs: f(*args, **kwargs))
    calls = []

    def shrinking(x):
        calls.append(1)
        return x[len(calls) :] * 2

    with pytest.raises(CheckpointError, match=r"in backward: \[\(\[1\]"):
        checkpoint(shrinking, dy.ones(3, requires_grad=True)).sum().backward()


def test_views_in_place_and_data():
    x = dy.zeros(2, 3)
    assert x.t_() is x and x.shape == (3, 2) and x.unsqueeze_(0).shape == (1, 3, 2)
    p = dy.nn.Parameter(dy.zeros(2))
    p.data = dy.ones(3)
    assert p.tolist() == [1, 1, 1] and p.requires_grad and p.is_leaf
    with pytest.raises(RuntimeError, match="requires grad"):
        (p * 1).t_()
    y = p * 2
    y.detach_()
    assert not y.requires_grad and y.grad_fn is None
    with pytest.raises(RuntimeError, match="there is no cuda here"):
        x.cuda()
    with pytest.raises(RuntimeError):
        x.to("cuda")

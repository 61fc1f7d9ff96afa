"""Tensors as Python objects: construction, properties, numpy and DLPack without copies, conversions, printing, identity."""
import array
import gc
import re
import sys
import weakref

import numpy as np
import pytest

import dyadic as dy

PLAIN = {
    "float64": np.float64,
    "float32": np.float32,
    "float16": np.float16,
    "int64": np.int64,
    "int32": np.int32,
    "int16": np.int16,
    "int8": np.int8,
    "uint8": np.uint8,
    "bool": np.bool_,
}


@pytest.mark.parametrize(
    "data, dtype, shape",
    [
        (1, "int64", ()),
        (1.5, "float32", ()),
        (True, "bool", ()),
        ([], "float32", (0,)),
        ([[], []], "float32", (2, 0)),
        ([1, 2.5], "float32", (2,)),
        ([True, 2], "int64", (2,)),
        ([[1, 2], (3, 4)], "int64", (2, 2)),
        (range(3), "int64", (3,)),
        (np.float64(1), "float64", ()),
        (np.ones((2, 3), np.float16), "float16", (2, 3)),
        ([np.float32(1), 2], "float32", (2,)),
        (np.zeros((0, 4), np.int8), "int8", (0, 4)),
        (array.array("d", [1, 2]), "float64", (2,)),
    ],
)
def test_inferred_dtype(data, dtype, shape):
    t = dy.tensor(data)
    assert t.dtype is getattr(dy, dtype) and t.shape == shape
    np.testing.assert_array_equal(t.numpy(), np.asarray(data if not isinstance(data, range) else list(data)))


def test_tensor_from_tensors_and_options():
    assert dy.tensor([dy.tensor(1.0), dy.tensor(2)]).tolist() == [1, 2]
    x = dy.ones(2, requires_grad=True)
    y = dy.tensor(x)
    assert not y.requires_grad and y.data_ptr() != x.data_ptr()
    assert dy.tensor([1.5, -2], dtype="i32").tolist() == [1, -2]
    assert dy.tensor([1, 2], dtype=dy.bfloat16, requires_grad=True).requires_grad
    assert dy.tensor([1.0], device="meta").is_meta
    assert dy.tensor(2**53 + 1).item() == 2**53 + 1
    assert dy.as_tensor(x) is x and dy.as_tensor([1]).tolist() == [1] and dy.as_tensor(x, "f64").dtype is dy.float64
    dy.set_default_dtype("f64")
    try:
        assert dy.tensor(1.5).dtype is dy.float64
    finally:
        dy.set_default_dtype(dy.float32)


@pytest.mark.parametrize(
    "data, error, text",
    [
        ([[1, 2], [3]], ValueError, "ragged"),
        ([1, [2]], ValueError, "ragged"),
        ([[1], 2], ValueError, "ragged"),
        ("abc", TypeError, "str"),
        ([dy.ones(2), dy.ones(2)], ValueError, "stack"),
        ([None], TypeError, "NoneType"),
        (np.ones(2, ">f4"), TypeError, "format"),
        (2**70, OverflowError, "too (big|large)"),
    ],
)
def test_bad_data(data, error, text):
    with pytest.raises(error, match=text):
        dy.tensor(data)


def test_properties():
    x = dy.zeros(2, 3, dtype=dy.float16).T
    assert (x.shape, x.size(), x.size(0), x.size(-1), x.ndim, x.dim(), x.numel(), len(x)) == ((3, 2), (3, 2), 3, 2, 2, 2, 6, 3)
    assert (x.stride(), x.stride(1), x.storage_offset(), x.is_contiguous(), x.itemsize, x.nbytes) == ((1, 3), 3, 0, False, 2, 12)
    assert x.dtype is dy.float16 and str(x.device) == "cpu" and repr(x.device) == "device(type='cpu')"
    assert x.is_leaf and x.grad is None and x.grad_fn is None and not x.requires_grad
    assert x[1].storage_offset() == 1 and x.contiguous().is_contiguous() and x.data_ptr() == x.T.data_ptr()
    with pytest.raises(IndexError):
        x.size(2)
    with pytest.raises(TypeError, match="0-d"):
        len(dy.tensor(1))


@pytest.mark.parametrize("name", PLAIN)
def test_numpy_shares_memory_both_ways(name):
    a = (np.arange(12).reshape(3, 4) % 2).astype(PLAIN[name])
    x = dy.from_numpy(a)
    assert x.dtype is getattr(dy, name) and x.shape == (3, 4)
    a[1, 2] = 1
    assert x[1, 2].item() == 1
    x[0, 0] = 1
    assert a[0, 0] == 1
    b = x.numpy()
    assert b.dtype == a.dtype and b.ctypes.data == a.ctypes.data
    np.testing.assert_array_equal(dy.from_numpy(a.T).numpy(), a.T)
    np.testing.assert_array_equal(dy.from_numpy(a[1:, ::2]).numpy(), a[1:, ::2])
    np.testing.assert_array_equal(x.T[1:].numpy(), a.T[1:])
    np.testing.assert_array_equal(dy.tensor(a.T).numpy(), a.T)
    assert np.asarray(x).ctypes.data == a.ctypes.data and np.array(x).ctypes.data != a.ctypes.data
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    assert memoryview(x).shape == (3, 4)


def test_lifetime_of_shared_memory():
    a = np.ones(1000)
    held = weakref.ref(a)
    x = dy.from_numpy(a)
    before = sys.getrefcount(a)
    y = x[10:]
    del a, x
    gc.collect()
    assert held() is not None and y.sum().item() == 990
    del y
    assert held() is None
    assert before >= 2
    b = dy.ones(3).numpy()
    gc.collect()
    assert b.tolist() == [1, 1, 1]


def test_what_numpy_cannot_hold():
    with pytest.raises(ValueError, match="negative"):
        dy.from_numpy(np.ones(3)[::-1])
    frozen = np.ones(3)
    frozen.flags.writeable = False
    shown = dy.from_numpy(frozen)  # read, but not written
    assert shown.sum() == 3 and dy.from_numpy(np.broadcast_to(frozen[:1], (2, 3))).shape == (2, 3)
    with pytest.raises(RuntimeError, match="read"):
        shown.add_(1)
    with pytest.raises(RuntimeError, match="detach"):
        dy.ones(3, requires_grad=True).numpy()
    assert dy.ones(3, requires_grad=True).detach().numpy().tolist() == [1, 1, 1]
    for t in (dy.ones(3, dtype="bf16"), dy.ones(64, dtype="nf4")):
        with pytest.raises(TypeError, match="float"):
            t.numpy()
        with pytest.raises(TypeError, match="float"):
            np.asarray(t)
    with pytest.raises(ValueError, match="meta"):
        dy.ones(3, device="meta").numpy()
    assert dy.ones(()).numpy().shape == () and dy.ones(0, 3).numpy().shape == (0, 3)


def test_dlpack():
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = dy.from_dlpack(a)
    x[0, 0] = 7
    assert a[0, 0] == 7
    b = np.from_dlpack(x)
    assert b.ctypes.data == a.ctypes.data
    y = dy.from_dlpack(dy.tensor([1, 2], dtype=dy.bfloat16))
    assert y.dtype is dy.bfloat16 and y.tolist() == [1, 2]
    for name in "float8_e3m4 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu".split():
        narrow = dy.tensor([1.0, 2.0], dtype=getattr(dy, name))
        shared = dy.from_dlpack(narrow)
        assert shared.dtype is narrow.dtype and shared.tolist() == [1, 2] and shared.data_ptr() == narrow.data_ptr()
    with pytest.raises(TypeError, match="no such dtype"):
        dy.ones(64, dtype="q8_0").__dlpack__()
    assert dy.from_dlpack(dy.ones(2, 3).T).stride() == (1, 3)
    with pytest.raises(TypeError, match="requires grad"):
        np.from_dlpack(dy.ones(2, requires_grad=True))


def test_values_for_python():
    x = dy.tensor([[1.5, -2.0], [0.0, float("inf")]])
    assert x.tolist() == [[1.5, -2], [0, float("inf")]] and x.T.tolist() == [[1.5, 0], [-2, float("inf")]]
    assert dy.tensor([True]).tolist() == [True] and dy.tensor([[3]]).item() == 3 and dy.tensor(2.5).tolist() == 2.5
    assert type(dy.tensor(True).item()) is bool and type(dy.tensor(1).item()) is int and type(dy.tensor(1.0).item()) is float
    assert float(dy.tensor([2.5])) == 2.5 and int(dy.tensor(-2.5)) == -2 and bool(dy.tensor(0.0)) is False
    assert [10, 20][dy.tensor(1)] == 20 and f"{dy.tensor(1.2345):.2f}" == "1.23"
    assert [r.tolist() for r in dy.tensor([[1, 2], [3, 4]])] == [[1, 2], [3, 4]]
    assert dy.zeros(0, 2).tolist() == [] and dy.zeros(2, 0).tolist() == [[], []]
    with pytest.raises(RuntimeError, match="item"):
        x.item()
    with pytest.raises(RuntimeError, match="ambiguous"):
        bool(x)
    with pytest.raises(TypeError):
        [1, 2][dy.tensor(1.0)]
    with pytest.raises(ValueError, match="meta"):
        dy.zeros(1, device="meta").item()


def test_conversions():
    x = dy.tensor([1.7, -2.3, 300.0])
    assert x.to(x.dtype) is x and x.float() is x
    assert x.to("i8").tolist() == [1, -2, 44] and x.int().dtype is dy.int32 and x.long().tolist() == [1, -2, 300]
    assert x.to(dy.bfloat16).dtype is x.bfloat16().dtype is dy.bfloat16 and x.half().dtype is dy.float16
    assert x.double().dtype is dy.float64 and x.bool().tolist() == [True] * 3 and x.to(dtype="f64").dtype is dy.float64
    assert x.to("meta").is_meta and x.to(device="meta", dtype="f16").dtype is dy.float16
    assert x.to(dy.zeros(1, dtype="f64")).dtype is dy.float64 and x.type_as(dy.arange(1)).dtype is dy.int64
    with pytest.raises(RuntimeError, match="there is no cuda here"):
        x.to(3)
    with pytest.raises(ValueError, match="nonsense"):
        x.to("nonsense")


def test_scaled_formats_are_dtypes():
    w = dy.rand(64, 256)
    for d in dy.registered_dtypes():
        if not d.is_scaled:
            continue
        if d.name.startswith(("iq1", "iq2", "iq3")) or re.match(r"i\d_ordered|u\d\(", d.name):
            with pytest.raises(ValueError, match="cannot be encoded here: its codes come from files; use"):
                w.to(d)
            continue
        q = w.to(d)
        assert q.dtype is d and q.nbytes < w.nbytes / 2 and q.shape == w.shape
        # Of one bit there is a sign and the mean of 128 sizes: of numbers in [0, 1) between 0.4 and 0.6.
        # What is turned by a Hadamard matrix has errors spread like normal numbers, without a bound.
        assert (q.float() - w).abs().amax().item() < (1.0 if d.name == "e8p" else 0.26 if d.bits > 3 else 0.51 if d.bits > 1 else 0.61)
        assert (q.T.float() == q.float().T).all()
        with pytest.raises(RuntimeError, match="QAT"):
            q.requires_grad_()
    q = w.to("nf4(block=128)")
    assert repr(q.dtype) == 'dyadic.dtype("nf4(block=128)")' and q.dtype is dy.dtype("nf4(block=128)")
    assert (dy.ones(2, 256) @ q.T).dtype is dy.float32


def test_dtypes():
    names = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32"}
    for short, long in names.items():
        assert getattr(dy, short) is getattr(dy, long) is dy.dtype(short) is dy.dtype(long)
        assert getattr(dy, short).name == short and repr(getattr(dy, short)) == "dyadic." + long
    assert dy.half is dy.float16 and dy.double is dy.float64 and dy.long is dy.int64 and dy.float is dy.float32
    for d in dy.registered_dtypes():
        assert eval(repr(d), {"dyadic": dy}) is d and dy.dtype(d.name) is d and dy.dtype(d) is d
        assert d.doc and d.bits > 0
    assert dy.bfloat16.is_floating_point and not dy.bfloat16.is_integer and dy.int8.is_integer and not dy.bool.is_integer
    assert dy.bfloat16.itemsize == 2 and dy.bfloat16 == dy.bfloat16 and dy.bfloat16 != dy.float16 and {dy.f32: 1}[dy.float32] == 1
    assert dy.promote_types(dy.int64, dy.float16) is dy.float16
    with pytest.raises(ValueError, match="did you mean"):
        dy.dtype("bf17")
    with pytest.raises(ValueError):
        dy.dtype("nf4").itemsize
    with pytest.raises(TypeError):
        dy.dtype(3)


def test_identity():
    x = dy.ones(3, requires_grad=True)
    x.sum().backward()
    assert x.grad is x.grad and x.contiguous() is x and {x: 1}[x] == 1 and x in {x}
    assert hash(x) == hash(x) and len({x, dy.ones(3)}) == 2
    face = weakref.ref(x)
    del x
    assert face() is None


def test_printing():
    assert repr(dy.tensor([1.0, 2.5])) == "tensor([1.0000, 2.5000])"
    assert repr(dy.tensor([[1, 2], [3, 4]])) == "tensor([[1, 2],\n        [3, 4]])"
    assert "requires_grad=True" in repr(dy.ones(1, requires_grad=True))
    assert repr(dy.nn.Parameter(dy.ones(1))).startswith("Parameter containing:\ntensor([1.]")


def test_limits():
    assert repr(dy.finfo(dy.bfloat16)) == (
        "finfo(resolution=0.01, min=-3.38953e+38, max=3.38953e+38, eps=0.0078125, smallest_normal=1.17549e-38, "
        "tiny=1.17549e-38, dtype=bfloat16)"
    )
    assert repr(dy.iinfo("int32")) == "iinfo(min=-2.14748e+09, max=2.14748e+09, dtype=int32)"
    assert dy.finfo().dtype == "float32" and dy.finfo("f8e4m3fn").max == 448 and dy.iinfo(dy.uint4).max == 15
    with pytest.raises(TypeError, match="use iinfo"):
        dy.finfo(dy.int8)


def test_planes_and_views_of_bytes():
    x = dy.randn(4, 256)
    q = x.to("q4_K")
    planes = q.planes()
    assert list(planes) == ["blocks"] and planes["blocks"].dtype is dy.uint8 and planes["blocks"].numel() == q.nbytes
    raw = q.view(dy.uint8)
    assert tuple(raw.shape) == (4, 144) and (raw.view("q4_K").float() == q.float()).all()
    assert list(x.to("nf4").planes()) == ["codes", "absmax", "nested_absmax", "nested_offset"]
    assert x.view(dy.int32).dtype is dy.int32 and tuple(x.view(2, -1).shape) == (2, 512) and tuple(x.view([512, 2]).shape) == (512, 2)
    with pytest.raises(ValueError, match="not whole blocks"):
        dy.zeros(3, 100, dtype=dy.uint8).view("q4_K")


def test_every_dtype_prints_and_computes():
    x = dy.tensor([0.0, 1.0, 2.0, -1.0])
    for d in dy.registered_dtypes():
        if d.is_scaled:
            continue
        t = x.to(d)
        assert t.dtype is d and "dtype" in repr(t) or d in (dy.float32, dy.complex64, dy.int64, dy.bool)
        assert (t + t).dtype is d if d is not dy.bool else True
        assert dy.zeros(3, dtype=d).dtype is d
    assert (dy.tensor([200], dtype="u8") + dy.tensor([100], dtype="u8")).item() == 44
    assert dy.tensor([1.3], dtype="f4e2m1fn").item() == 1.5


def test_tensor_of_the_default_dtype():
    assert dy.Tensor([1, 2]).dtype is dy.float32 and dy.Tensor([1, 2]).tolist() == [1, 2]
    assert tuple(dy.Tensor(2, 3).shape) == (2, 3) and tuple(dy.Tensor().shape) == (0,)
    assert dy.Tensor(dy.tensor([True])).tolist() == [1.0]
    with dy.default_dtype(dy.float64):
        assert dy.Tensor([1]).dtype is dy.float64
    with pytest.raises(TypeError, match="data or sizes"):
        dy.Tensor([1], [2])


def test_parameters_keep_their_identity_and_attributes():
    m = dy.nn.Sequential(dy.nn.Linear(2, 2), dy.nn.Linear(2, 3))
    ids = {id(p) for p in m[1].parameters()}
    gc.collect()
    assert [tuple(p.shape) for p in m.parameters() if id(p) not in ids] == [(2, 2), (2,)]
    m[0].weight.no_decay = True
    gc.collect()
    assert m[0].weight.no_decay and not hasattr(m[0].bias, "no_decay")
    x = dy.ones(2)
    x.tag = [1]
    assert x.__dict__ == {"tag": [1]} and x.tag is x.tag
    held = weakref.ref(m[0].weight)
    assert held() is m[0].weight
    del m
    gc.collect()
    assert held() is None


def test_parameters_of_a_dead_module_are_let_go_by_any_thread():
    import threading

    for _ in range(20):
        m = dy.nn.Linear(2, 2)
        m.weight.tag = object()
        t = threading.Thread(target=lambda m=[m]: m.clear())
        del m
        t.start()
        t.join()


def test_reshape_makes_another_tensor():
    x = dy.ones(2, 3)
    y = x.reshape(2, 3)
    y.unsqueeze_(0)
    assert x.shape == (2, 3) and y.shape == (1, 2, 3) and y.data_ptr() == x.data_ptr()
    p = dy.nn.Parameter(dy.ones(3))
    assert p.reshape(-1).grad_fn is not None and p.ravel().grad_fn is not None


def test_scatter_that_reduces():
    x, i, s = dy.full((3,), 2.0), dy.tensor([0, 0, 1]), dy.tensor([1.0, 2.0, 3.0])
    assert x.scatter(0, i, s, reduce="add").tolist() == [5, 5, 2]
    assert x.scatter_(0, i, s, reduce="multiply").tolist() == [4, 6, 2]
    with pytest.raises(RuntimeError, match='"add" or "multiply"'):
        x.scatter(0, i, s, reduce="mean")


def test_pytorchs_words_for_arguments():
    x = dy.arange(end=6)
    assert x.tolist() == [0, 1, 2, 3, 4, 5] and dy.randint(high=3, size=(2,)).shape == (2,)
    assert [t.tolist() for t in dy.split(tensor=x, split_size_or_sections=4)] == [[0, 1, 2, 3], [4, 5]]
    assert [t.tolist() for t in dy.split(x, split_size_or_sections=[1, 5])] == [[0], [1, 2, 3, 4, 5]]
    assert [t.tolist() for t in x.tensor_split(tensor_indices_or_sections=2)] == [[0, 1, 2], [3, 4, 5]]
    assert dy.where(condition=x > 2, input=x, other=0).tolist() == [0, 0, 0, 3, 4, 5]
    p = dy.ones(2, requires_grad=True)
    assert p.numpy(force=True).tolist() == [1, 1] and x.float(memory_format=dy.preserve_format).dtype == dy.float32
    assert dy.zeros(2).copy_(dy.ones(2), non_blocking=True).tolist() == [1, 1]


def test_more_forms_of_pytorch():
    assert dy.repeat_interleave(dy.tensor([2, 0, 1])).tolist() == [0, 0, 2]
    assert dy.cross(dy.eye(3)[:, :2], dy.eye(3)[:, 1:]).tolist() == [[0, 1], [0, 0], [1, 0]]
    assert dy.norm(dy.eye(2), "nuc").item() == 2 and dy.ones(1).to("cpu:0").device == dy.device("cpu")
    z = dy.zeros(2, dtype=dy.complex64)
    z.imag, z.real = dy.tensor([1.0, 2.0]), 3
    assert z.tolist() == [3 + 1j, 3 + 2j]
    assert dy.histogram(dy.arange(4.0))[0].shape == (100,)


def test_forms_that_python_reads():
    import collections
    import io

    x = dy.ones(1, 1, 4, 4)
    assert dy.conv2d(x, dy.ones(1, 1, 3, 3), padding="same").shape == x.shape and x.new_zeros(size=(2,)).shape == (2,)
    assert dy.nn.Identity()(input=x) is x
    file = io.BytesIO()
    dy.save({"milestones": collections.Counter([3, 5])}, file)
    assert dy.load(io.BytesIO(file.getvalue())) == {"milestones": {3: 1, 5: 1}}

"""Every op record as Python calls it: its samples, its forbidden calls, keywords and methods; pointwise ops against numpy."""
import inspect
import math
import re

import numpy as np
import pytest

import dyadic as dy

RECORDS = {r["name"]: r for r in dy._dyadic._records()}
NAMESPACE = {name: getattr(dy, name) for name in dir(dy)} | {name: getattr(dy._dyadic, name) for name in RECORDS}
NAMESPACE["indices"] = lambda n, *shape: dy.tensor([(n - 1 - i) % n for i in range(math.prod(shape))], dtype=dy.int64).view(shape)
POINTWISE = [name for name, r in RECORDS.items() if r["pointwise"]]

# Where numpy has the function under another name, or needs a few words.
NUMPY = {
    "neg": np.negative,
    "abs": np.abs,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "pow": np.power,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "round": np.round,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "isinf": np.isinf,
    "ldexp": lambda a, b: a * 2.0**b,
}


def parameters(record):
    """(type, name, has a default) of the parameters, read from the signature's text."""
    inside = record["signature"].split("(", 1)[1].rsplit(") ->", 1)[0]
    out, depth, part = [], 0, ""
    for c in inside + ",":
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            if part.strip() and part.strip() != "*":
                kind, name = part.split("=")[0].strip().rsplit(" ", 1)
                out.append((kind, name.lstrip("*"), "=" in part))
            part = ""
        else:
            part += c
    return out


NEEDED = {name: [p for _, p, default in parameters(r) if not default] for name, r in RECORDS.items()}
REQUIRED = {name: needed[0] for name, needed in NEEDED.items() if needed}


def sample_call(name):
    """The op as samples call it: what is by keyword only in Python comes last there."""
    function, record = NAMESPACE[name], RECORDS[name]
    names = [n for _, n, _ in parameters(record)]
    head = record["signature"].split("(", 1)[1].split("*,")[0]
    fixed = head.count(", ") if "*," in record["signature"] else len(names)

    def call(*a, **options):
        if record["spread"] == 0 and all(isinstance(size, int) for size in a):
            return function(*a, **options)  # zeros(2, 3)
        return function(*a[:fixed], **dict(zip(names[fixed:], a[fixed:])), **options)

    return call


def maker(name):
    """randn(2, 3) inside a sample is a tensor of that shape, randn() a 0-d one; randn([2, 3], f64) is the op itself."""
    op = sample_call(name)
    return lambda *a: op(*a) if a and isinstance(a[0], list) else op(list(a))


LANGUAGE = NAMESPACE | {name: sample_call(name) for name in RECORDS} | {name: maker(name) for name in ("randn", "rand", "zeros", "ones")}
LANGUAGE["steps"] = lambda *shape: dy.round(dy.randn(list(shape)) * 2) / 2
LANGUAGE["complex_numbers"] = lambda *shape: dy.randn(list(shape), dtype=dy.complex64)
LANGUAGE["spd"] = lambda *shape: (lambda x: x @ x.mT / shape[-1] + dy.eye(shape[-1]))(dy.randn(list(shape)))
LANGUAGE["mask"] = lambda *shape: dy.rand(list(shape)) < 0.5


def run(call):
    """Runs a line of the records' small language, which is Python's but for indices(n; shape), (shape; wide) and (shape; complex)."""
    call = re.sub(r"indices\((\d+);", r"indices(\1,", call)
    call = re.sub(r"randn\(([\d, ]*); complex\)", r"complex_numbers(\1)", call)
    return eval(re.sub(r"; wide\)", ")", call), LANGUAGE)


SAMPLES = [line for record in RECORDS.values() for line in record["samples"].splitlines()]
FORBIDDEN = [line.split(" => ") for record in RECORDS.values() for line in record["bad"].splitlines()]


@pytest.mark.parametrize("call", SAMPLES)
def test_sample(call):
    result = run(call)
    for t in result if isinstance(result, tuple) else (result,):
        assert t is None or isinstance(t, dy.Tensor)


OUT = [
    line
    for record in RECORDS.values()
    for line in record["samples"].splitlines()
    if record["takes_out"] and not record["random"] and not record["name"].startswith("empty") and record["spread"] != 0
]


@pytest.mark.parametrize("call", OUT)
def test_out_gets_what_the_call_returns(call):
    results = []

    def twice(*a):  # the outermost call is the last
        want = op(*a)
        several = isinstance(want, tuple)
        out = tuple(dy.empty(list(t.shape) if t.dtype.is_scaled else 0, dtype=t.dtype) for t in (want if several else (want,)))
        got = op(*a, out=out if several else out[0])
        results[:] = zip(want if several else (want,), got if several else (got,), out)
        return want

    name = call.split("(")[0]
    op = LANGUAGE[name]
    dy.manual_seed(0)
    LANGUAGE[name] = twice
    try:
        run(call)
    finally:
        LANGUAGE[name] = op
    for want, got, out in results:
        assert got is out and got.shape == want.shape and got.dtype == want.dtype
        assert dy.allclose(*(dy.view_as_real(t.to("c128")) if t.is_complex() else t.double() for t in (got, want)), 0, 0, equal_nan=True)


@pytest.mark.parametrize("call, text", FORBIDDEN)
def test_forbidden_call_says(call, text):
    with pytest.raises((RuntimeError, TypeError, ValueError, IndexError)) as error:
        run(call)
    assert str(error.value) == text


@pytest.mark.parametrize("name", POINTWISE)
def test_pointwise_values(name):
    record = RECORDS[name]
    rng = np.random.default_rng(len(name))
    arrays = [
        rng.uniform(record["low"], record["high"], (5, 7)).astype(np.float32) for kind, _, _ in parameters(record) if kind == "Tensor"
    ]
    numbers = [0.5 for kind, _, default in parameters(record) if kind != "Tensor" and not default]
    try:
        arguments = [dy.from_numpy(a) for a in arrays] + numbers
        if name == "where":
            arguments[0] = arguments[0] > 0
        result = getattr(dy, name)(*arguments)
    except TypeError as error:  # an op on integers
        assert "not defined for f32" in str(error)
        arrays = [a.round().astype(np.int64) for a in arrays]
        arguments = [dy.from_numpy(a) for a in arrays] + [1 for _ in numbers]
        result = getattr(dy, name)(*arguments)
    assert result.shape == (5, 7)
    oracle = NUMPY.get(name, getattr(np, name, None))
    if oracle and len(arguments) == len(arrays) and name != "where":
        expected = oracle(*[a.astype(np.float64) if a.dtype == np.float32 else a for a in arrays])
        np.testing.assert_allclose(result.numpy().astype(np.float64), expected, rtol=1e-5, atol=1e-6)
    if record["method"]:
        np.testing.assert_array_equal(getattr(arguments[0], name)(*arguments[1:]).numpy(), result.numpy())
    if record["inplace"]:
        target = arguments[0].clone()
        assert getattr(target, name + "_")(*arguments[1:]) is target
        np.testing.assert_array_equal(target.numpy(), result.numpy())


def test_aliases_are_the_same_function():
    assert dy.absolute is dy.abs and dy.arccos is dy.acos and dy.clip is dy.clamp and dy.nn.functional.log_sigmoid is dy.logsigmoid
    assert dy.Tensor.multiply is dy.Tensor.mul and dy.Tensor.true_divide_ is dy.Tensor.div_
    for name, record in RECORDS.items():
        for alias in record["aliases"]:
            assert getattr(dy, alias) is NAMESPACE[name] and alias not in RECORDS


def test_arguments_that_choose_another_op():
    x, y = dy.tensor([1.0, -7.0, 5.0]), dy.tensor([2.0, 2.0, -3.0])
    assert dy.add(x, y, alpha=2).tolist() == [5, -3, -1] and x.sub(y, alpha=0.5).tolist() == [0, -8, 6.5]
    assert x.div(y, rounding_mode="floor").tolist() == [0, -4, -2] and x.div(y, rounding_mode="trunc").tolist() == [0, -3, -1]
    assert x.clamp(max=2).tolist() == [1, -7, 2] and x.clamp(0).tolist() == [1, 0, 5] and x.clamp(y, 3).tolist() == [2, 2, 3]
    assert dy.tensor([1.234]).round(decimals=1).item() == pytest.approx(1.2)
    assert x.clone().add_(y, alpha=2).tolist() == [5, -3, -1] and x.clone().clamp_(-1, 1).tolist() == [1, -1, 1]
    assert dy.rsub(x, 1).tolist() == [0, 8, -4]
    assert dy.tensor([7, -7]).div(2, rounding_mode="floor").tolist() == [3, -4]


@pytest.mark.parametrize("name", RECORDS)
def test_function_describes_itself(name):
    function, record = getattr(dy._dyadic, name), RECORDS[name]
    assert record["doc"] and record["doc"] in function.__doc__ and record["signature"] in function.__doc__
    known = list(inspect.signature(function).parameters)
    wanted = [p for _, p, _ in parameters(record)] + ["generator"] * record["random"] + ["requires_grad"] * record["requires_grad"]
    assert known == wanted
    for (_, _, default), p in zip(parameters(record), inspect.signature(function).parameters.values()):
        assert default == (p.default is not inspect.Parameter.empty)
    if type(getattr(dy.Tensor, name, None)) is type(str.join):  # not the ones written by hand, such as `to`
        assert list(inspect.signature(getattr(dy.Tensor, name)).parameters)[0] == "self"


@pytest.mark.parametrize("name, first", REQUIRED.items())
def test_call_without_arguments_names_the_first(name, first):
    with pytest.raises(TypeError, match=f"^{name}: an argument is missing: {first} "):
        getattr(dy._dyadic, name)()


@pytest.mark.parametrize("name", RECORDS)
def test_wrong_argument_is_named(name):
    kind, first, _ = parameters(RECORDS[name])[0]
    with pytest.raises(TypeError, match=f"^{name}: an argument has the wrong type: {first} is object"):
        getattr(dy._dyadic, name)(**{p: object() for _, p, default in parameters(RECORDS[name]) if not default or p == first})


@pytest.mark.parametrize("name", RECORDS)
def test_unknown_keyword_is_named(name):
    with pytest.raises(TypeError, match=f"^{name}: an unknown argument: nonsense"):
        getattr(dy._dyadic, name)(nonsense=1)


def test_arguments_by_position_and_keyword():
    x = dy.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3))
    for s in (x.sum(1), x.sum([1]), x.sum((1,)), x.sum(dim=1), dy.sum(x, dim=1), dy.sum(self=x, dim=(1,)), dy.sum(input=x, dim=1)):
        assert s.tolist() == [3, 12]
    assert x.sum(1, keepdim=True).shape == (2, 1)
    assert x.sum(dim=None).item() == 15
    assert x.view(3, 2).shape == x.view((3, 2)).shape == x.view(size=[3, 2]).shape == dy.view(x, 3, 2).shape == (3, 2)
    assert dy.zeros(2, 3).shape == dy.zeros((2, 3)).shape == dy.zeros(size=(2, 3)).shape == (2, 3)
    assert dy.zeros(()).shape == dy.zeros([]).shape == ()
    assert dy.zeros(0).shape == (0,)
    with pytest.raises(TypeError, match="sum: an argument is given twice: dim"):
        x.sum(1, dim=1)
    with pytest.raises(TypeError, match="zeros: an argument is given twice: size"):
        dy.zeros(2, 3, size=4)
    with pytest.raises(TypeError, match="view: an argument has the wrong type: size is float"):
        x.view(3, 2.0)
    with pytest.raises(TypeError, match="sum: too many arguments: 4 given"):
        dy.sum(x, 1, False, 2)
    with pytest.raises(TypeError, match="exp: an argument has the wrong type: self is float; it takes a Tensor"):
        dy.exp(2.0)


def test_dtype_and_device_arguments():
    for d in (dy.bfloat16, "bf16", "bfloat16"):
        assert dy.zeros(3, dtype=d).dtype is dy.bfloat16
    assert dy.zeros(3, dtype=float).dtype is dy.float64 and dy.ones(3, dtype=int).dtype is dy.int64
    assert dy.zeros(64, dtype="i4(group=32)").dtype is dy.dtype("i4(group=32)")
    assert dy.zeros(3, device="meta").is_meta and dy.zeros(3, device=dy.device("meta")).device == dy.device("meta")
    assert dy.zeros(3, requires_grad=True).requires_grad and not dy.zeros(3).requires_grad
    with pytest.raises(ValueError, match="bff16"):
        dy.zeros(3, dtype="bff16")
    with pytest.raises(RuntimeError, match="cuda"):
        dy.zeros(3, device="cuda")
    with pytest.raises(TypeError, match="zeros: an argument has the wrong type: dtype is int"):
        dy.zeros(3, dtype=3)


def test_numbers_as_operands():
    x = dy.tensor([1.0, 2.0], dtype=dy.bfloat16)
    assert (x * 2).dtype is dy.bfloat16 and (2 - x).tolist() == [1, 0]
    i = dy.tensor([1, 2])
    assert (i + 1).dtype is dy.int64 and (i + 1.5).dtype is dy.float32 and (i / 2).tolist() == [0.5, 1]
    assert (i + True).tolist() == [2, 3]
    assert dy.add(x, 1).tolist() == dy.add(1, x).tolist() == [2, 3]
    assert (2**i).tolist() == [2, 4] and (i**2).tolist() == [1, 4]
    assert dy.where(i > 1, i, 0).tolist() == [0, 2]
    for number in (np.float32(2), np.float64(2), np.int32(2), np.int64(2)):
        assert (x * number).tolist() == (number * x).tolist() == [2, 4]
    assert dy.clamp(x, dy.tensor(1.5), 3).tolist() == [1.5, 2]


def test_operators():
    a, b = np.array([[1.0, -2.0], [3.0, 4.0]]), np.array([[2.0, 5.0], [-1.0, 4.0]])
    x, y = dy.tensor(a), dy.tensor(b)
    for f in (
        lambda a, b: a + b,
        lambda a, b: a - b,
        lambda a, b: a * b,
        lambda a, b: a / b,
        lambda a, b: a @ b,
        lambda a, b: -a,
        lambda a, b: +a,
        lambda a, b: abs(a),
        lambda a, b: a < b,
        lambda a, b: a <= b,
        lambda a, b: a > b,
        lambda a, b: a >= b,
        lambda a, b: a == b,
        lambda a, b: a != b,
        lambda a, b: (a < b) & (a > 0),
        lambda a, b: (a < b) | (a > 0),
        lambda a, b: ~(a < b),
        lambda a, b: abs(a) ** b,
        lambda a, b: 3 - a,
        lambda a, b: 3 / a,
    ):
        np.testing.assert_allclose(f(x, y).numpy(), f(a, b), rtol=1e-14)
    z = x.clone()
    same = z
    z += y
    z -= 1
    z *= 2
    z /= y
    z **= 2
    assert z is same
    np.testing.assert_allclose(z.numpy(), (2 * (a + b - 1) / b) ** 2, rtol=1e-14)
    with pytest.raises(TypeError):
        x + "a"
    with pytest.raises(TypeError):
        ~x
    assert (x == None) is False and (x != None) is True  # noqa: E711


def test_reductions_and_shapes():
    a = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(np.float32)
    x = dy.from_numpy(a)
    np.testing.assert_allclose(x.sum((0, 2)).numpy(), a.sum((0, 2)), rtol=1e-5)
    np.testing.assert_allclose(x.mean(-1, keepdim=True).numpy(), a.mean(-1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(x.var(1).numpy(), a.var(1, ddof=1), rtol=1e-5)
    np.testing.assert_array_equal(x.argmax(1).numpy(), a.argmax(1))
    np.testing.assert_array_equal(x.amax(0).numpy(), a.max(0))
    np.testing.assert_array_equal(x.permute(2, 0, 1).numpy(), a.transpose(2, 0, 1))
    np.testing.assert_array_equal(x.reshape(-1, 10).numpy(), a.reshape(-1, 10))
    np.testing.assert_array_equal(x.T.numpy(), a.T)
    np.testing.assert_array_equal(dy.cat([x, x], 1).numpy(), np.concatenate([a, a], 1))
    np.testing.assert_array_equal(dy.stack((x, x), dim=-1).numpy(), np.stack([a, a], -1))
    np.testing.assert_array_equal(x[0].tril().numpy(), np.tril(a[0]))
    np.testing.assert_array_equal(x.unsqueeze(0).squeeze(0).numpy(), a)
    assert [p.shape for p in x.split(2)] == [(2, 4, 5), (1, 4, 5)] and [p.shape for p in x.split([1, 3], 1)] == [(3, 1, 5), (3, 3, 5)]
    assert [p.shape for p in x.chunk(2, -1)] == [(3, 4, 3), (3, 4, 2)]
    np.testing.assert_allclose((x @ x.transpose(1, 2)).numpy(), a @ a.transpose(0, 2, 1), rtol=1e-4, atol=1e-5)
    with pytest.raises(TypeError, match="cat: an argument has the wrong type: tensors is Tensor|cat: .* is dyadic.Tensor"):
        dy.cat(x)


def test_creation():
    assert dy.arange(5).tolist() == [0, 1, 2, 3, 4] and dy.arange(5).dtype is dy.int64
    assert dy.arange(1, 2, 0.5).tolist() == [1, 1.5] and dy.arange(1, 2, 0.5).dtype is dy.float32
    assert dy.linspace(0, 1, 3).tolist() == [0, 0.5, 1]
    for steps in (2, 3, 1000, 1001):  # more than a tile, both halves
        a, b = -7.25, 11.5
        each = (b - a) / (steps - 1)
        values = [a + i * each if i < steps // 2 else b - (steps - 1 - i) * each for i in range(steps)]
        assert dy.linspace(a, b, steps, dtype=dy.float64).tolist() == values
    assert dy.arange(-3.0, 700.4, 0.7, dtype=dy.float64).tolist() == [-3.0 + i * 0.7 for i in range(1005)]
    for start, end, step in ((10**18, 10**18 + 5000, 3), (7, -9000, -5), (0, 1, 7), (3, 3, -1)):
        assert dy.arange(start, end, step).tolist() == list(range(start, end, step))
    assert dy.eye(2).tolist() == [[1, 0], [0, 1]] and dy.eye(1, 2).shape == (1, 2)
    assert dy.full((2,), 7).tolist() == [7, 7] and dy.full((2,), 7).dtype is dy.int64
    x = dy.ones(2, 3, dtype=dy.float16)
    assert dy.zeros_like(x).dtype is dy.float16 and dy.full_like(x, 2, dtype="i32").tolist() == [[2] * 3] * 2
    assert dy.empty(0, 3).shape == (0, 3)


def test_random_numbers():
    dy.manual_seed(3)
    a, state = dy.randn(1000), dy.get_rng_state()
    b = dy.rand(1000)
    dy.manual_seed(3)
    assert (dy.randn(1000) == a).all() and not (dy.randn(1000) == a).all()
    dy.set_rng_state(state)
    assert (dy.rand(1000) == b).all()
    assert abs(a.mean().item()) < 0.15 and abs(a.std().item() - 1) < 0.1 and 0 <= b.amin().item() and b.amax().item() < 1
    i = dy.randint(10, (1000,))
    assert i.dtype is dy.int64 and i.amin().item() == 0 and i.amax().item() == 9
    assert set(dy.randint(3, 5, (50,)).tolist()) == {3, 4}


def test_same_bits_for_any_number_of_threads():
    x = dy.randn(300, 500)
    before = dy.get_num_threads()
    try:
        results = []
        for n in (1, 2, 3, 7):
            dy.set_num_threads(n)
            results.append([(x @ x.T).numpy().tobytes(), x.softmax(-1).numpy().tobytes(), x.sum().numpy().tobytes()])
        assert all(r == results[0] for r in results)
    finally:
        dy.set_num_threads(before)
    with pytest.raises(ValueError):
        dy.set_num_threads(0)


def test_random_like_and_comparisons_of_whole_tensors():
    x = dy.zeros(1000, dtype=dy.bfloat16)
    assert dy.rand_like(x).dtype is dy.bfloat16 and dy.randn_like(x, dtype=dy.float64).dtype is dy.float64
    assert sorted(dy.randperm(50).tolist()) == list(range(50))
    drawn = dy.bernoulli(dy.full([10000], 0.25))
    assert set(drawn.tolist()) == {0, 1} and abs(drawn.mean().item() - 0.25) < 0.03
    a = dy.tensor([1.0, float("nan")])
    assert dy.equal(a[:1], a[:1]) and not dy.equal(a, a) and not dy.equal(a, a[:1])
    assert dy.allclose(a, a, equal_nan=True) and not dy.allclose(a, a) and dy.allclose(a[:1], a[:1] + 1e-7)

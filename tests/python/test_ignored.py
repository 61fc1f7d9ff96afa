"""Arguments that change nothing are declared where they are accepted (dyadic/_ignored.py), and what would change results is not ignored."""
import dis
import importlib
import inspect
import pkgutil
import types
import warnings

import pytest

import dyadic as torch
from dyadic import _ignored, nn

PROTOCOLS = {"__exit__", "__get__", "__set_name__", "__reduce_ex__", "__deepcopy__", "__array_wrap__"}  # Python's own: who calls decides


def modules():
    for m in pkgutil.walk_packages(torch.__path__, "dyadic."):
        yield importlib.import_module(m.name)


def functions():
    """(where, function, whether a base has one of that name) of all that have names without underscores, and of constructors."""
    for module in modules():
        for name, value in list(vars(module).items()):
            if name.startswith("_") or getattr(value, "__module__", "").split(".")[0] != "dyadic":
                continue
            if isinstance(value, types.FunctionType):
                yield f"{value.__module__}.{value.__qualname__}", value, False
            elif isinstance(value, type):
                for key, f in vars(value).items():
                    f = getattr(f, "__func__", f)
                    if isinstance(f, types.FunctionType) and key not in PROTOCOLS and (key == "__init__" or not key.startswith("_")):
                        yield f"{f.__module__}.{f.__qualname__}", f, key != "__init__" and any(hasattr(b, key) for b in value.__mro__[1:])


def unread(function):
    """The parameters that no instruction of the function reads. One that only raises reads none."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None or getattr(function, "__isabstractmethod__", False) or not any(i.opname in ("RETURN_VALUE", "RETURN_GENERATOR") for i in dis.get_instructions(code)):
        return set()
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    read = {i.argval for i in dis.get_instructions(code) if i.opname.startswith("LOAD_") and isinstance(i.argval, str)}
    read |= {name for i in dis.get_instructions(code) if isinstance(i.argval, tuple) for name in i.argval}
    return {name for name in code.co_varnames[:count] if name not in read | set(code.co_cellvars)}


def test_the_scan_sees_what_is_unread():
    def f(a, b, *c, d=1, **e):
        return [a for _ in range(3)]

    def refuses(a):
        raise RuntimeError("no")

    assert unread(f) == {"b", "c", "d", "e"} and unread(refuses) == set()
    assert len(list(functions())) > 1000


def test_every_argument_is_read_or_declared():
    silent = {}
    for where, function, overrides in functions():
        names = unread(function) - {"self", "cls"} - getattr(function, "_ignored", set())
        names = {name for name in names if not name.startswith("_")}
        if names and not overrides and function.__module__ != "dyadic._ignored":
            silent[where] = sorted(names)
    assert not silent


def test_what_is_declared_is_an_argument():
    declared = {where: f for where, f, _ in functions() if hasattr(f, "_ignored")}
    assert len(declared) > 50
    for where, function in declared.items():
        names = set(inspect.signature(function).parameters)
        assert function._ignored <= names or "kwargs" in names, where


def said(call):
    """The warnings of two calls."""
    with warnings.catch_warnings(record=True) as all:
        warnings.simplefilter("always")
        call(), call()
    return [str(w.message) for w in all]


def test_the_compiler_says_once_what_it_does_not_do(monkeypatch):
    monkeypatch.setattr(_ignored, "_said", set())
    model = nn.Linear(2, 2)
    why = "changes nothing: there is one way of compiling, and code that it does not reach runs as it is"
    assert said(lambda: torch.compile(model, mode="max-autotune", dynamic=True)) == [f"compile: dynamic {why}", f"compile: mode {why}"]
    assert said(lambda: torch.compile(model, mode="default")) == [] and said(lambda: torch.compile(model)) == []
    assert said(lambda: torch.compile(fullgraph=False, dynamic=None, disable=True)(model)) == []
    assert said(lambda: torch.compile(model, backend="inductor")) == [f"compile: backend {why}"]
    with pytest.raises(torch._dynamo.exc.InvalidBackend, match="unknown backend: backend is 'inducter'"):
        torch.compile(model, backend="inducter")
    with pytest.raises(RuntimeError, match="unknown mode: mode is 'fast'; the known ones are default"):
        torch.compile(model, mode="fast")
    with pytest.raises(RuntimeError, match="mode and options exclude each other"):
        torch.compile(model, mode="default", options={"triton.cudagraphs": True})
    assert issubclass(torch._dynamo.exc.InvalidBackend, RuntimeError)


def test_warnings_name_the_argument_and_the_line(monkeypatch):
    monkeypatch.setattr(_ignored, "_said", set())
    table, index = torch.randn(4, 2), torch.tensor([1, 1])
    with pytest.warns(UserWarning, match="embedding: sparse changes nothing: gradients are dense") as found:
        nn.functional.embedding(index, table, sparse=True)
    assert found[0].filename == __file__
    with pytest.warns(UserWarning, match="grad: only_inputs changes nothing"):
        torch.autograd.grad(table.requires_grad_().sum(), table, None, None, False, False)
    with pytest.warns(UserWarning, match="gumbel_softmax: eps"):
        nn.functional.gumbel_softmax(torch.ones(3), eps=1.0)


@pytest.mark.parametrize("kind", ["SGD", "Adam", "Adafactor", "LBFGS"])
def test_a_step_that_should_be_recorded_is_refused(kind):
    p = nn.Parameter(torch.ones(2))
    with pytest.raises(RuntimeError, match="differentiable=True"):
        getattr(torch.optim, kind)([p], differentiable=True)
    with pytest.raises(RuntimeError, match="fused and foreach exclude each other"):
        getattr(torch.optim, kind)([p], foreach=True, fused=True)


def test_what_changes_results_works_or_is_refused():
    a = torch.randn(3, 3, dtype="f64")
    u, s, v = (torch.empty(0, dtype="f64") for _ in range(3))
    found = torch.svd(a, out=(u, s, v))
    assert found.U is u and torch.allclose(u @ torch.diag(s) @ v.T, a)
    out = torch.empty(0, dtype="f64")
    assert torch.frobenius_norm(a, out=out) is out and torch.allclose(out, a.square().sum().sqrt())
    assert torch.nuclear_norm(a, out=out) is out and torch.allclose(out, s.sum())
    lu, pivots = torch.empty(0, dtype="f64"), torch.empty(0, dtype=torch.int32)
    assert torch.lu(a, out=(lu, pivots))[0] is lu and lu.equal(torch.lu(a)[0])
    x, m = torch.empty(0, dtype="f64"), torch.empty(0, dtype="f64")
    assert torch.triangular_solve(a, a.triu(), out=(x, m)).solution is x and torch.allclose(a.triu() @ x, a)
    assert torch.ones(2).to_dense(torch.float64).dtype is torch.float64
    for call in (
        lambda: torch.empty_strided([2], [1], dtpye=torch.float64),
        lambda: torch.random.fork_rng(enable=False),
        lambda: torch.autograd.gradcheck(torch.sin, [torch.ones(2, dtype="f64", requires_grad=True)], chek_grad_dtypes=True),
        lambda: torch.utils.checkpoint.checkpoint_sequential([torch.sin], 1, torch.ones(2), use_reentrent=False),
    ):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(RuntimeError, match="independent of the inputs"):
        torch.func.jvp(lambda x: torch.ones(2), (torch.ones(2),), (torch.ones(2),), strict=True)
    with pytest.raises(RuntimeError, match="randomness='different'"):
        torch.func.jacfwd(torch.sin, randomness="different")
    with pytest.raises(TypeError, match="allow_subclasses=False"):
        torch.testing.assert_close(nn.Parameter(torch.ones(1)), torch.ones(1), allow_subclasses=False)


def test_given_seeds_are_those_of_the_second_gradient():
    x = torch.randn(3, dtype="f64", requires_grad=True)
    seed = torch.randn(3, dtype="f64", requires_grad=True)
    asked = []

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            asked.append(g.detach().clone())
            return 3 * g * ctx.saved_tensors[0] ** 2

    assert torch.autograd.gradgradcheck(Cube.apply, [x], [seed]) and asked[0].equal(seed)
    with pytest.raises(RuntimeError):
        torch.autograd.gradgradcheck(lambda x: x.detach() * x, [x], [seed])


def test_schedules_of_two_optimizers_do_not_chain():
    first, second = (torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0) for _ in range(2))
    schedules = [torch.optim.lr_scheduler.ExponentialLR(o, 0.5) for o in (first, second)]
    with pytest.raises(ValueError, match="one optimizer: that of schedulers\\[1\\]"):
        torch.optim.lr_scheduler.ChainedScheduler(schedules)
    with pytest.raises(ValueError, match="one optimizer: that of schedulers\\[0\\]"):
        torch.optim.lr_scheduler.ChainedScheduler(schedules[:1], second)
    with pytest.raises(ValueError, match="last_epoch is 3"):
        torch.optim.lr_scheduler.SequentialLR(first, schedules[:1], [], last_epoch=3)


@pytest.mark.parametrize("kind, options, what", [
    ("Adafactor", {"state": "bf16"}, "a row and a column of each matrix, in f32: state is bf16"),
    ("LBFGS", {"state": "dynamic8"}, "past steps and gradients, in the parameters' dtype"),
    ("LBFGS", {"stochastic_rounding": True}, "rounded to the nearest"),
    ("LBFGS", {"compensation": "kahan"}, "rounded to the nearest"),
])
def test_options_that_an_optimizer_has_no_use_for_are_refused(kind, options, what):
    with pytest.raises(ValueError, match=what):
        getattr(torch.optim, kind)([nn.Parameter(torch.ones(2, dtype="bf16"))], **options)


def test_older_names_of_arguments_count():
    x = torch.ones(2, requires_grad=True)
    torch.autograd.backward([x * 3], grad_variables=[torch.tensor([1.0, 2.0])])
    assert x.grad.tolist() == [3, 6]
    with pytest.raises(RuntimeError, match="both are given"):
        torch.autograd.backward([x * 3], [torch.ones(2)], grad_variables=[torch.ones(2)])
    model, seen = nn.Sequential(nn.ReLU(), nn.Tanh()), set()
    assert len(list(model.named_modules(seen))) == 3 and model[0] in seen and list(model.named_modules(seen)) == []
    assert model.to(memory_format=torch.channels_last) is model


def test_memory_formats_say_once_that_they_change_nothing(monkeypatch):
    monkeypatch.setattr(_ignored, "_said", set())
    x, model = torch.randn(1, 2, 3, 4), nn.Linear(2, 2)
    calls = {
        "Tensor.to": lambda f: x.to(memory_format=f), "Tensor.float": lambda f: x.float(memory_format=f), "Tensor.cpu": lambda f: x.cpu(memory_format=f),
        "Module.to": lambda f: model.to(memory_format=f), "clone": lambda f: x.clone(memory_format=f), "contiguous": lambda f: x.contiguous(memory_format=f),
        "empty": lambda f: torch.empty(1, 2, 3, 4, memory_format=f), "zeros_like": lambda f: torch.zeros_like(x, memory_format=f),
    }
    for who, call in calls.items():
        assert said(lambda: [call(f) for f in (torch.contiguous_format, torch.preserve_format)]) == []
        assert said(lambda: call(torch.channels_last)) == [f"{who}: memory_format changes nothing: results are dense in the order of their sizes"]
    with pytest.raises(TypeError, match="empty: an argument has the wrong type: memory_format is 3; it takes a memory format"):
        torch.empty(2, memory_format=3)


def test_layouts_are_strided_or_errors():
    for make in (lambda w: torch.zeros(2, layout=w), lambda w: torch.ones_like(torch.ones(2), layout=w), lambda w: torch.empty_strided((2,), (1,), layout=w),
                 lambda w: torch.empty_permuted((2,), (0,), layout=w), lambda w: torch.signal.windows.hann(3, layout=w)):
        assert make(torch.strided).layout is torch.strided and make(None) is not None
        with pytest.raises(NotImplementedError, match="what it makes is strided: layout is dyadic.sparse_coo"):
            make(torch.sparse_coo)
        with pytest.raises(TypeError, match="layout is 'strided'"):
            make("strided")

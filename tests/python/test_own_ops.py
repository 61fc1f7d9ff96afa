"""library: ops of one's own; torch.ops finds them, and PyTorch's names of what is here."""
import pytest

import dyadic as torch
from dyadic import Tensor, library


def test_an_op_with_a_gradient():
    @library.custom_op("mine::scaled_sin", mutates_args=())
    def scaled_sin(x: Tensor, factor: float = 2.0) -> Tensor:
        return torch.sin(x) * factor

    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    assert torch.allclose(scaled_sin(x, factor=3.0), 3 * x.sin()) and torch.ops.mine.scaled_sin(x).equal(2 * x.sin())
    with pytest.raises(RuntimeError, match=r"mine::scaled_sin: the op has no gradient; library.register_autograd\(\)"):
        scaled_sin(x).sum().backward()

    def setup(ctx, inputs, output):
        x, ctx.factor = inputs
        ctx.save_for_backward(x)

    scaled_sin.register_autograd(lambda ctx, g: (g * ctx.saved_tensors[0].cos() * ctx.factor, None), setup_context=setup)
    assert torch.autograd.gradcheck(lambda x: scaled_sin(x, factor=3.0), [x])
    assert torch.autograd.gradcheck(torch.ops.mine.scaled_sin.default, [x])

    @scaled_sin.register_fake
    def _(x, factor=2.0):
        return torch.empty_like(x)

    assert scaled_sin(x.to("meta")).shape == (3,) and scaled_sin(x.to("meta")).is_meta
    found = library.opcheck(scaled_sin, (x, 2.0))
    assert found == {"test_faketensor": "SUCCESS", "test_autograd_registration": "SUCCESS", "test_schema": "SUCCESS"}
    assert str(torch.ops.mine.scaled_sin) == "<OpOverloadPacket(op='mine.scaled_sin')>" and torch.ops.mine.scaled_sin.default.name() == "mine::scaled_sin"


def test_lists_of_tensors_have_lists_of_gradients():
    @library.custom_op("mine::parts", mutates_args=())
    def parts(xs: list[Tensor], n: int) -> list[Tensor]:
        return [x * n for x in xs]

    parts.register_autograd(lambda ctx, gs: ([g * ctx.n for g in gs], None), setup_context=lambda ctx, inputs, output: setattr(ctx, "n", inputs[1]))
    a, b = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    first, second = parts([a, b], 4)
    (first.sum() + 2 * second.sum()).backward()
    assert a.grad.tolist() == [4, 4] and b.grad.tolist() == [8, 8, 8]


def test_ops_that_are_defined_first():
    lib = library.Library("later", "DEF")
    assert lib.define("double(Tensor x) -> Tensor") == "double"
    with pytest.raises(NotImplementedError, match=r"later::double: the op is defined, but nothing computes it; library.impl\(\)"):
        torch.ops.later.double(torch.ones(1))
    lib.impl("double", lambda x: x * 2, "CompositeExplicitAutograd")
    lib.impl("double", lambda x: 1 / 0, "CUDA")
    assert torch.ops.later.double(torch.ones(1)).item() == 2

    library.define("later::half", "(Tensor x) -> Tensor")

    @library.impl("later::half", "cpu")
    def half(x):
        return x / 2

    assert torch.ops.later.half(torch.ones(1)).item() == 0.5
    library.register_fake("later::third", lambda x: x)
    assert not hasattr(torch.ops.later, "third")
    library.custom_op("later::third", lambda x: x / 3, mutates_args=())
    assert torch.ops.later.third(torch.ones(1, device="meta")).is_meta
    with pytest.raises(ValueError, match='an op\'s name is "namespace::name", not "third"'):
        library.custom_op("third", lambda x: x, mutates_args=())


def test_names_of_pytorch():
    x = torch.randn(2, 3)
    aten = torch.ops.aten
    assert aten.add.Tensor(x, 1).equal(x + 1) and aten.mm(x, x.T).equal(x @ x.T) and aten.view.default(x, [3, 2]).shape == (3, 2)
    assert aten.add_.Tensor(x.clone(), 1).equal(x + 1) and aten.gelu(x).equal(torch.nn.functional.gelu(x))
    with pytest.raises(NotImplementedError, match="ops.aten.nonsense: it is not here"):
        aten.nonsense.default(x)
    assert not hasattr(torch.ops.torchvision, "nms")
    with pytest.raises(OSError, match="libraries of compiled ops are made for PyTorch"):
        torch.ops.load_library("x.so")


def test_schemas():
    def f(x: Tensor, ys: list[Tensor], eps: float = 1e-5, *, n: int | None = None, name: str = "a") -> tuple[Tensor, Tensor]:
        return x, x

    assert library.infer_schema(f, mutates_args=()) == '(Tensor x, Tensor[] ys, float eps=1e-05, *, SymInt? n=None, str name="a") -> (Tensor, Tensor)'
    assert library.infer_schema(f, mutates_args=("x",), op_name="f").startswith("f(Tensor(a0!) x, ")
    with pytest.raises(ValueError, match="does not take or give a <class 'dict'>"):
        library.infer_schema(lambda: None, mutates_args=()) and library.infer_schema(_with_dict, mutates_args=())


def _with_dict(x: dict) -> Tensor:
    return x

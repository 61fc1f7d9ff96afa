"""inference_mode, devices that are not here, views of which there are several."""
import copy
import pickle

import dyadic as torch
import pytest
from dyadic import nn


def test_tensors_of_inference_mode():
    x, w = torch.ones(2), torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        a, view, made = w * 2, x.view(2, 1), torch.ones(2)
        assert a.is_inference() and made.is_inference() and not view.is_inference() and not a.requires_grad
        a.add_(1), x.add_(1)
        with torch.inference_mode(False):
            assert (w * 2).requires_grad and not torch.ones(1).is_inference()
        with torch.enable_grad():
            assert not (w * 2).requires_grad
        with pytest.raises(RuntimeError, match="_version"):
            a._version
    assert a.view(1, 2).is_inference() and not (a * 2).is_inference() and (w + a).requires_grad
    with pytest.raises(RuntimeError, match=r"cannot be saved for it: .*; clone\(\) it outside"):
        w * a
    assert (w * a.clone()).requires_grad
    for write in (lambda: a.add_(1), lambda: a.zero_(), lambda: a.copy_(x), lambda: torch.add(x, x, out=a), lambda: a.view(1, 2).add_(1)):
        with pytest.raises(RuntimeError, match="inference mode is written outside"):
            write()
    with pytest.raises(RuntimeError, match="takes no gradient outside"):
        a.requires_grad_()


def test_functions_in_inference_mode():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]

    with torch.inference_mode():
        y = Square.apply(torch.ones(1, requires_grad=True))
    assert y.is_inference() and not y.requires_grad
    y = Square.apply(torch.full((1,), 3.0, requires_grad=True))
    assert y.grad_fn.saved_tensors[0] == 3
    y.backward()
    with pytest.raises(RuntimeError, match="have been freed"):
        y.grad_fn.saved_tensors


def test_devices_that_are_not_here():
    d = torch.device("cuda:1")
    assert (d.type, d.index, str(d), repr(d)) == ("cuda", 1, "cuda:1", "device(type='cuda', index=1)")
    assert d == torch.device("cuda", 1) == torch.device(1) != torch.device("cuda") and hash(d) == hash(copy.copy(d))
    assert pickle.loads(pickle.dumps(d)) == d and torch.device("mps").index is None
    for use in (torch.ones(1).to, nn.Linear(1, 1).to, lambda d: torch.ones(1, device=d)):
        with pytest.raises(RuntimeError, match="there is no cuda here"):
            use(d)


def test_default_device():
    with torch.device("meta"):
        assert torch.ones(1).is_meta and nn.Linear(1, 1).weight.is_meta and torch.tensor([1.0]).is_meta
        assert not torch.ones(1, device="cpu").is_meta
    assert not torch.ones(1).is_meta
    torch.set_default_device("meta")
    assert torch.get_default_device() == torch.device("meta") and torch.zeros(1).is_meta
    torch.set_default_device(None)


@pytest.mark.parametrize("split", [lambda x: x.unbind()[0], lambda x: x.chunk(2)[0], lambda x: x.split(2)[0], lambda x: next(iter(x))])
def test_one_of_several_views(split):
    with pytest.raises(RuntimeError, match="one of several views"):
        split(torch.ones(4, requires_grad=True) * 1).mul_(2)
    x = torch.ones(4)
    split(x).mul_(2)
    assert x[0] == 2

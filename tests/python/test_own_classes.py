"""Classes that derive from Tensor: PyTorch's protocol of __torch_function__."""
import copy

import pytest

import dyadic as torch
from dyadic import nn


class Named(torch.Tensor):
    pass


class Image(torch.Tensor):
    """Of which results are plain tensors, but for copies (as torchvision's images are)."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if not all(issubclass(cls, t) for t in types):
            return NotImplemented
        with torch._C.DisableTorchFunctionSubclass():
            result = func(*args, **(kwargs or {}))
        kept = func in {torch.Tensor.clone, torch.Tensor.to, torch.Tensor.detach, torch.Tensor.requires_grad_}
        return result.as_subclass(cls) if kept else result


def test_results_are_of_the_class():
    x = torch.arange(6.0).reshape(2, 3).as_subclass(Named)
    assert type(x) is Named and isinstance(x, torch.Tensor) and x.tolist() == [[0, 1, 2], [3, 4, 5]]
    results = [x + 1, 1 + x, torch.ones(3) * x, -x, x[0], x.T, x.sum(), torch.relu(x), torch.cat([x, torch.ones(1, 3)]), x.to(torch.float64)]
    results += [*torch.max(x, 1), *x.split(1), x.clone().add_(1), torch.add(input=torch.ones(3), other=x), nn.functional.softmax(x, dim=-1), x == 1]
    assert [type(r) for r in results] == [Named] * len(results)
    assert type(torch.max(x, 1)) is type(torch.max(torch.ones(1, 1), 1))
    assert type(x.as_subclass(torch.Tensor)) is torch.Tensor and type(x.shape) is torch.Size and type(x.item if x.dim() == 0 else x.tolist()) is list
    y = x.as_subclass(torch.Tensor)
    y[0, 0] = 9
    assert x[0, 0] == 9  # one memory


def test_a_class_decides_what_results_are():
    image = torch.zeros(3, 4, 4, dtype=torch.uint8).as_subclass(Image)
    assert [type(r) for r in (image + 1, image[0], torch.stack([image, image]), image.float())] == [torch.Tensor] * 4
    assert [type(r) for r in (image.clone(), image.to(torch.float32), image.detach())] == [Image] * 3
    with torch._C.DisableTorchFunctionSubclass():
        assert not torch.overrides.has_torch_function((image,)) and type(image.clone()) is torch.Tensor
    assert torch.overrides.has_torch_function_unary(image) and not torch.overrides.has_torch_function_variadic(torch.ones(1), 2)


def test_calls_go_to_the_derived_class_first_and_may_be_refused():
    seen = []

    class Log(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((cls.__name__, func, [t.__name__ for t in types]))
            return super().__torch_function__(func, types, args, kwargs)

    class Derived(Log):
        pass

    a, b = torch.ones(2).as_subclass(Log), torch.ones(2).as_subclass(Derived)
    assert type(torch.add(a, b)) is Derived and type(a.mul(b)) is Derived
    assert seen[0] == ("Derived", torch.add, ["Derived", "Log"]) and seen[1][1] is torch.Tensor.mul
    with pytest.raises(TypeError, match="add: no __torch_function__ takes it: of Image, Named all returned NotImplemented"):
        torch.add(torch.ones(2).as_subclass(Image), torch.ones(2).as_subclass(Named))
    assert type(torch.overrides.handle_torch_function(torch.relu, (a,), a)) is Log and seen[-1][:2] == ("Log", torch.relu)
    with pytest.raises(TypeError, match="has_torch_function"):
        torch.overrides.handle_torch_function(torch.relu, (), torch.ones(2))


def test_gradients_copies_and_parameters():
    leaf = torch.Tensor._make_subclass(Named, torch.ones(2), True)
    leaf.note = [1]
    (leaf * 3).sum().backward()
    assert type(leaf) is Named and leaf.is_leaf and leaf.grad.tolist() == [3, 3]
    w = torch.ones(2, requires_grad=True)
    (w.as_subclass(Named) * 2).sum().backward()
    assert w.grad.tolist() == [2, 2]
    for again in (copy.copy(leaf), copy.deepcopy(leaf)):
        assert type(again) is Named and again.requires_grad and again.note == [1] and torch.equal(again, leaf)
    assert copy.deepcopy(leaf).note is not leaf.note and copy.deepcopy(leaf).grad.tolist() == [3, 3]
    disabled = torch._C.DisableTorchFunctionSubclass()
    with disabled, disabled:
        assert type(leaf * 2) is torch.Tensor
    assert type(leaf * 2) is Named

    class Own(nn.Parameter):
        pass

    module = nn.Module()
    module.p = Own(torch.ones(2))
    assert type(module.p) is Own and type(module.p + 1) is torch.Tensor
    with pytest.raises(TypeError, match="as_subclass: int is no class that derives from Tensor"):
        torch.ones(1).as_subclass(int)

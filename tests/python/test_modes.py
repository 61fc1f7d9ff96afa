"""TorchFunctionMode: what takes all calls over while it is entered."""
import threading

import pytest

import dyadic as torch
from dyadic.overrides import BaseTorchFunctionMode, TorchFunctionMode


class Log(TorchFunctionMode):
    def __init__(self):
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


def test_sees_functions_methods_operators_and_indexing():
    x = torch.ones(2, 3)
    with Log() as log:
        y = torch.exp(x).sum(1)
        z = 1 - x * 2
        z += 1
        x[0] = z[1]
        x.add_(1)
        torch.zeros(2)
        -x @ x.T > 0
    assert log.names[:10] == ["exp", "sum", "mul", "sub", "add_", "__getitem__", "__setitem__", "add_", "zeros", "neg"]
    assert y.shape == (2,) and "matmul" in log.names and log.names[-1] == "gt"
    torch.exp(x)
    assert log.names[-1] == "gt"  # it is left


def test_results_are_the_mode_s_and_gradients_flow():
    class Doubled(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            return 2 * result if func is torch.exp else result

    x = torch.zeros(2, requires_grad=True)
    with Doubled():
        torch.exp(x).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_the_inner_one_is_asked_first():
    outer, inner, x = Log(), Log(), torch.ones(2)
    with outer, inner:
        x + x
        with BaseTorchFunctionMode():
            x * x
    assert outer.names == inner.names == ["add", "mul"]


def test_what_fails_and_other_threads():
    class Fails(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise KeyError(func.__name__)

    x, other = torch.ones(2), []
    with Fails():
        with pytest.raises(KeyError, match="add"):
            x + 1
        thread = threading.Thread(target=lambda: other.append((x + 1).tolist()))
        thread.start()
        thread.join()
    assert other == [[2.0, 2.0]] and (x + 1).tolist() == [2.0, 2.0]
    with TorchFunctionMode(), pytest.raises(NotImplementedError, match="writes __torch_function__"):
        x + 1


def test_with_classes_of_one_s_own():
    class Mine(torch.Tensor):
        pass

    x = torch.ones(2).as_subclass(Mine)
    with Log() as log:
        assert type(x + 1) is Mine and type(torch.exp(x)) is Mine
    assert log.names == ["__add__", "exp"]

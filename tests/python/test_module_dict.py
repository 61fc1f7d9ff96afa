"""m.__dict__ of a module: parts, arguments and attributes by name, as PyTorch's modules have them."""
import copy
import inspect
import pickle

import pytest

import dyadic as torch
from dyadic import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.conv, self.norm = nn.Linear(2, 2), nn.Conv2d(1, 1, 3, padding="same"), nn.BatchNorm1d(2)
        self.scale, self.width, self.function = nn.Parameter(torch.ones(2)), 3, lambda x: x
        self.register_buffer("kept", torch.zeros(1))
        self.register_buffer("passing", torch.ones(1), persistent=False)
        self.register_parameter("absent", None)

    def __getstate__(self):
        return {key: v for key, v in self.__dict__.items() if key != "function"}

    def __setstate__(self, state):
        self.__dict__.update(state)


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, lambda m: pickle.loads(pickle.dumps(m))])
def test_states_by_hand(copied):
    model = Model().eval()
    made = copied(model)
    assert repr(made) == repr(model) and not made.training and made.width == 3 and made.absent is None
    assert not hasattr(made, "function") and hasattr(model, "function")
    assert list(made.state_dict()) == list(model.state_dict()) and made._non_persistent_buffers_set == {"passing"}
    assert (made.scale is model.scale) == (made.linear is model.linear) == (copied is copy.copy)
    x = torch.randn(3, 2)
    assert made.norm(made.linear(x)).equal(model.norm(model.linear(x)))


def test_what_it_has():
    model = Model()
    assert vars(model)["training"] is True and list(vars(model)["_modules"]) == ["linear", "conv", "norm"]
    assert list(model.__dict__["_parameters"]) == ["scale", "absent"] and "linear" not in model.__dict__ and vars(model.linear)["in_features"] == 2
    assert set(dir(model)) >= {"linear", "scale", "kept", "width", "forward"} and "0" not in dir(nn.Sequential(nn.ReLU()))
    with pytest.raises(KeyError):
        model.__dict__["linear"]
    model.__dict__["hidden"] = nn.Linear(1, 1)  # no part of the module
    assert model.hidden.in_features == 1 and "hidden" not in model._modules
    del model.__dict__["hidden"]
    assert not hasattr(model, "hidden")


def test_another_modules_dict():
    a, b = nn.Linear(2, 3), nn.Linear(5, 5)
    b.__dict__.update(a.__dict__)
    assert b.weight is a.weight and repr(b) == repr(a)
    c = nn.Conv2d.__new__(nn.Conv2d)
    c.__dict__ = nn.Conv2d(1, 2, 3, padding=1).__dict__.copy()
    assert c(torch.ones(1, 1, 3, 3)).shape == (1, 2, 3, 3) and c.padding == (1, 1)
    c._parameters = {}
    assert list(c.parameters()) == []


def test_a_copy_may_say_how_it_is_made():
    assert isinstance(pickle.loads(pickle.dumps(Reduced())), nn.ReLU)


class Reduced(nn.Module):
    def __reduce__(self):
        return nn.ReLU, ()


def test_signature_of_a_module():
    class Square(nn.Conv2d):
        def __init__(self, size):
            super().__init__(size, size, size)

    for module in (Model(), nn.Linear(1, 1), nn.Conv2d(1, 1, 1), nn.Sequential(), nn.LSTM(1, 1), Square(1)):
        assert str(inspect.signature(module)) == "(*args, **kwargs)"
    assert str(inspect.signature(Square)) == "(size)" and "kernel_size" in inspect.signature(nn.Conv2d).parameters

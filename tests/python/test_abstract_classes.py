"""Classes of modules, data and optimizers that are abstract or generic, too."""
import abc
import copy
import pickle
import typing

import pytest

import dyadic as torch
from dyadic import nn
from dyadic.utils import data


@pytest.mark.parametrize("base", [nn.Module, nn.Linear, data.Dataset, data.Sampler, torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler])
def test_beside_abc(base):
    class Abstract(base, abc.ABC):
        @abc.abstractmethod
        def needed(self):
            """What a derived class gives."""

    class Generic(base, typing.Generic[typing.TypeVar("T")]):
        pass

    assert Abstract.__abstractmethods__ == {"needed"} and issubclass(Abstract, base) and issubclass(Generic, base)


def test_instances():
    class Model(nn.Module, abc.ABC):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        @abc.abstractmethod
        def forward(self, x):
            """Of a derived class."""

    class Real(Model):
        def forward(self, x):
            return self.layer(x)

    assert isinstance(Real(), Model) and not isinstance(nn.Linear(1, 1), Model) and not isinstance(3, nn.Module)
    assert Real()(torch.ones(1, 2)).shape == (1, 2)


def test_nodes_have_classes_of_their_own():
    x = torch.ones(2, requires_grad=True)
    node = (x * 2).sum().grad_fn
    product = node.next_functions[0][0]
    assert [type(n).__name__ for n in (node, product, product.next_functions[0][0])] == ["SumBackward0", "MulBackward0", "AccumulateGrad"]
    assert product == node.next_functions[0][0] and product != node


def test_variables_are_tensors():
    from dyadic.autograd import Variable

    assert isinstance(torch.ones(1), Variable) and not isinstance(1, Variable) and Variable(torch.ones(1), requires_grad=True).requires_grad


def test_chained_iterables():
    class Two(data.IterableDataset):
        def __iter__(self):
            return iter([0, 1])

    assert list(Two() + Two()) == list(data.ChainDataset([Two(), Two()])) == [0, 1, 0, 1]


class Plain(nn.Module):
    def twice(self, x):
        return 2 * self(x)


class Other(nn.Module):
    """One more class of Python's."""


class Both(Plain, Other):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 3)

    def forward(self, x):
        return self.layer(x)


class Projection(Plain, nn.Linear):
    """The C++ class is the second base's."""


class Chain(Plain, nn.Sequential):
    """Here, too."""


class Chain2(nn.Sequential, Plain):
    """And here the first's."""


class Filter(Plain, nn.Conv2d):
    """A layer that is a record."""


@pytest.mark.parametrize(
    "made, shape",
    [
        (Both, (1, 2)),
        (lambda: Projection(2, 3), (1, 2)),
        (lambda: Chain(nn.Linear(2, 2), nn.ReLU()), (1, 2)),
        (lambda: Chain2(nn.Linear(2, 2), nn.ReLU()), (1, 2)),
        (lambda: Filter(1, 2, 3), (1, 1, 4, 4)),
    ],
)
def test_several_bases(made, shape):
    module, x = made(), torch.ones(shape)
    assert module.twice(x).equal(2 * module(x)) and isinstance(module, Plain)
    assert pickle.loads(pickle.dumps(module))(x).equal(module(x)) and copy.deepcopy(module)(x).equal(module(x))
    assert {id(p) for p in module.parameters()} and nn.Sequential(module).num_parameters() == module.num_parameters()


def test_several_bases_of_different_layers():
    with pytest.raises(TypeError):
        type("Neither", (nn.Linear, nn.Conv2d), {})


def test_several_bases_beyond_modules():
    class Named(data.Dataset):
        name = "squares"

    class Squares(data.Dataset):
        def __len__(self):
            return 3

        def __getitem__(self, i):
            return i * i

    class Both(Named, Squares):
        pass

    assert [batch.tolist() for batch in data.DataLoader(Both(), batch_size=3)] == [[0, 1, 4]] and Both.name == "squares"

    class Counted(torch.optim.Optimizer):
        calls = 0

    class CountedSGD(Counted, torch.optim.SGD):
        def step(self, closure=None):
            self.calls += 1
            return super().step(closure)

    p = nn.Parameter(torch.ones(2))
    optimizer = CountedSGD([p], lr=0.5)
    p.sum().backward()
    optimizer.step()
    assert p.tolist() == [0.5, 0.5] and optimizer.calls == 1

"""Classes of modules, data and optimizers that are abstract or generic, too."""
import abc
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

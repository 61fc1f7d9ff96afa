"""Names of PyTorch that are not here: they can be imported, and say what they are when they are used."""
import importlib

import pytest

import dyadic as torch
from dyadic._absent_names import ABSENT


def test_every_name_of_the_list_is_there_and_says_so():
    for place, (why, names) in ABSENT.items():
        module = importlib.import_module(f"dyadic.{place}") if place else torch
        for name in names.split():
            value = getattr(module, name)
            path = f"{place}.{name}".lstrip(".")
            assert callable(value), path
            with pytest.raises(NotImplementedError) as e:
                value(1, a=2)
            assert str(e.value) == f"{path}: it is not here: {why}"


def test_the_list_names_nothing_that_is_here():
    found = {}
    for place, (_, names) in ABSENT.items():
        module = importlib.import_module(f"dyadic.{place}") if place else torch
        real = [n for n in names.split() if "not here" not in (getattr(getattr(module, n), "__doc__", None) or "")]
        if real:
            found[place] = real
    assert not found


def test_they_serve_as_types():
    from dyadic.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
    from dyadic.fx import Tracer, wrap

    class Own(Tracer):
        def __init__(self, strategy=ShardingStrategy.FULL_SHARD):
            self.strategy = strategy

    assert not isinstance(torch.nn.Linear(1, 1), FullyShardedDataParallel) and issubclass(Own, Tracer)
    assert repr(Own().strategy) == "ShardingStrategy.FULL_SHARD" and Own().strategy is ShardingStrategy.FULL_SHARD
    assert wrap(len) is len and torch.onnx.is_in_onnx_export() is False
    with pytest.raises(AttributeError, match="'Tracer' has no attribute 'lower'"):
        Tracer.lower
    with pytest.raises(AttributeError, match="module 'dyadic.fx' has no attribute 'nothing'"):
        torch.fx.nothing
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("dyadic.fx.nowhere")
    with pytest.raises(ImportError):
        from dyadic.fx import nothing  # noqa: F401

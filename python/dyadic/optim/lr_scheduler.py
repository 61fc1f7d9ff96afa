"""Schedules of learning rates, by PyTorch's names; those that are records of the C++ library are made from them."""
from .._dyadic import (
    ChainedScheduler,
    LRScheduler,
    ReduceLROnPlateau,
    SequentialLR,
    _LRScheduler,
    _scheduler_records,
)
from .._records import signature as _signature


def _make(record):
    name, parameters = record["name"], record["parameters"]
    signature = _signature(["optimizer"], parameters)
    functions = [p for p, kind, _, _ in parameters if kind == "function"]

    def __init__(self, *args, **kwargs):
        given = dict(signature.bind(*args, **kwargs).arguments)
        optimizer, factors = given.pop("optimizer"), []
        for p in functions:
            f = given.pop(p, None)
            factors = list(f) if isinstance(f, (list, tuple)) else [] if f is None else [f]
        _LRScheduler.__init__(self, name, optimizer, given, factors)
        self.optimizer = optimizer

    made = type(
        name,
        (_LRScheduler,),
        {"__init__": __init__, "__doc__": record["doc"] + "\n\n" + record["signature"], "__module__": __name__},
    )
    made.__signature__ = signature
    return made


_classes = {record["name"]: _make(record) for record in _scheduler_records()}
globals().update(_classes)

__all__ = [*_classes, "ChainedScheduler", "LRScheduler", "ReduceLROnPlateau", "SequentialLR"]

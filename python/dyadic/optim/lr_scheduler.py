"""Schedules of learning rates, by PyTorch's names; those that are records of the C++ library are made from them."""
import weakref

from .._dyadic import (
    ChainedScheduler,
    ReduceLROnPlateau,
    SequentialLR,
    _LRScheduler,
    _scheduler_records,
)
from .._records import signature as _signature


class LRScheduler(_LRScheduler):
    """Base of the schedules that are records. One of your own writes get_lr(): the rates of all groups at self.last_epoch, from
    self.base_lrs or from what the groups have."""

    _record = None

    def __init__(self, optimizer, last_epoch=-1):
        self.optimizer, self._began = optimizer, False
        me, groups = weakref.ref(self), len(optimizer.param_groups)
        _LRScheduler.__init__(
            self, "FunctionLR", optimizer, {"last_epoch": last_epoch}, [lambda _, i=i: me()._rate(i) for i in range(groups)]
        )
        self._began = True
        self._set_rates()

    def get_lr(self):
        raise NotImplementedError(f"{type(self).__name__}: get_lr() is missing: it gives the rates of all groups")

    def _rate(self, i):
        if not self._began:  # C++ has not made it yet
            return self.optimizer.param_groups[i]["lr"]
        if i == 0:
            self._rates = [float(rate) for rate in self.get_lr()]
        return self._rates[i]

    def state_dict(self):
        """Numbers by name; of a class of your own its attributes, too."""
        state = super().state_dict()
        if self._record is None:
            own = ("optimizer", "_began", "_rates")
            state["attributes"] = {key: v for key, v in self.__dict__.items() if key not in own and not callable(v)}
        return state

    def load_state_dict(self, state_dict):
        state = dict(state_dict)
        self.__dict__.update(state.pop("attributes", {}))
        super().load_state_dict(state)


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
        (LRScheduler,),
        {"_record": name, "__init__": __init__, "__doc__": record["doc"] + "\n\n" + record["signature"], "__module__": __name__},
    )
    made.__signature__ = signature
    return made


_classes = {record["name"]: _make(record) for record in _scheduler_records()}
globals().update(_classes)

__all__ = [*_classes, "ChainedScheduler", "LRScheduler", "ReduceLROnPlateau", "SequentialLR"]

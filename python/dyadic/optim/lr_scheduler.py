"""Schedules of learning rates, by PyTorch's names; those that are records of the C++ library are made from them."""
import weakref

from .._dyadic import _Schedule, _scheduler_records
from .._records import signature as _signature


class LRScheduler(_Schedule):
    """Base of all schedules. One of your own writes get_lr(): the rates of all groups at self.last_epoch, from self.base_lrs or from
    what the groups have."""

    _record = None  # its kind, if the library has it

    def __init__(self, optimizer, last_epoch=-1):
        super().__init__()
        self.optimizer, self._began = optimizer, False
        me, groups = weakref.ref(self), len(optimizer.param_groups)
        self._make("FunctionLR", optimizer, {"last_epoch": last_epoch}, [lambda _, i=i: me()._rate(i) for i in range(groups)])
        self._began = True
        self._set_rates()

    def get_lr(self):
        """Yours to write: the rates of all groups at last_epoch."""
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

    def _differences(self, saved):
        """For Checkpoint: a schedule is known by the names in its state."""
        there, here = (", ".join(sorted(state)) for state in (saved, self.state_dict()))
        return [] if there == here else [("the schedule", f"one of {there}", f"one of {here}")]

    def load_state_dict(self, state_dict):
        state = dict(state_dict)
        self.__dict__.update(state.pop("attributes", {}))
        super().load_state_dict(state)


_LRScheduler = LRScheduler  # its older name


class SequentialLR(LRScheduler):
    """One schedule after another, from milestone to milestone."""

    _record = "SequentialLR"

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        _Schedule.__init__(self)
        self.optimizer, self._schedulers = optimizer, list(schedulers)
        self._make_sequence(optimizer, self._schedulers, list(milestones))


class ChainedScheduler(LRScheduler):
    """Several schedules at once: their factors multiply."""

    _record = "ChainedScheduler"

    def __init__(self, schedulers, optimizer=None):
        _Schedule.__init__(self)
        self._schedulers = list(schedulers)
        self._make_chain(self._schedulers)
        self.optimizer = self._schedulers[0].optimizer


class ReduceLROnPlateau(LRScheduler):
    """Lowers the rates by factor when a metric has not improved for more than patience steps."""

    _record = "ReduceLROnPlateau"

    def __init__(
        self,
        optimizer,
        mode="min",
        factor=0.1,
        patience=10,
        threshold=1e-4,
        threshold_mode="rel",
        cooldown=0,
        min_lr=0,
        eps=1e-8,
    ):
        _Schedule.__init__(self)
        floors = [float(v) for v in (min_lr if isinstance(min_lr, (list, tuple)) else [min_lr])]
        self._make_plateau(optimizer, mode, factor, patience, threshold, threshold_mode, cooldown, floors, eps)
        self.optimizer, self.mode, self.factor, self.patience, self.eps = optimizer, mode, factor, patience, eps
        self.threshold, self.threshold_mode, self.cooldown = threshold, threshold_mode, cooldown

    def step(self, metrics):
        """The next learning rates, after a validation that gave this metric."""
        self._step(float(metrics))

    def _number(name, kind, doc):
        return property(lambda self: kind(self.state_dict()[name][0]), doc=doc)

    best = _number("best", float, "The best metric so far.")
    num_bad_epochs = _number("num_bad_epochs", int, "How many steps have not been better.")
    cooldown_counter = _number("cooldown_counter", int, "For how many more steps none counts as bad.")
    del _number


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
        _Schedule.__init__(self)
        self._make(name, optimizer, given, factors)
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

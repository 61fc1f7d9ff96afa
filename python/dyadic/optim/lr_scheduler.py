"""Schedules of learning rates, by PyTorch's names; those that are records of the C++ library are made from them."""
import collections
import functools
import weakref

from .._dyadic import _Schedule, _scheduler_records
from .._numbers import number
from .._records import ClassSignature
from .._records import signature as _signature
from .._ignored import ignored as _ignored


class LRScheduler(_Schedule):
    """Base of all schedules. One of your own writes get_lr(): the rates of all groups at self.last_epoch, from self.base_lrs or from
    what the groups have."""

    _record = None  # its kind, if the library has it

    def __new__(cls, *args, **kwargs):
        self = super().__new__(cls)
        _Schedule.__init__(self)
        return self

    def __init__(self, optimizer, last_epoch=-1):
        self.optimizer = optimizer
        self._begin(last_epoch)
        self._set_rates()

    def _begin(self, last_epoch=-1):
        """Makes what C++ has of it."""
        self._began = False
        me, groups, rates = weakref.ref(self), len(self.optimizer.param_groups), []
        rate = [lambda _, i=i: me()._rate(i, rates) for i in range(groups)]
        self._make("FunctionLR", self.optimizer._part, {"last_epoch": last_epoch}, rate)
        self._began = True

    def __getstate__(self):
        return {**self.__dict__, "_native": _Schedule.state_dict(self)}

    def __setstate__(self, state):
        """Goes on from where the one that was copied or pickled is; the optimizer stays as it is."""
        state = dict(state)
        native = state.pop("_native")
        self.__dict__.update(state)
        before = [(group, dict(group)) for group in self.optimizer.param_groups]
        self._begin()
        _Schedule.load_state_dict(self, native)
        for group, values in before:
            group.clear()
            group.update(values)

    def get_lr(self):
        """Yours to write: the rates of all groups at last_epoch."""
        raise NotImplementedError(f"{type(self).__name__}: get_lr() is missing: it gives the rates of all groups")

    def _rate(self, i, rates):
        if not self._began:  # C++ has not made it yet
            return self.optimizer.param_groups[i]["lr"]
        if i == 0:
            rates[:] = [float(rate) for rate in self.get_lr()]
        return rates[i]

    def __getattr__(self, name):  # which a class of your own may set
        if name == "_step_count":
            return self.last_epoch + 1
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def state_dict(self):
        """What it goes on from, by PyTorch's names; of a class of your own its attributes, too."""
        native = super().state_dict()
        counts = {"_step_count": self.last_epoch + 1, "_is_initial": False, "_get_lr_called_within_step": False}
        state = {**self._shown(native), "base_lrs": native.get("base_lrs", []), "last_epoch": self.last_epoch, **counts}
        return {**state, "_last_lr": native["last_lr"]}

    def _shown(self, native):
        return {key: v for key, v in self.__dict__.items() if key not in ("optimizer", "_began") and not callable(v)}

    def _native(self, state):
        """The lists of numbers that C++ has, from state_dict(), PyTorch's or ours; an earlier version's are these already."""
        if "_last_lr" not in state:
            return {key: v for key, v in state.items() if key != "attributes"}
        own = {key: v for key, v in state.items() if key not in (*_COMMON, "optimizer")}
        rates = {key.lstrip("_"): [float(rate) for rate in state[key]] for key in ("base_lrs", "_last_lr") if key in state}
        return {"last_epoch": [state["last_epoch"]], **rates, **self._numbers(own)}

    def _numbers(self, state):
        self.__dict__.update(state)
        return {}

    def _differences(self, saved):
        """For Checkpoint: a schedule is known by the names in its state."""
        mine = self.state_dict() if "_last_lr" in saved else super().state_dict()
        there, here = (", ".join(sorted(set(state) - {"attributes"})) for state in (saved, mine))
        return [] if there == here else [("the schedule", f"one of {there}", f"one of {here}")]

    def load_state_dict(self, state_dict):
        """Goes on from what state_dict() gave, PyTorch's too."""
        self.__dict__.update(state_dict.get("attributes", {}))
        super().load_state_dict(self._native(state_dict))


_COMMON = ("base_lrs", "last_epoch", "_step_count", "_is_initial", "_get_lr_called_within_step", "_last_lr")


def _joined(schedulers, states):
    """States of several schedules as C++ has them: 0.last_epoch, 1.last_epoch ..."""
    return {f"{i}.{key}": v for i, (s, state) in enumerate(zip(schedulers, states)) for key, v in s._native(state).items()}


_LRScheduler = LRScheduler  # its older name


class SequentialLR(LRScheduler):
    """One schedule after another, from milestone to milestone."""

    _record = "SequentialLR"

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        if last_epoch != -1:
            raise ValueError(f"SequentialLR: last_epoch is {last_epoch}: it begins anew; resume with load_state_dict()")
        self.optimizer, self._schedulers = optimizer, list(schedulers)
        self._milestones = list(milestones)
        self._begin()

    def _begin(self):
        self._make_sequence(self.optimizer._part, self._schedulers, self._milestones)

    def state_dict(self):
        """PyTorch's: the states of all schedules."""
        common = {"_milestones": self._milestones, "last_epoch": self.last_epoch, "_last_lr": self.get_last_lr()}
        return {**common, "_schedulers": [s.state_dict() for s in self._schedulers]}

    def _numbers(self, state):
        return _joined(self._schedulers, state["_schedulers"])


class ChainedScheduler(LRScheduler):
    """Several schedules at once: their factors multiply."""

    _record = "ChainedScheduler"

    def __init__(self, schedulers, optimizer=None):
        self._schedulers = list(schedulers)
        known = [s for s in self._schedulers if isinstance(s, LRScheduler)]  # what is none is refused below
        for i, s in enumerate(known):
            if s.optimizer is not (optimizer or known[0].optimizer):
                raise ValueError(f"ChainedScheduler: all schedules change one optimizer: that of schedulers[{i}] is another")
        self._begin()
        self.optimizer = self._schedulers[0].optimizer

    def _begin(self):
        self._make_chain(self._schedulers)

    def state_dict(self):
        """PyTorch's: the states of all schedules."""
        return {"_last_lr": self.get_last_lr(), "_schedulers": [s.state_dict() for s in self._schedulers]}

    def _native(self, state):
        first = {"last_epoch": state["_schedulers"][0]["last_epoch"]} if "_schedulers" in state else {}
        return super()._native({**first, **state})

    def _numbers(self, state):
        return _joined(self._schedulers, state["_schedulers"])


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
        self.optimizer, self.mode, self.factor, self.patience, self.eps = optimizer, mode, factor, patience, eps
        self.threshold, self.threshold_mode, self.cooldown = threshold, threshold_mode, cooldown
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * len(optimizer.param_groups)
        self._begin()

    def _begin(self):
        floors = [float(v) for v in self.min_lrs]
        options = (self.mode, self.factor, self.patience, self.threshold, self.threshold_mode, self.cooldown)
        self._make_plateau(self.optimizer._part, *options, floors, self.eps)

    @_ignored("epoch", why="steps are counted", warn=True)
    def step(self, metrics, epoch=None):
        """The next learning rates, after a validation that gave this metric."""
        self._step(number(metrics))

    def state_dict(self):
        """PyTorch's names and numbers."""
        native = _Schedule.state_dict(self)
        found = {name: int(native[name][0]) for name in ("cooldown_counter", "num_bad_epochs")}
        found |= {"last_epoch": self.last_epoch, "_last_lr": native["last_lr"], "best": native["best"][0]}
        worst = float("-inf" if self.mode == "max" else "inf")
        return {**{key: getattr(self, key) for key in _PLATEAU}, "mode_worse": worst, **found}

    def _numbers(self, state):
        for key in _PLATEAU:
            setattr(self, key, state.get(key, getattr(self, key)))
        self._begin()
        return {key: [float(state[key])] for key in ("best", "cooldown_counter", "num_bad_epochs")}

    def _number(name, kind, doc):
        def write(self, value):
            _Schedule.load_state_dict(self, {**_Schedule.state_dict(self), name: [float(value)]})

        return property(lambda self: kind(_Schedule.state_dict(self)[name][0]), write, doc=doc)

    best = _number("best", float, "The best metric so far.")
    num_bad_epochs = _number("num_bad_epochs", int, "How many steps have not been better.")
    cooldown_counter = _number("cooldown_counter", int, "For how many more steps none counts as bad.")
    del _number


_PLATEAU = ("factor", "default_min_lr", "min_lrs", "patience", "cooldown", "eps", "mode", "threshold", "threshold_mode")


def _counter(values):
    return collections.Counter(int(v) for v in values)


def _cycle_shown(options):
    up, many = options["step_size_up"], len(options["base_lr"])
    down = up if options["step_size_down"] is None else options["step_size_down"]
    momenta = {f"{which}_momentums": [options[f"{which}_momentum"]] * many for which in ("base", "max")}
    sizes = {"total_size": float(up + down), "step_ratio": up / (up + down)}
    return {"max_lrs": options["max_lr"], **sizes, **momenta, "_scale_fn_custom": None}


def _cycle_read(state):
    up = state["total_size"] * state["step_ratio"]
    given = [which for which in ("base", "max") if f"{which}_momentums" in state]
    momenta = {f"{which}_momentum": state[f"{which}_momentums"][0] for which in given}
    return {"step_size_up": up, "step_size_down": state["total_size"] - up, "max_lr": state["max_lrs"], **momenta}


def _milestones_read(state):
    counts = state.get("milestones")
    return {} if counts is None else {"milestones": list(collections.Counter(counts).elements())}


def _one_cycle_read(state):
    phases, total = state.get("_schedule_phases", ()), state["total_steps"]
    return {"pct_start": (phases[0]["end_step"] + 1) / total, "three_phase": len(phases) == 3} if phases else {}


# Where PyTorch's attributes are not the arguments: what the state shows beside these, and arguments from PyTorch's state.
_SHOWN = {
    "MultiStepLR": lambda o: {"milestones": dict(_counter(o["milestones"]))},  # plain data, which every file holds
    "CyclicLR": _cycle_shown,
    "OneCycleLR": lambda o: {"_anneal_func_type": o["anneal_strategy"]},
    "SWALR": lambda o: {"_anneal_strategy": o["anneal_strategy"]},
}
_READ = {
    "MultiStepLR": _milestones_read,
    "CyclicLR": lambda state: _cycle_read(state) if "total_size" in state and "step_size_up" not in state else {},
    "OneCycleLR": lambda state: _one_cycle_read(state) if "pct_start" not in state else {},
}


def _value(kind, numbers):
    """An option as Python has it, of the numbers that C++ has."""
    kind = kind.removesuffix("?")
    if kind == "float[]":
        return list(numbers)
    return {"int": int, "bool": bool}.get(kind, float)(numbers[0])


def _option(name, kind):
    def read(self):
        if kind.startswith("str"):
            return self._options[name]
        value = _value(kind, _Schedule.state_dict(self)[f"option.{name}"])
        return _counter(value) if name == "milestones" else value

    def write(self, value):
        numbers = value if isinstance(value, (list, tuple)) else [value]
        _Schedule.load_state_dict(self, {**_Schedule.state_dict(self), f"option.{name}": [float(v) for v in numbers]})

    return property(read, None if kind.startswith("str") else write, doc=f"The argument {name}.")


def _whole(number):
    return int(number) if number == int(number) else number


def _make(record):
    name, parameters = record["name"], record["parameters"]
    signature = functools.cache(lambda: _signature(["optimizer"], parameters))
    functions = [p for p, kind, _, _ in parameters if kind.startswith("function")]
    options = {p: kind for p, kind, _, _ in parameters if p not in functions and p != "last_epoch"}

    def __init__(self, *args, **kwargs):
        bound = signature().bind(*args, **kwargs)
        given = dict(bound.arguments)
        self.optimizer, self._functions = given.pop("optimizer"), []
        for p in functions:
            f = given.pop(p, None)
            self._functions = list(f) if isinstance(f, (list, tuple)) else [] if f is None else [f]
            if p == "lr_lambda":
                one = len(self._functions) == 1
                self.lr_lambdas = self._functions * len(self.optimizer.param_groups) if one else self._functions
        self._make(name, self.optimizer._part, given, self._functions)
        bound.apply_defaults()
        self._options = {p: bound.arguments[p] for p in options}

    def _begin(self):
        self._make(name, self.optimizer._part, {p: v for p, v in self._options.items() if v is not None}, self._functions)

    def _shown(self, native):
        known = {p: self._options[p] for p in options}
        known |= {p: _value(kind, native[f"option.{p}"]) for p, kind in options.items() if f"option.{p}" in native}
        lambdas = {f"{p}s": [None] * len(self.optimizer.param_groups) for p in functions if p == "lr_lambda"}
        common = ("base_lrs", "last_epoch", "last_lr")
        counted = {key: _whole(v[0]) for key, v in native.items() if key not in common and "." not in key}
        return {**known, **_SHOWN.get(name, lambda o: {})(known), **lambdas, **counted}

    def _numbers(self, state):
        state = {**state, **_READ.get(name, lambda state: {})(state)}
        native = {}
        for p, kind in options.items():
            if p in state and state[p] is not None and not kind.startswith("str"):
                native[f"option.{p}"] = [float(v) for v in (state[p] if isinstance(state[p], (list, tuple)) else [state[p]])]
        here = _Schedule.state_dict(self)
        return {**native, **{key: [float(v)] for key, v in state.items() if key in here and key not in native}}

    def get_lr(self):
        """The rates of all groups at last_epoch, from those they have."""
        return self._get_lr()

    body = {"_record": name, "__init__": __init__, "_begin": _begin, "get_lr": get_lr, "_shown": _shown, "_numbers": _numbers}
    body |= {"__doc__": record["doc"] + "\n\n" + record["signature"], "__module__": __name__}
    body |= {p: _option(p, kind) for p, kind in options.items() if not kind.endswith("?")}
    made = type(name, (LRScheduler,), body)
    made.__signature__ = ClassSignature(made, signature)
    return made


_classes = {record["name"]: _make(record) for record in _scheduler_records()}
globals().update(_classes)

__all__ = [*_classes, "ChainedScheduler", "LRScheduler", "ReduceLROnPlateau", "SequentialLR"]

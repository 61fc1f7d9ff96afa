"""Optimizer: the base of all, those written in Python included."""
import collections
import functools
import warnings
from collections.abc import MutableMapping

from .. import _dyadic
from .._dyadic import ParamGroup, Tensor
from .._handle import RemovableHandle

for _name in ("get", "items", "values", "update", "setdefault", "pop"):
    setattr(ParamGroup, _name, getattr(MutableMapping, _name))


def _hooked(step):
    """step with the optimizer's hooks around it; of a class written in Python it counts."""

    @functools.wraps(step)
    def run(self, *args, **kwargs):
        outer, self._inside = self._inside, True
        if outer:  # super().step()
            return step(self, *args, **kwargs)
        try:
            for hook in list(self._step_pre_hooks.values()):
                args, kwargs = hook(self, args, kwargs) or (args, kwargs)
            result = step(self, *args, **kwargs)
            if self._record is None:
                self._count_step()
            for hook in list(self._step_post_hooks.values()):
                hook(self, args, kwargs)
            return result
        finally:
            self._inside = False

    return run


def _looks_like(key, options):
    """The option that a key seems to misspell."""
    import difflib

    near = difflib.get_close_matches(key, options, 1, 0.8)
    return near[0] if near else None


@functools.cache
def _options_of_all():
    return {p[0] for record in _dyadic._optimizer_records() for p in record["parameters"]}


def _each_once(params):
    """Tied weights that come from two modules are one parameter."""
    once = list({id(p): p for p in params}.values())
    if len(once) < len(params):
        warnings.warn("Optimizer: a parameter group names a parameter twice; it is updated once", stacklevel=4)
    return once


class Optimizer(_dyadic.Optimizer):
    """Base of the optimizers. One of your own calls super().__init__(params, defaults) and writes step(), which finds its parameters and
    options in param_groups and keeps what it likes in state[parameter]."""

    _record = None  # the C++ record's name
    _options = ("lr",)  # that the record has

    def __init__(self, params, defaults):
        self._defaults = dict(defaults)
        self.state = collections.defaultdict(dict)
        self._begin("Optimizer", params, {"lr": defaults["lr"]} if "lr" in defaults else {}, ())

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _hooked(cls.__dict__["step"])

    def _begin(self, name, params, given, keep32):
        self._step_pre_hooks, self._step_post_hooks, self._inside = {}, {}, False
        self._extras, self._keep32 = [], list(keep32)
        if not isinstance(params, Tensor):
            params = list(params)
            if all(isinstance(g, dict) for g in params):
                params = [self._split(g) for g in params]
            else:
                params = _each_once(params)
        if not self._extras:
            self._extras.append({})
        _dyadic.Optimizer.__init__(self, name, params, given, self._keep32)
        self._hold()

    def _split(self, group):
        """The group with what C++ knows; the rest becomes its extras."""
        known = {"params", "names", "initial_lr", *self._options}
        extras = {key: v for key, v in group.items() if key not in known}
        for key in extras if self._record else ():
            meant = _looks_like(key, self._options)
            if meant or key in _options_of_all():
                means = f"did you mean {meant}?" if meant else f"there are {', '.join(self._options)}"
                raise ValueError(f"{self._record}: an unknown option: {key}; {means}")
        self._extras.append(extras)
        group = {key: v for key, v in group.items() if key in known}
        if "params" in group and not isinstance(group["params"], Tensor):
            group["params"] = _each_once(list(group["params"]))
        return group

    def _hold(self):
        """Keeps the parameters' Python objects, by which `state` knows them, and completes the groups."""
        self._held = [g["params"] for g in self.param_groups]
        if self._record is None:
            for group in self.param_groups:
                for key, value in self._defaults.items():
                    group.setdefault(key, value)

    def add_param_group(self, param_group):
        """One more group of parameters, with options of its own."""
        count = len(self._extras)
        try:
            super().add_param_group(self._split(param_group))
        except Exception:
            del self._extras[count:]
            raise
        self._hold()

    @property
    def defaults(self):
        """The options that a group has unless it is given others."""
        return dict(self._defaults)

    step = _hooked(_dyadic.Optimizer.step)

    def register_step_pre_hook(self, hook):
        """hook(optimizer, args, kwargs) runs before step(); what it returns, unless None, replaces args and kwargs."""
        handle = RemovableHandle(self._step_pre_hooks)
        self._step_pre_hooks[handle.id] = hook
        return handle

    def register_step_post_hook(self, hook):
        """hook(optimizer, args, kwargs) runs after step()."""
        handle = RemovableHandle(self._step_post_hooks)
        self._step_post_hooks[handle.id] = hook
        return handle

    def state_dict(self):
        """"state" and "param_groups"; loading takes the groups' options over, but not their parameters."""
        if self._record:
            return super().state_dict()
        places = {p: i for i, p in enumerate(p for group in self._held for p in group)}
        groups, at = [], 0
        for group, held in zip(self.param_groups, self._held):
            groups.append({**{key: v for key, v in group.items() if key not in ("params", "names")}, "params": list(range(at, at + len(held)))})
            at += len(held)
        return {"state": {places.get(p, p): s for p, s in self.state.items()}, "param_groups": groups}

    def load_state_dict(self, state_dict):
        """Goes on from what state_dict() gave."""
        if self._record:
            return super().load_state_dict(state_dict)
        groups = state_dict["param_groups"]
        if [len(g["params"]) for g in groups] != [len(held) for held in self._held]:
            raise ValueError(
                f"{type(self).__name__}: the saved groups have {[len(g['params']) for g in groups]} parameters, those here "
                f"{[len(held) for held in self._held]}; is it the same model?"
            )
        by_place = dict(zip([i for g in groups for i in g["params"]], [p for held in self._held for p in held]))
        self.state = collections.defaultdict(dict)
        for place, saved in state_dict["state"].items():
            self.state[by_place.get(place, place)] = {key: _like(v, by_place.get(place), key) for key, v in saved.items()}
        for group, saved in zip(self.param_groups, groups):
            group.update({key: v for key, v in saved.items() if key != "params"})

    def __getstate__(self):
        skip = ("_held", "state", "_inside")
        groups = [dict(g.items(), params=list(zip(g["names"], g["params"]))) for g in self.param_groups]
        return {
            "record": self._record or "Optimizer",
            "groups": [{k: v for k, v in g.items() if k not in e} for g, e in zip(groups, self._extras)],
            "attributes": {key: v for key, v in self.__dict__.items() if key not in skip},
            "saved": self.state_dict(),
        }

    def __setstate__(self, state):
        self.__dict__.update(state["attributes"], _inside=False)
        _dyadic.Optimizer.__init__(self, state["record"], state["groups"], {}, self._keep32)
        self._hold()
        self.load_state_dict(state["saved"])

    def __reduce_ex__(self, protocol):
        import copyreg

        return copyreg.__newobj__, (type(self),), self.__getstate__()

    def __repr__(self):
        text = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key not in ("params", "names"))
        return text + ")"


def _like(value, parameter, key):
    if not isinstance(value, Tensor):
        return value
    cast = key != "step" and parameter is not None and value.dtype.is_floating_point and parameter.dtype.is_floating_point
    return value.to(parameter.dtype).clone() if cast else value.clone()

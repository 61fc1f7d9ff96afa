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
            for hook in list(self._hooks_of("step_pre").values()):
                args, kwargs = hook(self, args, kwargs) or (args, kwargs)
            result = step(self, *args, **kwargs)
            if self._record is None:
                self._count_step()
            for hook in list(self._hooks_of("step_post").values()):
                hook(self, args, kwargs)
            return result
        finally:
            self._inside = False

    return run


def _register(optimizer, name, hook, prepend=False):
    hooks = optimizer._hooks_of(name)
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _or(replaced, value):
    return value if replaced is None else replaced


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


def _names_given(params):
    """The names of (name, tensor) pairs, if these are some."""
    pairs = not isinstance(params, Tensor) and bool(params) and all(isinstance(p, tuple) and len(p) == 2 for p in params)
    return {"param_names": [name for name, _ in params]} if pairs else {}


class Optimizer(_dyadic.Optimizer):
    """Base of the optimizers. One of your own calls super().__init__(params, defaults) and writes step(), which finds its parameters and
    options in param_groups and keeps what it likes in state[parameter]."""

    _record = None  # the C++ record's name
    _options = ("lr",)  # that the record has
    _choices = {}  # PyTorch's choices of an implementation, which groups show; there is one here

    def __init__(self, params, defaults):
        self._defaults = dict(defaults)
        self.state = collections.defaultdict(dict)
        self._begin("Optimizer", params, {"lr": defaults["lr"]} if "lr" in defaults else {}, ())

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _hooked(cls.__dict__["step"])

    def _begin(self, name, params, given, keep32):
        self._hooks, self._inside = {}, False
        self._extras, self._keep32 = [], list(keep32)
        if not isinstance(params, Tensor):
            params = list(params)
            if all(isinstance(g, dict) for g in params):
                params = [self._split(g) for g in params]
            else:
                params = _each_once(params)
        if not self._extras:
            self._extras.append(_names_given(params))
        _dyadic.Optimizer.__init__(self, name, params, given, self._keep32)
        self._hold()

    def _split(self, group):
        """The group with what C++ knows; the rest becomes its extras."""
        known = {"params", "names", "initial_lr", *self._options}
        if "params" in group and not isinstance(group["params"], Tensor):
            group = {**group, "params": _each_once(list(group["params"]))}
        extras = {key: v for key, v in group.items() if key not in known} | _names_given(group.get("params", ()))
        for key in extras if self._record else ():
            meant = _looks_like(key, self._options)
            if meant or key in _options_of_all():
                means = f"did you mean {meant}?" if meant else f"there are {', '.join(self._options)}"
                raise ValueError(f"{self._record}: an unknown option: {key}; {means}")
        self._extras.append(extras)
        return {key: v for key, v in group.items() if key in known}

    def _hold(self):
        """Keeps the parameters' Python objects, by which `state` knows them, their names, and completes the groups."""
        self._held = [g["params"] for g in self.param_groups]
        self._names = {p: n for g, held in zip(self.param_groups, self._held) for p, n in zip(held, g["names"])}
        if self._record == "LBFGS":  # which has one memory for all
            self._names = {next(iter(self._names)): ""}
        for extras in self._extras:
            extras.update({key: v for key, v in self._choices.items() if key not in extras})
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
        return {**self._defaults, **self._choices}

    step = _hooked(_dyadic.Optimizer.step)

    def _hooks_of(self, name):
        return self._hooks.setdefault(name, collections.OrderedDict())

    def register_step_pre_hook(self, hook):
        """hook(optimizer, args, kwargs) runs before step(); what it returns, unless None, replaces args and kwargs."""
        return _register(self, "step_pre", hook)

    def register_step_post_hook(self, hook):
        """hook(optimizer, args, kwargs) runs after step()."""
        return _register(self, "step_post", hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """hook(optimizer) runs before state_dict()."""
        return _register(self, "state_dict_pre", hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """hook(optimizer, state_dict) runs after state_dict(); what it returns, unless None, takes the place of the result."""
        return _register(self, "state_dict_post", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """hook(optimizer, state_dict) runs before load_state_dict(); what it returns, unless None, is loaded in its place."""
        return _register(self, "load_pre", hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """hook(optimizer) runs after load_state_dict()."""
        return _register(self, "load_post", hook, prepend)

    def state_dict(self):
        """"state", by the parameters' numbers, and "param_groups", whose "params" are these numbers: PyTorch's form."""
        for hook in list(self._hooks_of("state_dict_pre").values()):
            hook(self)
        state = self._pack()
        for hook in list(self._hooks_of("state_dict_post").values()):
            state = _or(hook(self, state), state)
        return state

    def _pack(self):
        places = {p: i for i, p in enumerate(p for group in self._held for p in group)}
        groups, at = [], 0
        for group, held in zip(self.param_groups, self._held):
            one = {key: v for key, v in group.items() if key not in ("params", "names")}
            groups.append({**one, "params": list(range(at, at + len(held)))})
            at += len(held)
        if self._record:
            groups[0]["steps"] = self.steps  # beside PyTorch's: of those that keep no "step" by parameter
        kept = {places.get(p, p): dict(s) if isinstance(s, dict) else s for p, s in self.state.items()}
        return {"state": kept, "param_groups": groups}

    def load_state_dict(self, state_dict):
        """Goes on from what state_dict() gave, PyTorch's too. Options of groups are taken over, the parameters stay."""
        state_dict = dict(state_dict)
        for hook in list(self._hooks_of("load_pre").values()):
            state_dict = _or(hook(self, state_dict), state_dict)
        self._unpack(state_dict)
        for hook in list(self._hooks_of("load_post").values()):
            hook(self)

    def _unpack(self, state_dict):
        if self._record and "step" in state_dict:
            self._load_flat_state(state_dict)  # of a file that an earlier version wrote
            return
        groups, name = state_dict["param_groups"], type(self).__name__
        by_place = self._places(groups)
        state = collections.defaultdict(dict)
        for place, saved in state_dict["state"].items():
            if self._record and place not in by_place:
                raise ValueError(f"{name}: the saved state {place} belongs to no parameter here; is it the same model?")
            like = None if self._record else by_place.get(place)
            state[by_place.get(place, place)] = {key: _like(v, like, key) for key, v in saved.items()}
        self.state = state
        for group, saved in zip(self.param_groups, groups):
            group.update({key: v for key, v in saved.items() if key not in ("params", "param_names", "names", "steps")})
        if self._record:
            taken = [int(s[key]) for s in state.values() for key in ("step", "n_iter") if key in s]
            self._set_steps(groups[0].get("steps", max(taken, default=int(bool(state)))))

    def _places(self, groups):
        """The parameters by the numbers of saved groups: by names where both have them, else in order."""
        here, there = [len(held) for held in self._held], [len(g["params"]) for g in groups]
        named = [g.get("param_names") for g in groups]
        mine = [g.get("param_names") for g in self.param_groups]
        saved, own = ({n for names in all_ for n in names or ()} for all_ in (named, mine))
        if all(named) and all(mine) and saved != own or there != here:
            missing, strange = ", ".join(sorted(own - saved)), ", ".join(sorted(saved - own))
            which = f"groups of {there} there, of {here} here"
            if missing or strange:
                which = f"not saved [{missing}], not here [{strange}]"
            raise ValueError(f"{type(self).__name__}: the saved state is of other parameters: {which}; is it the same model?")
        by_place = {}
        for held, names, group, given in zip(self._held, mine, groups, named):
            order = [names.index(n) for n in given] if names and given and set(names) == set(given) else range(len(held))
            by_place.update(zip(group["params"], (held[i] for i in order)))
        return by_place

    def __getstate__(self):
        skip = ("_held", "_names", "state", "_inside", "_hooks")
        groups = [dict(g.items(), params=list(zip(g["names"], g["params"]))) for g in self.param_groups]
        return {
            "record": self._record or "Optimizer",
            "groups": [{k: v for k, v in g.items() if k not in e} for g, e in zip(groups, self._extras)],
            "attributes": {key: v for key, v in self.__dict__.items() if key not in skip},
            "saved": self._pack(),
        }

    def __setstate__(self, state):
        self.__dict__.update(state["attributes"], _inside=False, _hooks={})
        _dyadic.Optimizer.__init__(self, state["record"], state["groups"], {}, self._keep32)
        self._hold()
        self._unpack(state["saved"])

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

"""Optimizer: the base of all, those written in Python included."""
import collections
import functools
import warnings
import weakref

from .. import _dyadic
from .._dyadic import Tensor
from .._handle import RemovableHandle

_alive = weakref.WeakSet()


def _hooked(step):
    """step with the optimizer's hooks around it; of a class written in Python it counts."""

    @functools.wraps(step)
    def run(self, *args, **kwargs):
        outer, self._inside = self._inside, True
        if outer:  # super().step()
            return step(self, *args, **kwargs)
        try:
            hooks = self._hooks
            for hook in list(hooks.get("step_pre", {}).values()) if hooks else ():
                args, kwargs = hook(self, args, kwargs) or (args, kwargs)
            result = step(self, *args, **kwargs)
            if self._record is None:
                self._part.count_step()
            hooks = self._hooks
            for hook in list(hooks.get("step_post", {}).values()) if hooks else ():
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


@functools.cache
def _usual():
    """What every optimizer here has and PyTorch's lack, with the defaults' texts: not shown unless set."""
    options = [{(p[0], p[2].strip('"')) for p in record["parameters"]} for record in _dyadic._optimizer_records()]
    return {(name, value) for name, value in set.intersection(*options) if name != "lr"}


def _belongs(group):
    """Whether an optimizer has this very dict."""
    return any(group is one for optimizer in list(_alive) for one in optimizer.__dict__.get("param_groups", ()))


def _groups_of(who, params):
    """What an optimizer is made for, as dicts."""
    if isinstance(params, Tensor):
        raise TypeError(f"{who}: params is a Tensor; it takes a list of them")
    params = list(params)
    if not params:
        raise ValueError(f"{who}: the list of parameters is empty")
    return params if isinstance(params[0], dict) else [{"params": params}]


def _parameters_of(who, group):
    """(parameters, names or None) of a group as it was given. Tied weights that come from two modules are one parameter."""
    if not isinstance(group, dict):
        raise TypeError(f"{who}: the groups are not all dicts")
    if "params" not in group:
        raise ValueError(f'{who}: a group has no "params"')
    if isinstance(group["params"], (set, frozenset)):
        raise TypeError(f"{who}: a group's params are a set, which has no order; it takes a list")
    params = [group["params"]] if isinstance(group["params"], Tensor) else list(group["params"])
    named = [isinstance(p, tuple) and len(p) == 2 for p in params]
    pairs = params if params and all(named) else [(None, p) for p in params]
    once = list({id(p): (name, p) for name, p in reversed(pairs)}.values())[::-1]
    if len(once) < len(pairs):
        warnings.warn("Optimizer: a parameter group names a parameter twice; it is updated once", stacklevel=4)
    return [p for _, p in once], [name for name, _ in once] if pairs is params else None


def _native_step(self, closure=None, *, grad_scale=1.0):
    """One step of all parameters that have gradients, which grad_scale multiplies. closure: computes the loss and its gradients anew and
    returns the loss."""
    return self._part.step(closure, grad_scale=grad_scale)


class Optimizer:
    """Base of the optimizers. One of your own calls super().__init__(params, defaults) and writes step(), which finds its parameters and
    options in param_groups and keeps what it likes in state[parameter].

    param_groups is a list of dicts and state a dict by parameter: what is changed there, or put in their place, counts from the next
    step on."""

    _record = None  # the C++ record's name
    _options = ()  # that the record has
    _inside, _beginning, _hooks = False, False, None

    def __new__(cls, *args, **kwargs):
        self = super().__new__(cls)
        self._part = _dyadic._Optimizer(self, cls._record or "Optimizer")  # what C++ has of it
        _alive.add(self)
        return self

    def __init__(self, params, defaults):
        self.defaults, self.state, self.param_groups = defaults, collections.defaultdict(dict), []
        self._beginning = True
        for group in _groups_of(self._who(), params):
            self.add_param_group(group)
        del self._beginning
        self._pull()

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _hooked(cls.__dict__["step"])

    def _who(self):
        return self._record or "Optimizer"

    def _keep(self, keep32):
        self._kept32 = keep32
        self._part.keep32(keep32)

    def add_param_group(self, param_group):
        """One more group of parameters, with options of its own."""
        params, names = _parameters_of(self._who(), param_group)
        others = {id(p) for group in self.param_groups for p in group["params"]}
        if not others.isdisjoint(map(id, params)):
            raise ValueError(f"{self._who()}: a parameter is given twice; a parameter belongs to one group")
        self._check_names(names or ())
        self._check_options(param_group)
        param_group["params"] = params
        if names:
            param_group["param_names"] = names
        for key, value in self.defaults.items():
            param_group.setdefault(key, value)
        self.param_groups.append(param_group)
        if self._beginning:  # all are read at once
            return
        try:
            self._pull()
        except Exception:
            self.param_groups.pop()
            raise

    def _check_names(self, names):
        taken = {name for group in self.param_groups for name in group.get("param_names", ())}
        for name in names:
            if name in taken:
                raise ValueError(f"{self._who()}: two parameters are called {name}; states are kept by name")
            taken.add(name)

    def _check_options(self, group):
        """A group that was written for this optimizer has no other's options; one that is another's may have any."""
        if self._record is None or "stochastic_rounding" in group:
            return
        for key in group.keys() - {"params", "initial_lr", *self._options}:
            meant = _looks_like(key, self._options)
            if (meant or key in _options_of_all()) and not _belongs(group):
                means = f"did you mean {meant}?" if meant else f"there are {', '.join(self._options)}"
                raise ValueError(f"{self._record}: an unknown option: {key}; {means}")

    step = _hooked(_native_step)

    def zero_grad(self, set_to_none=True):
        """The parameters' gradients become None, or zeros."""
        self._part.zero_grad(set_to_none)

    def set_lr(self, lr):
        """The learning rate of all groups."""
        self._part.set_lr(lr)

    @property
    def steps(self) -> int:
        """How many were taken."""
        return self._part.steps

    def lost_updates(self, group=None) -> float:
        """The share of nonzero steps that rounded to nothing since clear_updates(), of all groups or of one."""
        return self._part.lost_updates(group)

    def clear_updates(self):
        """lost_updates() counts from here on."""
        self._part.clear_updates()

    def train(self, mode=True):
        """Of schedule-free optimizers: parameters are where gradients are taken; train(False) or eval() makes them the average."""
        self._part.train(mode)

    def eval(self):
        """train(False)."""
        self.train(False)

    def _pull(self, states=False):
        self._part.pull(states)

    def _hooks_of(self, name):
        if self._hooks is None:
            self._hooks = {}
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
        places = {}
        for group in self.param_groups:
            for p in group["params"]:
                places.setdefault(p, len(places))
        groups = []
        for group in self.param_groups:
            one = {key: v for key, v in group.items() if key != "params"}
            groups.append({**one, "params": [places[p] for p in group["params"]]})
        if self._record and groups:
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
            self._load_flat(state_dict)  # of a file that an earlier version wrote
            return
        groups, name = state_dict["param_groups"], type(self).__name__
        by_place = self._places(groups)
        state = collections.defaultdict(dict)
        for place, saved in state_dict["state"].items():
            if self._record and place not in by_place and not isinstance(place, str):
                raise ValueError(f"{name}: the saved state {place} belongs to no parameter here; is it the same model?")
            like = None if self._record else by_place.get(place)
            named = isinstance(saved, dict)  # by a parameter; other entries are anything
            state[by_place.get(place, place)] = {key: _like(v, like, key) for key, v in saved.items()} if named else _like(saved, None, place)
        self.state = state
        for group, saved in zip(self.param_groups, groups):
            group.update({key: v for key, v in saved.items() if key not in ("params", "param_names", "names", "steps")})
        if self._record:
            taken = [int(s[key]) for s in state.values() if isinstance(s, dict) for key in ("step", "n_iter") if key in s]
            self._part.set_steps(groups[0].get("steps", max(taken, default=int(bool(state)))))
            self._pull(True)
            self._part.push(True)

    def _places(self, groups):
        """The parameters by the numbers of saved groups: by names where both have them, else in order."""
        here, there = [len(g["params"]) for g in self.param_groups], [len(g["params"]) for g in groups]
        named = [g.get("param_names") for g in groups]
        mine = [g.get("param_names") for g in self.param_groups]
        saved, own = ({n for names in all_ for n in names or ()} for all_ in (named, mine))
        if all(named) and all(mine) and saved != own or there != here:
            self._refuse(saved, own, f"groups of {there} there, of {here} here")
        by_place = {}
        for held, names, group, given in zip((g["params"] for g in self.param_groups), mine, groups, named):
            order = [names.index(n) for n in given] if names and given and set(names) == set(given) else range(len(held))
            by_place.update(zip(group["params"], (held[i] for i in order)))
        return by_place

    def _refuse(self, saved, own, which=""):
        missing, strange = ", ".join(sorted(own - saved)), ", ".join(sorted(saved - own))
        if missing or strange:
            which = f"not saved [{missing}], not here [{strange}]"
        raise ValueError(f"{type(self).__name__}: the saved state is of other parameters: {which}; is it the same model?")

    def _load_flat(self, state_dict):
        groups = state_dict.get("param_groups", ())
        there, here = ({n for names in all_ for n in names} for all_ in ([g.get("names", ()) for g in groups], self._part.names()))
        if all("names" in g for g in groups) and groups and there != here:
            self._refuse(there, here)
        self._part.load_flat_state(state_dict)
        for group, saved in zip(self.param_groups, groups if len(groups) == len(self.param_groups) else ()):
            group.update({key: v for key, v in saved.items() if key not in ("params", "names")})

    def _patch_step_function(self):
        """Nothing: a class's step has its hooks from the beginning. PyTorch's __setstate__ calls it, and others' do."""

    def __getstate__(self):
        return {**{key: v for key, v in self.__dict__.items() if key not in ("_inside", "_hooks", "_part")}, "_steps": self.steps}

    def __setstate__(self, state):
        state = dict(state)
        self._part.set_steps(state.pop("_steps", self.steps))
        self.__dict__.update(state)
        self._keep(self.__dict__.get("_kept32", []))

    def __reduce_ex__(self, protocol):
        import copyreg

        return copyreg.__newobj__, (type(self),), self.__getstate__()

    def __repr__(self):
        text = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            shown = (key for key in sorted(group) if key != "params" and (key, str(group[key])) not in _usual())
            text += "".join(f"    {key}: {group[key]}\n" for key in shown)
        return text + ")"


def _like(value, parameter, key):
    if isinstance(value, (list, tuple)):
        return type(value)(_like(v, parameter, key) for v in value)
    if not isinstance(value, Tensor):
        return value
    cast = key != "step" and parameter is not None and value.dtype.is_floating_point and parameter.dtype.is_floating_point
    return value.to(parameter.dtype).clone() if cast else value.clone()

"""What the library's optimizers keep, as PyTorch shows it: optimizer.state[parameter]["exp_avg"]."""
from collections.abc import MutableMapping

from .._dyadic import Tensor, tensor


def _searches(state):
    """LBFGS's memory in PyTorch's words: pairs of steps and of what they did to the gradient are lists."""
    of = lambda key: [state[f"{key}{i}"] for i in range(len(state)) if f"{key}{i}" in state]  # noqa: E731
    whole = {key: int(state[key]) for key in ("func_evals", "n_iter") if key in state}
    lists = {"old_dirs": of("y"), "old_stps": of("s"), "ro": of("ro"), "H_diag": state.get("scale", 1)}
    last = {key: state[key] for key in ("prev_flat_grad", "prev_loss") if key in state}
    return {**whole, "d": state.get("d"), "t": state.get("t"), **lists, **last}


def _from_searches(state):
    of = lambda key, short: {f"{short}{i}": v for i, v in enumerate(state.get(key) or ())}  # noqa: E731
    names = ("func_evals", "n_iter", "d", "t", "prev_flat_grad", "prev_loss")
    plain = {key: state[key] for key in names if state.get(key) is not None}
    return {**plain, **of("old_dirs", "y"), **of("old_stps", "s"), **of("ro", "ro"), "scale": state.get("H_diag", 1)}


class Memory(dict):
    """Of one parameter; what is assigned goes to the optimizer. "step" and other numbers are copies."""

    def __init__(self, optimizer, name):
        state = optimizer._state_of(name)
        super().__init__(_searches(state) if state and not name else state)
        self._optimizer, self._name = optimizer, name

    def __setitem__(self, key, value):
        if not self._name:
            self._rewrite({**self, key: value})
        elif value is not None:
            self._put(key, value)
        super().__setitem__(key, value)

    def __delitem__(self, key):
        super().__delitem__(key)
        if self._name:
            self._optimizer._forget_state_of(self._name, key)
        else:
            self._rewrite(self)

    def _put(self, key, value):
        self._optimizer._set_state_of(self._name, key, value if isinstance(value, Tensor) else tensor(float(value)))

    def _rewrite(self, state):
        self._optimizer._forget_state_of(self._name)
        for key, value in _from_searches(state).items() if state else ():
            self._put(key, value)

    def update(self, *args, **kwargs):
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def setdefault(self, key, default=None):
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key, *default):
        value = dict.get(self, key, *default) if default else self[key]
        if key in self:
            del self[key]
        return value

    def clear(self):
        super().clear()
        self._optimizer._forget_state_of(self._name)

    def __reduce_ex__(self, protocol):
        return dict, (dict(self),)


class States(MutableMapping):
    """Of all parameters that have a memory; each is read when it is asked for."""

    def __init__(self, optimizer):
        self._optimizer, self._names = optimizer, optimizer._names

    def assign(self, state):
        """optimizer.state = state; self is the optimizer."""
        kept, memories = States(self), {p: dict(memory) for p, memory in state.items()}
        kept.clear()
        kept.update(memories)

    def _name(self, parameter):
        if parameter not in self._names:
            raise KeyError(f"{type(self._optimizer).__name__}: state is of parameters; not of {type(parameter).__name__}")
        return self._names[parameter]

    def __iter__(self):
        known = set(self._optimizer._state_names())
        return iter([p for p, name in self._names.items() if name in known])

    def __len__(self):
        return len(self._optimizer._state_names())

    def __contains__(self, parameter):
        return parameter in self._names and self._names[parameter] in self._optimizer._state_names()

    def __getitem__(self, parameter):
        return Memory(self._optimizer, self._name(parameter))

    def __setitem__(self, parameter, memory):
        name, memory = self._name(parameter), dict(memory)
        self._optimizer._forget_state_of(name)
        kept = Memory(self._optimizer, name)
        if name:
            kept.update(memory)
        else:
            kept._rewrite(memory)

    def __delitem__(self, parameter):
        if parameter not in self:
            raise KeyError(parameter)
        self._optimizer._forget_state_of(self._name(parameter))

    def get(self, parameter, default=None):
        return self[parameter] if parameter in self else default

    def pop(self, parameter, *default):
        if parameter not in self and default:
            return default[0]
        memory = dict(self[parameter])
        del self[parameter]
        return memory

    def clear(self):
        for parameter in list(self):
            del self[parameter]

    def __repr__(self):
        return repr(dict(self))

    def __reduce_ex__(self, protocol):
        return dict, ({p: dict(memory) for p, memory in self.items()},)

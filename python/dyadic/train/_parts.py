"""Parts of a run whose state is not that of the object itself."""
import weakref

from .._dyadic import Module


_NATIVE = ("params", "param_names", "lr", "initial_lr")  # what C++ keeps of a group


class ExtraState:
    """What the modules of a tree keep beside tensors."""

    def __init__(self, module):
        self._module = module

    def _modules(self):
        return [(name, m) for name, m in self._module.named_modules() if type(m).get_extra_state is not Module.get_extra_state]

    def state_dict(self):
        return {name: m.get_extra_state() for name, m in self._modules()}

    def load_state_dict(self, state):
        for name, m in self._modules():
            if name in state:
                m.set_extra_state(state[name])


class WrittenOptimizer:
    """What an optimizer written in Python keeps beside its groups' parameters and rates, by the run's names of the parameters."""

    def __init__(self, checkpoint, optimizer):
        self._checkpoint, self._optimizer = weakref.ref(checkpoint), optimizer

    def _groups(self):
        """[(group, {name: parameter})]"""
        names = self._checkpoint()._names_of(self._optimizer._part)
        groups = zip(self._optimizer.param_groups, self._optimizer._part.names())
        return [(group, {names[n]: p for n, p in zip(own, group["params"])}) for group, own in groups]

    def state_dict(self):
        names = {p: name for _, named in self._groups() for name, p in named.items()}
        state = self._optimizer.state
        return {
            "kind": type(self._optimizer).__name__,
            "shapes": {name: list(p.shape) for p, name in names.items()},
            "state": {names[p]: s for p, s in state.items() if p in names},
            "common": {key: s for key, s in state.items() if key not in names},
            "groups": [{"names": list(named), "options": {key: v for key, v in group.items() if key not in _NATIVE}} for group, named in self._groups()],
        }

    def _differences(self, saved):
        mine = type(self._optimizer).__name__
        return [] if saved["kind"] == mine else [("kind", saved["kind"], mine)]

    def load_state_dict(self, saved):
        groups, state = self._groups(), self._optimizer.state
        here = {name: p for _, named in groups for name, p in named.items()}
        state.clear()
        state.update(saved["common"])
        for name, kept in saved["state"].items():
            if name in here and list(here[name].shape) == saved["shapes"][name]:
                state[here[name]] = kept
        for group, named in groups:
            for one in saved["groups"]:
                if next(iter(named), None) in one["names"]:
                    group.update(one["options"])

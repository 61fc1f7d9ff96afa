"""The package under another name: after sys.modules["torch"] = dyadic, `import torch.nn as nn` and `from torch.utils.data import
DataLoader`, in whatever file, mean dyadic.nn and dyadic.utils.data: the same modules, not loaded a second time."""
import importlib
import importlib.util
import sys


class _Alias:
    """Finds X.a.b as dyadic.a.b where the module X is dyadic."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        first, _, rest = fullname.partition(".")
        own = __package__
        if not rest or first == own or sys.modules.get(first) is not sys.modules[own]:
            return None
        try:
            module = importlib.import_module(f"{own}.{rest}")
        except ModuleNotFoundError as e:
            if not f"{own}.{rest}.".startswith(f"{e.name}."):
                raise  # something that the module needs, not the module itself
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname) from None
        return importlib.util.spec_from_loader(fullname, _Found(module))


class _Found:
    """A loader of what is loaded."""

    def __init__(self, module):
        self._module, self._spec = module, module.__spec__

    def create_module(self, spec):
        return self._module

    def exec_module(self, module):
        module.__spec__ = self._spec  # it was given that of the other name


def register():
    sys.meta_path.insert(0, _Alias)

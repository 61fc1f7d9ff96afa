"""`import torch` means this package: after as_torch(), in this process and in those that multiprocessing starts from it, the name
and all names below it are PyTorch's, what asks for the version or for the installed distribution is told of PyTorch's, and
classes, dtypes and modules say that they are torch's."""
import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import sys
import types

from .torch_version import TORCH, TorchVersion

_OWN = __package__
_NAMED = (type, types.FunctionType, types.BuiltinFunctionType)


def as_torch():
    """From now on `import torch` is this package, which is returned. A second call changes nothing. Raises RuntimeError where another
    torch is imported already: names that were taken from it would go on meaning it."""
    own, found = sys.modules[_OWN], sys.modules.get("torch")
    if found is own:
        return own
    if found is not None:
        raise RuntimeError(f"as_torch: another torch is imported already, from {found.__file__}; call as_torch() before anything imports it")
    sys.modules["torch"] = own.torch = own  # torch.torch: a name that its own imports have left there, which programs use
    own.__version__ = own.version.__version__ = TorchVersion(f"{TORCH}+{_OWN}")
    for place in ("dataloader", "dataset", "distributed", "sampler"):  # where PyTorch's loader says it is
        module = importlib.import_module(f"{_OWN}.utils.data.{place}")
        for value in vars(module).values():
            if isinstance(value, type) and value.__module__.startswith(_OWN):
                value.__module__ = module.__name__
    for value in vars(own.return_types).values():
        if isinstance(value, type):
            value.__module__ = "torch.return_types"
    for name, module in list(sys.modules.items()):
        if module is not None and name.startswith(f"{_OWN}."):
            _rename(module, name)
    _rename(own, _OWN)
    own._dyadic._print_as_torch()
    sys.meta_path.insert(0, _Later)
    from . import _metaclasses, multiprocessing

    for name in ("get_memory_footprint", "nbytes", "num_parameters", "summary"):  # ours alone: they hide those of a program's own mixins
        delattr(own.nn.Module, name)
    multiprocessing.start_as_torch()
    _metaclasses.register()
    return own


def _shown(name):
    """torch.nn of dyadic.nn; of what is private the place that shows it: torch.optim of dyadic.optim._optimizer."""
    parts = name.split(".")[1:]
    while parts and parts[-1].startswith("_"):
        parts.pop()
    return ".".join(["torch", *parts])


def _rename(module, name):
    """The module under PyTorch's name, and what was made in it."""
    sys.modules[f"torch{name.removeprefix(_OWN)}"] = module
    module.__dict__["__name__"] = f"torch{name.removeprefix(_OWN)}"
    for value in list(vars(module).values()):
        made_in = getattr(value, "__module__", None)
        if isinstance(value, _NAMED) and isinstance(made_in, str) and made_in.partition(".")[0] == _OWN:
            value.__module__ = _place(value, made_in)


def _place(value, made_in):
    """Where pickle finds it: in the place that shows it, else where it was made."""
    place = _shown(made_in)
    if getattr(sys.modules.get(place), getattr(value, "__qualname__", ""), None) is value:
        return place
    return f"torch{made_in.removeprefix(_OWN)}"


class _Later(importlib.metadata.DistributionFinder):
    """Modules of the package that are imported later, under either name, and the distribution "torch"."""

    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        if fullname.startswith("torch."):
            return _as_own(fullname)
        if not fullname.startswith(f"{_OWN}."):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if isinstance(getattr(spec, "loader", None), importlib.machinery.SourceFileLoader):
            spec.loader = _Renaming(spec.loader)
        return spec

    @staticmethod
    def find_distributions(context=importlib.metadata.DistributionFinder.Context()):
        return [_Distribution()] if context.name in (None, "torch") else []


def _as_own(fullname):
    """torch.x.y: the module that is imported as the package's own x.y, so that it is there once."""
    own = f"{_OWN}{fullname.removeprefix('torch')}"
    try:
        if own not in sys.modules and importlib.util.find_spec(own) is None:
            return None
    except ModuleNotFoundError:  # what stands before the last name is no package
        return None
    module = importlib.import_module(own)
    sys.modules.pop(fullname, None)  # where it is there already the import system would take its spec, and load it again
    return importlib.machinery.ModuleSpec(fullname, _Same(module))


class _Same(importlib.abc.Loader):
    """Gives a module that is there."""

    def __init__(self, module):
        self._module, self._spec = module, module.__spec__

    def create_module(self, spec):
        return self._module

    def exec_module(self, module):
        module.__spec__ = self._spec  # the import system has written the other name's there


class _Renaming(importlib.abc.Loader):
    """Another loader, whose module knows itself by PyTorch's name."""

    def __init__(self, loader):
        self._loader = loader

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        name = module.__name__
        code = self._loader.get_code(name)
        _rename(module, name)  # so that what is made in it bears that name
        exec(code, module.__dict__)
        _rename(module, name)

    def __getattr__(self, name):
        return getattr(self._loader, name)


class _Distribution(importlib.metadata.Distribution):
    """What importlib.metadata says of the distribution "torch"."""

    def read_text(self, filename):
        if filename == "METADATA":
            return f"Metadata-Version: 2.1\nName: torch\nVersion: {TORCH}+{_OWN}\nSummary: {_OWN} under PyTorch's name\n"
        return "torch\n" if filename == "top_level.txt" else None

    def locate_file(self, path):
        from pathlib import Path

        return Path(sys.modules[_OWN].__file__).parents[1] / path

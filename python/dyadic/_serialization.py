"""save and load: plain data with tensors in it, as a safetensors file that any of its readers opens, or as PyTorch's. Nothing in a file is ever
run, unless it holds more than data (a whole module, say): that is a pickle, which load opens with weights_only=False alone.

A dict of names and tensors is the file's tensors by these names. Other data is a tree in the file's metadata (key "python.tree"),
whose tensors are named 0, 1, 2 ... Tensors that share memory share it again when they are loaded. What a state_dict() knows of
versions is in the metadata, too (key "python.metadata").
"""
import collections
import errno
import functools
import json
import math
import os

from . import _dyadic
from ._copying import has_plain_memory
from ._functions import strided as _strided
from ._dyadic import Parameter, Tensor
from ._size import Size
from .utils._pytree import tree_map_only
from ._ignored import ignored as _ignored

_TREE, _METADATA = "python.tree", "python.metadata"
_VIEWS = "python.views"  # in the metadata, of tensors that share memory: which view of which tensor each one is
_ORDERED = "python.ordered"  # in the metadata of tensors by names that were an OrderedDict
_PICKLE = b"dyadic.pickle\n"  # such a file begins so; as a safetensors header's length it were beyond any file
_DICTS = {"dict", "OrderedDict", "defaultdict", "Counter"}


class _NoData(Exception):
    """Something is neither a tensor, a number, text nor a list, tuple, set or dict of them."""


def _reach(t):
    """(first element, one behind the last) of the memory that a tensor looks at."""
    first = t.storage_offset()
    return first, first + 1 + sum((n - 1) * s for n, s in zip(t.shape, t.stride()))


def _sharing(tensors):
    """Groups of names whose tensors share memory, with elements of one dtype."""
    groups = {}
    for name, t in tensors.items():
        if has_plain_memory(t) and t.numel():
            groups.setdefault((_dyadic._storage_row(t, _dyadic.uint8).data_ptr(), t.dtype), []).append(name)
    return [names for names in groups.values() if len(names) > 1]


def _views(tensors, base, first):
    """Of each tensor what _load needs to make it again from a row of the memory from `first` on."""
    return {name: [base, t.storage_offset() - first, list(t.shape), list(t.stride())] for name, t in tensors.items()}


def _check_dense(name, t):
    if t.layout is not _strided:
        raise ValueError(f"save: {name} is a sparse tensor, which safetensors has no place for; give the file a name that ends in .pt")


class _Writer:
    def __init__(self):
        self.tensors, self._names = {}, {}

    def tensor(self, t):
        name = self._names.get(id(t))
        if name is None:
            _check_dense("a part", t)
            name = self._names[id(t)] = str(len(self.tensors))
            self.tensors[name] = t.detach()
        if isinstance(t, Parameter):
            return {"parameter": name, "requires_grad": t.requires_grad}
        return {"tensor": name, "requires_grad": t.requires_grad} if t.requires_grad and t.is_leaf else {"tensor": name}

    def join(self):
        """Tensors that share memory become views of one row, which is written in their place; returns the views."""
        views = {}
        for names in _sharing(self.tensors):
            group = {name: self.tensors.pop(name) for name in names}
            ends = [_reach(t) for t in group.values()]
            first, base = min(e[0] for e in ends), f"memory of {names[0]}"
            self.tensors[base] = group[names[0]].as_strided([max(e[1] for e in ends) - first], [1], first)
            views.update(_views(group, base, first))
        return views

    def tree(self, x, where):
        if x is None or isinstance(x, (bool, int, str)) and type(x) in (bool, int, str):
            return x
        if isinstance(x, float):
            return float(x) if math.isfinite(x) else {"float": str(float(x))}
        if isinstance(x, complex):
            return {"complex": [self.tree(x.real, where), self.tree(x.imag, where)]}
        if isinstance(x, Tensor):
            return self.tensor(x)
        if isinstance(x, (list, tuple, set)):
            items = [self.tree(v, f"{where}[{i}]") for i, v in enumerate(x)]
            kind = "size" if isinstance(x, Size) else "list" if isinstance(x, list) else "set" if isinstance(x, set) else "tuple"
            return items if kind == "list" else {kind: items}
        if type(x).__name__ in _DICTS and isinstance(x, dict):
            kind = "ordered" if isinstance(x, collections.OrderedDict) else "dict"
            tree = {kind: [[self.tree(k, where), self.tree(v, f"{where}[{k!r}]")] for k, v in x.items()]}
            return {**tree, "metadata": self.tree(x._metadata, where)} if hasattr(x, "_metadata") else tree
        if isinstance(x, _dyadic.dtype):
            return {"dtype": x.name}
        if isinstance(x, _dyadic.device):
            return {"device": str(x)}
        if isinstance(x, bytes):
            return {"bytes": x.hex()}
        raise _NoData


def _with_metadata(entries, metadata):
    """What state_dict() gives: a dict that knows the versions of the modules' classes."""
    state = collections.OrderedDict(entries)
    state._metadata = metadata
    return state


def _read(x, tensors):
    if isinstance(x, list):
        return [_read(v, tensors) for v in x]
    if not isinstance(x, dict):
        return x
    (kind, value), *more = x.items()
    if kind in ("tensor", "parameter"):
        grad = bool(dict(more).get("requires_grad", False))
        t = tensors[value]
        if kind == "parameter" and not isinstance(t, Parameter):
            t = tensors[value] = Parameter(t, grad)
        elif grad:
            t.requires_grad_()
        return t
    if kind in ("dict", "ordered"):
        entries = (dict if kind == "dict" else collections.OrderedDict)((_read(k, tensors), _read(item, tensors)) for k, item in value)
        return _with_metadata(entries, _read(dict(more)["metadata"], tensors)) if more else entries
    readers = {
        "float": float,
        "complex": lambda v: complex(*(_read(p, tensors) for p in v)),
        "size": lambda v: Size(v),
        "tuple": lambda v: tuple(_read(v, tensors)),
        "set": lambda v: set(_read(v, tensors)),
        "dtype": _dyadic.dtype,
        "device": _dyadic.device,
        "bytes": bytes.fromhex,
    }
    return readers[kind](value)


def _save_pickle(obj, f, pickle_module):
    if pickle_module is None:
        import pickle as pickle_module
    data = _PICKLE + pickle_module.dumps(obj)
    if hasattr(f, "write"):
        f.write(data)
        return
    path = os.fspath(f)
    with open(f"{path}.part", "wb") as target:
        target.write(data)
    os.replace(f"{path}.part", path)


@_ignored("pickle_protocol", why="what is pickled is in Python's own default protocol")
def save(obj, f, metadata=None, *, format=None, pickle_module=None, pickle_protocol=2, _use_new_zipfile_serialization=True):
    """Writes tensors, numbers, text, and lists, tuples, sets and dicts of them to a path or a file object, whole or not at all. Scaled
    tensors keep their bits. A dict of tensors is a safetensors file under its names; metadata is a dict of text beside it. Whatever
    holds other objects (a module) is pickled; its state_dict() is the safer thing to save. pickle_module: what
    pickles it, instead of pickle. format="torch": a file that PyTorch's torch.load opens, of tensors and plain data alone, and so
    without a format or metadata whatever is not called .safetensors, where PyTorch has the dtypes; "safetensors": as above, whatever the
    file is called. _use_new_zipfile_serialization=False, the form before PyTorch 1.6, is only read."""
    if not _use_new_zipfile_serialization:
        raise ValueError("save: the form of files before PyTorch 1.6 is only read, not written; leave _use_new_zipfile_serialization out")
    if format == "torch":
        return _save_torch(obj, f, metadata)
    if format is None and not metadata and (hasattr(f, "write") or not os.fsdecode(f).endswith(".safetensors")):
        try:
            return _save_torch(obj, f, None)
        except (TypeError, ValueError):  # PyTorch has no form for it
            pass
    if format not in (None, "safetensors"):
        raise ValueError(f'save: an unknown format: "{format}"; the known ones are safetensors and torch')
    try:
        return _save_data(obj, f, metadata)
    except _NoData:
        return _save_pickle(obj, f, pickle_module)


def _save_torch(obj, f, metadata):
    if metadata:
        raise ValueError("save: files of PyTorch's have no metadata; make it a part of what is saved")
    _to_path(f, "archive.pt", lambda path: _dyadic._save_torch(obj, path))


def _to_path(f, name, write):
    """Calls write with a path; a file object gets what it wrote there."""
    if not hasattr(f, "write"):
        return write(os.fspath(f))
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, name)
        write(path)
        with open(path, "rb") as source:
            shutil.copyfileobj(source, f)


def _views_by_name(tensors):
    """Of tensors that are written by their names, each whole: which are views of one that covers them."""
    views = {}
    for names in _sharing(tensors):
        group = {name: tensors[name] for name in names}
        reaches = {name: _reach(t) for name, t in group.items()}
        first, end = min(r[0] for r in reaches.values()), max(r[1] for r in reaches.values())
        looks = {(r, t.shape, t.stride()) for r, t in zip(reaches.values(), group.values())}
        base = next((n for n, t in group.items() if reaches[n] == (first, end) and t.is_contiguous()), None)
        if base is not None:
            views.update(_views({n: t for n, t in group.items() if n != base}, base, first))
        elif len(looks) == 1:  # the same tensor in any order of memory
            alike = _dyadic.empty(group[names[0]].shape, device="meta")
            views.update({n: [names[0], 0, list(alike.shape), list(alike.stride())] for n in names[1:]})
    return views


def _save_data(obj, f, metadata):
    metadata = dict(metadata or {})
    if isinstance(obj, dict) and all(isinstance(k, str) and isinstance(v, Tensor) for k, v in obj.items()):
        for k, v in obj.items():
            _check_dense(repr(k), v)
        tensors = {k: v.detach() for k, v in obj.items()}
        views = _views_by_name(tensors)
        if isinstance(obj, collections.OrderedDict):
            metadata[_ORDERED] = "yes"
        if hasattr(obj, "_metadata"):
            metadata[_METADATA] = json.dumps(obj._metadata)
    else:
        writer = _Writer()
        metadata[_TREE] = json.dumps(writer.tree(obj, "obj"))
        views, tensors = writer.join(), writer.tensors
    if views:
        metadata[_VIEWS] = json.dumps(views)
    return _to_path(f, "tensors", lambda path: _dyadic._save(tensors, path, metadata))


def _head(path):
    try:
        with open(path, "rb") as f:
            return f.read(48)
    except OSError:
        return b""  # _dyadic._load says why


def _own_module(module):
    """dyadic.nn of torch.nn: what was saved while this package was torch (as_torch) is found under either name."""
    return __package__ + module.removeprefix("torch") if module.partition(".")[0] == "torch" else module


def _reader(f):
    """An unpickler of whatever save has pickled."""
    import pickle

    class Reader(pickle.Unpickler):
        def find_class(self, module, name):
            return super().find_class(_own_module(module), name)

    return Reader(f)


def _plain_reader(f):
    """An unpickler of plain data and of what serialization.add_safe_globals allows."""
    import pickle

    from .nn._state import _make_tensor
    from .serialization import _find

    containers = (collections.OrderedDict, collections.defaultdict, collections.Counter, set)
    plain = (_make_tensor, Size, Parameter, _dyadic.dtype, _dyadic.device, complex, *containers)
    rules = {(_own_module(t.__module__), t.__name__): t for t in plain}

    class Reader(pickle.Unpickler):
        def find_class(self, module, name):
            found = rules.get((_own_module(module), name)) or _find(module, name)
            if found is None:
                raise pickle.UnpicklingError(f"{module}.{name}")
            return found

    return Reader(f)


def _load_pickle(path, name, weights_only, pickle_module):
    import pickle

    with open(path, "rb") as f:
        f.seek(len(_PICKLE))
        if not weights_only:
            return pickle_module.load(f) if pickle_module else _reader(f).load()
        try:
            return _plain_reader(f).load()
        except pickle.UnpicklingError as e:
            raise pickle.UnpicklingError(
                f"load: {name} holds more than tensors and plain data: {e}; serialization.add_safe_globals allows classes one by one; "
                "weights_only=False opens it, and may run code that is in it: only for files from people you trust"
            ) from None


# Files of other kinds, by their first bytes, and what reads them.
_OTHERS = {
    b"\x93NUMPY": "an array of numpy's: utils.data.load_npy() reads it",
    b"GGUF": "a GGUF file: from_pretrained() reads the model in it, serialization.open() its tensors",
}


@functools.cache
def _errors():
    """What load raises for empty files and for other files: PyTorch's kinds of errors that are ArgumentErrors too."""
    import pickle

    empty = type("EmptyFileError", (_dyadic.ArgumentError, EOFError), {"__module__": "dyadic"})
    other = type("UnpicklingError", (_dyadic.ArgumentError, pickle.UnpicklingError), {"__module__": "dyadic"})
    return empty, other


def _load(path, name, weights_only, pickle_module):
    from ._torch_file import is_torch_file, load_torch_file

    head = _head(path)
    if is_torch_file(head):
        return load_torch_file(path, name, weights_only)
    if head.startswith(_PICKLE):
        return _load_pickle(path, name, weights_only, pickle_module)
    for begin, kind in _OTHERS.items():
        if head.startswith(begin):
            raise _errors()[1](f"load: {name} is {kind}")
    try:
        tensors, metadata = _dyadic._load(path)
    except _dyadic.ArgumentError as e:
        empty, other = _errors()
        text = str(e).replace(path, name)
        raise (empty(f"load: {name} is empty") if not os.path.getsize(path) else other(f"load: {text}")) from None
    tensors = dict(tensors)
    try:
        for view, (base, first, size, stride) in json.loads(metadata.get(_VIEWS, "{}")).items():
            tensors[view] = tensors[base].as_strided(size, stride, first)
        if _TREE in metadata:
            return _read(json.loads(metadata[_TREE]), tensors)
        if _METADATA in metadata:
            return _with_metadata(tensors, json.loads(metadata[_METADATA]))
    except (KeyError, ValueError, TypeError, AttributeError, RuntimeError) as e:  # RecursionError is a RuntimeError
        raise ValueError(f"{name}: its metadata is not what save writes: {e!r}") from None
    return collections.OrderedDict(tensors) if _ORDERED in metadata else tensors


@_ignored("mmap", why="files are read whole; dyadic.memmap maps them")
def load(f, map_location=None, pickle_module=None, *, weights_only=True, mmap=None):
    """What save has written, from a path or a file object; a plain safetensors file as a dict; a file that PyTorch's torch.save has
    written (its data, never its code). map_location: a device for all tensors; a function of PyTorch's that chooses among GPUs, or a
    dict of devices, is accepted: files are read to the CPU. weights_only=False: what save has pickled too, which may
    run code. pickle_module: what opens those."""
    if hasattr(f, "read"):
        import shutil
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "tensors")
            with open(path, "wb") as target:
                shutil.copyfileobj(f, target)
            loaded = _load(path, "the file object", weights_only, pickle_module)
    else:
        path = os.fspath(f)
        if not os.path.exists(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        loaded = _load(path, path, weights_only, pickle_module)
    device = _target(map_location)
    return loaded if device == "cpu" else tree_map_only(Tensor, lambda t: _moved(t, device), loaded)


def _target(map_location):
    """Where tensors go, all of which come from the CPU: a function keeps them where they are."""
    if isinstance(map_location, dict):
        map_location = map_location.get("cpu")
    return "cpu" if map_location is None or callable(map_location) else str(map_location)


def _moved(t, device):
    return Parameter(t.detach().to(device), t.requires_grad) if isinstance(t, Parameter) else t.to(device)

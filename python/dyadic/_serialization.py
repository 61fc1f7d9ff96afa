"""save and load: plain data with tensors in it, as a safetensors file that any of its readers opens. Nothing in a file is ever run,
unless it holds more than data (a whole module, say): that is a pickle, which load opens with weights_only=False alone.

A dict of names and tensors is the file's tensors by these names. Other data is a tree in the file's metadata (key "python.tree"),
whose tensors are named 0, 1, 2 ... What a state_dict() knows of versions is in the metadata, too (key "python.metadata").
"""
import errno
import json
import math
import os
from collections import OrderedDict

from . import _dyadic
from ._dyadic import Parameter, Tensor
from ._size import Size

_TREE, _METADATA = "python.tree", "python.metadata"
_PICKLE = b"dyadic.pickle\n"  # such a file begins so; as a safetensors header's length it were beyond any file
_DICTS = {"dict", "OrderedDict", "defaultdict"}


class _NoData(Exception):
    """Something is neither a tensor, a number, text nor a list, tuple, set or dict of them."""


class _Writer:
    def __init__(self):
        self.tensors, self._names = {}, {}

    def tensor(self, t):
        name = self._names.get(id(t))
        if name is None:
            name = self._names[id(t)] = str(len(self.tensors))
            self.tensors[name] = t.detach()
        if isinstance(t, Parameter):
            return {"parameter": name, "requires_grad": t.requires_grad}
        return {"tensor": name, "requires_grad": t.requires_grad} if t.requires_grad and t.is_leaf else {"tensor": name}

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
            tree = {"dict": [[self.tree(k, where), self.tree(v, f"{where}[{k!r}]")] for k, v in x.items()]}
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
    state = OrderedDict(entries)
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
    if kind == "dict":
        entries = {_read(k, tensors): _read(item, tensors) for k, item in value}
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


def _save_pickle(obj, f):
    import pickle

    data = _PICKLE + pickle.dumps(obj)
    if hasattr(f, "write"):
        f.write(data)
        return
    path = os.fspath(f)
    with open(f"{path}.part", "wb") as target:
        target.write(data)
    os.replace(f"{path}.part", path)


def save(obj, f, metadata=None, *, pickle_module=None, pickle_protocol=2):
    """Writes tensors, numbers, text, and lists, tuples, sets and dicts of them to a path or a file object, whole or not at all. Scaled
    tensors keep their bits. A dict of tensors is a safetensors file under its names; metadata is a dict of text beside it. Whatever
    holds other objects (a module) is pickled; its state_dict() is the safer thing to save. pickle_module and pickle_protocol are
    accepted."""
    try:
        return _save_data(obj, f, metadata)
    except _NoData:
        return _save_pickle(obj, f)


def _save_data(obj, f, metadata):
    if isinstance(obj, dict) and all(isinstance(k, str) and isinstance(v, Tensor) for k, v in obj.items()):
        tensors, metadata = {k: v.detach() for k, v in obj.items()}, dict(metadata or {})
        if hasattr(obj, "_metadata"):
            metadata[_METADATA] = json.dumps(obj._metadata)
    else:
        writer = _Writer()
        tree = writer.tree(obj, "obj")
        tensors, metadata = writer.tensors, {**(metadata or {}), _TREE: json.dumps(tree)}
    if not hasattr(f, "write"):
        return _dyadic._save(tensors, os.fspath(f), metadata)
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tensors")
        _dyadic._save(tensors, path, metadata)
        with open(path, "rb") as source:
            shutil.copyfileobj(source, f)


def _begins(path, text):
    try:
        with open(path, "rb") as f:
            return f.read(len(text)) == text
    except OSError:
        return False  # _dyadic._load says why


def _load_pickle(path, weights_only):
    import pickle

    if weights_only:
        raise pickle.UnpicklingError(
            f"load: {path} holds more than tensors and plain data; weights_only=False opens it, and may run code that is in it: "
            "only for files from people you trust"
        )
    with open(path, "rb") as f:
        f.seek(len(_PICKLE))
        return pickle.load(f)


def _load(path, weights_only):
    if _begins(path, b"PK\x03\x04"):
        from ._torch_file import load_torch_file

        return load_torch_file(path)
    if _begins(path, _PICKLE):
        return _load_pickle(path, weights_only)
    tensors, metadata = _dyadic._load(path)
    try:
        if _TREE in metadata:
            return _read(json.loads(metadata[_TREE]), dict(tensors))
        return _with_metadata(tensors, json.loads(metadata[_METADATA])) if _METADATA in metadata else tensors
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as e:
        raise ValueError(f"{path}: its metadata is not what save writes: {e!r}") from None


def load(f, map_location=None, pickle_module=None, *, weights_only=True, mmap=None):
    """What save has written, from a path or a file object; a plain safetensors file as a dict; a file that PyTorch's torch.save has
    written (its data, never its code). map_location: a device for all tensors. weights_only=False: what save has pickled too, which may
    run code. pickle_module and mmap are accepted."""
    if hasattr(f, "read"):
        import shutil
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "tensors")
            with open(path, "wb") as target:
                shutil.copyfileobj(f, target)
            loaded = _load(path, weights_only)
    else:
        path = os.fspath(f)
        if not os.path.exists(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        loaded = _load(path, weights_only)
    if map_location is None or str(map_location) == "cpu":
        return loaded
    return _moved(loaded, map_location)


def _moved(x, device):
    if isinstance(x, Tensor):
        return x.to(device)
    if isinstance(x, dict):
        return {k: _moved(v, device) for k, v in x.items()}
    return type(x)(_moved(v, device) for v in x) if type(x) in (list, tuple) else x

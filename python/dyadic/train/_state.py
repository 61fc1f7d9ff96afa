"""States of Python objects as JSON and tensors.

JSON holds numbers, texts, lists and dicts as they are. What it cannot hold is a dict with one key: {"$tensor": name}, {"$float": "nan"},
{"$int": digits}, {"$bytes": hex}, {"$tuple": [...]}, {"$dict": [[key, value], ...]}. Tensors at the top of a flat state go by their own names.
"""
import json
import math
import numbers

from .._dyadic import Tensor, tensor


def _encode(value, path, tensors):
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, Tensor):
        tensors.append((path, value.detach()))
        return {"$tensor": path}
    if isinstance(value, (bytes, bytearray)):
        return {"$bytes": value.hex()}
    if isinstance(value, numbers.Integral):
        value = int(value)
        return value if -(2**63) <= value < 2**64 else {"$int": str(value)}
    if isinstance(value, numbers.Real):
        value = float(value)
        return value if math.isfinite(value) else {"$float": str(value)}
    if isinstance(value, list):
        return [_encode(v, f"{path}.{i}", tensors) for i, v in enumerate(value)]
    if isinstance(value, tuple):
        return {"$tuple": [_encode(v, f"{path}.{i}", tensors) for i, v in enumerate(value)]}
    if isinstance(value, dict):
        if all(isinstance(k, str) and not k.startswith("$") for k in value):
            return {k: _encode(v, f"{path}.{k}" if path else k, tensors) for k, v in value.items()}
        pairs = [[_encode(k, path, tensors), _encode(v, f"{path}.{k}" if path else str(k), tensors)] for k, v in value.items()]
        return {"$dict": pairs}
    if hasattr(value, "__array_interface__"):
        return {"$array": _encode(tensor(value), path, tensors)}
    if hasattr(value, "keys") and hasattr(value, "__getitem__"):  # a mapping that is no dict
        return _encode({k: value[k] for k in value.keys()}, path, tensors)
    raise TypeError(f"Checkpoint: a state holds numbers, texts, tensors, lists and dicts: {path} is {type(value).__name__}")


def _decode(value, tensors):
    if isinstance(value, list):
        return [_decode(v, tensors) for v in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        (key, inner), = value.items()
        if key == "$tensor":
            return tensors[inner]
        if key == "$float":
            return float(inner)
        if key == "$int":
            return int(inner)
        if key == "$bytes":
            return bytes.fromhex(inner)
        if key == "$tuple":
            return tuple(_decode(v, tensors) for v in inner)
        if key == "$array":
            return _decode(inner, tensors).numpy()
        if key == "$dict":
            return {_decode(k, tensors): _decode(v, tensors) for k, v in inner}
    return {k: _decode(v, tensors) for k, v in value.items()}


def encode(value):
    """(JSON text, [(name, tensor)])"""
    tensors = []
    text = json.dumps(_encode(value, "", tensors), allow_nan=False)
    names = {}
    for name, _ in tensors:
        names[name] = names.get(name, 0) + 1
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        raise ValueError(f"Checkpoint: two tensors of a state come out as {twice[0]}: keys with dots meet nested ones")
    return text, [(name or "value", t) for name, t in tensors]


def decode(text, tensors):
    named = dict(tensors)
    named.setdefault("", named.get("value"))
    return _decode(json.loads(text), named)


def pack(part):
    return encode(part if isinstance(part, dict) else part.state_dict())


def compare(part, text, tensors):
    """[(name, there, here)]: what load_state_dict() of one of our own parts would not take over."""
    return _differences(part, decode(text, tensors))


def _differences(part, state):
    return part._differences(state) if hasattr(part, "_differences") else []


def unpack(part, text, tensors):
    state = decode(text, tensors)
    if isinstance(part, dict):
        part.clear()
        part.update(state)
    elif not _differences(part, state):
        part.load_state_dict(state)

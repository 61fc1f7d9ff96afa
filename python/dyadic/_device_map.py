"""Where the modules of a model lie: device maps in accelerate's form."""
import re
from collections import OrderedDict

from . import _dyadic

_UNITS = {"": 1} | {f"{prefix}{end}": base**power for power, prefix in enumerate("KMGT", 1) for end, base in (("B", 1000), ("iB", 1024))}


def _bytes(name, size):
    """Of "4GiB", "500MB" (a thousand thousand each) or a number."""
    if isinstance(size, int):
        return size
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]i?B)?", size.strip(), re.IGNORECASE)
    units = {unit.lower(): factor for unit, factor in _UNITS.items()}
    if not found:
        raise ValueError(f"max_memory: {name!r} is {size!r}, and not like 4GiB, 500MB or a number of bytes")
    return int(float(found[1]) * units[(found[2] or "").lower()])


def infer_auto_device_map(model, max_memory=None, no_split_module_classes=None):
    """A device map: the model's modules in their order, in memory ("cpu") as long as they fit beside the largest that is read from
    disk, the others on "disk". {"": "cpu"} for a model that fits. The model may be on meta.

    max_memory: {"cpu": SIZE, "disk": SIZE} of weights, as numbers of bytes or "4GiB"; without it what the machine has to spare, and
    no limit. no_split_module_classes: names of classes whose modules lie in one place, as elements of a ModuleList always do.
    RuntimeError where both together are too small.
    """
    given = dict(max_memory or {})
    for name in given:
        if name not in ("cpu", "disk"):
            raise ValueError(f"max_memory: {name!r}: parts of a model lie on cpu or disk")
    sizes = {name: _bytes(name, size) for name, size in given.items()}
    classes = [no_split_module_classes] if isinstance(no_split_module_classes, str) else list(no_split_module_classes or ())
    return OrderedDict(_dyadic._infer_device_map(model, sizes.get("cpu", 0), sizes.get("disk", -1), classes))


def placed(device_map, max_memory, skeleton):
    """The device of a whole model, and the map of one in parts, that a device_map stands for. skeleton(): the model on meta."""
    if isinstance(device_map, dict):
        if set(device_map) == {""} and device_map[""] != "disk":
            return device_map[""], {}
        return None, {path: str(place) for path, place in device_map.items()}
    if device_map in ("auto", "sequential", "balanced", "balanced_low_0"):
        inferred = infer_auto_device_map(skeleton(), max_memory)
        return None, {} if inferred == {"": "cpu"} else inferred
    if max_memory is not None:
        raise ValueError(f"from_pretrained: max_memory is for a device_map that is found by it: 'auto', and not {device_map!r}")
    return device_map, {}

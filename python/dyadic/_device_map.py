"""Where the modules of a model lie: device maps in accelerate's form."""
from collections import OrderedDict

from . import _dyadic
from ._sizes import size_in_bytes


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
    sizes = {name: size_in_bytes(size, f"max_memory: {name!r}") for name, size in given.items()}
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

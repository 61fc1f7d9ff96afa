"""Names of Hugging Face's accelerate for models that are larger than memory: modules whose weights stay on disk, and are read ahead
while others run. Results are the same bits, gradients flow through, and frozen and trained weights may both lie there.

    from dyadic.accelerate import dispatch_model, infer_auto_device_map

    device_map = infer_auto_device_map(model, max_memory={"cpu": "4GiB"})
    model = dispatch_model(model, device_map, offload_dir="offload")
"""
from .._device_map import infer_auto_device_map
from .. import _dyadic
from .._dyadic import device

__all__ = ["disk_offload", "dispatch_model", "infer_auto_device_map", "init_empty_weights"]


def dispatch_model(model, device_map, offload_dir=None):
    """Moves the parameters that device_map has on disk into a file in the folder offload_dir. The file has no name, so it is gone
    with the last of them. Parameters stay the objects that they are; those that require grad may still be written. Returns the
    model, whose hf_device_map is device_map.

    device_map: paths of modules or parameters, each "cpu" or "disk"; of several that begin a parameter's name the longest counts, and ""
    is the whole model. OSError or RuntimeError where the folder takes no file.
    """
    if offload_dir is None and "disk" in device_map.values():
        raise ValueError("dispatch_model: the device_map has parts on disk: give offload_dir, a folder for them")
    _dyadic._dispatch_model(model, [(path, str(place)) for path, place in device_map.items()], str(offload_dir or ""))
    model.hf_device_map = dict(device_map)
    return model


def disk_offload(model, offload_dir):
    """dispatch_model with all parameters on disk."""
    return dispatch_model(model, {"": "disk"}, offload_dir)


def init_empty_weights():
    """A context in which modules are made without memory for their parameters, on the device meta."""
    return device("meta")

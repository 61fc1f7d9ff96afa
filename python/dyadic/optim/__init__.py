"""Optimizers, schedules, averages of parameters, gradient norms.

The optimizers are made from the records of the C++ library: help(dyadic.optim.SGD) shows one's signature and documentation.
"""
import inspect
import sys
import types

from .._dyadic import ParamGroup, WarmupCosine, _optimizer_records, clip_factor, grad_norm
from .._records import default as _default
from .._records import signature as _signature
from ._optimizer import Optimizer


def _state(self):
    """What the optimizer keeps, by parameter: {"exp_avg": ..., "step": ...}. A copy of the dicts, not of the tensors."""
    named = {n: p for g in self.param_groups for n, p in zip(g["names"], g["params"])}
    found, everything = {}, self.state_dict()
    for key, value in everything["state"].items():
        kind, _, name = key.partition(".")
        found.setdefault(named[name], {"step": everything["step"]})[kind] = value
    return found


_COMMON = """

Of every optimizer:
    state                what states are kept in: f32, bf16, f16, an 8-bit float, or 8 or 4 bits in blocks: "dynamic8", "i4(group=64)"
                         (states without sign: udynamic8). Small tensors and those named in keep32 stay f32
    stochastic_rounding  of parameters and states of fewer bits than f32; seed: of it
    compensation         of 16-bit parameters: what rounding left of a step is added to the next. "kahan" keeps it in the parameter's
                         dtype, "f32" makes parameter and rest an f32 master"""


def _make(record):
    name = record["name"]
    signature = _signature(["params"], record["parameters"], [("keep32", ())])

    def __init__(self, *args, foreach=None, fused=None, capturable=False, differentiable=False, **kwargs):
        # PyTorch's choices of an implementation: there is one here, fused, for all
        given = dict(signature.bind(*args, **kwargs).arguments)
        params, keep32 = given.pop("params"), list(given.pop("keep32", ()))
        self._defaults = {p: _default(text) for p, _, text, _ in record["parameters"]} | given
        self._begin(name, params, given, keep32)

    made = type(
        name,
        (Optimizer,),
        {
            "__init__": __init__,
            "__doc__": record["doc"] + "\n\n" + record["signature"] + _COMMON,
            "__module__": __name__,
            "_record": name,
            "_options": tuple(p[0] for p in record["parameters"]),
            "state": property(_state),
        },
    )
    further = inspect.signature(__init__).parameters.values()
    made.__signature__ = signature.replace(
        parameters=[*signature.parameters.values(), *(p for p in further if p.kind is p.KEYWORD_ONLY)]
    )
    return made


_classes = {record["name"]: _make(record) for record in _optimizer_records()}
globals().update(_classes)

from . import lr_scheduler, optimizer, swa_utils  # noqa: E402  they know the classes above

for _name in ("Adadelta Adafactor Adagrad Adam Adamax AdamW ASGD LBFGS NAdam RAdam RMSprop Rprop SGD SparseAdam".split()):
    if _name in _classes:  # PyTorch's places of the classes
        _file = "sparse_adam" if _name == "SparseAdam" else _name.lower()
        _module = types.ModuleType(f"{__name__}.{_file}", f"PyTorch's place of {_name}.")
        _module.__dict__[_name] = _classes[_name]
        globals()[_file] = sys.modules[_module.__name__] = _module

__all__ = [*_classes, "Optimizer", "ParamGroup", "WarmupCosine", "clip_factor", "grad_norm", "lr_scheduler", "swa_utils"]

"""Optimizers, schedules, averages of parameters, gradient norms.

The optimizers are made from the records of the C++ library: help(dyadic.optim.SGD) shows one's signature and documentation.
"""
import functools
import inspect
import sys
import types

from .._dyadic import WarmupCosine, _optimizer_records, clip_factor, grad_norm
from .._records import ClassSignature
from .._records import default as _default
from .._records import signature as _signature
from ._optimizer import Optimizer
from ._searches import listed, numbered
from .._ignored import ignored as _ignored


_COMMON = """

Of every optimizer:
    lr and other options may be 0-d tensors; each step reads them
    state                what states are kept in: f32, bf16, f16, an 8-bit float, or 8 or 4 bits in blocks: "dynamic8", "i4(group=64)"
                         (states without sign: udynamic8). Small tensors and those named in keep32 stay f32
    stochastic_rounding  of parameters and states of fewer bits than f32; seed: of it
    compensation         of 16-bit parameters: what rounding left of a step is added to the next. "kahan" keeps it in the parameter's
                         dtype, "f32" makes parameter and rest an f32 master"""


# PyTorch's choices of an implementation, by optimizer; the second are those that it takes by position. Here there is one.
_CHOICES = {
    "SGD": ("foreach differentiable fused", ""),
    "Adam": ("foreach capturable differentiable fused", ""),
    "AdamW": ("foreach capturable differentiable fused", ""),
    "Adamax": ("foreach differentiable capturable", "foreach"),
    "NAdam": ("foreach capturable differentiable", ""),
    "RAdam": ("foreach capturable differentiable", ""),
    "Adagrad": ("foreach differentiable fused", "foreach"),
    "RMSprop": ("capturable foreach differentiable", "capturable foreach maximize differentiable"),
    "Adadelta": ("capturable foreach differentiable", "foreach"),
    "ASGD": ("foreach differentiable capturable", "foreach maximize differentiable capturable"),
    "Rprop": ("foreach differentiable capturable", ""),
    "Adafactor": ("foreach", ""),
}
_FIXED = {"AdamW": {"decoupled_weight_decay": True}, "LBFGS": {"maximize": False}}  # what PyTorch's groups say of these
_CHOSEN = {"foreach": None, "fused": None, "capturable": False, "differentiable": False}


def _signature_of(record):
    """The record's, with PyTorch's choices where it has them."""
    made = _signature(["params"], record["parameters"], [("keep32", ())])
    choice = lambda name: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_CHOSEN[name])  # noqa: E731
    every = {**made.parameters, **{name: choice(name) for name in _CHOSEN}}
    placed = _CHOICES.get(record["name"], ("", ""))[1].split()
    first = [p for p in every.values() if p.kind is not p.KEYWORD_ONLY]
    first += [every[name].replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in placed]
    rest = [p for p in every.values() if p.kind is p.KEYWORD_ONLY and p.name not in placed]
    return made.replace(parameters=first + rest)


def _make(record):
    name = record["name"]
    signature, options = functools.cache(lambda: _signature_of(record)), tuple(p[0] for p in record["parameters"])
    shown = _CHOICES.get(name, ("", ""))[0].split()

    @_ignored("foreach", "fused", "capturable", why="one fused pass steps a parameter", of="optim: each optimizer that PyTorch gives it")
    def __init__(self, *args, **kwargs):
        given = dict(signature().bind(*args, **kwargs).arguments)
        params, keep32 = given.pop("params"), list(given.pop("keep32", ()))
        if given.get("differentiable"):
            raise RuntimeError(f"{name}: differentiable=True: a step is not recorded here, no gradient would go through it; leave it out")
        if given.get("fused") and given.get("foreach"):
            raise RuntimeError(f"{name}: fused and foreach exclude each other: both are True")
        choices = {key: given.get(key, _CHOSEN[key]) for key in shown} | _FIXED.get(name, {})
        if name == "LBFGS" and given.get("max_eval") is None:
            given["max_eval"] = given.get("max_iter", 20) * 5 // 4
        given = {key: v for key, v in given.items() if key in options}
        self._keep(keep32)
        Optimizer.__init__(self, params, {p: _default(text) for p, _, text, _ in record["parameters"]} | given | choices)

    made = type(
        name,
        (Optimizer,),
        {
            "__init__": __init__,
            "__doc__": record["doc"] + "\n\n" + record["signature"] + _COMMON,
            "__module__": __name__,
            "_record": name,
            "_options": options,
            "_listed": staticmethod(listed),
            "_numbered": staticmethod(numbered),
        },
    )
    made.__signature__ = ClassSignature(made, signature)
    return made


_classes = {record["name"]: _make(record) for record in _optimizer_records()}
globals().update(_classes)

from . import _functional, lr_scheduler, optimizer, swa_utils  # noqa: E402  they know the classes above

for _name in ("Adadelta Adafactor Adagrad Adam Adamax AdamW ASGD LBFGS NAdam RAdam RMSprop Rprop SGD SparseAdam".split()):
    if _name in _classes:  # PyTorch's places of the classes
        _file = "sparse_adam" if _name == "SparseAdam" else _name.lower()
        _module = types.ModuleType(f"{__name__}.{_file}", f"PyTorch's place of {_name}.")
        _module.__dict__[_name] = _classes[_name]
        _classes[_name].__module__ = _module.__name__
        globals()[_file] = sys.modules[_module.__name__] = _module
adam.adam, adamw.adamw = _functional.adam, _functional.adamw  # noqa: F821  modules of the line before

__all__ = [*_classes, "Optimizer", "WarmupCosine", "clip_factor", "grad_norm", "lr_scheduler", "swa_utils"]

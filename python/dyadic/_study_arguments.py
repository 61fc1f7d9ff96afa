"""What a study is given, as the library takes it: functions, names, and lists of them."""
from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from . import _dyadic
from ._dyadic import Tensor, device
from .amp.switches import is_autocast_enabled
from .nn import Module


def on_meta(function: Callable[[Module, Any], Any]) -> Callable[[Module, Any], Any]:
    """The function in a dry run: what it makes without saying where has no memory either."""

    def call(model: Module, batch: Any) -> Any:
        first = next(iter(model.parameters()), None)
        if first is None or first.device.type != "meta":
            return function(model, batch)
        with device("meta"):
            return function(model, batch)

    return call


_WEIGHTS = (_dyadic.float32, _dyadic.bfloat16, _dyadic.float16)  # what a recipe stores weights in


def _own_inputs(module: Module, args: tuple) -> tuple | None:
    """What a module is given has the dtype of its weights, as products ask for. Under autocast that is seen to."""
    weight = next((p for p in module.parameters(recurse=False) if p.dtype in _WEIGHTS), None)
    if weight is None or is_autocast_enabled():
        return None
    return tuple(a.to(weight.dtype) if isinstance(a, Tensor) and a.dtype in _WEIGHTS else a for a in args)


def maker(make_model: Callable[[], Module]) -> Callable[[str], Module]:
    last: Callable[[], Module | None] = lambda: None

    def make(where: str) -> Module:
        nonlocal last
        with device(where), warnings.catch_warnings():
            if where == "meta":  # weights that it loads have no values there
                warnings.filterwarnings("ignore", "load_state_dict: .* is on meta here")
            model = make_model()
        if not isinstance(model, Module):
            raise TypeError(f"study: make_model gave a {type(model).__name__}, not a Module")
        if model is last():
            raise ValueError("study: make_model gave the same module again; it makes a new one each time, from the weights that the seed gives")
        last = weakref.ref(model)
        for module in model.modules():
            module.register_forward_pre_hook(_own_inputs)
        return model

    return make


def several(chosen: Any, one: type | tuple[type, ...]) -> list:
    """What was chosen, if there is only one of it without a list around it."""
    return [chosen] if isinstance(chosen, one) else list(chosen)


def called(function: Any, what: str) -> Any:
    if not callable(function):
        raise TypeError(f"study: {what} is {function!r}, not a function")
    return function


def format_names(chosen: Any) -> list[str]:
    found = [] if chosen is None else several(chosen, (str, _dyadic.dtype))
    for f in found:
        if not isinstance(f, (str, _dyadic.dtype)):
            raise TypeError(f"study: formats: {f!r} is neither a dtype nor the name of one")
    return [f if isinstance(f, str) else f.name for f in found]


def name_of(thing: Any) -> Any:
    return getattr(thing, "__name__", thing)


def optimizer_name(optimizer: Any) -> str:
    name = name_of(optimizer)
    if not isinstance(name, str):
        raise TypeError(f"study: optimizer is {optimizer!r}, not an optimizer's class or its name")
    return name


def mean_output(model: Module, batch: Any) -> Tensor:
    if not isinstance(batch, Tensor):
        batch = next(iter(batch.values() if isinstance(batch, Mapping) else batch))
    return model(batch).float().mean()

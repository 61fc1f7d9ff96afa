"""Which precision for a model of one's own, on this machine, and what is lost: the study.

    from dyadic import study

    result = study.study(Net, loader, lambda model, batch: F.cross_entropy(model(batch[0]), batch[1], reduction="none"),
                         metric=study.accuracy, steps=500)
    print(result)

The command `dyadic study` is the same with a built-in model that reads text. docs/study.md has what the figures mean.
"""
from __future__ import annotations

import html as _html
import json as _json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from . import _dyadic, _study_arguments as _arguments
from ._dyadic import Tensor
from ._predictions import Predictions
from ._sizes import size_in_bytes
from .nn import Module

__all__ = ["Metric", "Predictions", "Recipe", "Study", "accuracy", "formats", "language_model", "predict", "recipe", "recipes", "rmse", "study"]

_study = _dyadic._study


class Recipe(_study.Recipe):
    """A way to train one model.

    parameters   what weights are stored in: float32, bfloat16 or float16
    compute      autocast's low precision (bfloat16, float16, float8_e4m3fn); None: as the parameters
    states       what the optimizer's states are kept in: "f32", "dynamic8", "bf16" ...
    rounding     of the parameter update: "nearest" or "stochastic"
    scaler       whether the loss is scaled, as gradients of float16 need it
    modules      modules by name whose weights are stored, and which compute, in a dtype of their own: {"lm_head": "f32"}. * is any
                 text; what is inside of such a module belongs to it. The last that fits counts.
    name, doc    as reports call it; without a name it is made of what differs from f32
    """

    def __init__(
        self,
        parameters: Any = "f32",
        compute: Any = None,
        states: Any = "f32",
        rounding: str = "nearest",
        scaler: bool = False,
        modules: Mapping[str, Any] | None = None,
        name: str = "",
        doc: str = "",
    ):
        for field, dtype in (("parameters", parameters), ("compute", compute), ("states", states), *(modules or {}).items()):
            if not isinstance(dtype, (str, _dyadic.dtype)) and not (field == "compute" and dtype is None):
                raise TypeError(f"Recipe: {field} is {dtype!r}, not a dtype or the name of one")
            if isinstance(dtype, str):
                _study.check_dtype(f"Recipe: {field}", dtype)
        super().__init__(parameters, compute, states, rounding, bool(scaler), list((modules or {}).items()), name, doc)

    def __repr__(self) -> str:
        return f"Recipe({self.name!r})" if self.name else f"Recipe(parameters={self.parameters}, compute={self.compute})"


def recipes() -> list[Recipe]:
    """The built-in ones, f32 first."""
    return _study.recipes()


def recipe(name: str) -> Recipe:
    """A built-in one by its name; ValueError listing those there are."""
    return _study.recipe(name)


class Metric(NamedTuple):
    """What models are judged by beside the loss: the mean of function(model, batch), a tensor with a number for each sample, or the
    root of that mean."""

    name: str
    function: Callable[[Module, Any], Tensor]
    larger_is_better: bool = False
    root: bool = False


def _correct(model: Module, batch: Any) -> Tensor:
    return model(batch[0]).argmax(-1) == batch[1]


def _squared_errors(model: Module, batch: Any) -> Tensor:
    outputs, wanted = model(batch[0]), batch[1]
    if outputs.shape != wanted.shape:
        raise ValueError(f"rmse: outputs and targets differ: {list(outputs.shape)} and {list(wanted.shape)}")
    return (outputs.double() - wanted.double()).square().reshape(len(outputs), -1).mean(-1)


accuracy = Metric("accuracy", _correct, larger_is_better=True)
rmse = Metric("RMSE", _squared_errors, root=True)


class Study:
    """All that a study found: str() has the tables, a notebook shows the page. folder holds report.html, report.json and
    model.safetensors, the weights that f32 trained."""

    def __init__(self, part: Any):
        self._part = part

    @property
    def folder(self) -> str:
        """Where the report is; empty: nowhere."""
        return self._part.folder

    @property
    def complete(self) -> bool:
        """False where it was interrupted and has a report of what was done."""
        return not self._part.interrupted

    @property
    def recommendation(self) -> dict[str, Any]:
        """"recipe", "format" with the "modules" that are stored in another one, by name ({}: none), "uniform", the best single format,
        "bytes" of the model so stored, and "why"; a name is None where nothing can be said."""
        return self.to_dict()["recommendation"]

    @property
    def recipes(self) -> list[dict]:
        """The figures of each recipe, f32's first."""
        return self.to_dict()["recipes"]

    @property
    def formats(self) -> list[dict]:
        """The figures of each weight format, f32's first."""
        return self.to_dict()["formats"]

    def to_dict(self) -> dict:
        """report.json."""
        return _json.loads(self._part.json())

    def to_html(self) -> str:
        """report.html."""
        return self._part.html()

    def __str__(self) -> str:
        return self._part.text(shutil.get_terminal_size((100, 24)).columns)

    def __repr__(self) -> str:
        return f"<Study in {self.folder!r}>" if self.folder else "<Study>"

    def _repr_html_(self) -> str:
        page = _html.escape(self.to_html(), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:900px;border:0" title="precision study"></iframe>'


def _recipes(chosen: str | Recipe | Iterable[str | Recipe] | None) -> list:
    if chosen is None:
        return _study.recipes()
    found = [recipe(r) if isinstance(r, str) else r for r in _arguments.several(chosen, (str, _study.Recipe))]
    for r in found:
        if not isinstance(r, _study.Recipe):
            raise TypeError(f"study: recipes: {r!r} is neither a Recipe nor the name of one")
    return found


def _metric(metric: Any) -> Metric | None:
    if metric is None:
        return None
    if not isinstance(metric, Metric):
        way = "pass study.accuracy, study.rmse" if not callable(metric) else "pass study.Metric(its name, the function)"
        raise TypeError(f"study: metric is {metric!r}, not a Metric; {way}")
    if not callable(metric.function):
        raise TypeError(f"study: the metric {metric.name} has {metric.function!r} where a function belongs")
    return metric._replace(
        function=_arguments.on_meta(metric.function), larger_is_better=bool(metric.larger_is_better), root=bool(metric.root)
    )


def _check_minimize(minimize: str) -> None:
    if minimize not in ("memory", "time"):
        raise ValueError(f"study: minimize is {minimize!r}: it is memory or time")


def _finished(found: Study) -> Study:
    if not found.complete:
        print(f"interrupted: the report so far is in {found.folder}; go on with the same call, out and resume=True", file=sys.stderr)
        raise KeyboardInterrupt
    return found


def study(
    make_model: Callable[[], Module],
    batches: Any,
    loss: Callable[[Module, Any], Tensor],
    *,
    evaluation: Any = None,
    metric: Metric | None = None,
    tolerance: float = 0.01,
    minimize: str = "memory",
    steps: int | None = None,
    time: float | None = None,
    optimizer: str | type = "AdamW",
    optimizer_options: Mapping[str, Any] | None = None,
    schedule: str | type | None = None,
    schedule_options: Mapping[str, Any] | None = None,
    clip: float = 1.0,
    seeds: int = 1,
    seed: int = 0,
    recipes: str | Recipe | Sequence[str | Recipe] | None = None,
    formats: Sequence[Any] | None = None,
    per_layer: bool = False,
    shadow: bool = False,
    name: str | None = None,
    out: str | os.PathLike | None = None,
    resume: bool = False,
    progress: bool = True,
    device: Any = "cpu",
    memory_limit: int | str | None = None,
) -> Study:
    """Trains a model under every recipe, stores what f32 trained in every format, and says what each costs and loses.

    make_model         makes the module; called once for each run, when the default generator has been seeded: the same weights for
                       every recipe
    batches            a DataLoader, a list of batches, another iterable (gone through again and again, so no generator) or a function of the
                       step
    loss               loss(model, batch): a tensor with a number for each sample [N], or each token of each sample [N, ...], to be
                       made small. Training takes their mean.
    evaluation         batches that training does not see. None: a tenth is held back, the last samples of a loader's dataset or the
                       last batches of a list.
    metric             what is judged instead of the loss: accuracy, rmse, or a Metric of one's own
    tolerance          what may be lost of f32's loss or metric, as a share of it
    minimize           what the recommendation saves: "memory" or "time"
    steps, time        training steps of each run (1000), or seconds that all of them take together
    optimizer          a class of dyadic.optim or its name, and optimizer_options by name: {"lr": 0.1}
    schedule           a class of dyadic.optim.lr_scheduler or its name, and schedule_options; None: a warm-up, then a cosine to a tenth
    clip               largest norm of all gradients
    seeds, seed        each recipe is trained so often, from different weights, beginning with this seed
    recipes, formats   names or Recipes, names or dtypes; None: all. f32, the reference, always runs.
    per_layer          also where a format's loss comes from, module by module, and the mixture of formats that avoids it
    shadow             also which modules round, overflow, flush to zero and lose updates: 16 sampled steps of each recipe are compared
                       with wider results, not 3
    name, out, resume  of the model in reports; the report's folder (study-NAME, or the next free number); whether to go on with the
                       study in that folder, to the same bits as an unbroken one
    progress           a bar or lines on standard error
    device             where models are trained and judged: "cpu", "cuda" or "cuda:1"
    memory_limit       bytes that tensors may take, 4 << 30 or "4G", which each recipe's training is planned into, to the same bits; None: that of
                       set_memory_limit, if one was set

    What can be refused is refused before training starts. An error under one recipe, or of one format, is that row's ("error"), and the
    others go on; one in f32, the reference, is raised. Ctrl-C ends with the report so far, and then raises KeyboardInterrupt."""
    _check_minimize(minimize)
    options = {
        "evaluation": evaluation,
        "metric": _metric(metric),
        "tolerance": tolerance,
        "minimize": minimize,
        "steps": steps,
        "time": time,
        "optimizer": _arguments.optimizer_name(optimizer),
        "optimizer_options": dict(optimizer_options or {}),
        "schedule": _arguments.name_of(schedule),
        "schedule_options": dict(schedule_options or {}),
        "clip": clip,
        "seeds": seeds,
        "seed": seed,
        "recipes": _recipes(recipes),
        "formats": _arguments.format_names(formats),
        "per_layer": per_layer,
        "shadow": shadow,
        "name": name,
        "out": None if out is None else os.fspath(out),
        "resume": resume,
        "progress": progress,
        "device": str(device),
        "memory_limit": size_in_bytes(memory_limit or 0, "memory_limit"),
    }
    make = _arguments.maker(_arguments.called(make_model, "make_model"))
    return _finished(Study(_study.run(make, batches, _arguments.on_meta(_arguments.called(loss, "the loss")), options)))


def formats(
    model: Module,
    evaluate: Callable[[Module], Any],
    *,
    formats: Sequence[Any] | None = None,
    metric: str | None = None,
    larger_is_better: bool = False,
    tolerance: float = 0.01,
    name: str | None = None,
    out: str | os.PathLike | None = None,
) -> Study:
    """No training: a trained module with its weights stored in every format, judged by evaluate(model): a tensor of numbers, one for each
    sample, which are compared in pairs, or a single number. The module is as it was afterwards.

    formats            names or dtypes; None: all that fit the model's weights
    metric             what the numbers are ("accuracy"); None: a loss
    larger_is_better   of a metric
    tolerance          what may be lost, as a share of f32's
    name, out          of the model; a folder for report.html and report.json (None: none is written)"""

    _arguments.called(evaluate, "evaluate")
    if not isinstance(metric, (str, type(None))):
        raise TypeError(f"study: metric is {metric!r}; here it is the name of what evaluate gives")

    def values(model: Module) -> Tensor:
        found = evaluate(model)
        return found if isinstance(found, Tensor) else _dyadic.tensor(float(found), dtype=_dyadic.float64)

    found = Study(
        _study.formats(
            model, values, _arguments.format_names(formats), metric or "", larger_is_better, tolerance, name or "", "" if out is None else os.fspath(out)
        )
    )
    if not found.complete:
        raise KeyboardInterrupt
    return found


def language_model(
    path: str | os.PathLike,
    *,
    data: Sequence[str | os.PathLike] | str | os.PathLike = (),
    formats: Sequence[Any] | None = None,
    methods: str | Sequence[str] = (),
    window: int = 256,
    samples: int = 64,
    calibration: int = 64,
    tolerance: float = 0.01,
    minimize: str = "memory",
    per_layer: bool = False,
    name: str | None = None,
    out: str | os.PathLike | None = None,
    resume: bool = False,
    progress: bool = True,
) -> Study:
    """No training either: a language model as from_pretrained reads it, its weights in f32 and in every format, judged by the loss of each
    token of a text, given those before it in its window.

    data          text files and folders; none: the text built into the library
    formats       names or dtypes; None: all that fit the model's weights
    methods       of quantization ("gptq", "awq" ...): each stores the formats that it serves too; not for all formats
    window        tokens that are seen at once
    samples       windows that are judged at most, from the end of the text
    calibration   windows from before those that methods learn from at most
    tolerance     what may be lost, as a share of f32's loss
    minimize      "memory" or "time"
    per_layer     also where a format's loss comes from, module by module, and the mixture of formats that avoids it
    name, out     of the model; a folder for the report (None: the first free of study-<name>, study-<name>-2 ...)
    resume        go on with the study in that folder
    progress      a bar or lines on standard error"""

    _check_minimize(minimize)
    texts = [data] if isinstance(data, (str, os.PathLike)) else data
    options = {
        "data": [os.fspath(p) for p in texts],
        "formats": _arguments.format_names(formats),
        "methods": _arguments.several(methods, str),
        "window": window,
        "samples": samples,
        "calibration": calibration,
        "tolerance": tolerance,
        "minimize": minimize,
        "per_layer": per_layer,
        "name": name or "",
        "out": "" if out is None else os.fspath(out),
        "resume": resume,
        "progress": progress,
    }
    return _finished(Study(_study.language_model(os.fspath(path), options)))


def predict(
    make_model: Callable[[], Module],
    batch: Any,
    loss: Callable[[Module, Any], Tensor] | None = None,
    *,
    recipes: str | Recipe | Sequence[str | Recipe] | None = None,
    optimizer: str | type = "AdamW",
    optimizer_options: Mapping[str, Any] | None = None,
) -> Predictions:
    """What training on such batches would take under each recipe, from a dry run without memory: the model is made on the device meta,
    and nothing is computed. What values decide cannot be predicted, and is the model's error there.

    loss   as in study(); None: the mean of what the model makes of the batch, or of its first part"""

    return Predictions(
        *_study.predict(_arguments.maker(make_model), batch, _arguments.on_meta(loss or _arguments.mean_output), _recipes(recipes), _arguments.optimizer_name(optimizer), dict(optimizer_options or {}))
    )

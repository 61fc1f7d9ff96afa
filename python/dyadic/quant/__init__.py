"""Quantization: which codes the weights of a model get. Formats are dtypes; a quantized Linear is a Linear whose weight has that dtype.

    report = dyadic.quant.quantize(model, "i4(group=128)")                                        # round to nearest
    report = dyadic.quant.quantize(model, "q4_0", method="gptq", calibration=batches, exclude=["lm_head.*"])
    dyadic.quant.quantize(model, "i4(row)", activations="i8(tensor)", trainable=True)               # then calibrate(), train, freeze()
    w = dyadic.quant.gptq(weight, inputs, "i4(group=32)", damping=0.05)                             # one matrix, without a model

methods() lists what there is; each method is a function here as well, made from its record.
"""
from __future__ import annotations

import os
from typing import Any, NamedTuple

from .. import _dyadic
from .._dyadic import Tensor, _quant
from ..nn import Linear
from . import _trainable
from ._calibration import Calibration as _Calibration

__all__ = ["InputRange", "LayerReport", "Method", "Report", "Scaled", "calibrate", "fake_quantize", "fit_budget", "freeze", "methods",
           "observers", "quantize", "rotate", "round_inputs", "save_importance"]


class Method(NamedTuple):
    """A method's record."""

    name: str
    signature: str
    doc: str
    source: str
    needs_calibration: bool
    adjusts_other_layers: bool
    formats: list[str]  # those with default parameters that it serves


class LayerReport(NamedTuple):
    """What became of one weight: relative errors of its layer's output over the calibration data, of what was chosen and of rounding to nearest."""

    name: str
    format: str
    error: float
    error_rtn: float
    seconds: float
    fallback: str  # why the method did not choose the codes; empty where it did
    note: str  # what of the method was left out, or where its scales went


class Report(NamedTuple):
    """What quantize() did: the layers, and the bytes of parameters and buffers."""

    layers: list[LayerReport]
    bytes_before: int
    bytes_after: int


class InputRange(NamedTuple):
    """A layer's static scale for its inputs, and the range it is of."""

    name: str
    format: str
    batches: int  # that reached the layer; of none it has no static scale
    low: float
    high: float
    scale: float
    zero: int  # the code of 0, of formats with zero points


class Scaled(NamedTuple):
    """A matrix for inputs that are divided by input_scale, [in]."""

    weight: Tensor
    input_scale: Tensor


def methods() -> list[Method]:
    """The methods' records."""
    return [Method(**m) for m in _quant.methods()]


def _text(format):
    return None if format is None else _dyadic.dtype(format).name if isinstance(format, str) else format.name


def _names(patterns):
    return [patterns] if isinstance(patterns, str) else list(patterns)


def _data(model, calibration):
    return None if calibration is None else _Calibration(model, calibration)


def round_inputs(x, format, threshold=0.0) -> Tensor:
    """x in a scaled format and back, in its dtype: what a layer with quantized inputs sees. Features (of the last dimension) that reach a
    threshold somewhere in x are left as they are and the others rounded without them (LLM.int8, arXiv:2208.07339; its threshold is 6).
    """
    return _quant.round_inputs(x, _dyadic.dtype(format) if isinstance(format, str) else format, threshold)


def fake_quantize(x, format) -> Tensor:
    """x in a scaled format and back, in its dtype; its gradient is as if it were x (straight-through, arXiv:1308.3432)."""
    return _quant.fake_quantize(x, _dyadic.dtype(format) if isinstance(format, str) else format)


def _round_inputs_of(module, lasts, format, threshold):
    if lasts:
        module.register_forward_pre_hook(lambda _, args: (round_inputs(args[0], format, threshold), *args[1:]))
    else:
        _quant.round_inputs_of(module, _dyadic.dtype(_text(format)), threshold)


def quantize(model, weights=None, *, activations=None, threshold=0.0, method="rtn", calibration=None, include=(), exclude=(), map={},
             journal=None, resume=False, trainable=False, learned_scales=False, rotate=False, importance=None,
             **options) -> Report:
    """Changes a model's weights in place, to codes that a method chooses.

    weights: a scaled format, "i4(group=128)", "q4_K", dyadic.nf4 ... Of the weights that products and lookups read, those that a pattern
    of `include` fits (none: all) and none of `exclude`; with * and ?. map: formats by patterns of names, before `weights`; None: it
    stays. calibration: batches that the model is called with (a tensor, a tuple of arguments or a dict of them each), or a function that is
    called with the model. activations: a format that the inputs of the quantized linear layers are rounded to in each forward, i8(row) with a
    scale for each token; no part of what is saved; threshold: of outliers among them (round_inputs). journal: a folder where finished blocks
    are kept; with resume a run that was interrupted goes on behind them, to the same bits. options: the method's. Scaled formats take no
    gradient.

    rotate: rotate() the model first. importance: for method="imatrix", a language model's importance matrix in llama.cpp's GGUF form, in
    the place of calibration (save_importance()).

    trainable: nothing is stored yet. Weights of Linear, convolutions, Embedding and others stay what they are and are trained; each forward of
    their layer sees them, and with activations its inputs, rounded as they will be, and gradients pass the rounding by (quantization-aware
    training). calibrate() gives inputs in i8(tensor) static scales, freeze() stores the weights. learned_scales: scales of integer formats are
    parameters of the layer's child "quantizer" (LSQ, arXiv:1902.08153); make the optimizer after this and after calibrate().

    ValueError before anything is changed: a pattern that fits nothing, a format that the method does not serve, calibration that is
    needed and not given.
    """
    kept = dict(model.named_modules())  # their Python objects, on which hooks stand
    if activations is not None:
        round_inputs(_dyadic.ones(1, 1), activations, threshold)  # says what is wrong with them, before any work
    formats = [(pattern, _text(format)) for pattern, format in map.items()]
    if learned_scales and not trainable:
        raise ValueError("quantize: learned_scales are for trainable=True")
    trained = None
    if trainable:
        if journal is not None or threshold != 0:
            raise ValueError("quantize: trainable weights are rounded in each forward: leave out journal and threshold")
        trained = (None if activations is None else _dyadic.dtype(_text(activations)), learned_scales)
    key = repr((_text(weights), formats, method, options, include, exclude, *(["rotated"] if rotate else [])))
    layers, before, after = _quant.quantize(model, _text(weights), formats, method, options, _data(model, calibration), _names(include),
                                            _names(exclude), os.fspath(journal or ""), key, resume, trained, rotate,
                                             os.fspath(importance or ""))
    if trainable:
        _trainable.watch(model)
        return Report([LayerReport(*layer) for layer in layers], before, after)
    report = Report([LayerReport(*layer) for layer in layers], before, after)
    if activations is not None:
        quantized = [kept[layer.name.rpartition(".")[0]] for layer in report.layers]
        for module, lasts in _trainable.layers(model):
            if isinstance(module, Linear) and any(module is q for q in quantized):
                _round_inputs_of(module, lasts, activations, threshold)
    return report


def rotate(model, seed=0) -> None:
    """Puts a language model's residual stream into a randomized Hadamard basis, by its weights alone: results stay what they were, and
    outliers of a few channels are spread over all, which serves any format afterwards (QuaRot, arXiv:2404.00456). For decoders of norms
    before attention and gated layers whose head is not their embedding, before they are quantized; ValueError for others.
    """
    _quant.rotate(model, seed)


def save_importance(model, data, path, datasets=()) -> None:
    """Runs a language model over data, as quantize() takes calibration, and writes the sums of squares of its linear layers' inputs as
    llama.cpp's tools read them, a GGUF file. datasets: what it says of the data.
    """
    data = _Calibration(model, data)
    _quant.save_importance(model, data, os.fspath(path), _names(datasets), len(data._batches))


def observers() -> list[str]:
    """What calibrate() can make of the inputs it sees."""
    return _quant.observers()


def calibrate(model, data, observer="minmax", momentum=0.1, percentile=99.99) -> list[InputRange]:
    """After quantize(..., activations="i8(tensor)", trainable=True): a static scale for the inputs of each layer, from the range that is seen
    while the model runs over data, as quantize() takes calibration. Before it each input has its own scale; so has what no data reached.

    observer: "minmax" of all inputs; "moving_average" of batches, each counting `momentum`; or the range that keeps most of what was seen:
    "percentile" of magnitudes, "mse" the least squared error, "entropy" the least Kullback-Leibler divergence. ValueError where no layer takes
    a static scale, and for NaN among the inputs.
    """
    return [InputRange(*r) for r in _quant.calibrate(model, _Calibration(model, data), observer, momentum, percentile)]


def freeze(model) -> Report:
    """After quantize(..., trainable=True): weights are stored in their formats from now on and take no gradient; inputs are rounded on."""
    layers, before, after = _quant.freeze(model)
    _trainable.unwatch(model)
    return Report([LayerReport(*layer) for layer in layers], before, after)


def fit_budget(
    model, bytes, formats, *, calibration=None, include=(), exclude=(), map={}
) -> tuple[dict[str, str | None], list[tuple[int, float]]]:
    """Mixed bits under a budget: a format for each weight, for quantize(map=...), so that the model's parameters and buffers take at most
    `bytes`, and the curve of (bytes, distance) that leads there. Each weight is rounded to each format by itself; what that does to the
    model's results over the calibration data is the distance: of logits the mean Kullback-Leibler divergence in nats, else the squared
    error's share. Without data it is the weight's own. map: formats that are given, as quantize() takes them: they count, and are part
    of the result.
    """
    kept = list(model.modules())  # noqa: F841
    given = [(pattern, _text(format)) for pattern, format in map.items()]
    return _quant.fit_budget(model, bytes, [_text(f) for f in formats], _data(model, calibration), _names(include), _names(exclude), given)


def _function(record):
    def run(weight, inputs=None, format=None, **options):
        if format is None and not isinstance(inputs, Tensor):  # rtn(weight, "nf4")
            inputs, format = None, inputs
        made = _quant.matrix(record.name, weight, inputs, _dyadic.dtype(format) if isinstance(format, str) else format, options)
        return Scaled(*made) if record.adjusts_other_layers else made

    run.__name__ = run.__qualname__ = record.name
    run.__module__ = __name__
    result = "Scaled" if record.adjusts_other_layers else "Tensor"
    run.__doc__ = f"""{record.doc}

    weight: floats [out, in]; inputs: [..., in]{'' if record.needs_calibration else ' or None'}; format: a scaled dtype. {record.source}

    {record.signature} -> {result}"""
    return run


def _made() -> dict[str, Any]:
    return {m.name: _function(m) for m in methods()}


globals().update(_made())
__all__ += sorted(_made())

"""Pruning: which weights of a model become zero, and that they stay so. (torch.nn.utils.prune is dyadic.nn.utils.prune.)

    report = dyadic.prune.prune(model, "2:4", method="sparsegpt", calibration=batches)
    masks = dyadic.prune.Masks(model)
    ...; optimizer.step(); masks.apply()                              # fine-tuning, zeros stay zero
    w = dyadic.prune.wanda(weight, inputs, 0.5)                       # one matrix, without a model

Zeros are numbers like others: they take no less memory or time here. Rows that are zero can be taken out, compressed files are smaller,
and other programs have kernels for 2:4.
"""
from __future__ import annotations

from typing import NamedTuple

from ._dyadic import Tensor, _prune
from ._dyadic._prune import Masks
from .quant import _data, _names

__all__ = ["LayerReport", "Masks", "Method", "Report", "magnitude", "methods", "narrowed", "prune", "sparsegpt", "wanda"]


class Method(NamedTuple):
    """A method's record."""

    name: str
    doc: str
    source: str
    needs_calibration: bool


class LayerReport(NamedTuple):
    """What became of one weight: errors are relative ones of its layer's output over the calibration data (without: of the weight)."""

    name: str
    sparsity: float  # share of zeros
    error: float
    error_magnitude: float  # of the smallest weights by the same rule
    seconds: float
    fallback: str  # why its smallest weights were taken; empty where the method chose


class Report(NamedTuple):
    """What prune() did."""

    layers: list[LayerReport]
    parameters: int
    zeros: int
    bytes: int  # of parameters and buffers, which zeros do not change


def methods() -> list[Method]:
    """The methods' records."""
    return [Method(*m) for m in _prune.methods()]


def magnitude(weight, sparsity=0.5, scope=None) -> Tensor:
    """weight [out, in] without its smallest elements: of the matrix, of each "row", or whole "rows" by their norm. sparsity: a share, "50%" or
    "2:4" (two of each four neighbours). (Han et al. 2015, arXiv:1506.02626.)"""
    return _prune.matrix("magnitude", weight, None, str(sparsity), scope)


def wanda(weight, inputs, sparsity=0.5, scope=None) -> Tensor:
    """weight [out, in] without the smallest of |w| times the norm of the inputs [..., in] that it multiplies, in each row. (Sun et al. 2023,
    arXiv:2306.11695.)"""
    return _prune.matrix("wanda", weight, inputs, str(sparsity), scope)


def sparsegpt(weight, inputs, sparsity=0.5) -> Tensor:
    """weight [out, in] pruned column by column; what that does to the products with inputs [..., in] is made good in the columns that follow.
    (Frantar, Alistarh 2023, arXiv:2301.00774.)"""
    return _prune.matrix("sparsegpt", weight, inputs, str(sparsity), None)


def prune(model, sparsity=0.5, *, method="magnitude", scope=None, calibration=None, include=(), exclude=("lm_head.*",)) -> Report:
    """Makes weights of linear layers and convolutions zero, in place.

    sparsity: the share of each weight that becomes zero, "50%", or "2:4". method: "magnitude", "wanda" or "sparsegpt"; the last two
    need calibration: batches that the model is called with, or a function that is called with it. scope: where the smallest are looked
    for: in a "matrix", each "row", "global"ly in all of them, or whole "rows" (outputs, channels) with their bias; None: the method's. Patterns of
    parameters' names, with * and ?: those that `include` fits (none: all) and no `exclude`.

    ValueError before anything is changed: a pattern that fits nothing, calibration that is needed and not given, weights in a scaled format,
    rows that N:M does not divide.
    """
    layers, parameters, zeros, nbytes = _prune.prune(model, str(sparsity), method, scope, _data(model, calibration), _names(include), _names(exclude))
    return Report([LayerReport(*layer) for layer in layers], parameters, zeros, nbytes)


def narrowed(model, channels=0.0, heads=0.0, *, calibration=None):
    """A smaller language model: without a share of the channels of each gated layer, and of the heads of keys and values with their queries.

    calibration: batches of ids, or a function that is called with the model: what a channel or head adds to its layer's results counts, and
    what stays makes good what goes; None: the weights alone. Of models whose layers have the names of llama's. ValueError for others,
    for weights in a scaled format, and where nothing would go.
    """
    small = _prune.narrowed(model, channels, heads, _data(model, calibration))
    small.tokenizer = model.tokenizer
    return small

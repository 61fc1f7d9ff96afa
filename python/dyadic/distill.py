"""Distillation: a model learns from another one's results.

    report = dyadic.distill.distill("small", "chat.jsonl", teacher="large", teacher_format="nf4", out="runs/small")
    loss = 0.5 * F.cross_entropy(logits, labels) + 0.5 * dyadic.distill.distillation_loss(logits, teacher_logits, temperature=2)
"""
from __future__ import annotations

import inspect
import os

from . import _dyadic
from ._dyadic import Tensor
from ._finetune import FinetuneReport, _load, _train, finetune

__all__ = ["distill", "distillation_loss", "hidden_loss", "relation_loss"]


def distillation_loss(student, teacher, temperature=2.0) -> Tensor:
    """temperature^2 times the mean over rows of KL(softmax(teacher / temperature) || softmax(student / temperature)): logits [..., classes] of
    both. (Hinton, Vinyals, Dean 2015, arXiv:1503.02531.)"""
    return _dyadic._distillation_loss(student, teacher, temperature)


def hidden_loss(student, teacher) -> Tensor:
    """The mean over rows [..., width] of |student - teacher|^2 / |teacher|^2: hidden states of equal width."""
    return _dyadic._hidden_loss(student, teacher)


def relation_loss(student, teacher, heads=1, mask=None) -> Tensor:
    """How tokens see each other: the mean over tokens and heads of KL(softmax(t t^T / sqrt(d)) || softmax(s s^T / sqrt(d))) of queries, keys or
    values [B, T, width], cut into heads of d = width / heads; student and teacher may differ in width. mask: bool [T, T] or [B, T, T], which of
    the others a token may see. (MiniLMv2: Wang et al. 2020, arXiv:2012.15828.)"""
    return _dyadic._relation_loss(student, teacher, heads, mask)


def distill(student, data, teacher=None, *, teacher_format=None, temperature=2.0, share=0.5, hidden=(), relations=(), hidden_weight=1.0,
            relation_weight=1.0, heads=1, cache=None, top_k=128, **run) -> FinetuneReport:
    """Trains a language model on data, of which a teacher says more than they do.

    student, data and run: as dyadic.finetune takes them. teacher: a model of the same vocabulary, or a path, whose linear layers are read in
    `teacher_format` ("nf4"). share: of the teacher's logits, softened by temperature, in the loss; the rest is the data's answers. hidden and
    relations: pairs of names of modules, in student and teacher, whose results are held to each other: hidden states of one width, and queries,
    keys or values of `heads` heads. cache: a file for the teacher's top_k logits of each token: made if it is not there; then no teacher is
    needed. The report's evaluation is of the answers alone.
    """
    defaults = {name: p.default for name, p in inspect.signature(finetune).parameters.items() if p.kind is p.KEYWORD_ONLY}
    if unknown := run.keys() - defaults.keys():
        raise TypeError(f"distill: finetune has no argument {sorted(unknown)[0]!r}")
    given = defaults | run
    if isinstance(teacher, (str, os.PathLike)):
        teacher = _load(os.fspath(teacher), teacher_format)
    options = dict(temperature=temperature, share=share, hidden=list(hidden), relations=list(relations), hidden_weight=hidden_weight,
                   relation_weight=relation_weight, heads=heads, cache="" if cache is None else os.fspath(cache), top_k=top_k)
    apart = {name: given.pop(name) for name in ("tokenizer", "base", "eval", "on_step")}
    return _train(_dyadic._distill, (teacher, options), student, data, *apart.values(), given)

"""Losses with parameters or functions of their own."""
from collections import namedtuple

from .. import _dyadic
from .._dyadic import Linear, Module, ModuleList, Sequential
from . import _reduction
from . import functional as F
from ._linear_cross_entropy import LinearCrossEntropyOptions

__all__ = ["AdaptiveLogSoftmaxWithLoss", "LinearCrossEntropyLoss", "LinearCrossEntropyOptions", "TripletMarginWithDistanceLoss"]

_Adaptive = namedtuple("ASMoutput", ["output", "loss"])


class _Loss(Module):
    """For losses of one's own: keeps the reduction."""

    def __init__(self, size_average=None, reduce=None, reduction="mean"):
        super().__init__()
        self.reduction = _reduction.read({"size_average": size_average, "reduce": reduce, "reduction": reduction})["reduction"]


class _WeightedLoss(_Loss):
    """For losses of one's own with weights of classes."""

    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class TripletMarginWithDistanceLoss(Module):
    """max(d(anchor, positive) - d(anchor, negative) + margin, 0) with a distance d of one's own; without one the 2-norm."""

    def __init__(self, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
        super().__init__()
        if margin <= 0:
            raise ValueError(f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead")
        self.distance_function, self.margin, self.swap, self.reduction = distance_function, margin, swap, reduction

    def forward(self, anchor, positive, negative):
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


class LinearCrossEntropyLoss(Module):
    """cross_entropy(linear(input), target); linear.weight is [num_classes prod(out_features), in_features]. options: of linear_cross_entropy."""

    def __init__(
        self,
        in_features,
        num_classes,
        *,
        out_features=(),
        bias=False,
        device=None,
        dtype=None,
        reduction="mean",
        weight=None,
        ignore_index=None,
        label_smoothing=0.0,
        options=None,
    ):
        super().__init__()
        rows = num_classes
        for n in out_features:
            rows *= n
        self.linear = Linear(in_features, rows, bias, dtype=dtype, device=device)
        self.num_classes, self.out_features = num_classes, tuple(out_features)
        self.register_buffer("weight", weight)
        self.reduction, self.ignore_index, self.label_smoothing = reduction, ignore_index, label_smoothing
        self.options = options

    def forward(self, input, target):
        shape = [self.num_classes, *self.out_features]
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(shape + [-1]),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )


class AdaptiveLogSoftmaxWithLoss(Module):
    """log_softmax over many classes, the frequent ones first (Grave et al. 2017): `cutoffs` part them into clusters, and each cluster but
    the first is one class of the head with a smaller softmax of its own behind it."""

    def __init__(self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None, dtype=None):
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs or cutoffs != sorted(set(cutoffs)) or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1:
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is "
                f"between 1 and n_classes-1: they are {cutoffs}"
            )
        made = {"device": device, "dtype": dtype}
        self.in_features, self.n_classes, self.cutoffs, self.div_value = in_features, n_classes, cutoffs + [n_classes], div_value
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, **made)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            width, size = int(in_features // div_value ** (i + 1)), self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(Sequential(Linear(in_features, width, False, **made), Linear(width, size, False, **made)))

    def log_prob(self, input):
        """[N, n_classes]"""
        head = F.log_softmax(self.head(input), 1)
        parts = [head[:, : self.shortlist_size]]
        for i, tail in enumerate(self.tail):
            parts.append(F.log_softmax(tail(input), 1) + head[:, self.shortlist_size + i].unsqueeze(1))
        return _dyadic.cat(parts, 1)

    def predict(self, input):
        """The likeliest class of each row."""
        return self.log_prob(input).argmax(1)

    def forward(self, input, target):
        """(output, loss): each target's log-probability and minus their mean. Only clusters that targets are in are computed."""
        rows = input if input.dim() == 2 else input.unsqueeze(0)
        targets = target.reshape(-1)
        if len(targets) and (int(targets.min()) < 0 or int(targets.max()) >= self.n_classes):
            raise RuntimeError(f"Target values should be in [0, {self.n_classes - 1}], but values in range were found outside of it")
        head = F.log_softmax(self.head(rows), 1)
        cluster = _dyadic.zeros_like(targets)
        for cutoff in self.cutoffs[:-1]:
            cluster = cluster + (targets >= cutoff).to(targets.dtype)
        in_head = _dyadic.where(cluster == 0, targets, self.shortlist_size + cluster - 1)
        output = head.gather(1, in_head.unsqueeze(1)).squeeze(1)
        for i, tail in enumerate(self.tail):
            (here,) = _dyadic.nonzero(cluster == i + 1).unbind(1)
            if len(here):
                inside = F.log_softmax(tail(rows[here]), 1).gather(1, (targets[here] - self.cutoffs[i]).unsqueeze(1)).squeeze(1)
                output = output.index_add(0, here, inside)
        output = output.reshape(target.shape)
        return _Adaptive(output, -output.mean())

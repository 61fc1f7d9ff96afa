"""Gradient accumulation: batches by their share of the samples."""
from .._dyadic import Tensor


def _samples(batch):
    """Of a batch: the first size of its first tensor."""
    if isinstance(batch, Tensor):
        return batch.size(0) if batch.dim() else 1
    if isinstance(batch, dict):
        batch = tuple(batch.values())
    if isinstance(batch, (list, tuple)):
        return _samples(batch[0]) if batch else 0
    return 1


def _weighted(window):
    total = sum(map(_samples, window)) or 1
    return [(_samples(batch) / total, batch) for batch in window]


def windows(batches, length):
    """Lists of `length` pairs (weight, batch) whose gradients make one step, the last of what is left. The weights of a list sum to 1:
    a batch's share of the samples, by which its mean loss is multiplied before backward(), so that the step is that of one large batch.

    for window in dyadic.train.windows(loader, 4):
        for weight, (x, y) in window:
            (loss(model(x), y) * weight).backward()
        optimizer.step()
        optimizer.zero_grad()
    """
    if length < 1:
        raise ValueError(f"windows: length is not positive: {length}")

    def each():
        window = []
        for batch in batches:
            window.append(batch)
            if len(window) == length:
                yield _weighted(window)
                window = []
        if window:
            yield _weighted(window)

    return each()

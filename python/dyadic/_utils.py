"""PyTorch's inner place of lists of tensors as one vector."""
from ._dyadic import cat


def _flatten_dense_tensors(tensors):
    """All elements, one tensor behind the other."""
    return cat([t.contiguous().view(-1) for t in tensors])


def _unflatten_dense_tensors(flat, tensors):
    """The parts of flat as views in the shapes of tensors."""
    return tuple(part.view(t.shape) for part, t in zip(flat.split([t.numel() for t in tensors]), tensors))

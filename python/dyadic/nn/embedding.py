"""Embedding and EmbeddingBag with what Python adds: rows of a bounded norm, tables that are there already."""
from .. import _dyadic
from .._dyadic import Parameter
from ._layers import classes
from ._module import reset_by_own
from .._ignored import ignored as _ignored

__all__ = ["Embedding", "EmbeddingBag"]


def _begin(self, sparse, _weight, _freeze):
    self.sparse = bool(sparse)
    if _weight is not None:
        if list(_weight.shape) != list(self.weight.shape):
            raise ValueError(f"{type(self).__name__}: the sizes do not fit: _weight is {list(_weight.shape)}, {list(self.weight.shape)} is needed")
        self.weight = Parameter(_weight, not _freeze)


def _of_table(cls, embeddings, freeze, *args, **options):
    rows, columns = embeddings.shape
    made = cls(rows, columns, *args, device="meta", dtype=embeddings.dtype, **options)
    made.weight = Parameter(embeddings, not freeze)
    return made


class Embedding(_dyadic.Embedding):
    """Rows of weight [num_embeddings, embedding_dim] by index. Rows that are used are first scaled to a norm of at most max_norm, in
    place. Gradients are dense, whatever `sparse` says."""

    @_ignored("sparse", why="gradients are dense, with zeros for rows that were not used", warn=True)
    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        padding_idx=None,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        sparse=False,
        _weight=None,
        _freeze=False,
        device=None,
        dtype=None,
    ):
        options = {"dtype": dtype, "device": device}
        super().__init__(num_embeddings, embedding_dim, padding_idx, scale_grad_by_freq, max_norm, norm_type, **options)
        _begin(self, sparse, _weight, _freeze)
        if _weight is None:
            reset_by_own(self)

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
        """Of a table that is there; freeze: it is not trained."""
        return _of_table(cls, embeddings, freeze, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)


class EmbeddingBag(classes["EmbeddingBag"]):
    __doc__, __signature__ = classes["EmbeddingBag"].__doc__, None  # that of __init__

    @_ignored("sparse", why="gradients are dense, with zeros for rows that were not used", warn=True)
    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        mode="mean",
        sparse=False,
        _weight=None,
        include_last_offset=False,
        padding_idx=None,
        device=None,
        dtype=None,
    ):
        bag = (mode, include_last_offset, padding_idx, scale_grad_by_freq, max_norm, norm_type)
        super().__init__(num_embeddings, embedding_dim, *bag, dtype=dtype, device=device)
        _begin(self, sparse, _weight, False)

    def forward(self, input, offsets=None, per_sample_weights=None):
        return super().forward(input, offsets, per_sample_weights)

    @classmethod
    def from_pretrained(
        cls,
        embeddings,
        freeze=True,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        mode="mean",
        sparse=False,
        include_last_offset=False,
        padding_idx=None,
    ):
        """Of a table that is there; freeze: it is not trained."""
        bag = {"include_last_offset": include_last_offset, "padding_idx": padding_idx}
        return _of_table(cls, embeddings, freeze, max_norm, norm_type, scale_grad_by_freq, mode, sparse, **bag)

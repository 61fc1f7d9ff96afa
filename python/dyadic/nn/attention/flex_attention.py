"""Attention whose scores a function changes: score_mod(score, b, h, q_idx, kv_idx), and mask_mod(b, h, q_idx, kv_idx), which says what is
seen. Both are called once, with index tensors [B, 1, 1, 1], [1, H, 1, 1], [1, 1, Q, 1] and [1, 1, 1, KV] in the place of numbers; scores are
computed whole."""
import math
from typing import NamedTuple

from ... import _dyadic
from ..._ignored import ignored as _ignored

__all__ = ["AuxOutput", "AuxRequest", "BlockMask", "and_masks", "create_block_mask", "create_mask", "create_nested_block_mask", "flex_attention", "noop_mask", "or_masks"]
_DEFAULT_SPARSE_BLOCK_SIZE = 128
_score_mod_signature = _mask_mod_signature = object  # for annotations


class AuxRequest(NamedTuple):
    """What flex_attention is to give beside its result: log(sum(exp(scores))) of each row, the largest score of each row."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What was asked for by an AuxRequest, else None."""

    lse: object = None
    max_scores: object = None


def _places(sizes, device):
    """Index tensors that broadcast against [B, H, Q, KV]."""
    shape = lambda d: [-1 if k == d else 1 for k in range(4)]  # noqa: E731
    return [_dyadic.arange(0, n, 1, device=device).reshape(shape(d)) for d, n in enumerate(sizes)]


@_ignored("batch", "head", "token_q", "token_kv", why="all is seen")
def noop_mask(batch, head, token_q, token_kv):
    """A mask_mod that lets all be seen."""
    return _dyadic.ones([], dtype=_dyadic.bool)


def and_masks(*mask_mods):
    """The mask_mod of what all of them let see."""

    def both(b, h, q_idx, kv_idx):
        seen = noop_mask(b, h, q_idx, kv_idx)
        for mod in mask_mods:
            seen = seen & mod(b, h, q_idx, kv_idx)
        return seen

    return both


def or_masks(*mask_mods):
    """The mask_mod of what any of them lets see."""

    def either(b, h, q_idx, kv_idx):
        seen = ~noop_mask(b, h, q_idx, kv_idx)
        for mod in mask_mods:
            seen = seen | mod(b, h, q_idx, kv_idx)
        return seen

    return either


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device="cpu"):
    """mask_mod as a bool tensor [B, H, Q_LEN, KV_LEN]; B and H may be None for one that serves all."""
    sizes = [B or 1, H or 1, Q_LEN, KV_LEN]
    seen = mod_fn(*_places(sizes, device))
    return (seen if isinstance(seen, _dyadic.Tensor) else _dyadic.tensor(seen)).to(_dyadic.bool).expand(sizes)


class BlockMask:
    """A mask_mod for given lengths. It is evaluated where attention is computed: seq_lengths may be changed by _adjust."""

    def __init__(self, mask_mod, batch, heads, seq_lengths, block_size):
        self.mask_mod, self.seq_lengths, self.BLOCK_SIZE = mask_mod, tuple(seq_lengths), block_size
        self._batch, self._heads = batch, heads

    @property
    def shape(self):
        """(B, H, Q_LEN, KV_LEN)"""
        return (self._batch or 1, self._heads or 1, *self.seq_lengths)

    def __getitem__(self, index):
        raise NotImplementedError(f"BlockMask: it is not indexed here: index is {index}; create_block_mask makes one of other lengths")

    def _adjust(self, new_q_len, new_kv_len):
        """The same mask_mod for other lengths."""
        return BlockMask(self.mask_mod, self._batch, self._heads, (new_q_len, new_kv_len), self.BLOCK_SIZE)

    def numel(self):
        """How many scores there are."""
        return math.prod(self.shape)

    def to_dense(self):
        """Which blocks hold anything that is seen: [B, H, blocks of queries, blocks of keys], int32."""
        rows, columns = self.BLOCK_SIZE
        seen = create_mask(self.mask_mod, *self.shape)
        seen = _dyadic.pad(seen.to(_dyadic.uint8), [0, -seen.size(3) % columns, 0, -seen.size(2) % rows])
        return seen.unflatten(3, [-1, columns]).unflatten(2, [-1, rows]).amax([3, 5]).to(_dyadic.int32)

    def sparsity(self):
        """The share of blocks that hold nothing, in percent."""
        return 100 * (1 - self.to_dense().float().mean().item())

    @_ignored("device", why="the mask is evaluated where attention is computed")
    def to(self, device):
        """self: it holds no tensors."""
        return self

    def __repr__(self):
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"


@_ignored("device", "_compile", why="the mask is evaluated where attention is computed")
def create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN, device="cpu", BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE, _compile=False):
    """A BlockMask of mask_mod; B and H may be None for one that serves all."""
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    return BlockMask(mask_mod, B, H, (Q_LEN, KV_LEN), size)


def create_nested_block_mask(*args, **kwargs):
    """Raises: a tensor has one shape."""
    raise NotImplementedError("create_nested_block_mask: it is not here: a tensor has one shape")


@_ignored("kernel_options", why="attention is computed in one way")
def flex_attention(
    query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False, kernel_options=None, *, return_aux=None
):
    """softmax(score_mod(query key^T scale)) value, of [B, H, Q, E], [B, H_kv, KV, E] and [B, H_kv, KV, E_v]; scale is 1 / sqrt(E) unless
    given. Rows that see nothing are zeros. return_aux, an AuxRequest: also an AuxOutput; return_lse: its lse alone. Gradients go
    through score_mod."""
    if key.size(1) != query.size(1):
        if not enable_gqa or query.size(1) % key.size(1):
            raise ValueError(f"flex_attention: the heads do not fit: query has {query.size(1)}, key {key.size(1)}; enable_gqa=True lets one serve several")
        key, value = (t.repeat_interleave(query.size(1) // t.size(1), 1) for t in (key, value))
    scores = query @ key.mT * (1 / math.sqrt(query.size(-1)) if scale is None else scale)
    wide = scores.float() if scores.dtype in (_dyadic.float16, _dyadic.bfloat16) else scores
    if score_mod is not None or block_mask is not None:
        places = _places(scores.shape, scores.device)
    if score_mod is not None:
        wide = score_mod(wide, *places)
    if block_mask is not None:
        seen = block_mask.mask_mod(*places)
        wide = _dyadic.where(seen, wide, float("-inf"))
    lse = _dyadic.logsumexp(wide, -1)
    empty = lse == float("-inf")
    weights = _dyadic.exp(wide - lse.masked_fill(empty, 0.0).unsqueeze(-1))
    out = weights.to(value.dtype) @ value
    if return_aux is not None:
        return out, AuxOutput(lse if return_aux.lse else None, wide.amax(-1) if return_aux.max_scores else None)
    return (out, lse) if return_lse else out

"""forward of encoder and decoder layers: C++'s where a layer is as it was made; where a derived class has a block of its own, or a
part or the activation was exchanged, block by block."""
from .._dyadic import _has_direct_children, _Layer, _own_dict
from . import functional as F
from ._layers import classes


def _is_as_made(self):
    as_made = type(self) in _KINDS and _OWN.isdisjoint(_own_dict(self)) and _has_direct_children(self)
    return as_made and all(getattr(type(self), name, block) is block for name, block in _BLOCKS.items())


def _self_attention(self, x, attn_mask, key_padding_mask, is_causal=False):
    """Self-attention and dropout."""
    masks = dict(attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal)
    return self.dropout1(self.self_attn(x, x, x, need_weights=False, **masks)[0])


def _attention(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
    """Attention to memory and dropout."""
    masks = dict(attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal)
    return self.dropout2(self.multihead_attn(x, mem, mem, need_weights=False, **masks)[0])


def _feed_forward(self, x):
    """Linear, activation, linear, with dropout."""
    last = getattr(self, "dropout3", self.dropout2)
    return last(self.linear2(self.dropout(self.activation(self.linear1(x)))))


_BLOCKS = {"_sa_block": _self_attention, "_mha_block": _attention, "_ff_block": _feed_forward}
_OWN = {"_function", *_BLOCKS}


def _residual(self, x, norm, block):
    return x + block(norm(x)) if self.norm_first else norm(x + block(x))


def _encode(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
    """src through self-attention and the feed-forward part, each added to its input and normalized."""
    if _is_as_made(self):
        return _Layer.forward(self, src, src_mask, src_key_padding_mask, is_causal)
    x = _residual(self, src, self.norm1, lambda x: self._sa_block(x, src_mask, src_key_padding_mask, is_causal=is_causal))
    return _residual(self, x, self.norm2, self._ff_block)


def _decode(
    self,
    tgt,
    memory,
    tgt_mask=None,
    memory_mask=None,
    tgt_key_padding_mask=None,
    memory_key_padding_mask=None,
    tgt_is_causal=False,
    memory_is_causal=False,
):
    """tgt through self-attention, attention to memory and the feed-forward part, each added to its input and normalized."""
    own, other = (tgt_mask, tgt_key_padding_mask, tgt_is_causal), (memory_mask, memory_key_padding_mask, memory_is_causal)
    if _is_as_made(self):
        return _Layer.forward(self, tgt, memory, *(part for pair in zip(own, other) for part in pair))
    x = _residual(self, tgt, self.norm1, lambda x: self._sa_block(x, *own))
    x = _residual(self, x, self.norm2, lambda x: self._mha_block(x, memory, *other))
    return _residual(self, x, self.norm3, self._ff_block)


_by_name = classes["TransformerEncoderLayer"].__dict__["activation"]


def _get_activation(self):
    return _own_dict(self).get("_function") or getattr(F, _by_name.fget(self))


def _set_activation(self, function):
    _own_dict(self)["_function"] = function


def _begins(cls):
    native = cls.__init__

    def __init__(self, *args, **kwargs):
        given = cls.__signature__.bind(*args, **kwargs).arguments
        function = given.get("activation", "relu")
        own = not isinstance(function, str) and getattr(F, getattr(function, "__name__", ""), None) is not function
        native(self, **given | {"activation": "relu" if own else function})
        if own:
            self.activation = function

    cls.__init__ = __init__


_KINDS = classes["TransformerEncoderLayer"], classes["TransformerDecoderLayer"]
for _kind in _KINDS:
    _kind._sa_block, _kind._ff_block = _self_attention, _feed_forward
    _kind.activation = property(_get_activation, _set_activation, doc="The function between the two linear layers.")
    _begins(_kind)
classes["TransformerEncoderLayer"].forward = _encode
classes["TransformerDecoderLayer"].forward, classes["TransformerDecoderLayer"]._mha_block = _decode, _attention

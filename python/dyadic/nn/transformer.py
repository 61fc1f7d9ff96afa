"""Encoders and decoders: stacks of layers, and the Transformer of both."""
import copy

from .. import _dyadic
from .._dyadic import LayerNorm, Module, ModuleList
from . import functional, init
from ._layers import classes
from .._ignored import ignored as _ignored

__all__ = ["Transformer", "TransformerDecoder", "TransformerEncoder"]


def _get_clones(module, N):
    return ModuleList([copy.deepcopy(module) for _ in range(N)])


def _get_activation_fn(activation):
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation: it is relu or gelu: it is {activation}")
    return getattr(functional, activation)


class _Stack(Module):
    def __init__(self, layer, num_layers, norm):
        super().__init__()
        self.layers = _get_clones(layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def run(self, x, call):
        for layer in self.layers:
            x = call(layer, x)
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_Stack):
    """num_layers copies of an encoder layer one after the other, then norm."""

    @_ignored("enable_nested_tensor", "mask_check", why="there are no nested tensors")
    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__(encoder_layer, num_layers, norm)

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        return self.run(
            src,
            lambda layer, x: layer(x, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=bool(is_causal)),
        )


class TransformerDecoder(_Stack):
    """num_layers copies of a decoder layer one after the other, then norm."""

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt,
        memory,
        tgt_mask=None,
        memory_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        tgt_is_causal=None,
        memory_is_causal=False,
    ):
        return self.run(
            tgt,
            lambda layer, x: layer(
                x,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=bool(tgt_is_causal),
                memory_is_causal=memory_is_causal,
            ),
        )


class Transformer(Module):
    """An encoder of src and a decoder of tgt that attends to it (Vaswani et al. 2017)."""

    def __init__(
        self,
        d_model=512,
        nhead=8,
        num_encoder_layers=6,
        num_decoder_layers=6,
        dim_feedforward=2048,
        dropout=0.1,
        activation="relu",
        custom_encoder=None,
        custom_decoder=None,
        layer_norm_eps=1e-5,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        made = {"device": device, "dtype": dtype}
        layer = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)

        def norm():
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **made)

        self.encoder = custom_encoder or TransformerEncoder(
            classes["TransformerEncoderLayer"](*layer, **made), num_encoder_layers, norm()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            classes["TransformerDecoderLayer"](*layer, **made), num_decoder_layers, norm()
        )
        for p in self.parameters():
            if p.dim() > 1:
                init.xavier_uniform_(p)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self,
        src,
        tgt,
        src_mask=None,
        tgt_mask=None,
        memory_mask=None,
        src_key_padding_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        src_is_causal=None,
        tgt_is_causal=None,
        memory_is_causal=False,
    ):
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask,
            memory_mask,
            tgt_key_padding_mask,
            memory_key_padding_mask,
            tgt_is_causal,
            memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """[sz, sz] to add to scores: -inf where a key lies behind the query, else 0."""
        return _dyadic.triu(_dyadic.full((sz, sz), float("-inf"), dtype=dtype, device=device), 1)

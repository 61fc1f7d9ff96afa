"""Attention with several heads as a function of its weights."""
from .. import _dyadic


def _as_bias(mask, dtype):
    """A mask that is added: of a bool one, -inf where it holds."""
    if mask is None or mask.dtype != _dyadic.bool:
        return mask
    return _dyadic.zeros_like(mask, dtype=dtype).masked_fill(mask, float("-inf"))


def _project(query, key, value, in_proj_weight, in_proj_bias, own):
    """The three inputs times their weights: parts of in_proj_weight, or one's own each."""
    weights = in_proj_weight.chunk(3) if own is None else own
    biases = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
    return [_dyadic.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases)]


def _in_projection_packed(q, k, v, w, b=None):
    """[query, key, value] times the parts of one weight [3 width, width]."""
    return _project(q, k, v, w, b, None)


def _in_projection(q, k, v, w_q, w_k, w_v, b_q=None, b_k=None, b_v=None):
    """(query, key, value), each times its own weight."""
    return tuple(_dyadic.linear(x, w, b) for x, w, b in ((q, w_q, b_q), (k, w_k, b_k), (v, w_v, b_v)))


def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training=True,
    key_padding_mask=None,
    need_weights=True,
    attn_mask=None,
    use_separate_proj_weight=False,
    q_proj_weight=None,
    k_proj_weight=None,
    v_proj_weight=None,
    static_k=None,
    static_v=None,
    average_attn_weights=True,
    is_causal=False,
):
    """(output [L, N, E], weights or None) of query [L, N, E], key and value [S, N, ...] or without N: what MultiheadAttention
    computes, with every weight an argument. Masks that are bool forbid where they hold; others are added."""
    if query.dim() == 2:
        query, key, value = (x.unsqueeze(1) for x in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
        batched = False
    else:
        batched = True
    length, batch, width = query.shape
    if width != embed_dim_to_check or width % num_heads:
        raise RuntimeError(
            f"multi_head_attention_forward: the width does not fit: query is {list(query.shape)}, embed_dim_to_check is "
            f"{embed_dim_to_check}, num_heads {num_heads}"
        )
    own = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = _project(query, key, value, in_proj_weight, in_proj_bias, own)
    heads = lambda x: x.reshape(x.size(0), batch, num_heads, -1).permute(1, 2, 0, 3)  # noqa: E731  [N, heads, length, width]
    mask = _as_bias(attn_mask, q.dtype)
    if mask is not None and mask.dim() == 3:
        mask = mask.reshape(batch, num_heads, length, -1)
    more = 0  # columns behind the keys that no mask forbids
    if bias_k is not None and bias_v is not None:
        k, v = (_dyadic.cat([x, b.expand(1, batch, width)]) for x, b in ((k, bias_k), (v, bias_v)))
        more += 1
    k = heads(k) if static_k is None else static_k.reshape(batch, num_heads, -1, width // num_heads)
    v = heads(v) if static_v is None else static_v.reshape(batch, num_heads, -1, width // num_heads)
    if add_zero_attn:
        k, v = (_dyadic.cat([x, x.new_zeros([batch, num_heads, 1, x.size(-1)])], 2) for x in (k, v))
        more += 1
    if key_padding_mask is not None:
        padding = _as_bias(key_padding_mask, q.dtype).reshape(batch, 1, 1, -1)
        mask = padding if mask is None else mask + padding
    if mask is None and is_causal:
        raise RuntimeError("multi_head_attention_forward: is_causal says what attn_mask is; give it as well")
    if mask is not None and more:
        mask = _dyadic.pad(mask, [0, more])
    dropout_p = dropout_p if training else 0.0
    if need_weights:
        scores = (heads(q) * (width // num_heads) ** -0.5) @ k.transpose(-2, -1)
        weights = _dyadic.softmax(scores if mask is None else scores + mask, -1)
        weights = _dyadic.dropout(weights, dropout_p, True) if dropout_p else weights
        mixed = weights @ v
    else:
        weights = None
        mixed = _dyadic.scaled_dot_product_attention(heads(q), k, v, mask, dropout_p)
    output = _dyadic.linear(mixed.permute(2, 0, 1, 3).reshape(length, batch, width), out_proj_weight, out_proj_bias)
    if weights is not None and average_attn_weights:
        weights = weights.mean(1)
    if batched:
        return output, weights
    return output.squeeze(1), None if weights is None else weights.squeeze(0)

"""The functions of networks under PyTorch's names. Every op is here too: functional.relu is dyadic.relu."""
from .. import _dyadic


def __getattr__(name):
    if name in _dyadic._op_names:
        return getattr(_dyadic, name)
    raise AttributeError(f"module 'dyadic.nn.functional' has no attribute '{name}'")


def __dir__():
    return sorted(set(globals()) | set(_dyadic._op_names))


# Below: those whose arguments PyTorch orders or names otherwise than the op.


def embedding(input, weight):
    """Rows of weight [num_embeddings, embedding_dim] by the integers of input."""
    return _dyadic.embedding(weight, input)


def gelu(input, approximate="none"):
    """x Phi(x), exact, or with approximate="tanh" the tanh formula."""
    if approximate not in ("none", "tanh"):
        raise ValueError(f'gelu: an unknown approximation: approximate is "{approximate}"; there are "none" and "tanh"')
    return _dyadic.gelu_tanh(input) if approximate == "tanh" else _dyadic.gelu(input)


def cross_entropy(input, target, *, reduction="mean", ignore_index=-100):
    """Cross entropy of logits [N, C] (or [..., C]) with class indices, in nats."""
    return _dyadic.cross_entropy(input, target, reduction, ignore_index)


def scaled_dot_product_attention(query, key, value, *, is_causal=False, scale=None):
    """softmax(query key^T scale) value over the last two dimensions; scale is 1 / sqrt(E) unless given."""
    return _dyadic.scaled_dot_product_attention(query, key, value, is_causal=is_causal, scale=scale)

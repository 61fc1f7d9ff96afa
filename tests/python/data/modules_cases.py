"""Calls of modules that PyTorch and Dyadic spell alike. `inputs` are shapes of random numbers, or arrays."""
import numpy as np

LOWER = np.triu(np.ones((5, 5), bool), 1)
PADDING = np.array([[False, False, False, True, True], [False, True, False, False, False]])

_X, _H, _C = (5, 2, 3), (4, 2, 4), (4, 2, 4)
CASES = {
    "rnn": {"make": "nn.RNN(3, 4, 2)", "inputs": {"x": _X}, "call": "m(x)"},
    "rnn_relu": {"make": "nn.RNN(3, 4, nonlinearity='relu', bias=False)", "inputs": {"x": (5, 3)}, "call": "m(x)"},
    "lstm": {"make": "nn.LSTM(3, 4)", "inputs": {"x": _X}, "call": "m(x)"},
    "lstm_both": {
        "make": "nn.LSTM(3, 4, num_layers=2, bidirectional=True)",
        "inputs": {"x": _X, "h": _H, "c": _C},
        "call": "m(x, (h, c))",
    },
    "lstm_projected": {
        "make": "nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True, proj_size=2)",
        "inputs": {"x": (2, 5, 3)},
        "call": "m(x)",
    },
    "lstm_unbatched": {
        "make": "nn.LSTM(3, 4, bias=False)",
        "inputs": {"x": (5, 3), "h": (1, 4), "c": (1, 4)},
        "call": "m(x, (h, c))",
    },
    "gru": {"make": "nn.GRU(3, 4, 2, bidirectional=True, batch_first=True)", "inputs": {"x": (2, 5, 3), "h": _H}, "call": "m(x, h)"},
    "gru_plain": {"make": "nn.GRU(3, 4, bias=False)", "inputs": {"x": (5, 3)}, "call": "m(x)"},
    "rnn_cell": {"make": "nn.RNNCell(3, 4)", "inputs": {"x": (2, 3)}, "call": "m(x)"},
    "lstm_cell": {"make": "nn.LSTMCell(3, 4)", "inputs": {"x": (2, 3), "h": (2, 4), "c": (2, 4)}, "call": "m(x, (h, c))"},
    "gru_cell": {"make": "nn.GRUCell(3, 4)", "inputs": {"x": (3,), "h": (4,)}, "call": "m(x, h)"},
    "mha": {"make": "nn.MultiheadAttention(6, 2)", "inputs": {"x": (5, 2, 6)}, "call": "m(x, x, x)"},
    "mha_fast": {"make": "nn.MultiheadAttention(6, 2)", "inputs": {"x": (5, 2, 6)}, "call": "m(x, x, x, need_weights=False)"},
    "mha_other": {
        "make": "nn.MultiheadAttention(6, 3, kdim=4, vdim=5, batch_first=True)",
        "inputs": {"q": (2, 3, 6), "k": (2, 5, 4), "v": (2, 5, 5), "p": PADDING},
        "call": "m(q, k, v, key_padding_mask=p, average_attn_weights=False)",
    },
    "mha_memory": {
        "make": "nn.MultiheadAttention(6, 3, bias=False)",
        "inputs": {"q": (3, 2, 6), "k": (5, 2, 6), "mask": (3, 5)},
        "call": "m(q, k, k, attn_mask=mask)",
    },
    "mha_causal": {
        "make": "nn.MultiheadAttention(6, 2)",
        "inputs": {"x": (5, 6), "mask": LOWER},
        "call": "m(x, x, x, need_weights=False, attn_mask=mask, is_causal=True)",
    },
    "mha_more_keys": {
        "make": "nn.MultiheadAttention(6, 2, add_bias_kv=True, add_zero_attn=True)",
        "inputs": {"x": (5, 2, 6), "mask": LOWER, "p": PADDING & ~LOWER[:1]},
        "call": "m(x, x, x, key_padding_mask=p, attn_mask=mask)",
    },
    "mha_each_head": {
        "make": "nn.MultiheadAttention(6, 2)",
        "inputs": {"x": (5, 2, 6), "mask": np.stack([LOWER, LOWER & False, LOWER, LOWER.T])},
        "call": "m(x, x, x, attn_mask=mask)",
    },
    "encoder_layer": {
        "make": "nn.TransformerEncoderLayer(6, 2, 7, dropout=0)",
        "inputs": {"x": (5, 2, 6), "mask": LOWER, "p": PADDING},
        "call": "m(x, src_mask=mask)",
    },
    "encoder_layer_first": {
        "make": "nn.TransformerEncoderLayer(6, 2, 7, dropout=0.5, activation='gelu', batch_first=True, norm_first=True, bias=False)",
        "inputs": {"x": (2, 5, 6), "p": PADDING},
        "call": "m(x, src_key_padding_mask=p)",
        "mode": "eval",
    },
    "decoder_layer": {
        "make": "nn.TransformerDecoderLayer(6, 2, 7, dropout=0, norm_first=True)",
        "inputs": {"x": (5, 2, 6), "memory": (3, 2, 6), "mask": LOWER},
        "call": "m(x, memory, tgt_mask=mask, tgt_is_causal=True)",
    },
    "encoder": {
        "make": "nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 7, dropout=0, batch_first=True), 2, nn.LayerNorm(6))",
        "inputs": {"x": (2, 5, 6), "mask": LOWER},
        "call": "m(x, mask=mask)",
    },
    "transformer": {
        "make": "nn.Transformer(6, 2, 2, 2, 7, dropout=0, batch_first=True)",
        "inputs": {"x": (2, 5, 6), "y": (2, 5, 6), "mask": LOWER, "p": PADDING},
        "call": "m(x, y, tgt_mask=mask, memory_key_padding_mask=p)",
    },
    "conv_reflect": {
        "make": "nn.Conv2d(2, 3, 3, padding=(1, 2), padding_mode='reflect')",
        "inputs": {"x": (1, 2, 5, 4)},
        "call": "m(x)",
    },
    "conv_circular": {
        "make": "nn.Conv1d(2, 2, 4, padding='same', padding_mode='circular', groups=2)",
        "inputs": {"x": (2, 2, 6)},
        "call": "m(x)",
    },
    "conv_replicate": {
        "make": "nn.Conv3d(1, 2, 3, stride=2, padding=1, padding_mode='replicate', bias=False)",
        "inputs": {"x": (1, 1, 4, 3, 5)},
        "call": "m(x)",
    },
    "prelu": {"make": "nn.PReLU(3)", "inputs": {"x": (2, 3, 2)}, "call": "m(x)"},
    "glu": {"make": "nn.GLU(1)", "inputs": {"x": (2, 4, 3)}, "call": "m(x)"},
    "rrelu": {"make": "nn.RReLU()", "inputs": {"x": (7,)}, "call": "m(x)", "mode": "eval"},
    "softmin": {"make": "nn.Softmin(dim=0)", "inputs": {"x": (3, 4)}, "call": "m(x)"},
    "gelu_tanh": {"make": "nn.GELU(approximate='tanh')", "inputs": {"x": (7,)}, "call": "m(x)"},
    "softmax2d": {"make": "nn.Softmax2d()", "inputs": {"x": (2, 3, 2, 2)}, "call": "m(x)"},
    "embedding": {
        "make": "nn.Embedding(5, 3, padding_idx=-2)",
        "inputs": {"i": np.array([[0, 3, 1], [3, 4, 1]])},
        "call": "m(i)",
    },
    "lstm_packed": {
        "make": "nn.LSTM(3, 4, num_layers=2, bidirectional=True)",
        "inputs": {"x": (5, 3, 3), "h": (4, 3, 4), "c": (4, 3, 4)},
        "call": "m(nn.utils.rnn.pack_padded_sequence(x, [5, 3, 1]), (h, c))",
    },
    "lstm_packed_projected": {
        "make": "nn.LSTM(3, 4, proj_size=2, bidirectional=True)",
        "inputs": {"x": (5, 3, 3)},
        "call": "m(nn.utils.rnn.pack_padded_sequence(x, [4, 4, 2]))",
    },
    "gru_packed": {
        "make": "nn.GRU(3, 4, bidirectional=True, batch_first=True)",
        "inputs": {"x": (3, 5, 3), "h": (2, 3, 4)},
        "call": "m(nn.utils.rnn.pack_padded_sequence(x, [2, 5, 4], batch_first=True, enforce_sorted=False), h)",
    },
    "rnn_padded_again": {
        "make": "nn.RNN(3, 4)",
        "inputs": {"x": (5, 3, 3)},
        "call": "nn.utils.rnn.pad_packed_sequence(m(nn.utils.rnn.pack_padded_sequence(x, [2, 4, 3], enforce_sorted=False))[0], "
        "batch_first=True, padding_value=2.0, total_length=6)",
    },
    "rnn_both": {
        "make": "nn.RNN(3, 4, 2, bidirectional=True, batch_first=True)",
        "inputs": {"x": (2, 5, 3), "h": _H},
        "call": "m(x, h)",
    },
    "rnn_relu_packed": {
        "make": "nn.RNN(3, 4, 2, nonlinearity='relu', bidirectional=True, bias=False)",
        "inputs": {"x": (5, 3, 3)},
        "call": "m(nn.utils.rnn.pack_padded_sequence(x, [2, 5, 4], enforce_sorted=False))",
    },
    "lstm_projected_state": {
        "make": "nn.LSTM(3, 4, proj_size=3, bias=False)",
        "inputs": {"x": (4, 2, 3), "h": (1, 2, 3), "c": (1, 2, 4)},
        "call": "m(x, (h, c))",
    },
    "lstm_projected_one": {"make": "nn.LSTM(3, 4, 2, proj_size=1)", "inputs": {"x": (5, 3)}, "call": "m(x)"},
    "embedding_often": {
        "make": "nn.Embedding(5, 3, padding_idx=2, scale_grad_by_freq=True)",
        "inputs": {"i": np.array([[0, 3, 1, 2], [3, 4, 3, 2]])},
        "call": "m(i)",
    },
    "embedding_bounded": {
        "make": "nn.Embedding(5, 3, max_norm=0.7, norm_type=3.0)",
        "inputs": {"i": np.array([0, 3, 1, 3])},
        "call": "m(i)",
    },
    "bag_often": {
        "make": "nn.EmbeddingBag(6, 3, scale_grad_by_freq=True)",
        "inputs": {"i": np.array([[0, 3, 1], [3, 3, 5]])},
        "call": "m(i)",
    },
    "bag_often_sum": {
        "make": "nn.EmbeddingBag(6, 3, scale_grad_by_freq=True, mode='sum', padding_idx=-2, max_norm=1.1)",
        "inputs": {"i": np.array([0, 3, 1, 4, 3, 3, 4]), "offsets": np.array([0, 3, 3, 4])},
        "call": "m(i, offsets)",
    },
    "bag_weighted": {
        "make": "nn.EmbeddingBag(6, 3, mode='sum', scale_grad_by_freq=True)",
        "inputs": {"i": np.array([[0, 3, 1], [3, 3, 5]]), "w": (2, 3)},
        "call": "m(i, per_sample_weights=w)",
    },
    "bag_max": {
        "make": "nn.EmbeddingBag(6, 3, mode='max', padding_idx=1, include_last_offset=True)",
        "inputs": {"i": np.array([0, 3, 1, 4, 1]), "offsets": np.array([0, 2, 4, 5])},
        "call": "m(i, offsets)",
    },
    "bag_function": {
        "make": "nn.EmbeddingBag(6, 3)",
        "inputs": {"i": np.array([[0, 3, 1], [3, 3, 5]])},
        "call": "nn.functional.embedding_bag(i, m.weight, None, 0.9, 2.0, True, 'mean')",
    },
    "packed_list": {
        "make": "nn.Linear(3, 2)",
        "inputs": {"x": (4, 3), "y": (2, 3), "z": (3, 3)},
        "call": "nn.utils.rnn.pack_sequence([m(x), y[:, :2], m(z)], enforce_sorted=False)",
    },
}


def inputs_of(case):
    rng = np.random.default_rng(3)
    return {k: v if isinstance(v, np.ndarray) else rng.normal(size=v) for k, v in case["inputs"].items()}


def mode_of(case):
    return case.get("mode", "train")


def float_results(out):
    if isinstance(out, tuple):
        return [t for o in out for t in float_results(o)]
    return [] if out is None else [out]

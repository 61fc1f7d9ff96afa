"""model.to("nf4"): the weights that gain from it, and states that hold them."""
import pytest

import dyadic as torch
from dyadic import nn


class Own(nn.Module):
    """A layer as programs write it, beside layers of the library."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 64))
        self.scales = nn.Parameter(torch.randn(4, 64))
        self.norm = nn.LayerNorm([4, 64])
        self.conv = nn.Conv1d(32, 8, 2)
        self.table = nn.Embedding(3, 64)
        self.narrow = nn.Linear(48, 2)

    def forward(self, x):
        return x @ self.weight.T


def dtypes(m):
    return {name: t.dtype.name.partition("(")[0] for name, t in m.state_dict().items()}


def test_a_model_in_four_bits():
    m = Own()
    before = dtypes(m)
    assert m.to("nf4") is m
    stored = {name for name, kind in dtypes(m).items() if kind == "nf4"}
    assert stored == {"weight", "conv.weight", "table.weight"} and set(before.values()) == {"f32"}
    assert isinstance(m.weight, nn.Parameter) and not m.weight.requires_grad and m.norm.weight.requires_grad
    assert m(torch.ones(2, 64)).dtype is torch.float32 and m.conv(torch.ones(1, 32, 5)).shape == (1, 8, 4)
    values = m.weight.tolist()
    m.float()
    assert set(dtypes(m).values()) == {"f32"} and m.weight.tolist() == values


def test_what_cannot_be_stored_says_so():
    with pytest.raises(ValueError, match=r"nothing here gains from nf4.* at least 64 elements .*weight is f32\[2, 48\]"):
        nn.Linear(48, 2).to("nf4")
    with pytest.raises(TypeError, match="parameters are floating-point or complex numbers"):
        nn.Linear(48, 2).to(torch.int32)


def test_states_keep_their_format_or_say_that_they_cannot(tmp_path):
    stored, plain = nn.Linear(64, 3).to("nf4"), nn.Linear(64, 3)
    torch.save(stored.state_dict(), tmp_path / "stored")
    state = torch.load(tmp_path / "stored")
    with pytest.raises(RuntimeError, match=r"weight is f32\[3, 64\] here and nf4\(block=64,double\)\[3, 64\] there: assign=True takes it"):
        plain.load_state_dict(state)
    with pytest.raises(RuntimeError, match="weight is nf4.* here and f32"):
        stored.load_state_dict(plain.state_dict(), strict=False)
    assert plain.weight.dtype is torch.float32
    plain.load_state_dict(state, assign=True)
    assert plain.weight.dtype == torch.nf4 and plain.weight.tolist() == stored.weight.tolist()
    assert isinstance(plain.weight, nn.Parameter) and plain.bias.requires_grad and not plain.weight.requires_grad
    other = nn.Linear(64, 3).to("nf4")
    other.load_state_dict(state)
    assert other.weight.tolist() == stored.weight.tolist()
    # As floats where that is what is wanted.
    plain = nn.Linear(64, 3)
    plain.load_state_dict({name: t.float() for name, t in state.items()})
    assert plain.weight.tolist() == stored.weight.tolist()

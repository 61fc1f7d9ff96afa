"""Recurrent layers drop between layers: of one layer the argument says nothing, and is warned of."""
import warnings

import pytest

from dyadic import nn


@pytest.mark.parametrize("made", [nn.LSTM, nn.GRU, nn.RNN])
def test_of_one_layer_it_warns(made):
    with pytest.warns(UserWarning, match="num_layers"):
        made(2, 2, dropout=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made(2, 2, num_layers=2, dropout=0.5)
        made(2, 2)


@pytest.mark.parametrize("made", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("p", [2, -0.5])
def test_it_is_a_probability(made, p):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError):
            made(2, 2, dropout=p)

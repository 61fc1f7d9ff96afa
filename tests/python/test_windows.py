"""Gradient accumulation: a window of batches steps as one batch, the last of an epoch with what is left."""
import numpy as np
import pytest

import dyadic as dy
from dyadic import nn, optim
from dyadic.train import windows
from dyadic.utils.data import DataLoader, TensorDataset


def test_windows_step_as_one_batch():
    x, y = dy.randn(11, 3), dy.randn(11, 2)
    data = TensorDataset(x, y)

    def trained(batch_size, length):
        dy.manual_seed(0)
        model = nn.Linear(3, 2)
        optimizer, steps = optim.SGD(model.parameters(), lr=0.1), 0
        for window in windows(DataLoader(data, batch_size=batch_size), length):
            assert abs(sum(weight for weight, _ in window) - 1) < 1e-12
            for weight, (a, b) in window:
                (nn.functional.mse_loss(model(a), b) * weight).backward()
            optimizer.step()
            optimizer.zero_grad()
            steps += 1
        return model.weight.detach().numpy(), steps

    (one, steps), (two, others) = trained(8, 1), trained(2, 4)  # the last window: 2 + 1 samples in two batches
    assert steps == others == 2
    np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-7)
    named = list(windows([{"x": dy.ones(3, 1)}, {"x": dy.ones(1, 1)}, "text"], 2))
    assert [[w for w, _ in window] for window in named] == [[0.75, 0.25], [1.0]]
    with pytest.raises(ValueError, match="not positive"):
        windows([], 0)

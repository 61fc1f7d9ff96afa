"""What is refused, in the classes that PyTorch raises; what is written all the same."""
import math

import pytest

import dyadic as torch


@pytest.mark.parametrize("p", [1.5, -0.1, math.nan])
def test_probabilities(p):
    for draw in (torch.bernoulli, torch.zeros(1).bernoulli_):
        with pytest.raises(RuntimeError, match="probability"):
            draw(torch.tensor([p]))


def test_rates_and_deviations():
    for call in (
        lambda: torch.poisson(torch.tensor([1.0, -1.0])),
        lambda: torch.poisson(torch.tensor([math.nan])),
        lambda: torch.normal(torch.zeros(2), torch.tensor([1.0, -1.0])),
        lambda: torch.zeros(2).cauchy_(0, -1),
        lambda: torch.zeros(2).log_normal_(0, -1),
        lambda: torch.zeros(2).geometric_(2.0),
    ):
        with pytest.raises(RuntimeError):
            call()


def test_generators_and_probabilities_by_position():
    rates = torch.full((4,), 5.0)
    one, same = (torch.poisson(rates, torch.Generator().manual_seed(3)) for _ in range(2))
    assert one.equal(same)
    assert torch.bernoulli(torch.zeros(3), 1.0).tolist() == [1, 1, 1] == torch.zeros(3).bernoulli(1.0).tolist()


def test_places():
    x, pair = torch.ones(2, 3), torch.tensor([[0]])
    for call in (
        lambda: torch.unbind(torch.tensor(1.0)),
        lambda: torch.diag_embed(torch.tensor(1.0)),
        lambda: torch.fft.fft(torch.tensor(1.0)),
        lambda: torch.index_select(x, 0, pair),
        lambda: torch.index_copy(x, 0, pair, torch.ones(1, 3)),
        lambda: torch.put(torch.ones(3), torch.tensor([0]), torch.ones(2)),
    ):
        with pytest.raises(IndexError):
            call()
    with pytest.raises(IndexError, match="^index_add: "):
        torch.index_add(x, 0, pair, torch.ones(1, 3))
    with pytest.raises(RuntimeError, match="^scatter: "):
        torch.scatter(x, 0, torch.tensor([[5]]), 1.0)


def test_one_value_is_written_into_what_is_expanded():
    x = torch.ones(3).expand(2, 3)
    assert x.zero_().tolist() == [[0] * 3] * 2
    x[:, 0] = 2
    assert x.fill_(x[0, 0].item() + 1).tolist() == [[3] * 3] * 2
    for write in (lambda: x.add_(1), lambda: x.copy_(torch.ones(2, 3)), lambda: x.mul_(2)):
        with pytest.raises(RuntimeError, match="several places"):
            write()


def test_over_no_dimension():
    x = torch.tensor([[0.0, 2.0]])
    assert torch.any(x, dim=()).tolist() == [[False, True]] == x.all(dim=[]).tolist()
    assert torch.any(torch.tensor([2, 0], dtype=torch.uint8), dim=()).tolist() == [1, 0]
    assert torch.any(x).item() and not x.all().item() and x.any(1).tolist() == [True]
    assert torch.sum(x, dim=()).item() == 2 and torch.any(x, axis=0, keepdims=True).tolist() == [[False, True]]


def test_medians_share_their_gradient():
    def gradient(choose, *values):
        x = torch.tensor(values, requires_grad=True)
        choose(x).backward()
        return x.grad.tolist()

    nan = math.nan
    assert gradient(torch.median, 1.0, 2.0, 2.0, 3.0) == [0, 0.5, 0.5, 0]
    assert gradient(torch.median, 1.0, nan, 2.0, nan) == [0, 0.5, 0, 0.5]
    assert gradient(torch.nanmedian, 1.0, nan, 2.0, 2.0) == [0, 0, 0.5, 0.5]
    assert gradient(torch.nanmedian, nan, nan) == [0.5, 0.5]
    assert sorted(gradient(lambda x: x.median(0).values, 1.0, 2.0, 2.0, 3.0)) == [0, 0, 0, 1]


def test_polygamma_of_any_order_ends():
    assert torch.isnan(torch.polygamma(2**63 - 1, torch.tensor([2.0]))).all()
    assert torch.polygamma(200, torch.tensor([0.5])).item() == -math.inf


def test_set_from_memory():
    memory = torch.arange(6.0)
    for source in (memory, memory.storage(), memory.untyped_storage()):
        x = torch.zeros(2).set_(source, 1, (2, 2), (2, 1))
        assert x.tolist() == [[1, 2], [3, 4]]
        assert torch.zeros(2).set_(source=source, storage_offset=2, size=(2, 2)).tolist() == [[2, 3], [4, 5]]
        assert torch.zeros(2).set_(source).tolist() == memory.tolist()
    x[0, 0] = 9
    assert memory[1] == 9
    with pytest.raises(RuntimeError, match="^set_: the dtypes differ"):
        x.set_(torch.arange(3))


def test_bucket_of_a_number():
    edges = torch.tensor([1, 3, 5])
    assert torch.bucketize(3, edges).item() == 1 and torch.bucketize(3.5, edges).item() == 2
    assert torch.bucketize(3, edges, right=True, out_int32=True).dtype == torch.int32


def test_in_place_functions_by_keyword():
    x = torch.tensor([-1.0, 2.0])
    assert torch.relu_(input=x) is x and x.tolist() == [0, 2]
    assert torch.clamp_(input=x, max=1.0).tolist() == [0, 1] == torch.neg_(torch.neg_(x)).tolist()
    with pytest.raises(TypeError):
        torch.exp_(1.0)
    with pytest.raises(TypeError):
        torch.exp_()


def test_singular_values_of_infinities():
    a = torch.eye(40)
    a[0, 0] = math.inf
    for of in (torch.linalg.svd, torch.linalg.pinv):
        with pytest.raises(torch.linalg.LinAlgError, match="^linalg.(svd|pinv): the algorithm does not converge"):
            of(a)


def test_parts_are_named_after_what_was_called():
    expanded = torch.zeros(3).expand(2, 3)
    for call, said in (
        (lambda: torch.take_along_dim(torch.ones(3, 4), torch.tensor([[9]]), 1), "take_along_dim: gather: index out of range"),
        (lambda: expanded.masked_fill_(torch.ones(2, 3) > 0, 1.0), "masked_fill: one element stands in several places"),
        (lambda: torch.nn.functional.interpolate(torch.ones(2, 3), scale_factor=2), "interpolate: input is"),
    ):
        with pytest.raises(RuntimeError, match="^" + said):
            call()


def test_losses_warn_of_targets_that_broadcast():
    with pytest.warns(UserWarning, match=r"l1_loss: input is f32\[3, 1\], target f32\[3\]"):
        torch.nn.functional.l1_loss(torch.ones(3, 1), torch.ones(3))


def test_doubles_do_not_pass_through_layers_of_floats():
    x = torch.ones(1, 2, 4, dtype=torch.float64)
    for layer in (torch.nn.Linear(4, 2), torch.nn.LSTM(4, 3), torch.nn.Conv1d(2, 2, 1)):
        with pytest.raises(RuntimeError, match="dtypes differ"):
            layer(x)
    assert torch.nn.functional.linear(x.float(), torch.ones(3, 4, dtype=torch.bfloat16)).dtype == torch.float32  # as it is stored

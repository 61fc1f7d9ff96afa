"""What losses and distributions demand of values, in steps that run without their program: the same errors where the values are wrong."""
import re

import pytest

import dyadic as torch
from dyadic import distributions as dist
from dyadic import nn


def replays(compiled):
    return int(re.search(r"whole steps: (\d+)", torch.compiler.explain(compiled))[1])


bce = nn.BCELoss()


def autoencoder(model, x):
    return bce(torch.sigmoid(model(x)), x)


def policy(model, x):
    chosen = dist.Categorical(logits=model(x)[:, :5])
    actions = (x[:, 0] * 4).long()
    return -(chosen.log_prob(actions) * x[:, 1]).mean() - 0.01 * chosen.entropy().mean()


def gaussian(model, x):
    out = model(x)
    given = dist.Normal(out[:, :4], nn.functional.softplus(out[:, 4:8]))
    z = given.rsample()
    prior = dist.Normal(torch.zeros_like(z), torch.ones_like(z))
    return (dist.kl_divergence(given, prior) - dist.Bernoulli(probs=x[:, :4]).log_prob(torch.ones(x.shape[0], 4)) + z).mean()


# loss, what is wrong with an input: where, the value, the error.
CASES = {
    "BCE": (autoencoder, 3.0, RuntimeError, "target is no probability"),
    "Categorical": (policy, 2.0, ValueError, "Categorical: the value must be"),
    "Bernoulli": (gaussian, -1.0, ValueError, "Bernoulli: probs must be"),
    "Normal": (gaussian, float("nan"), ValueError, "Normal: loc must be"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_step_that_runs_without_its_program_demands_the_same(name):
    loss_of, wrong, kind, text = CASES[name]

    def train(wrap):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(12, 16), nn.Tanh(), nn.Linear(16, 12))
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

        def step(x):
            optimizer.zero_grad()
            loss = loss_of(model, x)
            loss.backward()
            optimizer.step()
            return loss

        step = wrap(step)
        batches = [torch.rand(8, 12) for _ in range(9)]
        seen = [step(x).detach() for x in batches[:6]]
        weights = [p.detach().clone() for p in model.parameters()]
        bad = batches[6].clone()
        bad[3, 0] = wrong
        with pytest.raises(kind, match=text) as error:
            step(bad)
        assert all(torch.equal(p, w) for p, w in zip(model.parameters(), weights))
        seen += [step(x).detach() for x in batches[6:]]
        return step, str(error.value), [t.detach().numpy().tobytes() for t in [*seen, *model.parameters(), torch.get_rng_state()]]

    _, wanted, eager = train(lambda f: f)
    step, said, seen = train(lambda f: torch.compile(f, mode="reduce-overhead"))
    assert replays(step) >= 4, torch.compiler.explain(step)
    assert said == wanted
    assert seen == eager


def test_conditions_that_hold_are_told_once():
    told = []
    torch._dyadic._demand(torch.tensor([True, True]), torch.zeros(2), lambda: told.append(1) or "never: ")
    assert not told
    torch._dyadic._demand(torch.zeros(0, dtype=torch.bool), torch.zeros(0), lambda: "never: ")
    torch._dyadic._demand(torch.zeros(2, dtype=torch.bool, device="meta"), torch.zeros(2), lambda: "never: ")
    with pytest.raises(ValueError, match=r"^two: tensor\(\[1\., 2\.\]\)$"):
        torch._dyadic._demand(torch.tensor([True, False]), torch.tensor([1.0, 2.0]), lambda: "two: ")

"""Quantization-aware training: quantize(trainable=True), calibrate(), freeze()."""
import copy
import importlib.util
import pickle
from pathlib import Path

import pytest

import dyadic as dy
from dyadic import nn, quant
from dyadic.nn import functional as F

EXAMPLE = Path(__file__).parents[2] / "examples" / "digits.py"


@pytest.fixture(scope="module")
def digits():
    """The example's network, and what it is trained and tested on."""
    spec = importlib.util.spec_from_file_location("digits", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    train, test = ([dy.stack(column) for column in zip(*(part[i] for i in range(len(part))))] for part in example.load())
    return example.Net, train, test


def fit(model, data, epochs, lr):
    images, labels = data
    optimizer = dy.optim.AdamW(model.parameters(), lr=lr)
    steps = epochs * (len(images) // 64)
    schedule = dy.optim.lr_scheduler.OneCycleLR(optimizer, lr, total_steps=steps)
    model.train()
    for _ in range(epochs):
        order = dy.randperm(len(images))
        for rows in order[: len(order) // 64 * 64].split(64):
            loss = F.cross_entropy(model(images[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()


def logits(model, data):
    model.eval()
    with dy.no_grad():
        return model(data[0])


def accuracy(model, data):
    model.eval()
    with dy.no_grad():
        return (model(data[0]).argmax(1) == data[1]).float().mean().item()


def test_training_recovers_what_rounding_loses(digits):
    Net, train, test = digits
    dy.manual_seed(0)
    whole = Net()
    fit(whole, train, 4, 3e-3)
    best, state = accuracy(whole, test), whole.state_dict()
    assert best > 0.97

    def quantized(epochs, activations, **options):
        model = Net()
        model.load_state_dict(state)
        quant.quantize(model, "i2(row)", activations=activations, trainable=True, **options)
        if activations:
            ranges = quant.calibrate(model, [train[0][i : i + 256] for i in range(0, 1024, 256)], observer="mse")
            assert [r.name for r in ranges] == ["features.0", "features.3", "features.7", "output"] and all(r.batches == 4 for r in ranges)
        if epochs:
            fit(model, train, epochs, 1e-3)
        seen = logits(model, test)
        report = quant.freeze(model)
        frozen, best_two = logits(model, test), seen.topk(2, 1).values
        if not activations:
            assert (frozen - seen).abs().max() <= 1e-3 * seen.abs().max()
        # Products of stored weights add in another order, and what is near the edge between two codes of 4 bits falls otherwise: so may
        # an image between whose two first classes there is next to nothing.
        margin = best_two[:, 0] - best_two[:, 1]
        assert (margin[frozen.argmax(1) != seen.argmax(1)] < margin.median() / 10).all()
        assert model.features[3].weight.dtype == dy.dtype("i2(row)") and report.bytes_after < report.bytes_before / 12
        return accuracy(model, test)

    rounded = quantized(0, None)
    assert best - rounded > 0.01  # else there is nothing to recover
    for learned, activations in ((False, None), (True, "i4(tensor,zero)")):
        assert quantized(2, activations, learned_scales=learned) > best - 0.2 * (best - rounded), (learned, activations)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(16, 24)
        self.conv = nn.Conv1d(24, 32, 3)
        self.out = nn.Linear(32, 16)

    def forward(self, ids):
        return self.out(F.relu(self.conv(self.words(ids).transpose(1, 2))).transpose(1, 2))


def test_layers_called_from_anywhere():
    dy.manual_seed(1)
    ids = dy.randint(0, 16, (2, 8))
    model = Model()
    plain, weight = model(ids), model.out.weight
    report = quant.quantize(model, "i4(row)", activations="i8(row)", trainable=True, exclude=["words.*"])
    assert [layer.name for layer in report.layers] == ["conv.weight", "out.weight"] and all(layer.error > 0 for layer in report.layers)
    seen = model(ids)
    assert not dy.equal(seen, plain) and model.out.weight is weight and weight.dtype == dy.float32
    assert "(quantizer): Quantizer(weight: i4(row), inputs: i8(row))" in repr(model)
    # By hand: what the layer sees.
    x = dy.randn(3, 32)
    want = F.linear(quant.round_inputs(x, "i8(row)"), quant.fake_quantize(weight, "i4(row)"), model.out.bias)
    assert dy.equal(model.out(x), want)
    seen.square().sum().backward()
    assert weight.grad is not None and weight.grad.abs().sum() > 0
    quant.freeze(model)
    assert dy.equal(model(ids), seen) and model.out.weight.dtype == dy.dtype("i4(row)") and model.words.weight.dtype == dy.float32
    with pytest.raises(Exception, match="linear"):
        model.out(dy.randn(2, 5))


def test_states_and_copies(tmp_path):
    dy.manual_seed(2)
    ids = dy.randint(0, 16, (2, 8))
    a, b = Model(), Model()
    for m in (a, b):
        quant.quantize(m, "i4(row)", activations="i8(tensor)", trainable=True, learned_scales=True)
    quant.calibrate(a, [ids])
    names = dict(a.named_parameters())
    assert "out.quantizer.weight_scale" in names and "out.quantizer.input_scale" in names and "out.weight" in names
    dy.save(a.state_dict(), tmp_path / "m.safetensors")
    b.load_state_dict(dy.load(tmp_path / "m.safetensors"))
    assert dy.equal(a(ids), b(ids))
    c, d = copy.deepcopy(a), pickle.loads(pickle.dumps(a))
    assert dy.equal(c(ids), a(ids)) and dy.equal(d(ids), a(ids)) and repr(c) == repr(a)
    c.out.quantizer.weight_scale.data.mul_(2)
    assert not dy.equal(c(ids), a(ids))  # its own
    for m in (a, b, d):
        quant.freeze(m)
    assert dy.equal(a(ids), b(ids)) and dy.equal(a(ids), d(ids)) and dy.equal(copy.deepcopy(a)(ids), a(ids))
    with pytest.raises(ValueError, match="freeze: no layer here is trainable"):
        quant.freeze(Model())
    with pytest.raises(ValueError, match="learned_scales are for trainable"):
        quant.quantize(Model(), "i4(row)", learned_scales=True)
    with pytest.raises(ValueError, match="unknown observer"):
        quant.calibrate(a, [ids], observer="largest")
    plain = Model()
    quant.quantize(plain, "i4(row)")
    assert dy.equal(copy.deepcopy(plain)(ids), plain(ids))


def test_language_models_are_called_by_cpp():
    m = dy.from_pretrained(Path(__file__).parents[1] / "models" / "data" / "llama", dtype="float32")
    ids = dy.tensor([[5, 6, 7, 8, 9, 10]])
    quant.quantize(m, "i4(row)", trainable=True, learned_scales=True)
    before = m(ids, labels=ids).loss.item()
    optimizer = dy.optim.AdamW(m.parameters(), lr=1e-2)
    for _ in range(5):
        optimizer.zero_grad()
        m(ids, labels=ids).loss.backward()
        optimizer.step()
    seen = m(ids).logits
    assert m(ids, labels=ids).loss.item() < before
    quant.freeze(m)
    assert (m(ids).logits - seen).abs().max() < 1e-5 * seen.abs().max()


def test_inputs_of_language_models_are_rounded():
    folder = Path(__file__).parents[1] / "models" / "data" / "llama"
    ids = dy.tensor([[5, 6, 7, 8, 9, 10]])
    logits = []
    for activations in (None, "i8(row)", "i4(row)"):
        m = dy.from_pretrained(folder, dtype="float32")
        quant.quantize(m, "i8(row)", activations=activations)
        with dy.no_grad():
            logits.append(m(ids).logits)
    assert 0 < (logits[1] - logits[0]).abs().max() < (logits[2] - logits[0]).abs().max()

"""from_pretrained: the small models of tests/models/data, against what transformers computed with them."""
import copy
import json
import pickle
from pathlib import Path

import pytest

import dyadic as torch

DATA = Path(__file__).parent.parent / "models" / "data"
FAMILIES = sorted(p.parent.name for p in DATA.glob("*/model.safetensors"))


@pytest.fixture(scope="module")
def expected():
    def read(family):
        kept = torch.load(DATA / family / "expected.safetensors")
        return kept

    return read


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_and_generation_are_transformers(family, expected):
    want = expected(family)
    m = torch.from_pretrained(DATA / family, dtype=torch.float32)
    with torch.no_grad():
        got = m(want["ids"]).logits
    assert (got - want["logits"]).abs().max() < 1e-4 * want["logits"].abs().max()
    if "greedy" in want:  # an encoder does not go on with a text
        assert torch.equal(m.generate(want["ids"], max_new_tokens=10, eos_token_id=[]), want["greedy"])


def test_the_module_is_one_like_others(expected):
    m = torch.from_pretrained(str(DATA / "qwen2"), dtype="float32")
    assert isinstance(m, torch.nn.Module) and m.config.model_type == "qwen2" and m.config.to_dict()["vocab_size"] == 64
    names = dict(m.named_parameters())
    assert "model.layers.0.self_attn.q_proj.weight" in names and "lm_head.weight" not in names  # it is tied
    ids = expected("qwen2")["ids"]
    out = m(ids, labels=ids)
    want = torch.nn.functional.cross_entropy(out.logits[:, :-1].reshape(-1, 64), ids[:, 1:].reshape(-1))
    assert out.loss.item() == pytest.approx(want.item()) and out["loss"] is out.loss and out[1] is out.logits
    optimizer = torch.optim.AdamW(m.parameters(), lr=1e-2)
    for _ in range(10):
        optimizer.zero_grad()
        loss = m(ids, labels=ids).loss
        loss.backward()
        optimizer.step()
    assert loss < 0.7 * out.loss


def test_formats_of_weights(expected):
    want = expected("llama")
    m = torch.from_pretrained(DATA / "llama", dtype="i8(group=8)")
    assert dict(m.named_parameters())["model.layers.0.self_attn.q_proj.weight"].dtype != torch.float32
    assert m.model.norm.weight.dtype == torch.float32
    with torch.no_grad():
        off = (m(want["ids"]).logits - want["logits"]).abs().max() / want["logits"].abs().max()
    assert 1e-4 < off < 0.1
    assert torch.from_pretrained(DATA / "llama", dtype="auto").lm_head.weight.dtype == torch.bfloat16


def test_saved_and_loaded_again(tmp_path):
    m = torch.from_pretrained(DATA / "gemma2")
    m.save_pretrained(tmp_path / "there", max_shard_size=9000)
    assert (tmp_path / "there" / "model.safetensors.index.json").exists()
    again = torch.from_pretrained(tmp_path / "there").state_dict()
    assert list(again) == list(m.state_dict())
    assert all(torch.equal(again[k], v) for k, v in m.state_dict().items())


def test_a_cache_and_a_streamer(expected):
    m = torch.from_pretrained(DATA / "mistral", dtype=torch.float32)
    ids = expected("mistral")["ids"]
    cache = m.new_cache()
    with torch.no_grad():
        parts = [m(ids[:, i : i + 1], cache=cache).logits for i in range(14)]
        assert (torch.cat(parts, 1) - m(ids).logits).abs().max() < 1e-4
    assert len(cache) == 14
    told = []
    all_ids = m.generate(ids, max_new_tokens=6, eos_token_id=[], streamer=lambda tokens: told.append(tokens) or len(told) < 4)
    assert all_ids[:, 14:].tolist() == [list(row) for row in zip(*told)] and len(told) == 4


def test_seeds_and_refusals():
    m = torch.from_pretrained(DATA / "llama")
    draw = lambda seed: m.generate([[5, 6, 7]], max_new_tokens=12, do_sample=True, temperature=2.0, eos_token_id=[], seed=seed)
    assert torch.equal(draw(1), draw(1)) and not torch.equal(draw(1), draw(2))
    torch.manual_seed(0)
    a = draw(None)
    torch.manual_seed(0)
    assert torch.equal(a, draw(None))
    with pytest.raises(ValueError, match=r"generate: top_p is 2"):
        m.generate([[5]], do_sample=True, top_p=2.0)
    with pytest.raises(RuntimeError, match="config.json"):
        torch.from_pretrained(DATA)


def test_adapters_are_pefts(expected, tmp_path):
    for name in ("plain", "patterns", "turned", "dora"):
        folder = DATA / "adapters" / name
        family = json.loads((folder / "adapter_config.json").read_text())["base_model_name_or_path"]
        m = torch.from_pretrained(DATA / family, dtype="float32")
        ids, want = expected(family)["ids"], torch.load(folder / "expected.safetensors")["logits"]
        with torch.no_grad():
            plain = m(ids).logits
            m.load_adapter(folder)
            assert (m(ids).logits - want).abs().max() < 1e-4 * want.abs().max()
            m.disable_adapters()
            # Whole tensors that an adapter brings, biases here, stay.
            assert torch.equal(m(ids).logits, plain) == (name != "patterns")
            m.enable_adapters()
            m.save_pretrained(tmp_path / name)
            again = torch.from_pretrained(DATA / family, dtype="float32")
            again.load_adapter(tmp_path / name)
            assert torch.equal(again(ids).logits, m(ids).logits)
            assert m.merge_and_unload() is m
            assert (m(ids).logits - want).abs().max() < 1e-4 * want.abs().max()
            assert torch.equal(again.unload()(ids).logits, plain)


def test_an_adapter_s_share_is_there_whoever_calls_the_module():
    """LoRA (Hu et al. 2021, section 4.1): W x + (alpha / r) B A x."""
    m = torch.from_pretrained(DATA / "llama", dtype="f32")
    m.add_adapter(torch.LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj"]))
    layer = next(x for name, x in m.named_modules() if name.endswith("q_proj"))
    a, b = layer.lora_A.weight, layer.lora_B.weight
    with torch.no_grad():
        b.copy_(torch.randn_like(b))
    x = torch.randn(3, layer.in_features)
    want = torch.nn.functional.linear(x, layer.weight + 2 * b @ a, layer.bias)

    class Parent(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = layer

        def forward(self, x):
            return self.inner(input=x)

    parent = Parent()
    for call in (layer, parent, torch.nn.Sequential(layer)):
        assert torch.allclose(call(x), want, rtol=1e-5, atol=1e-5)
    assert torch.allclose(layer.forward(x), torch.nn.functional.linear(x, layer.weight, layer.bias))  # as PyTorch's: no hooks
    seen = []
    handle = layer.register_forward_hook(lambda module, args, output: seen.append(output) or output * 2)
    for call in (layer, parent, torch.nn.Sequential(layer)):
        assert torch.allclose(call(x), 2 * want, rtol=1e-5, atol=1e-5)
    assert len(seen) == 3 and all(torch.allclose(y, want, rtol=1e-5, atol=1e-5) for y in seen)
    handle.remove()
    parent(x).sum().backward()
    assert a.grad is not None and b.grad.abs().sum() > 0 and layer.weight.grad is None
    m.disable_adapters()
    assert torch.equal(parent(x), layer.forward(x))


def test_an_adapter_is_trained_alone(expected, tmp_path):
    m = torch.from_pretrained(DATA / "llama", dtype="nf4(block=8)")
    ids = expected("llama")["ids"]
    m.add_adapter(torch.LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"]))
    trained = [name for name, p in m.named_parameters() if p.requires_grad]
    assert len(trained) == 8 and all("lora_" in name for name in trained)
    optimizer = torch.optim.AdamW([p for p in m.parameters() if p.requires_grad], lr=2e-2)
    first = m(ids, labels=ids).loss.item()
    for _ in range(20):
        optimizer.zero_grad()
        loss = m(ids, labels=ids).loss
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.9 * first
    m.save_pretrained(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["adapter_config.json", "adapter_model.safetensors"]
    with pytest.raises(ValueError, match="one"):
        m.load_adapter(tmp_path)
    with pytest.raises(ValueError, match="no adapter"):
        m.unload().disable_adapters()


def test_keys_and_values_in_formats():
    m = torch.from_pretrained(DATA / "llama", dtype="float32", kv="i8(row)")
    assert m.kv == torch.KVFormats(torch.dtype("i8(row)"), torch.dtype("i8(row)"), None)
    ids = [[5, 6, 7, 8] * 8]
    sizes = {}
    for kv in (None, "i8(row)", ("i4(row)", None), "i4(row):i8(row)", torch.KVFormats("i4(row)", "i2(row)", rotate_keys=False)):
        cache = m.new_cache(64, kv=kv)
        with torch.no_grad():
            m(ids, cache=cache)
        sizes[str(kv)] = cache.nbytes()
    assert sizes["None"] == sizes["i8(row)"]  # the model's own
    m.kv = None
    with torch.no_grad():
        plain, narrow = m(ids, cache=m.new_cache()).logits, m(ids, cache=m.new_cache(kv="i8(row)")).logits
    assert 0 < (plain - narrow).abs().max() < 0.1 * plain.abs().max()
    assert torch.equal(m.generate(ids, max_new_tokens=8, eos_token_id=[]), m.generate(ids, max_new_tokens=8, eos_token_id=[], kv="f32"))
    text = torch.tensor([(3 + i * i) % 60 for i in range(96)])
    eight, two = (torch.evaluate.perplexity(m, text, window=32, base=m, kv=kv).kl_mean for kv in ("i8(row)", "i2(row)"))
    assert 0 < eight < two
    with pytest.raises(ValueError, match="KV cache: keys cannot be kept in i8: it has no scales"):
        m.kv = "i8"
    with pytest.raises(ValueError, match="do not fit q4_K"):
        m.generate(ids, kv="q4_K")


@pytest.mark.parametrize("family", ["llama", "gemma", "mixtral", "qwen3_5", "bert"])
def test_models_are_copied_and_pickled(family, tmp_path):
    model = torch.from_pretrained(DATA / family)
    ids = torch.arange(6).view(1, 6)
    model.eval()
    frozen = next(iter(model.parameters()))
    frozen.requires_grad_(False)
    model.note = ["mine"]
    wanted = model(ids).logits
    for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert type(copied) is type(model) and not copied.training and copied.note == ["mine"] and copied.note is not model.note
        assert copied(ids).logits.equal(wanted) and copied.config.to_dict() == model.config.to_dict()
        ours, theirs = list(model.parameters()), list(copied.parameters())
        assert len(ours) == len(theirs) and [p.requires_grad for p in ours] == [p.requires_grad for p in theirs]
        with torch.no_grad():
            for p in theirs:
                p.zero_()
        assert model(ids).logits.equal(wanted) and not copied(ids).logits.equal(wanted)
    torch.save(model, tmp_path / "whole.pt")
    assert torch.load(tmp_path / "whole.pt", weights_only=False)(ids).logits.equal(wanted)


def test_a_model_with_an_adapter_is_not_copied():
    model = torch.from_pretrained(DATA / "llama")
    model.add_adapter(torch.LoraConfig(r=2))
    with pytest.raises(RuntimeError, match="merge_and_unload"):
        copy.deepcopy(model)

"""What scripts for transformers do with models beyond a call and generate: caches, hidden states, vectors in, new rows, random weights."""
import json
from pathlib import Path

import pytest

import dyadic as torch
from dyadic.transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, DynamicCache

DATA = Path(__file__).parent.parent / "models" / "data"
TEXTS = Path(__file__).parent.parent / "text" / "data"
FAMILIES = sorted(path.parent.name for path in DATA.glob("*/config.json"))
DECODERS = [name for name in FAMILIES if name != "bert"]
IDS = torch.tensor([[5, 6, 7, 8, 9, 10]])


def loaded(family):
    return torch.from_pretrained(DATA / family, dtype=torch.float32)


def near(a, b):
    return (a - b).abs().max() <= 1e-5 * b.abs().max()


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma3", "qwen3_5", "gpt_oss"])
def test_past_key_values(family):
    m = loaded(family)
    whole = m(IDS).logits
    first = m(IDS[:, :4], use_cache=True)
    assert first.past_key_values.get_seq_length() == 4 and len(first.to_tuple()) == 2 and not first.logits.requires_grad
    second = m(input_ids=IDS[:, 4:], past_key_values=first.past_key_values, attention_mask=torch.ones(1, 6))
    assert near(second.logits, whole[:, 4:]) and second.past_key_values is first.past_key_values and len(second.past_key_values) == 6
    cache = DynamicCache()
    m(IDS[:, :3], past_key_values=cache)
    assert near(m(IDS[:, 3:], past_key_values=cache).logits, whole[:, 3:])
    assert m(IDS).past_key_values is None and m(IDS, use_cache=False).past_key_values is None
    for call, error, what in [
        (lambda: m(IDS, past_key_values=((whole, whole),)), TypeError, "past_key_values is a tuple"),
        (lambda: m(IDS, cache=m.new_cache(), past_key_values=m.new_cache()), ValueError, "two names of one thing"),
        (lambda: m(IDS, past_key_values=cache, attention_mask=torch.ones(1, 6)), ValueError, r"attention_mask is \[1, 6\], ids are \[1, 6\] after 6 that are kept"),
        (lambda: m(IDS, output_attentions=True), ValueError, "output_attentions"),
    ]:
        with pytest.raises(error, match=what):
            call()


@pytest.mark.parametrize("family", ["llama", "gemma3", "qwen3_5"])
def test_padded_rows_with_past_key_values(family):
    m, mask = loaded(family), torch.tensor([[1, 1, 1, 1], [0, 0, 1, 1]])
    rows = torch.tensor([[5, 6, 7, 8], [3, 3, 9, 10]])
    first = m(rows, attention_mask=mask, use_cache=True)
    assert near(first.logits[1, 2:], m(rows[1:, 2:]).logits[0])
    more = torch.tensor([[11], [12]])
    second = m(more, attention_mask=torch.cat([mask, torch.ones(2, 1, dtype=torch.int64)], 1), past_key_values=first.past_key_values)
    assert near(second.logits[1], m(torch.tensor([[9, 10, 12]])).logits[0, -1:]) and near(second.logits[0], m(torch.tensor([[5, 6, 7, 8, 11]])).logits[0, -1:])


def test_generate_goes_on_from_past_key_values():
    m = loaded("llama")
    want = m.generate(IDS, max_new_tokens=6, eos_token_id=[])
    cache = m.new_cache()
    m(IDS[:, :4], past_key_values=cache)
    assert torch.equal(m.generate(IDS, past_key_values=cache, max_new_tokens=6, eos_token_id=[]), want)
    with pytest.raises(ValueError, match="past_key_values hold tokens of ids"):
        m.tokenizer = torch.Tokenizer.load(TEXTS / "llama3.json")
        m.generate("a", past_key_values=cache)


def test_several_sequences():
    m = loaded("llama")
    made = m.generate(IDS, max_new_tokens=8, do_sample=True, num_return_sequences=3, seed=1, eos_token_id=[])
    assert made.shape == (3, 14) and made[:, :6].tolist() == IDS.tolist() * 3 and len({tuple(row) for row in made.tolist()}) > 1
    assert torch.equal(made, m.generate(IDS.repeat(3, 1), max_new_tokens=8, do_sample=True, seed=1, eos_token_id=[]))
    two = m.generate(torch.tensor([[3, 5], [6, 7]]), attention_mask=[[0, 1], [1, 1]], do_sample=True, num_return_sequences=2, max_new_tokens=2, eos_token_id=[])
    assert two[:, :2].tolist() == [[3, 5], [3, 5], [6, 7], [6, 7]]
    for options, what in [(dict(num_return_sequences=2), "num_return_sequences is 2: the likeliest tokens are the same"),
                          (dict(num_return_sequences=0, do_sample=True), "num_return_sequences is 0"),
                          (dict(token_type_ids=torch.ones(1, 6)), "token_type_ids")]:
        with pytest.raises(ValueError, match=what):
            m.generate(IDS, **options)


@pytest.mark.parametrize("family", FAMILIES)
def test_hidden_states_and_vectors_in(family):
    m = loaded(family)
    with torch.no_grad():
        made = m(IDS, output_hidden_states=True)
        layers = m.config.to_dict().get("text_config", m.config.to_dict())
        count = layers.get("num_hidden_layers", layers.get("n_layer"))
        assert len(made.hidden_states) == count + 1 and all(s.shape[:2] == (1, 6) for s in made.hidden_states) and torch.equal(made.logits, m(IDS).logits)
        assert m(IDS).hidden_states is None
        if family == "gemma4":  # its layers are told of the tokens besides
            with pytest.raises(ValueError, match="each layer is told which tokens there are: give ids"):
                m(inputs_embeds=m.get_input_embeddings()(IDS))
            return
        embeds = m.get_input_embeddings()(IDS)
        assert torch.equal(m(inputs_embeds=embeds).logits, made.logits)
        if family != "bert":
            cache = m.new_cache()
            m(inputs_embeds=embeds[:, :3], past_key_values=cache)
            assert near(m(inputs_embeds=embeds[:, 3:], past_key_values=cache).logits, made.logits[:, 3:])
        padded = m(torch.tensor([[3, 5, 6], [5, 6, 7]]), attention_mask=torch.tensor([[0, 1, 1], [1, 1, 1]]), output_hidden_states=True)
        assert near(padded.hidden_states[-1][0, 1:], m(torch.tensor([[5, 6]]), output_hidden_states=True).hidden_states[-1][0])
    for call, what in [(lambda: m(), "give input_ids or inputs_embeds"), (lambda: m(IDS, inputs_embeds=embeds), "give input_ids or inputs_embeds"),
                       (lambda: m(inputs_embeds=embeds[..., :-1]), "embeddings|shape|size")]:
        with pytest.raises((ValueError, RuntimeError), match=what):
            call()


def test_gradients_reach_vectors():
    m = loaded("llama")
    embeds = m.get_input_embeddings()(IDS).detach().requires_grad_()
    m(inputs_embeds=embeds, labels=IDS).loss.backward()
    assert embeds.grad.abs().max() > 0


def test_an_encoder_is_told_of_two_texts():
    m, types = loaded("bert"), torch.tensor([[0, 0, 0, 1, 1, 1]])
    with torch.no_grad():
        plain, told = m(IDS).logits, m(IDS, token_type_ids=types).logits
        assert (plain - told).abs().max() > 1e-2 * plain.abs().max() and torch.equal(m(IDS, token_type_ids=types * 0).logits, plain)
        table = m.get_submodule("bert.embeddings.token_type_embeddings" if hasattr(m, "bert") else "embeddings.token_type_embeddings").weight
        want = m(inputs_embeds=m.get_input_embeddings()(IDS) + (table[1] - table[0]) * types.unsqueeze(-1)).logits
        assert near(told, want)


@pytest.mark.parametrize("family", DECODERS)
def test_more_and_fewer_tokens(family, tmp_path):
    m = loaded(family)
    if family == "gemma4":
        with pytest.raises(ValueError, match="a Gemma4 has other tables of tokens"):
            m.resize_token_embeddings(70)
        return
    old = m.get_input_embeddings().weight.detach().clone()
    before, n = m(IDS).logits.detach(), len(old)
    table = m.resize_token_embeddings(n + 3)
    assert table is m.get_input_embeddings() and table.weight.shape[0] == n + 3 and table.weight.requires_grad and "Embedding" in repr(table)
    assert torch.equal(table.weight[:n], old) and near(table.weight[-1], old.mean(0))
    after = m(IDS).logits.detach()
    assert after.shape[-1] == n + 3 and near(after[..., :n], before)
    m.save_pretrained(tmp_path)
    again = torch.from_pretrained(tmp_path)
    assert torch.equal(again(IDS).logits, after) and str(n + 3) in (tmp_path / "config.json").read_text()
    m.resize_token_embeddings(n)
    assert near(m(IDS).logits, before) and m.resize_token_embeddings(pad_to_multiple_of=n + 5).num_embeddings == n + 5
    assert m.resize_token_embeddings().num_embeddings == n + 5
    m.generate(IDS, max_new_tokens=2)


def test_what_is_not_resized():
    for m, what in [(torch.from_pretrained(DATA / "llama", dtype="i8(group=8)"), "resize them before they are quantized"), (loaded("bert"), "a Bert has other tables"),
                    (loaded("llama"), "0 tokens")]:
        with pytest.raises(ValueError, match=what):
            m.resize_token_embeddings(0 if what[0] == "0" else 100)
    with pytest.raises(ValueError, match="mean_resizing=False"):
        loaded("llama").resize_token_embeddings(100, mean_resizing=False)
    m = loaded("llama")
    m.add_adapter(torch.LoraConfig(r=2))
    with pytest.raises(ValueError, match="has an adapter"):
        m.resize_token_embeddings(100)


@pytest.mark.parametrize("family", FAMILIES)
def test_random_weights(family, tmp_path):
    config = AutoConfig.from_pretrained(DATA / family)
    torch.manual_seed(3)
    m = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    want = loaded(family)
    shapes = lambda model: {name: tuple(p.shape) for name, p in model.named_parameters()}  # noqa: E731
    assert shapes(m) == shapes(want) and m.training and m.config.to_dict() == want.config.to_dict()
    assert all(bool(p.isfinite().all()) for p in m.parameters()) and bool(m(IDS).logits.isfinite().all())
    for name, p in m.named_parameters():
        if p.dim() >= 2 and p.numel() > 500 and "bias" not in name and "c_proj" not in name:
            assert 0.7 < p.std().item() / config_range(config) < 1.4, name
    torch.manual_seed(3)
    again = AutoModelForCausalLM.from_config(config, torch_dtype="float32")
    assert all(torch.equal(a, b) for a, b in zip(m.parameters(), again.parameters()))
    m.save_pretrained(tmp_path)
    assert torch.equal(torch.from_pretrained(tmp_path)(IDS).logits, m(IDS).logits)


def config_range(config):
    values = config.to_dict()
    return values.get("text_config", values).get("initializer_range", values.get("initializer_range", 0.02))


def test_a_configuration_that_was_changed(tmp_path):
    config = AutoConfig.from_pretrained(DATA / "llama")
    config.num_hidden_layers, config.vocab_size, config.dtype = 3, 80, "bfloat16"
    m = AutoModelForCausalLM.from_config(config)
    assert m.dtype == torch.bfloat16 and len(list(m.model.layers.children())) == 3 and m(IDS).logits.shape == (1, 6, 80)
    with pytest.raises(ValueError, match="is none of"):
        AutoModelForCausalLM.from_config({"model_type": "own"})


def a_folder(path, family="llama"):
    """A model whose vocabulary is its tokenizer's, with all files that stand beside it."""
    path.mkdir()
    tokenizer = (TEXTS / "llama3.json").read_text()
    config = AutoConfig.from_pretrained(DATA / family)
    config.vocab_size = 704
    AutoModelForCausalLM.from_config(config, dtype=torch.float32).save_pretrained(path)
    (path / "tokenizer.json").write_text(tokenizer)
    (path / "tokenizer_config.json").write_text('{"bos_token": "<|begin|>", "eos_token": "<|end|>", "model_max_length": 99}')
    (path / "special_tokens_map.json").write_text('{"pad_token": "<|eot|>"}')
    (path / "chat_template.jinja").write_text("{{ bos_token }}{% for m in messages %}[{{ m.content }}]{% endfor %}")
    (path / "generation_config.json").write_text('{"eos_token_id": [1, 700], "temperature": 0.5}')
    return path


CHAT = [{"role": "user", "content": "Grüße 123"}]


@pytest.mark.parametrize("kind", ["model", "tokenizer"])
def test_a_tokenizer_is_saved_with_its_model(tmp_path, kind):
    folder, saved = a_folder(tmp_path / "made"), tmp_path / "saved"
    m, t = torch.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    m.save_pretrained(saved)
    if kind == "tokenizer":
        t.save_pretrained(saved)
    again, s = torch.from_pretrained(saved), AutoTokenizer.from_pretrained(saved)
    text = "Grüße 123 <|eot|> don't\n\n"
    assert again.tokenizer.encode(text) == m.tokenizer.encode(text) == s.encode(text) == t.encode(text)
    for a, b in [(again.tokenizer, m.tokenizer), (s, t)]:
        assert a.apply_chat_template(CHAT, tokenize=True) == b.apply_chat_template(CHAT, tokenize=True) and a.bos_token_id == b.bos_token_id == 0
        assert a.apply_chat_template(CHAT, tokenize=False) == "<|begin|>[Grüße 123]"
    assert (s.pad_token, s.model_max_length, s.special_tokens_map) == (t.pad_token, 99, t.special_tokens_map) and s.pad_token_id == 700
    assert json.loads((saved / "generation_config.json").read_text())["eos_token_id"] == [1, 700] and again.generation_config.eos_token_id == [1, 700]
    assert (saved / "tokenizer.json").read_bytes() == (folder / "tokenizer.json").read_bytes()
    m.tokenizer = t  # a tokenizer under transformers' names does as well
    assert m.generate("Grüße", max_new_tokens=2) == again.generate("Grüße", max_new_tokens=2)
    m.save_pretrained(tmp_path / "third")
    assert AutoTokenizer.from_pretrained(tmp_path / "third").encode(text) == t.encode(text)

"""Calls of language models with the arguments that scripts for transformers give."""
from pathlib import Path

import pytest

import dyadic as torch
from dyadic.transformers import GenerationConfig

DATA = Path(__file__).parent.parent / "models" / "data"
TEXTS = Path(__file__).parent.parent / "text" / "data"


@pytest.fixture(scope="module")
def llama():
    return torch.from_pretrained(DATA / "llama", dtype=torch.float32)


@pytest.fixture(scope="module")
def with_tokenizer(tmp_path_factory):
    """A model that has a tokenizer which begins texts with <|begin|>, as its chats do."""
    folder = tmp_path_factory.mktemp("tokenizer")
    (folder / "tokenizer.json").write_bytes((TEXTS / "llama3.json").read_bytes())
    chat = "{{ bos_token }}{% for m in messages %}[{{ m.content }}]{% endfor %}{% if add_generation_prompt %}>{% endif %}"
    (folder / "chat_template.jinja").write_text(chat)
    (folder / "tokenizer_config.json").write_text('{"bos_token": "<|begin|>", "eos_token": "<|end|>"}')
    m = torch.from_pretrained(DATA / "llama", dtype=torch.float32)
    vocabulary = torch.Tokenizer.load(folder).vocab_size
    config = (DATA / "llama" / "config.json").read_text().replace('"vocab_size": 64', f'"vocab_size": {vocabulary}')
    assert str(vocabulary) in config
    (folder / "config.json").write_text(config)
    torch.manual_seed(0)
    weights = {name: torch.randn(vocabulary, p.size(1)) if "embed_tokens" in name or "lm_head" in name else p.detach() for name, p in m.named_parameters()}
    torch.save(weights, folder / "model.safetensors")
    return torch.from_pretrained(folder)


def test_a_chat_has_one_bos(with_tokenizer):
    m = with_tokenizer
    chat = [{"role": "user", "content": "Hi"}]
    text, ids = (m.tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=tokenize) for tokenize in (False, True))
    assert text.startswith("<|begin|>") and ids.count(m.tokenizer.bos_token_id) == 1
    want = m.generate([ids], max_new_tokens=8, eos_token_id=[])[0, len(ids) :]
    assert m.generate(text, max_new_tokens=8, eos_token_id=[]) == m.tokenizer.decode(want.tolist(), skip_special_tokens=True)
    assert m.generate([text, text], max_new_tokens=8, eos_token_id=[]) == [m.generate(text, max_new_tokens=8, eos_token_id=[])] * 2
    assert m.generate(text, max_length=len(ids) + 8, eos_token_id=[]) == m.generate(text, max_new_tokens=8, eos_token_id=[])
    two = m.generate([m.tokenizer.encode(text)], max_new_tokens=8, eos_token_id=[])
    assert two[0, -8:].tolist() != want.tolist()


@pytest.mark.parametrize("family", ["llama", "gpt2", "bert", "qwen3_5"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_rows_of_a_padded_batch_are_as_they_are_alone(family, side):
    m = torch.from_pretrained(DATA / family, dtype=torch.float32)
    rows = [[5, 6, 7, 8, 9], [10, 11, 12]]
    fill = lambda row, with_what: [with_what] * (5 - len(row)) + row if side == "left" else row + [with_what] * (5 - len(row))
    ids, mask = [fill(row, 3) for row in rows], torch.tensor([fill([1] * len(row), 0) for row in rows])
    zeros = torch.zeros(2, 5, dtype=torch.int64)
    got = m(input_ids=torch.tensor(ids), attention_mask=mask, token_type_ids=zeros, use_cache=False, return_dict=True).logits
    for i, row in enumerate(rows):
        want = m([row]).logits[0]
        assert (got[i][mask[i] == 1] - want).abs().max() < 1e-5 * want.abs().max()
    labels = torch.tensor([fill(row, -100) for row in rows])
    loss, logits = m(ids, labels=labels, attention_mask=mask, return_dict=False)
    sums = [m([row], labels=[row]).loss * (len(row) - 1) for row in rows]
    assert loss.item() == pytest.approx((sum(sums) / 6).item(), rel=1e-5) and torch.equal(logits, got)
    with pytest.raises(ValueError, match="labels are to be -100 where attention_mask is 0"):
        m(ids, labels=ids, attention_mask=mask)


def test_masks_that_say_nothing_and_those_that_cannot_be(llama):
    ids = torch.tensor([[5, 6, 7]])
    assert torch.equal(llama(ids, attention_mask=torch.ones(1, 3)).logits, llama(ids).logits)
    for mask, what in [([[1, 0, 1]], "of row 0 are to be one run"), ([[0, 0, 0]], "one run"), ([[1, 0]], r"attention_mask is \[1, 2\], ids are \[1, 3\]")]:
        with pytest.raises(ValueError, match=what):
            llama(ids, attention_mask=mask)
    with pytest.raises(ValueError, match="rows with a cache are padded on their left"):
        llama(ids, attention_mask=[[1, 1, 0]], cache=llama.new_cache())
    with pytest.raises(ValueError, match="token_type_ids"):
        llama(ids, token_type_ids=[[0, 0, 1]])


def test_what_a_model_says_of_itself(llama):
    assert llama.device == torch.device("cpu") and llama.dtype == torch.float32
    assert torch.from_pretrained(DATA / "llama", dtype="i8(group=8)").dtype == torch.float32
    assert torch.from_pretrained(DATA / "llama", device_map="meta").device.type == "meta"
    assert llama.get_input_embeddings() is llama.model.embed_tokens
    assert llama.num_parameters() == sum(p.numel() for p in llama.parameters())
    c = llama.generation_config
    assert c.max_new_tokens == 20 and c.do_sample is False and c.eos_token_id == llama.config.eos_token_id and c.to_dict()["top_p"] == 1


def test_generation_config_is_what_generate_does(llama, tmp_path):
    m, ids = torch.from_pretrained(DATA / "llama", dtype=torch.float32), [[5, 6, 7]]
    plain = m.generate(ids, max_new_tokens=12, eos_token_id=[])
    m.generation_config.max_new_tokens = 4
    m.generation_config.eos_token_id = plain[0, 4].item()
    m.generation_config.pad_token_id = 0
    assert m.generate(ids).tolist() == plain[:, :5].tolist()
    assert m.generate(ids, eos_token_id=[]).tolist() == plain[:, :7].tolist()
    assert llama.generation_config.max_new_tokens == 20
    assert torch.equal(llama.generate(ids, generation_config=GenerationConfig(max_new_tokens=12), eos_token_id=[]), plain)
    llama.save_pretrained(tmp_path)
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [7, 9], "do_sample": true}')
    advised = torch.from_pretrained(tmp_path).generation_config
    assert advised.eos_token_id == [7, 9] and advised.do_sample is False


def test_arguments_of_transformers_generate(llama):
    ids = torch.tensor([[5, 6, 7]])
    want = llama.generate(ids, max_new_tokens=6, eos_token_id=[])
    got = llama.generate(ids, max_length=9, num_beams=1, attention_mask=torch.ones_like(ids), pad_token_id=0, return_dict_in_generate=False, use_cache=True,
                         eos_token_id=torch.tensor([]).long(), temperature=None, top_k=None, top_p=None)
    assert torch.equal(got, want)
    assert torch.equal(llama.generate(ids, max_length=4, max_new_tokens=6, eos_token_id=[]), want)  # as there, the new tokens count
    for options, what in [
        (dict(num_beams=2), "num_beams is 2: there is no search by beams"),
        (dict(return_dict_in_generate=True), "return_dict_in_generate"),
        (dict(max_length=3), "max_length is 3, and the prompt has 3 tokens"),
        (dict(seed=-1), "seed is -1"),
    ]:
        with pytest.raises(ValueError, match=what):
            llama.generate(ids, **options)


@pytest.mark.parametrize("options, what", [
    (dict(seed="a"), "seed is 'a', and no integer"),
    (dict(eos_token_id="x"), "eos_token_id is 'x', and no integer"),
    (dict(pad_token_id=[1]), r"pad_token_id is \[1\], and no integer"),
    (dict(max_new_tokens=2.5), "max_new_tokens is 2.5, and no integer"),
    (dict(top_p="x"), "top_p is 'x', and no number"),
    (dict(stop_strings=[3]), "stop_strings has 3, and no text"),
])
def test_arguments_of_wrong_kinds(llama, options, what):
    with pytest.raises(TypeError, match=what):
        llama.generate([[5]], **options)


def test_texts_that_are_no_unicode(with_tokenizer):
    m, chat = with_tokenizer, [{"role": "user", "content": "a\ud800"}]
    for call in (lambda: m.tokenizer.encode("a\ud800"), lambda: m.tokenizer.encode_prompt("a\ud800"), lambda: m.generate("a\ud800"),
                 lambda: m.generate("a", stop_strings=["\ud800"]), lambda: m.tokenizer.apply_chat_template(chat)):
        with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
            call()
    assert m.tokenizer.encode("a\udc80".encode(errors="surrogateescape")) == m.tokenizer.encode(b"a\x80")


def test_copies_of_a_model_with_a_tokenizer(with_tokenizer):
    import copy
    import pickle

    m, chat = with_tokenizer, [{"role": "user", "content": "Hi"}]
    for again in (copy.deepcopy(m), copy.copy(m.tokenizer), pickle.loads(pickle.dumps(m))):
        t = getattr(again, "tokenizer", again)
        assert t.encode("Grüße 12") == m.tokenizer.encode("Grüße 12") and t.apply_chat_template(chat) == m.tokenizer.apply_chat_template(chat)
        assert t.bos_token_id == m.tokenizer.bos_token_id and repr(t) == f"Tokenizer(vocab_size={t.vocab_size})"
    assert copy.deepcopy(m).generate("Hi", max_new_tokens=4, eos_token_id=[]) == m.generate("Hi", max_new_tokens=4, eos_token_id=[])


def test_a_streamer_is_told_of_the_end(with_tokenizer):
    class Told:
        def __init__(self):
            self.pieces, self.ended = [], 0

        def put(self, piece):
            self.pieces.append(piece)

        def end(self):
            self.ended += 1

    told = Told()
    text = with_tokenizer.generate("Hi", max_new_tokens=4, eos_token_id=[], streamer=told)
    assert "".join(told.pieces) == text and told.ended == 1
    with_tokenizer.generate([[5, 6]], max_new_tokens=2, eos_token_id=[], streamer=told)
    assert told.ended == 2 and len(told.pieces[-1]) == 1
    with pytest.raises(ValueError, match=r"ids are i64 \[B, T\]: they are i64\[1, 1, 1\]"):
        with_tokenizer([[[1]]])

"""dyadic.Tokenizer: the same library as C++'s, with Python's texts and lists."""

import json
from pathlib import Path

import dyadic
import pytest

DATA = Path(__file__).parent.parent / "text/data"


def test_ids_and_text_are_those_of_the_stored_results():
    expected = json.loads((DATA / "expected.json").read_text())
    for name in ("llama3", "llama2", "bert"):
        t = dyadic.Tokenizer.load(DATA / f"{name}.json")
        for text, (ids, back) in zip(expected["texts"], expected["tokenizers"][name]):
            assert t.encode(text) == ids
            assert t.decode(ids, skip_special_tokens=True) == back


def test_a_folder_has_its_template(tmp_path):
    (tmp_path / "tokenizer.json").write_bytes((DATA / "llama3.json").read_bytes())
    (tmp_path / "tokenizer_config.json").write_text('{"bos_token": "<|begin|>"}')
    (tmp_path / "chat_template.jinja").write_text("{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content }}{% endfor %}{{ tools }}{{ mood }}")
    t = dyadic.Tokenizer.load(tmp_path)
    messages = [{"role": "user", "content": "Grüße"}]
    assert t.apply_chat_template(messages, mood="x") == "<|begin|>[user] GrüßeNonex"
    ids = t.apply_chat_template(messages, tokenize=True)
    assert ids.count(t.bos_token_id) == 1 and ids[0] == t.bos_token_id
    assert t.decode(ids, skip_special_tokens=True) == "[user] GrüßeNone"
    assert t.id_to_token(t.token_to_id("<|eot|>")) == "<|eot|>"
    assert t.id_to_token(10**6) is None


def test_what_is_learned_is_saved(tmp_path):
    t = dyadic.Tokenizer.train_bpe(["low lower lowest low low"], vocab_size=265, special_tokens=["<end>"])
    t.save(tmp_path / "tokenizer.json")
    again = dyadic.Tokenizer.load(tmp_path)
    assert again.encode("low lower<end>") == t.encode("low lower<end>")
    assert again.vocab_size == t.vocab_size


def test_mistakes_are_value_errors(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(ValueError, match="tokenizer.json: not JSON at byte 2"):
        dyadic.Tokenizer.load(tmp_path)
    t = dyadic.Tokenizer.load(DATA / "gpt2.json")
    with pytest.raises(ValueError, match="has no chat template"):
        t.apply_chat_template([])
    with pytest.raises(ValueError, match="id of no token"):
        t.decode([-1])
    assert t.decode(t.encode("words") + [10**9]) == "words"  # models have rows for more ids than there are tokens


def test_bytes_that_are_no_text():
    t = dyadic.Tokenizer.load(DATA / "gpt2.json")
    for raw in (b"\xff\xfe", b"a\xf0\x9f", "Grüße".encode(), b""):
        assert t.decode_bytes(t.encode(raw)) == raw
    assert t.encode("Grüße".encode()) == t.encode("Grüße")
    first = t.encode("\U0001f600")[:1]
    assert t.decode(first) == "\ufffd" and "\U0001f600".encode().startswith(t.decode_bytes(first))

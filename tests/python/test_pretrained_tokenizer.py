"""dyadic.transformers' tokenizer under transformers' names: special tokens, padding, truncation."""
import json
from pathlib import Path

import pytest

from dyadic.transformers import AutoTokenizer, PreTrainedTokenizer

DATA = Path(__file__).parent.parent / "text" / "data"
BERT = {name + "_token": f"[{name.upper()}]" for name in ("unk", "sep", "pad", "cls", "mask")}


def made(folder, name, config, **files):
    (folder / "tokenizer.json").write_bytes((DATA / f"{name}.json").read_bytes())
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    for file, text in files.items():
        (folder / file.replace("__", ".")).write_text(text)
    return AutoTokenizer.from_pretrained(folder)


@pytest.fixture
def bert(tmp_path):
    return made(tmp_path, "bert", BERT | {"model_max_length": 6, "pad_token": {"content": "[PAD]"}})


@pytest.fixture
def llama(tmp_path):
    return made(tmp_path, "llama3", {"bos_token": "<|begin|>", "eos_token": "<|end|>", "additional_special_tokens": ["<|eot|>"]}, chat_template__jinja="{{ 1 }}")


def test_special_tokens(bert, llama):
    assert [bert.unk_token, bert.sep_token, bert.pad_token, bert.cls_token, bert.mask_token] == ["[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"]
    assert (bert.pad_token_id, bert.unk_token_id, bert.cls_token_id, bert.sep_token_id, bert.mask_token_id) == (0, 1, 2, 3, 4)
    assert bert.bos_token is None and bert.eos_token_id is None and bert.special_tokens_map == BERT and sorted(bert.all_special_ids) == [0, 1, 2, 3, 4]
    assert bert.model_max_length == 6 and llama.model_max_length == int(1e30) and bert.chat_template is None and llama.chat_template == "{{ 1 }}"
    assert (llama.bos_token, llama.bos_token_id, llama.eos_token, llama.eos_token_id) == ("<|begin|>", 0, "<|end|>", 1)
    assert llama.pad_token is None and llama.pad_token_id is None and llama.unk_token is None
    assert llama.special_tokens_map == {"bos_token": "<|begin|>", "eos_token": "<|end|>", "additional_special_tokens": ["<|eot|>"]}
    assert llama.all_special_ids == [0, 1, 700] and llama.all_special_tokens == ["<|begin|>", "<|end|>", "<|eot|>"]


def test_vocabulary(bert):
    vocabulary = bert.get_vocab()
    assert len(vocabulary) == len(bert) == 600 and vocabulary["[SEP]"] == 3
    tokens = bert.tokenize("hi there")
    assert [vocabulary[token] for token in tokens] == bert.encode("hi there", add_special_tokens=False)
    assert bert.tokenize("hi there", add_special_tokens=True) == ["[CLS]", *tokens, "[SEP]"]


def test_padding(llama):
    short, long = llama.encode("a"), llama.encode("a b c")
    n = len(long)
    rows = llama(["a", "a b c"], padding="max_length", max_length=8)
    assert rows.input_ids == [[1] * (8 - len(short)) + short, [1] * (8 - n) + long]
    assert rows.attention_mask == [[0] * (8 - len(short)) + [1] * len(short), [0] * (8 - n) + [1] * n]
    assert llama("a", padding="max_length", max_length=8, return_tensors="pt").input_ids.shape == (1, 8)
    assert llama(["a", "a b c"], padding="longest", max_length=8).input_ids == [[1] * (n - len(short)) + short, long]
    llama.pad_token = "<|eot|>"
    assert llama.pad_token_id == 700 and llama(["a", "a b c"], padding=True, padding_side="right").input_ids[0] == short + [700] * (n - len(short))
    llama.padding_side = "right"
    assert llama.encode("a", padding="max_length", max_length=4) == short + [700] * (4 - len(short))
    llama.pad_token_id = llama.eos_token_id
    assert llama.pad_token == "<|end|>"
    with pytest.raises(ValueError, match="padding: to how many tokens"):
        llama("a", padding="max_length")
    with pytest.raises(ValueError, match="padding is 'full', and none of"):
        llama("a", padding="full")
    for call in (lambda: llama("a", padding=True, padding_side="top"), lambda: setattr(llama, "padding_side", "top"), lambda: PreTrainedTokenizer(None, "top")):
        with pytest.raises(ValueError, match="padding_side is 'top'"):
            call()
    with pytest.raises(ValueError, match="not of one length; give padding=True, and truncation=True"):
        llama(["a", "a b c d e f g h"], padding="max_length", max_length=4, return_tensors="pt")


def test_truncation_keeps_what_stands_around_a_text(bert, llama):
    text = "hi there you all"
    bare = bert.encode(text, add_special_tokens=False)
    assert len(bare) > 4
    assert bert.encode(text, truncation=True, max_length=5) == [2, *bare[:3], 3]
    assert bert.encode(text, truncation=True) == [2, *bare[:4], 3]  # model_max_length
    assert bert.encode(text, add_special_tokens=False, truncation=True, max_length=3) == bare[:3]
    assert bert("hi", truncation=True, padding="max_length").input_ids[-1] == 3 and len(bert("hi", padding="max_length").input_ids) == 6
    assert llama([text, "a"], truncation=True, max_length=3, padding=True, return_tensors="pt").input_ids.shape == (2, 3)
    with pytest.raises(ValueError, match="truncation: to how many tokens"):
        llama(text, truncation=True)
    with pytest.raises(ValueError, match="max_length is 1, and 2 tokens stand around a text"):
        bert(text, truncation=True, max_length=1)
    with pytest.raises(ValueError, match="truncation is 'sideways'"):
        bert(text, truncation="sideways")


def test_a_vocabulary_does_not_grow(llama):
    assert llama.add_tokens("<|eot|>") == 0 and llama.add_tokens(["<|end|>"], special_tokens=True) == 0
    assert llama.add_special_tokens({"pad_token": "<|eot|>"}) == 0 and llama.pad_token_id == 700
    for call in (lambda: llama.add_tokens(["<|eot|>", "<new>"]), lambda: llama.add_special_tokens({"pad_token": "<new>"}), lambda: setattr(llama, "pad_token", "<new>")):
        with pytest.raises(ValueError, match="'<new>' is no token of this vocabulary, which stays as its file has it"):
            call()
    with pytest.raises(ValueError, match="'pad' is none of bos_token"):
        llama.add_special_tokens({"pad": "<|eot|>"})


def test_saved_and_loaded_again(llama, tmp_path):
    llama.pad_token, llama.model_max_length = "<|eot|>", 77
    llama.save_pretrained(tmp_path / "again")
    again = AutoTokenizer.from_pretrained(tmp_path / "again")
    assert again.special_tokens_map == llama.special_tokens_map and again.model_max_length == 77 and again.chat_template == "{{ 1 }}"
    assert again.apply_chat_template([], tokenize=False) == "1"


def test_a_tokenizer_file_alone(tmp_path):
    t = AutoTokenizer.from_pretrained(DATA / "llama3.json")
    assert t.pad_token is None and t.special_tokens_map == {} and t.chat_template is None and t.all_special_ids == []


def test_pairs(bert, llama, tmp_path):
    a, b = (bert.encode(text, add_special_tokens=False) for text in ("hi there", "you all"))
    bert.model_max_length = int(1e30)
    made = bert("hi there", "you all")
    assert made.input_ids == [2, *a, 3, *b, 3] and made.token_type_ids == [0] * (len(a) + 2) + [1] * (len(b) + 1) and set(made.attention_mask) == {1}
    assert bert("hi there", "you all", add_special_tokens=False).token_type_ids == [0] * len(a) + [1] * len(b)
    assert bert("hi there", "you all", return_special_tokens_mask=True).special_tokens_mask == [1] + [0] * len(a) + [1] + [0] * len(b) + [1]
    assert bert("hi there", "").input_ids == [2, *a, 3, 3] and bert("", "").token_type_ids == [0, 0, 1]
    assert bert.encode("hi there", "you all") == made.input_ids and bert.tokenize("hi there", "you all") == bert.convert_ids_to_tokens(a + b)
    for both in (bert(["hi there", "hi"], ["you all", "you"], padding=True), bert([("hi there", "you all"), ["hi", "you"]], padding=True)):
        n = len(made.input_ids)
        assert both.input_ids[0] == made.input_ids and len(both.input_ids[1]) == len(both.token_type_ids[1]) == n and both.token_type_ids[1][0] == 0
    # The longer of the two loses tokens first; a frame stays.
    long, short = "you all there hi you all", "hi"
    x, y = (bert.encode(text, add_special_tokens=False) for text in (long, short))
    assert bert(long, short, truncation=True, max_length=len(y) + 5).input_ids == [2, *x[:2], 3, *y, 3]
    assert bert(short, long, truncation="longest_first", max_length=len(y) + 5).input_ids == [2, *y, 3, *x[:2], 3]
    assert bert(long, long, truncation=True, max_length=8).input_ids == [2, *x[:2], 3, *x[:3], 3]
    assert bert(long, short, truncation="only_first", max_length=len(y) + 4).input_ids == [2, *x[:1], 3, *y, 3]
    assert bert(short, long, truncation="only_second", max_length=len(y) + 4).input_ids == [2, *y, 3, *x[:1], 3]
    for call, what in [
        (lambda: bert(short, long, truncation="only_first", max_length=6), "the second text alone has"),
        (lambda: bert("hi", "you", truncation=True, max_length=2), "max_length is 2, and 3 tokens stand around"),
        (lambda: bert(["hi", "you"], ["a"]), "a text for each of the 2 texts"),
        (lambda: bert("hi", "you", return_offsets_mapping=True), "return_offsets_mapping: which characters"),
    ]:
        with pytest.raises(ValueError, match=what):
            call()
    with pytest.raises(ValueError, match="only_second: there is one text"):
        bert(long, truncation="only_second", max_length=3)
    with pytest.raises(TypeError, match="a text is a str, and this is a int"):
        bert(["hi", 3])
    c, d = (llama.encode(text, add_special_tokens=False) for text in ("Hi", "you"))
    assert llama("Hi", "you").input_ids == [0, *c, 0, *d] and "token_type_ids" not in llama("Hi")
    llama.model_input_names = ["input_ids", "attention_mask"]
    assert "token_type_ids" not in llama("Hi", "you") and llama("Hi", return_token_type_ids=True).token_type_ids == [0] * (len(c) + 1)
    roberta = made_of(tmp_path, "roberta")
    e, f = (roberta.encode(text, add_special_tokens=False) for text in ("Hi", " you"))
    first, last = roberta.encode("", add_special_tokens=True)
    pair = roberta("Hi", " you")
    assert pair.input_ids == [first, *e, last, last, *f, last] and set(pair.token_type_ids) == {0}


def made_of(tmp_path, name):
    (tmp_path / name).mkdir()
    return made(tmp_path / name, name, {})


def test_rows_are_filled_later(llama):
    rows = [llama("a"), llama("a b c")]
    assert llama.pad(rows).input_ids == llama(["a", "a b c"], padding=True).input_ids
    assert llama.pad({"input_ids": [[1], [1, 2, 3]]}, return_tensors="pt", padding_side="right").attention_mask.tolist() == [[1, 0, 0], [1, 1, 1]]
    assert llama.pad(rows, pad_to_multiple_of=8, return_tensors="pt").input_ids.shape == (2, 8)


def test_chats(llama, tmp_path):
    template = "{% for m in messages %}[{{ m.content }}]{% endfor %}{{ tools }}"
    chats = [[{"role": "user", "content": "a"}], [{"role": "user", "content": "b c d"}]]
    texts = llama.apply_chat_template(chats, tokenize=False, chat_template=template)
    assert texts == ["[a]None", "[b c d]None"] and llama.apply_chat_template(chats[0], tokenize=False) == "1"
    rows = llama.apply_chat_template(chats, chat_template=template, padding=True, return_tensors="pt", return_dict=True)
    alone = [llama.apply_chat_template(chat, chat_template=template) for chat in chats]
    assert [row[mask == 1].tolist() for row, mask in zip(rows.input_ids, rows.attention_mask)] == alone and len(alone[0]) < len(alone[1])
    assert llama.apply_chat_template(chats[1], chat_template=template, truncation=True, max_length=3) == alone[1][:3]
    for option in ("continue_final_message", "return_assistant_tokens_mask"):
        with pytest.raises(ValueError, match=option):
            llama.apply_chat_template(chats[0], **{option: True})
    with pytest.raises(ValueError, match="chat template, line 1"):
        llama.apply_chat_template(chats[0], chat_template="{{ }}")
    several = [{"name": "default", "template": "D"}, {"name": "tool_use", "template": "T"}, {"name": "rag", "template": "R"}]
    (tmp_path / "named").mkdir()
    named = made(tmp_path / "named", "llama3", {"chat_template": several})
    kinds = [named.apply_chat_template([], tokenize=False, **more) for more in ({}, {"tools": [{}]}, {"chat_template": "rag"})]
    assert kinds == ["D", "T", "R"]


def test_what_scripts_ask_of_a_tokenizer(bert, llama):
    assert bert.is_fast and llama.additional_special_tokens == ["<|eot|>"] and bert.num_special_tokens_to_add() == 2
    assert bert.num_special_tokens_to_add(pair=True) == 3 and "vocab_size=701" in repr(llama)
    ids = llama.encode("It 's here . Right ?", add_special_tokens=False)
    assert llama.decode(ids, clean_up_tokenization_spaces=True) == "It's here. Right?" and llama.decode(ids, clean_up_tokenization_spaces=False) == "It 's here . Right ?"
    assert llama.batch_decode([ids, ids], clean_up_tokenization_spaces=True) == ["It's here. Right?"] * 2
    for text in (None, 3):
        with pytest.raises(TypeError, match="a text is a str"):
            llama(text)

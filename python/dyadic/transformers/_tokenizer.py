import json
import os

from .. import _dyadic
from .._dyadic import Tensor, Tokenizer
from .._pretrained import _model_path

_ENDLESS = int(1e30)  # transformers' model_max_length where nothing is said


class BatchEncoding(dict):
    """A dict whose entries are attributes too: input_ids, attention_mask."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def to(self, device):
        """Its tensors on that device."""
        return BatchEncoding({k: v.to(device) if isinstance(v, Tensor) else v for k, v in self.items()})


def _settings(path):
    """What the files beside a tokenizer.json say, the surest last. None: a GGUF file, whose own words are not to be had."""
    if not os.path.isdir(path):
        return {} if path.endswith(".json") else None
    if not os.path.exists(os.path.join(path, "tokenizer.json")):
        return None
    settings = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        if os.path.exists(file := os.path.join(path, name)):
            with open(file, encoding="utf-8") as f:
                settings.update(json.load(f))
    if os.path.exists(file := os.path.join(path, "chat_template.jinja")):
        with open(file, encoding="utf-8") as f:
            settings["chat_template"] = f.read()
    return settings


def _content(token):
    """The text of a token that is a text, a dict of a file or an AddedToken."""
    return token["content"] if isinstance(token, dict) else getattr(token, "content", token)


def _side(side):
    if side not in ("left", "right"):
        raise ValueError(f"padding_side is {side!r}, neither 'left' nor 'right'")
    return side


_BLANKS = [(" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"), (" 'm", "'m"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re")]
_NAMES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


def _token_attributes(name):
    """The attributes NAME and NAME_id."""
    text = property(lambda self: self._special.get(name), lambda self, token: self._set_special(name, token), doc=f"The text of {name}_id, or None.")
    number = property(lambda self: self._id(self._special.get(name)), lambda self, id: self._set_special(name, self.tokenizer.id_to_token(id)),
                      doc=f"The id of {name}, or None.")
    return text, number


class PreTrainedTokenizer:
    """A Tokenizer (its attribute tokenizer) under the names that transformers has."""

    def __init__(self, tokenizer, padding_side="left", settings=None):
        self.tokenizer, self.padding_side, self._settings, self._special = tokenizer, padding_side, settings, {}
        settings = settings or {}
        self.model_max_length = settings.get("model_max_length", _ENDLESS)
        self.model_input_names = settings.get("model_input_names")  # None: nobody says
        for name in _NAMES:
            token = _content(settings.get(name))
            if self._id(token) is not None:
                self._special[name] = token
        for name in ("bos_token", "eos_token"):
            if (id := getattr(tokenizer, f"{name}_id")) is not None:
                self._special[name] = tokenizer.id_to_token(id)
        more = settings.get("additional_special_tokens") or settings.get("extra_special_tokens") or []
        self._more_special = [_content(token) for token in (more.values() if isinstance(more, dict) else more)]

    @classmethod
    def from_pretrained(cls, path, padding_side="left"):
        """That of a model's folder, a tokenizer.json or a GGUF file."""
        path = _model_path(path)
        return cls(Tokenizer.load(path), padding_side, _settings(path))

    def save_pretrained(self, folder):
        """Writes tokenizer.json into the folder, what stood beside it, and tokenizer_config.json with the special tokens and the
        template of chats. Of a GGUF file the same, made from its keys."""
        folder = os.fspath(folder)
        self.tokenizer.save_pretrained(folder)
        settings = {**(_settings(folder) or {}), **(self._settings or {}), **self._special}
        if self.model_max_length != _ENDLESS:
            settings["model_max_length"] = self.model_max_length
        if self.model_input_names is not None:
            settings["model_input_names"] = self.model_input_names
        if self._more_special:
            settings["extra_special_tokens"] = self._more_special
            settings.pop("additional_special_tokens", None)
        with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as f:
            json.dump(settings, f, indent=2, ensure_ascii=False)

    vocab_size = property(lambda self: self.tokenizer.vocab_size, doc="How many tokens there are.")
    bos_token, bos_token_id = _token_attributes("bos_token")
    eos_token, eos_token_id = _token_attributes("eos_token")
    unk_token, unk_token_id = _token_attributes("unk_token")
    sep_token, sep_token_id = _token_attributes("sep_token")
    pad_token, pad_token_id = _token_attributes("pad_token")
    cls_token, cls_token_id = _token_attributes("cls_token")
    mask_token, mask_token_id = _token_attributes("mask_token")

    def _id(self, token):
        return None if token is None else self.tokenizer.token_to_id(token)

    def _set_special(self, name, token):
        if token is None:
            self._special.pop(name, None)
            return
        self._check_known(name, [token])
        self._special[name] = _content(token)

    def _check_known(self, who, tokens):
        for token in map(_content, tokens):
            if self._id(token) is None:
                raise ValueError(f"{who}: {token!r} is no token of this vocabulary, which stays as its file has it; write it into tokenizer.json's "
                                 "added_tokens, and a row for it into the model's embedding")

    @property
    def padding_side(self):
        """Where shorter rows of a batch are filled: "left" or "right"."""
        return self._padding_side

    @padding_side.setter
    def padding_side(self, side):
        self._padding_side = _side(side)

    @property
    def special_tokens_map(self):
        """The special tokens by their names."""
        return {**self._special, **({"additional_special_tokens": list(self._more_special)} if self._more_special else {})}

    @property
    def all_special_tokens(self):
        """The special tokens, each once."""
        return list(dict.fromkeys([*self._special.values(), *self._more_special]))

    @property
    def all_special_ids(self):
        """Their ids."""
        return self.convert_tokens_to_ids(self.all_special_tokens)

    is_fast = True

    @property
    def additional_special_tokens(self):
        """Special tokens that have no name of their own."""
        return list(self._more_special)

    def num_special_tokens_to_add(self, pair=False):
        """How many tokens frame a text, or two."""
        return len(self("", "" if pair else None).input_ids)

    def __repr__(self):
        return f"PreTrainedTokenizer(vocab_size={self.vocab_size}, special_tokens={self.special_tokens_map})"

    @property
    def chat_template(self):
        """The template of chats, or None."""
        template = (self._settings or {}).get("chat_template")
        if isinstance(template, list):
            template = next((t["template"] for t in template if t["name"] == "default"), None)
        if self._settings is None:
            raise ValueError("chat_template: that of a GGUF file, or of a Tokenizer, is not shown; apply_chat_template() uses it")
        return template

    def add_tokens(self, new_tokens, special_tokens=False):
        """0 where the vocabulary has all of them; ValueError where it would have to grow. special_tokens: they are special from now on."""
        tokens = [new_tokens] if isinstance(new_tokens, str) or not isinstance(new_tokens, (list, tuple)) else new_tokens
        self._check_known("add_tokens", tokens)
        if special_tokens:
            self._more_special += [token for token in map(_content, tokens) if token not in self.all_special_tokens]
        return 0

    def add_special_tokens(self, special_tokens_dict):
        """Tokens of the vocabulary as pad_token, eos_token ... and additional_special_tokens, a list. 0, as add_tokens."""
        for name, token in special_tokens_dict.items():
            if name in ("additional_special_tokens", "extra_special_tokens"):
                self.add_tokens(list(token), special_tokens=True)
            elif name in _NAMES:
                self._set_special(name, token)
            else:
                raise ValueError(f"add_special_tokens: {name!r} is none of {', '.join(_NAMES)} and additional_special_tokens")
        return 0

    def get_vocab(self):
        """The ids of all tokens, by their texts."""
        tokens = ((self.tokenizer.id_to_token(i), i) for i in range(self.vocab_size))
        return {token: i for token, i in tokens if token is not None}

    def __len__(self):
        return self.vocab_size

    def tokenize(self, text, pair=None, add_special_tokens=False):
        """The tokens of a text, or of two."""
        return self.convert_ids_to_tokens(self.encode(text, pair, add_special_tokens))

    def encode(self, text, text_pair=None, add_special_tokens=True, return_tensors=None, padding=False, truncation=False, max_length=None,
               padding_side=None):
        """The ids of a text or two: a list, or with return_tensors="pt" i64 [1, T]. padding, truncation: as in a call."""
        return self(text, text_pair, add_special_tokens, padding, truncation, max_length, return_tensors, padding_side).input_ids

    def __call__(self, text, text_pair=None, add_special_tokens=True, padding=False, truncation=False, max_length=None, return_tensors=None,
                 padding_side=None, return_token_type_ids=None, return_attention_mask=True, return_special_tokens_mask=False,
                 return_offsets_mapping=False, pad_to_multiple_of=None):
        """input_ids and attention_mask of a text or of a list of texts; text_pair: a second text of each, framed as the tokenizer says.
        token_type_ids, which of the two a token is of, come where model_input_names has them, and with a pair where nobody says which
        inputs there are. padding: True or "longest" fills shorter rows up to the longest, "max_length" all to max_length, with
        pad_token or, where there is none, the EOS, on the side that padding_side says. truncation=True: to max_length tokens, those
        that frame a text kept, of the longer of two texts first; "only_first" or "only_second" cuts that one. Without max_length that
        is model_max_length. return_tensors="pt": i64 [B, T]. return_special_tokens_mask: 1 for tokens that frame or fill. Where in the
        text a token is from is not known: there is no return_offsets_mapping."""
        if return_offsets_mapping:
            raise ValueError("return_offsets_mapping: which characters a token is from is not kept while text is normalized; leave it out")
        if truncation not in (True, False, None, "longest_first", "only_first", "only_second", "do_not_truncate"):
            raise ValueError(f"truncation is {truncation!r}, neither True nor False")
        most = None if truncation in (False, None, "do_not_truncate") else self._most("truncation", max_length)
        one, pairs = _pairs(text, text_pair)
        made = [self.tokenizer._encode_full(a, b, add_special_tokens, most, truncation if isinstance(truncation, str) else "") for a, b in pairs]
        columns = {"input_ids": [row for row, _, _ in made]}
        has_types = self._has_types(any(b is not None for _, b in pairs)) if return_token_type_ids is None else return_token_type_ids
        if has_types:
            columns["token_type_ids"] = [types for _, types, _ in made]
        if return_attention_mask:
            columns["attention_mask"] = [[1] * len(row) for row, _, _ in made]
        if return_special_tokens_mask:
            columns["special_tokens_mask"] = [special for _, _, special in made]
        return self._finished(columns, padding, max_length, padding_side, pad_to_multiple_of, return_tensors, one)

    def _most(self, what, max_length):
        most = self.model_max_length if max_length is None else max_length
        if most >= _ENDLESS // 10:
            raise ValueError(f"{what}: to how many tokens? give max_length")
        return most

    def _finished(self, columns, padding, max_length, side, multiple, return_tensors, one):
        """Rows filled to one length, as tensors, or of one text its row alone."""
        if padding not in (True, False, None, "longest", "max_length", "do_not_pad"):
            raise ValueError(f"padding is {padding!r}, and none of True, 'longest', 'max_length' and False")
        if padding not in (False, None, "do_not_pad"):
            longest = max(map(len, columns["input_ids"]), default=0)
            self._fill(columns, self._most("padding", max_length) if padding == "max_length" else longest, side, multiple)
        if not _plain(return_tensors):
            if len(set(map(len, columns["input_ids"]))) > 1:
                raise ValueError("return_tensors: the rows are not of one length; give padding=True, and truncation=True where some are longer than max_length")
            return BatchEncoding({name: _dyadic.tensor(rows, dtype=_dyadic.int64) for name, rows in columns.items()})
        return BatchEncoding({name: rows[0] if one else rows for name, rows in columns.items()})

    def _has_types(self, with_pair):
        if self.model_input_names is not None:
            return "token_type_ids" in self.model_input_names
        return with_pair or str((self._settings or {}).get("tokenizer_class")).startswith("Bert")

    def _fill(self, columns, length, side, multiple):
        """Fills the rows of a batch to one length."""
        if multiple:
            length = -(-length // multiple) * multiple
        filler = self.pad_token_id if self.pad_token_id is not None else self.eos_token_id or 0
        with_what = {"input_ids": filler, "token_type_ids": 0, "attention_mask": 0, "special_tokens_mask": 1}
        side = _side(side or self.padding_side)
        for name, rows in columns.items():
            columns[name] = [_padded(row, length, with_what[name], side) for row in rows]

    def pad(self, encoded_inputs, padding=True, max_length=None, return_tensors=None, pad_to_multiple_of=None, padding_side=None):
        """Rows that were encoded before, a dict of lists or a list of such dicts of one text each, filled to one length as in a call."""
        if isinstance(encoded_inputs, (list, tuple)):
            encoded_inputs = {name: [row[name] for row in encoded_inputs] for name in encoded_inputs[0]}
        columns = {name: [row.tolist() if isinstance(row, Tensor) else list(row) for row in rows] for name, rows in encoded_inputs.items()}
        columns.setdefault("attention_mask", [[1] * len(row) for row in columns["input_ids"]])
        return self._finished(columns, padding, max_length, padding_side, pad_to_multiple_of, return_tensors, False)

    def decode(self, token_ids, skip_special_tokens=False, clean_up_tokenization_spaces=None):
        """The text of ids: a list, a tensor or one id. clean_up_tokenization_spaces=True: without the blanks before . ? ! , n't 'm 's
        've and 're; else the text is as the tokens have it."""
        ids = token_ids.tolist() if isinstance(token_ids, Tensor) else token_ids
        text = self.tokenizer.decode([ids] if isinstance(ids, int) else list(ids), skip_special_tokens)
        for blank, joined in _BLANKS if clean_up_tokenization_spaces else ():
            text = text.replace(blank, joined)
        return text

    def batch_decode(self, sequences, skip_special_tokens=False, clean_up_tokenization_spaces=None):
        """The text of each row."""
        return [self.decode(row, skip_special_tokens, clean_up_tokenization_spaces) for row in sequences]

    def convert_tokens_to_ids(self, tokens):
        """The id of a token, or a list of them."""
        return self.tokenizer.token_to_id(tokens) if isinstance(tokens, str) else [self.tokenizer.token_to_id(t) for t in tokens]

    def convert_ids_to_tokens(self, ids):
        """The token of an id, or a list of them."""
        return self.tokenizer.id_to_token(ids) if isinstance(ids, int) else [self.tokenizer.id_to_token(i) for i in ids]

    def apply_chat_template(self, conversation, tools=None, add_generation_prompt=False, tokenize=True, return_tensors=None, return_dict=False,
                            chat_template=None, padding=False, truncation=False, max_length=None, continue_final_message=False,
                            return_assistant_tokens_mask=False, **variables):
        """A chat by the model's template: ids, or with tokenize=False the text; a list of chats becomes a list. chat_template: another
        template, or the name of one where tokenizer_config.json has several (with tools "tool_use" is taken, where there is one).
        padding, truncation, max_length, return_tensors: as in a call. Other arguments are names that the template may use."""
        for name, given in (("continue_final_message", continue_final_message), ("return_assistant_tokens_mask", return_assistant_tokens_mask)):
            if given:
                raise ValueError(f"apply_chat_template: {name}: where a message stands in the text is not known; tokenize=False gives the text to cut")
        several = isinstance(conversation, (list, tuple)) and len(conversation) > 0 and isinstance(conversation[0], (list, tuple))
        template = self._template(chat_template, tools)
        made = [self.tokenizer.apply_chat_template(list(chat), tools, add_generation_prompt, tokenize, template, **variables)
                for chat in (conversation if several else [conversation])]
        if not tokenize:
            return made if several else made[0]
        if truncation:
            most = self._most("truncation", max_length)
            made = [row[:most] for row in made]
        columns = {"input_ids": made, "attention_mask": [[1] * len(row) for row in made]}
        out = self._finished(columns, padding, max_length, None, None, return_tensors, not several)
        return out if return_dict else out.input_ids

    def _template(self, asked, tools):
        """The template that a call asks for, or None for the tokenizer's own."""
        own = (self._settings or {}).get("chat_template")
        named = {t["name"]: t["template"] for t in own} if isinstance(own, list) else {}
        if asked is None:
            return named.get("tool_use") if tools else None
        return named.get(asked, asked)


def _pairs(text, pair):
    """Whether it is one text, and all texts with what follows each, or None. A pair may stand in a list as a tuple or list of two."""
    if isinstance(text, str):
        if pair is not None and not isinstance(pair, str):
            raise ValueError("text_pair: it is a text, as text is")
        return True, [(_checked(text), None if pair is None else _checked(pair))]
    if not isinstance(text, (list, tuple)):
        _checked(text)
    if pair is not None:
        if isinstance(pair, str) or len(pair) != len(text):
            raise ValueError(f"text_pair: a text for each of the {len(text)} texts is needed")
        return False, [(_checked(a), _checked(b)) for a, b in zip(text, pair)]
    two = lambda t: isinstance(t, (list, tuple)) and len(t) == 2  # noqa: E731
    return False, [(_checked(t[0]), _checked(t[1])) if two(t) else (_checked(t), None) for t in text]


def _checked(text):
    if not isinstance(text, str):
        raise TypeError(f"tokenizer: a text is a str, and this is a {type(text).__name__}")
    return text


def _padded(row, length, filler, side):
    more = [filler] * (length - len(row))
    return more + row if side == "left" else row + more


def _plain(return_tensors):
    if return_tensors not in (None, "pt"):
        raise ValueError(f"return_tensors is {return_tensors!r}; there is 'pt', dyadic's tensors")
    return return_tensors is None

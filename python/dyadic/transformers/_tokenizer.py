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
        """Writes tokenizer.json into the folder, and tokenizer_config.json with the special tokens and the template of chats."""
        os.makedirs(folder, exist_ok=True)
        self.tokenizer.save(os.path.join(folder, "tokenizer.json"))
        settings = {**(self._settings or {}), **self._special}
        if self.model_max_length != _ENDLESS:
            settings["model_max_length"] = self.model_max_length
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

    def tokenize(self, text, add_special_tokens=False):
        """The tokens of a text."""
        return self.convert_ids_to_tokens(self.tokenizer.encode(text, add_special_tokens))

    def encode(self, text, add_special_tokens=True, return_tensors=None, padding=False, truncation=False, max_length=None, padding_side=None):
        """The ids of a text: a list, or with return_tensors="pt" i64 [1, T]. padding, truncation: as in a call."""
        return self(text, add_special_tokens, padding, truncation, max_length, return_tensors, padding_side).input_ids

    def __call__(self, text, add_special_tokens=True, padding=False, truncation=False, max_length=None, return_tensors=None, padding_side=None):
        """input_ids and attention_mask of a text or of a list of texts. padding: True or "longest" fills shorter rows up to the longest,
        "max_length" all to max_length, with pad_token or, where there is none, the EOS, on the side that padding_side says.
        truncation=True: to max_length tokens, those that frame a text kept. Without max_length that is model_max_length.
        return_tensors="pt": i64 [B, T]."""
        if padding not in (True, False, None, "longest", "max_length", "do_not_pad"):
            raise ValueError(f"padding is {padding!r}, and none of True, 'longest', 'max_length' and False")
        if truncation not in (True, False, None, "longest_first", "only_first", "do_not_truncate"):
            raise ValueError(f"truncation is {truncation!r}, neither True nor False")
        most = self.model_max_length if max_length is None else max_length
        cuts = truncation not in (False, None, "do_not_truncate")
        for name, needed in (("truncation", cuts), ("padding", padding == "max_length")):
            if needed and most >= _ENDLESS // 10:
                raise ValueError(f"{name}: to how many tokens? give max_length")
        rows = [self._row(t, add_special_tokens, most if cuts else None) for t in ([text] if isinstance(text, str) else text)]
        masks = [[1] * len(row) for row in rows]
        if padding not in (False, None, "do_not_pad"):
            length = most if padding == "max_length" else max(map(len, rows), default=0)
            filler = self.pad_token_id if self.pad_token_id is not None else self.eos_token_id or 0
            side = _side(padding_side or self.padding_side)
            rows, masks = [_padded(row, length, filler, side) for row in rows], [_padded(mask, length, 0, side) for mask in masks]
        if not _plain(return_tensors):
            if len(set(map(len, rows))) > 1:
                raise ValueError("return_tensors: the rows are not of one length; give padding=True, and truncation=True where some are longer than max_length")
            return BatchEncoding(input_ids=_dyadic.tensor(rows), attention_mask=_dyadic.tensor(masks))
        if isinstance(text, str):
            rows, masks = rows[0], masks[0]
        return BatchEncoding(input_ids=rows, attention_mask=masks)

    def _row(self, text, add_special_tokens, most):
        """The ids of a text, at most so many: what goes is the end of the text, not what stands around it."""
        row = self.tokenizer.encode(text, add_special_tokens)
        if most is None or len(row) <= most:
            return row
        bare = self.tokenizer.encode(text, False)
        around = len(row) - len(bare)
        if most < around:
            raise ValueError(f"truncation: max_length is {most}, and {around} tokens stand around a text; give more, or add_special_tokens=False")
        begin = next(i for i in range(around + 1) if row[i : i + len(bare)] == bare)
        return row[:begin] + bare[: most - around] + row[begin + len(bare) :]

    def decode(self, token_ids, skip_special_tokens=False):
        """The text of ids: a list, a tensor or one id."""
        ids = token_ids.tolist() if isinstance(token_ids, Tensor) else token_ids
        return self.tokenizer.decode([ids] if isinstance(ids, int) else list(ids), skip_special_tokens)

    def batch_decode(self, sequences, skip_special_tokens=False):
        """The text of each row."""
        return [self.decode(row, skip_special_tokens) for row in sequences]

    def convert_tokens_to_ids(self, tokens):
        """The id of a token, or a list of them."""
        return self.tokenizer.token_to_id(tokens) if isinstance(tokens, str) else [self.tokenizer.token_to_id(t) for t in tokens]

    def convert_ids_to_tokens(self, ids):
        """The token of an id, or a list of them."""
        return self.tokenizer.id_to_token(ids) if isinstance(ids, int) else [self.tokenizer.id_to_token(i) for i in ids]

    def apply_chat_template(self, conversation, tools=None, add_generation_prompt=False, tokenize=True, return_tensors=None, return_dict=False,
                            **variables):
        """A chat by the model's template: ids, or with tokenize=False the text; other arguments are names that the template may use."""
        made = self.tokenizer.apply_chat_template(conversation, tools, add_generation_prompt, tokenize, **variables)
        if not tokenize:
            return made
        ids = made if _plain(return_tensors) else _dyadic.tensor([made])
        if not return_dict:
            return ids
        mask = [1] * len(made)
        return BatchEncoding(input_ids=ids, attention_mask=mask if _plain(return_tensors) else _dyadic.tensor([mask]))


def _padded(row, length, filler, side):
    more = [filler] * (length - len(row))
    return more + row if side == "left" else row + more


def _plain(return_tensors):
    if return_tensors not in (None, "pt"):
        raise ValueError(f"return_tensors is {return_tensors!r}; there is 'pt', dyadic's tensors")
    return return_tensors is None

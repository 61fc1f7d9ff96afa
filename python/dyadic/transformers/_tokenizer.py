import os

from .. import _dyadic
from .._dyadic import Tensor, Tokenizer


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


class PreTrainedTokenizer:
    """A Tokenizer (its attribute tokenizer) under the names that transformers has."""

    def __init__(self, tokenizer, padding_side="left"):
        if padding_side not in ("left", "right"):
            raise ValueError(f"padding_side is {padding_side!r}, neither 'left' nor 'right'")
        self.tokenizer, self.padding_side = tokenizer, padding_side

    @classmethod
    def from_pretrained(cls, path, padding_side="left"):
        """That of a model's folder, a tokenizer.json or a GGUF file."""
        return cls(Tokenizer.load(os.fspath(path)), padding_side)

    def save_pretrained(self, folder):
        """Writes tokenizer.json into the folder."""
        os.makedirs(folder, exist_ok=True)
        self.tokenizer.save(os.path.join(folder, "tokenizer.json"))

    vocab_size = property(lambda self: self.tokenizer.vocab_size, doc="How many tokens there are.")
    bos_token_id = property(lambda self: self.tokenizer.bos_token_id, doc="The token that begins a text, or None.")
    eos_token_id = property(lambda self: self.tokenizer.eos_token_id, doc="The token that ends a text, or None.")
    bos_token = property(lambda self: self._text(self.bos_token_id), doc="The text of bos_token_id, or None.")
    eos_token = property(lambda self: self._text(self.eos_token_id), doc="The text of eos_token_id, or None.")

    def _text(self, token_id):
        return None if token_id is None else self.tokenizer.id_to_token(token_id)

    def __len__(self):
        return self.vocab_size

    def encode(self, text, add_special_tokens=True, return_tensors=None):
        """The ids of a text: a list, or with return_tensors="pt" i64 [1, T]."""
        ids = self.tokenizer.encode(text, add_special_tokens)
        return ids if _plain(return_tensors) else _dyadic.tensor([ids])

    def __call__(self, text, add_special_tokens=True, padding=False, truncation=False, max_length=None, return_tensors=None):
        """input_ids and attention_mask of a text or of a list of texts. padding=True: shorter rows are filled with the EOS, on the
        side that padding_side says. truncation=True: to max_length tokens. return_tensors="pt": i64 [B, T]."""
        rows = [self.tokenizer.encode(t, add_special_tokens) for t in ([text] if isinstance(text, str) else text)]
        if truncation and max_length is None:
            raise ValueError("truncation: to how many tokens? give max_length")
        if truncation:
            rows = [row[:max_length] for row in rows]
        masks = [[1] * len(row) for row in rows]
        if padding:
            longest = max(map(len, rows), default=0)
            rows = [self._padded(row, longest, self.eos_token_id or 0) for row in rows]
            masks = [self._padded(mask, longest, 0) for mask in masks]
        if not _plain(return_tensors):
            if len(set(map(len, rows))) > 1:
                raise ValueError("return_tensors: the rows are not of one length; give padding=True")
            return BatchEncoding(input_ids=_dyadic.tensor(rows), attention_mask=_dyadic.tensor(masks))
        if isinstance(text, str):
            rows, masks = rows[0], masks[0]
        return BatchEncoding(input_ids=rows, attention_mask=masks)

    def _padded(self, row, length, filler):
        more = [filler] * (length - len(row))
        return more + row if self.padding_side == "left" else row + more

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


def _plain(return_tensors):
    if return_tensors not in (None, "pt"):
        raise ValueError(f"return_tensors is {return_tensors!r}; there is 'pt', dyadic's tensors")
    return return_tensors is None

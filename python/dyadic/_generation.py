"""generate of language models: ids or texts in, what follows them out."""
import operator
from dataclasses import dataclass
from typing import NamedTuple

from . import _dyadic
from ._dyadic import Tensor
from ._ignored import ignored

__all__ = ["GenerationConfig", "KVFormats"]


class KVFormats(NamedTuple):
    """Formats in which keys and values are kept; None: as the model computes them. rotate_keys: keys, and queries with them, are
    rotated by a Hadamard matrix, which spreads what stands in a few of their numbers; None: where the keys' format has scales."""

    keys: "object | None" = None
    values: "object | None" = None
    rotate_keys: "bool | None" = None


def _kv(kv):
    """KVFormats of dtypes, from one format for both, "KEYS:VALUES", a pair or KVFormats."""
    if kv is None:
        return None
    if isinstance(kv, str) and ":" in kv:
        kv = kv.split(":", 1)
    given = KVFormats(*kv) if isinstance(kv, (tuple, list)) else KVFormats(kv, kv)
    as_dtype = lambda f: _dyadic.dtype(f) if isinstance(f, str) else f  # noqa: E731
    return KVFormats(as_dtype(given.keys), as_dtype(given.values), given.rotate_keys)


@dataclass
class GenerationConfig:
    """What a model's generate() takes where a call does not say it. The ids are the model's files'; the other numbers are generate's own,
    which does not follow a file's advice on sampling."""

    max_new_tokens: int = 20
    max_length: "int | None" = None
    do_sample: bool = False
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    bos_token_id: "int | None" = None
    eos_token_id: "int | list[int] | None" = None
    pad_token_id: "int | None" = None

    def to_dict(self):
        """All of it."""
        return dict(self.__dict__)


def _stored_id(model, name, advised=True):
    """What the files of a model say of a token: generation_config.json first, where its word counts."""
    config = model.config.to_dict()
    for said in (model._advice if advised else {}, config, config.get("text_config") or {}):
        if name in said:
            return said[name]
    return None


def generation_config(model):
    """A model's GenerationConfig, made when it is first asked for."""
    if "_generation_config" not in model.__dict__:
        model.__dict__["_generation_config"] = GenerationConfig(
            bos_token_id=_stored_id(model, "bos_token_id"), eos_token_id=_stored_id(model, "eos_token_id"),
            pad_token_id=_stored_id(model, "pad_token_id", advised=False))
    return model.__dict__["_generation_config"]


def _integer(name, value, least=-(2**63), most=2**63 - 1):
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"generate: {name} is {value!r}, and no integer") from None
    if not least <= number <= most:
        raise ValueError(f"generate: {name} is {value}, and not in {least} ... {most}")
    return number


def _real(name, value):
    if isinstance(value, str) or not hasattr(value, "__float__"):
        raise TypeError(f"generate: {name} is {value!r}, and no number")
    return float(value)


def _ends(ids):
    """A list of one or several ids; None for none."""
    ids = ids.tolist() if isinstance(ids, Tensor) else ids
    if ids is None:
        return None
    return [_integer("eos_token_id", one) for one in (ids if isinstance(ids, (list, tuple)) else [ids])]


def _words(stop_strings):
    words = [stop_strings] if isinstance(stop_strings, str) else list(stop_strings or ())
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"generate: stop_strings has {word!r}, and no text")
        word.encode()  # UnicodeEncodeError for a lone surrogate
    return words


def _options(model, own, given, prompt):
    """What the library is told, of a call's arguments and a GenerationConfig. prompt(): how many tokens the longest row has."""
    taken = own.to_dict() | {name: value for name, value in given.items() if value is not None}
    options = {name: _real(name, taken[name]) for name in ("temperature", "top_p", "min_p", "repetition_penalty")}
    options["top_k"] = _integer("top_k", taken["top_k"])
    options["do_sample"] = bool(taken["do_sample"])
    options["pad_token_id"] = None if taken["pad_token_id"] is None else _integer("pad_token_id", taken["pad_token_id"])
    # Where nobody says otherwise a text ends with the tokenizer's end as well, which the library adds.
    said = given["eos_token_id"] is not None or own.eos_token_id != _stored_id(model, "eos_token_id")
    options["eos_token_id"] = _ends(taken["eos_token_id"]) if said else None
    options["max_new_tokens"] = _integer("max_new_tokens", taken["max_new_tokens"])
    if taken["max_length"] is not None and given["max_new_tokens"] is None:
        most, there = _integer("max_length", taken["max_length"]), prompt()
        if most <= there:
            raise ValueError(f"generate: max_length is {most}, and the prompt has {there} tokens; max_new_tokens counts without it")
        options["max_new_tokens"] = most - there
    return options


def _end(streamer):
    if hasattr(streamer, "end"):
        streamer.end()


def tokenizer_of(model):
    if model.tokenizer is None:
        raise ValueError("generate: the model came without a tokenizer; set its attribute tokenizer, or give ids")
    return getattr(model.tokenizer, "tokenizer", model.tokenizer)  # of an AutoTokenizer


def ids_of(ids):
    """i64 [B, T] of a tensor or lists."""
    if not isinstance(ids, Tensor):
        ids = _dyadic.tensor(ids)
    ids = ids.to(_dyadic.int64)
    return ids.unsqueeze(0) if ids.dim() == 1 else ids


@ignored("use_cache", of="from_pretrained(...).generate", why="what is kept of earlier tokens changes no result")
def generate(self, input_ids, max_new_tokens=None, do_sample=None, temperature=None, top_k=None, top_p=None, min_p=None,
             repetition_penalty=None, stop_strings=(), eos_token_id=None, pad_token_id=None, attention_mask=None, streamer=None, seed=None,
             kv=None, max_length=None, num_beams=1, return_dict_in_generate=False, use_cache=None,
             generation_config=None, num_return_sequences=1, past_key_values=None, token_type_ids=None):
    """What follows: of tokens i64 [B, T] these with at most max_new_tokens more (20); of a text the text that follows it, of a list of
    texts a list. A text that begins with the BOS, as chats do, gets no second one.

    do_sample draws from what repetition_penalty, temperature, top_k, top_p and min_p leave, in this order; else the likeliest token
    is taken. stop_strings: a row ends where one is complete; a text ends before it. eos_token_id: one or several, [] for none, None
    for the configuration's. attention_mask: zeros first in rows that are padded on their left. streamer: called with a list, one
    token of each row, as they are made (or its put is, and in the end its end), of a text with pieces of text; False ends it. The same seed makes the same
    choices; None draws one. Texts and stop_strings need the tokenizer. kv: the format of the keys and values that are kept
    meanwhile, "q8_0", "i4(group=32)", "f8e4m3fn" ..., a pair of them or KVFormats; None: the model's kv. max_length: as
    max_new_tokens, with the prompt's tokens. num_return_sequences: so many rows or texts of each that is given, one after the other,
    drawn apart. past_key_values: of an earlier call or new_cache(); what it holds are the first tokens of the ids, which are not read
    again. token_type_ids: zeros. What is None is as generation_config has it, a GenerationConfig; None: the model's. There is no
    search by beams, and tensors are all that is given.
    """
    if num_beams not in (None, 1):
        raise ValueError(f"generate: num_beams is {num_beams}: there is no search by beams; leave it out, or do_sample=True")
    if return_dict_in_generate:
        raise ValueError("generate: return_dict_in_generate: only the tokens are given; a model's call gives logits")
    if token_type_ids is not None and bool(ids_of(token_type_ids).any()):
        raise ValueError("generate: token_type_ids: there is a first text alone, whose tokens have 0")
    times = _integer("num_return_sequences", num_return_sequences, 1)
    several = isinstance(input_ids, (list, tuple)) and input_ids and all(isinstance(text, str) for text in input_ids)
    stops, put = _words(stop_strings), getattr(streamer, "put", streamer)
    if isinstance(input_ids, str) or several:
        if (several or times > 1) and put is not None:
            raise ValueError("generate: a streamer is told of one text: give the prompts one by one, without num_return_sequences")
        if past_key_values is not None:
            raise ValueError("generate: past_key_values hold tokens of ids: give ids, not a text")
        tokenizer = tokenizer_of(self)
        prompts = [text for text in (input_ids if several else [input_ids]) for _ in range(times)]
    else:
        prompts, ids = None, ids_of(input_ids).repeat_interleave(times, 0)
    given = dict(max_new_tokens=max_new_tokens, do_sample=do_sample, temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p,
                 repetition_penalty=repetition_penalty, eos_token_id=eos_token_id, pad_token_id=pad_token_id, max_length=max_length)
    longest = lambda: ids.size(1) if prompts is None else max(len(tokenizer.encode_prompt(text)) for text in prompts)  # noqa: E731
    options = _options(self, generation_config or self.generation_config, given, longest)
    if times > 1 and not options["do_sample"]:
        raise ValueError(f"generate: num_return_sequences is {times}: the likeliest tokens are the same each time; do_sample=True draws them")
    if seed is None:
        seed = int(_dyadic.randint(0, 2**62, (1,)).item()) if options["do_sample"] else 0
    options |= dict(stop_strings=stops, seed=_integer("seed", seed, 0, 2**64 - 1), kv=_kv(kv))
    if prompts is not None:
        for text in prompts:
            text.encode()
        texts = self._generate_text(tokenizer, prompts, options, put)
        _end(streamer)
        return texts if several or times > 1 else texts[0]
    mask = None if attention_mask is None else ids_of(attention_mask).repeat_interleave(times, 0)
    made = self._generate(ids, options, mask, tokenizer_of(self) if stops else None, put, past_key_values)
    _end(streamer)
    return made

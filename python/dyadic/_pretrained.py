"""from_pretrained: language models of Hugging Face's folders and of GGUF files."""
import json
import os
from dataclasses import dataclass
from typing import NamedTuple

from . import _dyadic
from ._device_map import placed
from ._dyadic import _CausalLM, _config_json, _KeyValueCache, _load_pretrained, Tensor, Tokenizer
from .nn import functional as F

__all__ = ["KVFormats", "LoraConfig", "from_pretrained"]


@dataclass
class LoraConfig:
    """What add_adapter adds, in PEFT's words. target_modules: names of modules or their last parts, or "all-linear": every layer
    that is a product, but for the output head."""

    r: int = 8
    lora_alpha: float = 8
    target_modules: "str | list[str]" = "all-linear"
    lora_dropout: float = 0.0
    use_rslora: bool = False
    use_dora: bool = False


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


class PretrainedConfig:
    """What a model's config.json says, as attributes; to_dict() gives all of it."""

    def __init__(self, values):
        self.__dict__.update(values)

    def to_dict(self):
        """All of it."""
        return dict(self.__dict__)

    @classmethod
    def from_pretrained(cls, path, gguf_file=None):
        """That of a model's folder, or what a GGUF file's keys say."""
        return cls(json.loads(_config_json(_model_path(path, gguf_file))))

    def __repr__(self):
        return f"PretrainedConfig({json.dumps(self.__dict__, indent=2)})"


class CausalLMOutput:
    """What a model says of tokens: logits, and loss where there are labels. Indexed by name or, as a tuple of what there is, by number."""

    def __init__(self, logits, loss=None):
        self.logits, self.loss = logits, loss

    def to_tuple(self):
        return (self.logits,) if self.loss is None else (self.loss, self.logits)

    def __getitem__(self, key):
        if isinstance(key, str):
            return {"logits": self.logits, "loss": self.loss}[key]
        return self.to_tuple()[key]

    def __iter__(self):
        return iter(self.to_tuple())


def _ids(ids):
    """i64 [B, T] of a tensor or lists."""
    if not isinstance(ids, Tensor):
        ids = _dyadic.tensor(ids)
    ids = ids.to(_dyadic.int64)
    return ids.unsqueeze(0) if ids.dim() == 1 else ids


def _forward(self, input_ids, labels=None, cache=None):
    """Logits of tokens i64 [B, T]; with labels the mean cross entropy of each token's successor too, -100 passed over. cache: of
    new_cache(): the tokens follow those in it, and it has these as well then."""
    ids = _ids(input_ids)
    logits = self._logits(ids, cache)
    if labels is None:
        return CausalLMOutput(logits)
    labels = _ids(labels)
    loss = F.cross_entropy(logits[:, :-1].reshape(-1, logits.size(2)), labels[:, 1:].reshape(-1))
    return CausalLMOutput(logits, loss)


def _generate(self, input_ids, max_new_tokens=20, do_sample=False, temperature=1.0, top_k=0, top_p=1.0, min_p=0.0,
              repetition_penalty=1.0, stop_strings=(), eos_token_id=None, pad_token_id=None, attention_mask=None, streamer=None, seed=None,
              kv=None):
    """What follows: of tokens i64 [B, T] these with at most max_new_tokens more; of a text the text that follows it, of a list of
    texts a list.

    do_sample draws from what repetition_penalty, temperature, top_k, top_p and min_p leave, in this order; else the likeliest token
    is taken. stop_strings: a row ends where one is complete; a text ends before it. eos_token_id: one or several, [] for none, None
    for the configuration's. attention_mask: zeros first in rows that are padded on their left. streamer: called with a list, one
    token of each row, as they are made (or its put is), of a text with pieces of text; False ends it. The same seed makes the same
    choices; None draws one. Texts and stop_strings need the tokenizer. kv: the format of the keys and values that are kept
    meanwhile, "q8_0", "i4(group=32)", "f8e4m3fn" ..., a pair of them or KVFormats; None: the model's kv.
    """
    if eos_token_id is not None and not isinstance(eos_token_id, (list, tuple)):
        eos_token_id = [eos_token_id]
    if seed is None:
        seed = int(_dyadic.randint(0, 2**62, (1,)).item()) if do_sample else 0
    stops = [stop_strings] if isinstance(stop_strings, str) else list(stop_strings or ())
    options = dict(max_new_tokens=max_new_tokens, do_sample=bool(do_sample), temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p,
                   repetition_penalty=repetition_penalty, stop_strings=stops, pad_token_id=pad_token_id, seed=seed, kv=_kv(kv),
                   eos_token_id=None if eos_token_id is None else list(eos_token_id))
    put = getattr(streamer, "put", streamer)
    several = isinstance(input_ids, (list, tuple)) and input_ids and all(isinstance(text, str) for text in input_ids)
    if isinstance(input_ids, str) or several:
        if several and put is not None:
            raise ValueError("generate: a streamer is told of one text: give the prompts one by one")
        texts = self._generate_text(_tokenizer_of(self), list(input_ids) if several else [input_ids], options, put)
        return texts if several else texts[0]
    mask = None if attention_mask is None else _ids(attention_mask)
    return self._generate(_ids(input_ids), options, mask, _tokenizer_of(self) if stops else None, put)


def _tokenizer_of(model):
    if model.tokenizer is None:
        raise ValueError("generate: the model came without a tokenizer; set its attribute tokenizer, or give ids")
    return model.tokenizer


def _save_pretrained(self, folder, max_shard_size=50_000_000_000, packing=None):
    """config.json and model.safetensors, or several files and their index, as Hugging Face's tools read them. Of a model with an
    adapter that alone, as transformers does: adapter_config.json and adapter_model.safetensors.

    packing: how weights with scales are written, so that the tools of that name read them: "gptq", "awq", "bitsandbytes",
    "compressed-tensors" or "fp8"; the embedding and the head are then decoded. None: as they came where they still are what they
    were, else as only dyadic reads them.
    """
    self._save_pretrained(os.fspath(folder), max_shard_size, packing or "")


def _load_adapter(self, peft_model_id, is_trainable=False):
    """Adds what PEFT saved in a folder, adapter_config.json and adapter_model.safetensors: LoRA (rsLoRA, DoRA) of linear layers and
    embeddings, and whole tensors (modules_to_save, bias); or llama.cpp's GGUF file of an adapter. The model's own parameters require no
    gradients from then on, and the adapter's where is_trainable says so."""
    self._load_adapter(os.fspath(peft_model_id), is_trainable)


def _add_adapter(self, adapter_config):
    """Adds a new adapter, to be trained: it changes nothing at first. adapter_config: a LoraConfig."""
    c = adapter_config
    targets = [c.target_modules] if isinstance(c.target_modules, str) else list(c.target_modules)
    self._add_adapter(c.r, c.lora_alpha, targets, c.lora_dropout, c.use_rslora, c.use_dora)


def _merge_and_unload(self):
    """Adds the adapter to the model's weights, in their own dtypes, and removes it. Returns the model."""
    self._merge_adapter()
    return self


def _unload(self):
    """Removes the adapter: the model is as it was. Returns the model."""
    self._unload_adapter()
    return self


_CausalLM.forward = _forward
_CausalLM.load_adapter = _load_adapter
_CausalLM.add_adapter = _add_adapter
_CausalLM.merge_and_unload = _merge_and_unload
_CausalLM.unload = _unload
_CausalLM.enable_adapters = lambda self: self._enable_adapter(True)
_CausalLM.disable_adapters = lambda self: self._enable_adapter(False)
_CausalLM.generate = _generate
_CausalLM.save_pretrained = _save_pretrained
_CausalLM.new_cache = lambda self, reserve=0, kv=None: _KeyValueCache(reserve, self._kv if kv is None else _kv(kv))
_CausalLM.kv = property(lambda self: KVFormats(*self._kv), lambda self, kv: setattr(self, "_kv", _kv(kv)),
                        doc="The formats of the keys and values that generate() and perplexity() keep.")
_CausalLM.config = property(lambda self: PretrainedConfig(json.loads(self._config_json)))
_CausalLM.tokenizer = None


def _model_path(path, gguf_file):
    path = os.fspath(path)
    return os.path.join(path, os.fspath(gguf_file)) if gguf_file else path


def _linear_format(config):
    """The format of linear layers, and the names of those that are left out, that a BitsAndBytesConfig or its dict asks for."""
    given = config if isinstance(config, dict) else config.to_dict()
    method = given.get("quant_method", "bitsandbytes")
    if method != "bitsandbytes":
        raise ValueError(f"from_pretrained: quantization_config: {method!r}: only bitsandbytes' ways are made here while loading; give a dtype")
    skip = given.get("llm_int8_skip_modules")
    skip = ["lm_head"] if skip is None else list(skip)
    if given.get("load_in_4bit"):
        kind = given.get("bnb_4bit_quant_type") or "fp4"
        if kind not in ("fp4", "nf4"):
            raise ValueError(f"from_pretrained: bnb_4bit_quant_type is {kind!r}, neither 'fp4' nor 'nf4'")
        double = ",double" if given.get("bnb_4bit_use_double_quant") else ""
        return _dyadic.dtype(f"{kind}(block=64{double})"), skip
    if given.get("load_in_8bit"):
        return _dyadic.dtype("i8(row)"), skip
    return None, skip


def from_pretrained(path, dtype=None, quantization_config=None, gguf_file=None, device_map=None, kv=None, max_memory=None,
                    offload_folder=None):
    """The language model in a folder (config.json and model.safetensors, or several files and their index) or in a GGUF file, which
    gguf_file names in a folder that has several.

    dtype: any format, or its name; None and "auto": as the files have it. Floats of 16 bits and more are for all parameters, other
    formats for the weights that products and lookups read. quantization_config: a transformers.BitsAndBytesConfig: the weights of
    linear layers become fp4, nf4 or i8, one after another while they are read. kv: the format of the keys and values that
    generate() keeps, as in its own kv.

    device_map: a device for all of it; or {"model.layers.3": "disk", "": "cpu"}: what lies on disk is frozen, and read from there
    while the module runs that has it; or "auto": as much in memory as max_memory ({"cpu": "4GiB"}) lets, by
    accelerate.infer_auto_device_map. It is hf_device_map afterwards. offload_folder: for what goes to disk otherwise than the files
    have it.

    The module has config, tokenizer (None where there is none beside it), generate and
    save_pretrained; its call gives logits, and with labels the loss.
    """
    if isinstance(dtype, str):
        dtype = None if dtype == "auto" else _dyadic.dtype(dtype)
    path = _model_path(path, gguf_file)
    linear, skip = (None, []) if quantization_config is None else _linear_format(quantization_config)
    device, places = placed(device_map, max_memory, lambda: _load_pretrained(path, dtype, "meta", linear, skip, [], ""))
    model = _load_pretrained(path, dtype, device, linear, skip, list(places.items()), os.fspath(offload_folder or ""))
    model.hf_device_map = dict(places) or {"": str(device or "cpu")}
    model.kv = kv
    if not os.path.isdir(path) or os.path.exists(os.path.join(path, "tokenizer.json")) or not os.path.exists(os.path.join(path, "config.json")):
        try:
            model.tokenizer = Tokenizer.load(path)
        except ValueError as error:
            if "it has no tokenizer" not in str(error):
                raise
    return model

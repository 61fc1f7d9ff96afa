"""from_pretrained: language models of Hugging Face's folders and of GGUF files."""
import json
import os
import warnings
from dataclasses import dataclass

from . import _dyadic
from ._device_map import placed
from ._dyadic import _CausalLM, _config_json, _KeyValueCache, _load_pretrained, Tokenizer
from ._forward import forward
from ._generation import _kv, generate, generation_config, KVFormats

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


_PACKINGS = "bitsandbytes, gptq, awq, compressed-tensors or fp8"


def _save_pretrained(self, folder, max_shard_size=50_000_000_000, packing=None):
    """config.json and model.safetensors, or several files and their index, as Hugging Face's tools read them; generation_config.json
    and the tokenizer's files where it has them. Of a model with an adapter that alone, as transformers does: adapter_config.json and
    adapter_model.safetensors.

    packing: how weights with scales are written, so that the tools of that name read them: "gptq", "awq", "bitsandbytes",
    "compressed-tensors" or "fp8"; the embedding and the head are then decoded. "dyadic": as they came where they still are what they
    were, else as only dyadic reads them. None: "bitsandbytes" of a model that was loaded with a BitsAndBytesConfig, else as "dyadic",
    with a warning where other tools cannot read it.
    """
    folder = os.fspath(folder)
    parameters = dict(self.named_parameters())
    scaled = any(p.dtype.is_scaled for p in parameters.values()) and not any("lora_" in name for name in parameters)
    chosen = (self._packing or "" if scaled else "") if packing is None else packing
    self._save_pretrained(folder, max_shard_size, "" if chosen == "dyadic" else chosen)
    if self.tokenizer is not None and not self._has_adapter:
        _save_tokenizer(self.tokenizer, folder)
    if scaled and packing is None and not chosen and not _says_packing(folder):
        warnings.warn(f"save_pretrained: {folder}: other tools than dyadic cannot read these weights; packing= writes them for {_PACKINGS}, "
                      'and packing="dyadic" says that this is meant', stacklevel=2)


def _save_tokenizer(tokenizer, folder):
    try:
        tokenizer.save_pretrained(folder)
    except ValueError as error:  # of a GGUF file: not all of theirs have such a form
        warnings.warn(f"save_pretrained: {folder}: it gets no tokenizer.json: {error}", stacklevel=3)


def _says_packing(folder):
    config = PretrainedConfig.from_pretrained(folder).to_dict()
    return any(part.get(key) for part in (config, config.get("text_config") or {}) for key in ("quantization_config", "compression_config"))


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


def _dtype_of(self):
    floats = [p.dtype for p in self.parameters() if p.dtype.is_floating_point and not p.dtype.is_scaled and p.dtype.bits >= 16]
    return floats[0] if floats else next(self.parameters()).dtype


def _get_input_embeddings(self):
    """The layer that makes vectors of ids."""
    return next(m for m in self.modules() if isinstance(m, _dyadic.Embedding))


def _resize_token_embeddings(self, new_num_tokens=None, pad_to_multiple_of=None, mean_resizing=True):
    """Rows for so many tokens in the embedding and the head, as many as that has: those beyond are cut off, each new one is the mean
    of the old ones. Returns the embedding. Its weight is another tensor afterwards: optimizers are made after it."""
    if not mean_resizing:
        raise ValueError("resize_token_embeddings: mean_resizing=False: a new row is the mean of the old ones; draw what it shall be instead into it")
    rows = _get_input_embeddings(self).weight.size(0)
    wanted = rows if new_num_tokens is None else new_num_tokens
    if pad_to_multiple_of:
        wanted = -(-wanted // pad_to_multiple_of) * pad_to_multiple_of
    if wanted != rows:
        self._resize_token_embeddings(wanted)
    return _get_input_embeddings(self)


def _remade(config, generation, kv):
    model = _dyadic._make_pretrained(config, generation)
    model.kv = kv
    return model


def _reduce(self):
    """What copies and pickles are made of: config.json, tensors, and what else is Python's."""
    if self._has_adapter:
        raise RuntimeError("a model with an adapter is not copied; merge_and_unload() or unload() it, or save_pretrained() the adapter")
    modules = [(m.training, {k: v for k, v in m.__dict__._own().items() if k != "_modules"}) for m in self.modules()]
    parameters = [(p.requires_grad, p.grad) for p in self.parameters()]
    return _remade, (self._config_json, self._generation_json, self._kv), (self.state_dict(), modules, parameters)


def _set_state(self, state):
    tensors, modules, parameters = state
    self.load_state_dict(tensors, assign=True)
    for m, (training, own) in zip(self.modules(), modules):
        m.training = training
        m.__dict__.update(own)
    for p, (requires_grad, grad) in zip(self.parameters(), parameters):
        p.requires_grad_(requires_grad)
        p.grad = grad


_CausalLM.__reduce__, _CausalLM.__setstate__ = _reduce, _set_state
_CausalLM.forward = forward
_CausalLM.load_adapter = _load_adapter
_CausalLM.add_adapter = _add_adapter
_CausalLM.merge_and_unload = _merge_and_unload
_CausalLM.unload = _unload
_CausalLM.enable_adapters = lambda self: self._enable_adapter(True)
_CausalLM.disable_adapters = lambda self: self._enable_adapter(False)
_CausalLM.generate = generate
_CausalLM.generation_config = property(generation_config, lambda self, config: self.__dict__.update(_generation_config=config),
                                       doc="What generate() takes where a call does not say it: a GenerationConfig.")
_CausalLM.device = property(lambda self: next(self.parameters()).device, doc="Where the parameters lie, the first of them.")
_CausalLM.dtype = property(_dtype_of, doc="What it computes in: the dtype of the first parameter that is a float of 16 bits or more.")
_CausalLM.get_input_embeddings = _get_input_embeddings
_CausalLM.resize_token_embeddings = _resize_token_embeddings
_CausalLM.save_pretrained = _save_pretrained
_CausalLM.new_cache = lambda self, reserve=0, kv=None: _KeyValueCache(reserve, self._kv if kv is None else _kv(kv))
_CausalLM.kv = property(lambda self: KVFormats(*self._kv), lambda self, kv: setattr(self, "_kv", _kv(kv)),
                        doc="The formats of the keys and values that generate() and perplexity() keep.")
_CausalLM.config = property(lambda self: PretrainedConfig(json.loads(self._config_json)))
_CausalLM.tokenizer = None
_KeyValueCache.get_seq_length = lambda self, layer_idx=0: len(self)
_CausalLM._advice = {}  # generation_config.json
_CausalLM._packing = None  # what save_pretrained writes where it is not told


def _model_path(path, gguf_file=None):
    path = os.fspath(path)
    path = os.path.join(path, os.fspath(gguf_file)) if gguf_file else path
    if not os.path.exists(path):
        raise FileNotFoundError(f"from_pretrained: {path}: there is no such file or folder, and nothing is downloaded; give the path of one")
    return path


def from_config(config, dtype=None):
    """A language model with random weights, as a configuration (a PretrainedConfig, a dict or the text of a config.json) describes it:
    matrices are normal, as wide as its initializer_range (0.02), biases 0. dtype: None is the configuration's own, else float32."""
    values = json.loads(config) if isinstance(config, str) else config if isinstance(config, dict) else config.to_dict()
    inner = values.get("text_config") or {}
    said = dtype or values.get("dtype") or values.get("torch_dtype") or inner.get("dtype") or inner.get("torch_dtype") or "float32"
    model = _dyadic._make_random(json.dumps(values), _dyadic.dtype(said) if isinstance(said, str) else said, None)
    model.train()
    return model


def _advice_in(path):
    """What generation_config.json says, of a folder that has one; what is no JSON object advises nothing, as in the library."""
    try:
        with open(os.path.join(path, "generation_config.json"), encoding="utf-8") as f:
            advice = json.load(f)
    except (OSError, ValueError):
        return {}
    return advice if isinstance(advice, dict) else {}


def _linear_format(config):
    """The format of linear layers, and the names of those that are left out, that a BitsAndBytesConfig or its dict asks for."""
    if not isinstance(config, dict) and not hasattr(config, "to_dict"):
        raise TypeError(f"from_pretrained: quantization_config is {config!r}; give a transformers.BitsAndBytesConfig")
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
    model._advice = _advice_in(path)
    model._packing = "bitsandbytes" if linear is not None else None
    if not os.path.isdir(path) or os.path.exists(os.path.join(path, "tokenizer.json")) or not os.path.exists(os.path.join(path, "config.json")):
        try:
            model.tokenizer = Tokenizer.load(path)
        except ValueError as error:
            if "it has no tokenizer" not in str(error):
                raise
    return model

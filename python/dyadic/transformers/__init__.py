"""Names of Hugging Face's transformers for language models: AutoModelForCausalLM, AutoTokenizer, AutoConfig, BitsAndBytesConfig,
GenerationConfig, DynamicCache.

    from dyadic.transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(path)
    model = AutoModelForCausalLM.from_pretrained(path, dtype="auto")
    ids = model.generate(**tokenizer("Once upon", return_tensors="pt"), max_new_tokens=20)
    print(tokenizer.decode(ids[0], skip_special_tokens=True))
"""
from .._dyadic import _KeyValueCache
from .._generation import GenerationConfig
from .._ignored import ignored
from .._pretrained import PretrainedConfig, _model_path, from_config, from_pretrained
from ._config import BitsAndBytesConfig
from ._tokenizer import BatchEncoding, PreTrainedTokenizer

__all__ = [
    "AutoConfig", "AutoModelForCausalLM", "AutoTokenizer", "BatchEncoding", "BitsAndBytesConfig", "DynamicCache", "GenerationConfig",
    "PreTrainedTokenizer", "PretrainedConfig",
]


_LOCAL = "files are local, and read as they are"
_CODE = "code out of a model's folder is never run"


def _check_revision(revision):
    if revision not in (None, "main"):
        raise ValueError(f"from_pretrained: revision is {revision!r}, and a folder has one state, 'main'; give the path of another")


@ignored("config", of="DynamicCache", why="layers find their places when they are first called")
def DynamicCache(config=None):  # noqa: N802
    """An empty past_key_values, for calls of a model: new_cache() of the model makes one in its own formats."""
    return _KeyValueCache(0, None)


class AutoModelForCausalLM:
    """from_pretrained gives dyadic.from_pretrained's module, from_config one with random weights."""

    @staticmethod
    @ignored("trust_remote_code", of="AutoModelForCausalLM.from_config", why=_CODE)
    @ignored("attn_implementation", of="AutoModelForCausalLM.from_config", why="there is one implementation of attention")
    def from_config(config, dtype=None, torch_dtype=None, attn_implementation=None, trust_remote_code=False):
        """A model as a configuration (of AutoConfig.from_pretrained, its attributes set as you like) describes it, its weights random."""
        return from_config(config, torch_dtype if dtype is None else dtype)

    @staticmethod
    @ignored("low_cpu_mem_usage", "attn_implementation", "local_files_only", "use_safetensors", "cache_dir", of="AutoModelForCausalLM.from_pretrained",
             why="weights are read one at a time from local files, and there is one implementation of attention")
    def from_pretrained(path, dtype=None, torch_dtype=None, quantization_config=None, gguf_file=None, device_map=None, trust_remote_code=False,
                        max_memory=None, offload_folder=None, low_cpu_mem_usage=None, attn_implementation=None, local_files_only=True, use_safetensors=None,
                        cache_dir=None, revision=None):
        """A folder or a file, never a name on the hub. torch_dtype is dtype's old name; what low_cpu_mem_usage, attn_implementation,
        local_files_only, use_safetensors and cache_dir ask for is so or makes no difference here, nor does trust_remote_code for an
        architecture that is known here: code out of a model's folder is never run."""
        _check_revision(revision)
        try:
            return from_pretrained(path, torch_dtype if dtype is None else dtype, quantization_config, gguf_file, device_map, max_memory=max_memory,
                                   offload_folder=offload_folder)
        except ValueError as error:
            if trust_remote_code and "model_type" in str(error):
                raise ValueError(f"{error}; trust_remote_code: {_CODE}") from None
            raise


class AutoConfig:
    """from_pretrained gives a model's config.json, or what a GGUF file's keys say, as attributes."""

    @staticmethod
    @ignored("cache_dir", "local_files_only", of="AutoConfig.from_pretrained", why=_LOCAL)
    @ignored("trust_remote_code", of="AutoConfig.from_pretrained", why=_CODE)
    def from_pretrained(path, gguf_file=None, trust_remote_code=False, cache_dir=None, local_files_only=True, revision=None):
        """A PretrainedConfig of a folder or a file."""
        _check_revision(revision)
        return PretrainedConfig.from_pretrained(path, gguf_file)


class AutoTokenizer:
    """from_pretrained gives a PreTrainedTokenizer of tokenizer.json or of a GGUF file."""

    @staticmethod
    @ignored("use_fast", of="AutoTokenizer.from_pretrained", why="there is one implementation")
    @ignored("cache_dir", "local_files_only", of="AutoTokenizer.from_pretrained", why=_LOCAL)
    @ignored("trust_remote_code", of="AutoTokenizer.from_pretrained", why=_CODE)
    def from_pretrained(path, gguf_file=None, use_fast=True, padding_side="left", trust_remote_code=False, cache_dir=None, local_files_only=True,
                        revision=None):
        """A PreTrainedTokenizer of a folder or a file. padding_side: where shorter rows of a batch are filled."""
        _check_revision(revision)
        return PreTrainedTokenizer.from_pretrained(_model_path(path, gguf_file), padding_side=padding_side)

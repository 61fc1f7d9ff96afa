"""Names of Hugging Face's transformers for language models: AutoModelForCausalLM, AutoTokenizer, AutoConfig, BitsAndBytesConfig.

    from dyadic.transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(path)
    model = AutoModelForCausalLM.from_pretrained(path, dtype="auto")
    ids = model.generate(**tokenizer("Once upon", return_tensors="pt"), max_new_tokens=20)
    print(tokenizer.decode(ids[0], skip_special_tokens=True))
"""
from .._ignored import ignored
from .._pretrained import PretrainedConfig, _model_path, from_pretrained
from ._config import BitsAndBytesConfig
from ._tokenizer import BatchEncoding, PreTrainedTokenizer

__all__ = [
    "AutoConfig", "AutoModelForCausalLM", "AutoTokenizer", "BatchEncoding", "BitsAndBytesConfig", "PreTrainedTokenizer", "PretrainedConfig",
]


def _refuse_remote_code(trust_remote_code):
    if trust_remote_code:
        raise ValueError("from_pretrained: trust_remote_code: code out of a model's folder is never run")


class AutoModelForCausalLM:
    """from_pretrained gives dyadic.from_pretrained's module."""

    @staticmethod
    @ignored("low_cpu_mem_usage", "attn_implementation", "local_files_only", "use_safetensors", of="AutoModelForCausalLM.from_pretrained",
             why="weights are read one at a time from local files, and there is one implementation of attention")
    def from_pretrained(path, dtype=None, torch_dtype=None, quantization_config=None, gguf_file=None, device_map=None, trust_remote_code=False,
                        max_memory=None, offload_folder=None, low_cpu_mem_usage=None, attn_implementation=None, local_files_only=True, use_safetensors=None):
        """A folder or a file, never a name on the hub. torch_dtype is dtype's old name; what low_cpu_mem_usage, attn_implementation,
        local_files_only and use_safetensors ask for is so or makes no difference here."""
        _refuse_remote_code(trust_remote_code)
        return from_pretrained(path, torch_dtype if dtype is None else dtype, quantization_config, gguf_file, device_map, max_memory=max_memory,
                               offload_folder=offload_folder)


class AutoConfig:
    """from_pretrained gives a model's config.json, or what a GGUF file's keys say, as attributes."""

    @staticmethod
    def from_pretrained(path, gguf_file=None, trust_remote_code=False):
        """A PretrainedConfig of a folder or a file."""
        _refuse_remote_code(trust_remote_code)
        return PretrainedConfig.from_pretrained(path, gguf_file)


class AutoTokenizer:
    """from_pretrained gives a PreTrainedTokenizer of tokenizer.json or of a GGUF file."""

    @staticmethod
    @ignored("use_fast", of="AutoTokenizer.from_pretrained", why="there is one implementation")
    def from_pretrained(path, gguf_file=None, use_fast=True, padding_side="left", trust_remote_code=False):
        """A PreTrainedTokenizer of a folder or a file. padding_side: where shorter rows of a batch are filled."""
        _refuse_remote_code(trust_remote_code)
        return PreTrainedTokenizer.from_pretrained(_model_path(path, gguf_file), padding_side=padding_side)

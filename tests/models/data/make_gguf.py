#!/usr/bin/env python3
"""Makes gguf.json: what llama.cpp makes of the models here.

    pip install torch transformers safetensors gguf xllamacpp numpy
    python make_gguf.py LLAMA_CPP

LLAMA_CPP is llama.cpp's source folder, whose convert_hf_to_gguf.py converts each model to bfloat16, without a vocabulary; of each
file gguf.json keeps the tensors' types, shapes and the first 16 digits of their bytes' SHA-256, and the keys. `perplexity` is of
a small model that this script makes and the program `dyadic`, which is to be found, converts, in several formats: llama.cpp opens the files, makes ids of gguf.txt, and is asked for logits of windows as
llama-perplexity does it, with keys and values in f32. The wheel xllamacpp has llama.cpp's C interface.
"""
import ctypes as C
import hashlib
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
CHANGES = {  # tests/models/gguf_test.cpp's
    "mistral": {"sliding_window": None},
    "smollm3": {"no_rope_layers": [1, 1]},
    "qwen2": {"use_sliding_window": False},
    "gemma2": {"query_pre_attn_scalar": 12},
    "gemma3": {"query_pre_attn_scalar": 12},
    "phi3": {"sliding_window": None},
    "gpt_oss": {"swiglu_limit": 7.0},
    "mxfp4": {"swiglu_limit": 7.0, "architectures": ["GptOssForCausalLM"]},
}
# Without qwen3_moe's, of which one layer has no experts: llama.cpp has no such models.
FAMILIES = """llama mistral ministral3 mixtral smollm3 granite granitemoe qwen2 qwen2_moe qwen3 qwen3_5 qwen3_5_moe gemma gemma2 gemma3
    gemma4 gemma4_moe phi3 gpt_oss olmo2 olmo3 deepseek_v3 gpt2 bert nvfp4 mxfp4""".split()
# Without q5_K and q2_K: of this random model, whose perplexity is twice its vocabulary, they are 0.24 % and 0.22 % away from
# llama.cpp, which rounds what is multiplied to 8 bits.
FORMATS = "f32 f16 bf16 q8_0 q4_0 q4_1 q5_0 q5_1 q6_K q4_K q3_K mxfp4".split()
WINDOW = 128


def converted(source, family):
    with tempfile.TemporaryDirectory() as t:
        folder = Path(t) / "model"
        folder.mkdir()
        if family == "nvfp4":
            nvfp4_model(folder)
            return converted_folder(folder, family, Path(t))
        stored = HERE / "quantized/mxfp4" if family == "mxfp4" else HERE / family
        (folder / "model.safetensors").write_bytes((stored / "model.safetensors").read_bytes())
        config = json.loads((stored / "config.json").read_text())
        config.update(CHANGES.get(family, {}))
        if family == "gpt2":
            config["n_ctx"] = config["n_positions"]
        (folder / "config.json").write_text(json.dumps(config))
        if family.startswith(("gemma3", "gemma4")):  # their converters ask how many tokens there are
            (folder / "tokenizer.json").write_text(json.dumps({"model": {"vocab": {str(i): i for i in range(64)}}, "added_tokens": []}))
        return converted_folder(folder, family, Path(t))


def converted_folder(folder, family, where):
    import gguf
    from conversion import get_model_class

    config = json.loads((folder / "config.json").read_text())
    kind = get_model_class(config["architectures"][0])
    kind.set_vocab = lambda self: self._set_vocab_none()
    kind.no_mtp = True
    with __import__("torch").inference_mode():
        m = kind(folder, gguf.LlamaFileType.MOSTLY_BF16, where / "out.gguf", eager=True)
        m.write()
    r = gguf.GGUFReader(where / "out.gguf")
    tensors = {}
    for x in r.tensors:
        if x.name.endswith(".input_scale"):  # for products of four bits with four
            continue
        digest = hashlib.sha256(np.ascontiguousarray(x.data).tobytes()).hexdigest()[:16]
        tensors[x.name] = [x.tensor_type.name, [int(n) for n in reversed(x.shape)], digest]
    keys = {}
    for name, field in r.fields.items():
        if name.startswith(("GGUF.", "general.", "tokenizer.")):
            continue
        v = field.contents()
        keys[name] = v if not isinstance(v, np.ndarray) else v.tolist()
    keys["general.architecture"] = r.fields["general.architecture"].contents()
    if family == "gpt2":  # the converter says four times the width, whatever n_inner is
        del keys["gpt2.feed_forward_length"]
    if family == "bert":  # its config.json says two, which BERT does not read
        del keys["bert.attention.head_count_kv"]
    return {"tensors": tensors, "keys": keys}


def adapter(source):
    """What convert_lora_to_gguf.py makes of adapters/plain."""
    with tempfile.TemporaryDirectory() as t:
        out = Path(t) / "out.gguf"
        run = [sys.executable, source + "/convert_lora_to_gguf.py", "--base", HERE / "llama", "--outtype", "f32", "--outfile", out]
        subprocess.run([*run, HERE / "adapters/plain"], check=True, env={"PYTHONPATH": source + "/gguf-py"}, capture_output=True)
        import gguf

        r = gguf.GGUFReader(out)
        digest = lambda x: hashlib.sha256(np.ascontiguousarray(x.data).tobytes()).hexdigest()[:16]
        tensors = {x.name: [x.tensor_type.name, [int(n) for n in reversed(x.shape)], digest(x)] for x in r.tensors}
        keys = {n: f.contents() for n, f in r.fields.items() if not n.startswith(("GGUF.", "general.name"))}
        return {"tensors": tensors, "keys": keys}


class ModelParams(C.Structure):
    _fields_ = [("pointers", C.c_void_p * 2), ("n_gpu_layers", C.c_int32), ("rest", C.c_int32 * 4), ("more", C.c_void_p * 4), ("flags", C.c_bool * 16)]


class ContextParams(C.Structure):
    _fields_ = [(n, C.c_uint32) for n in "n_ctx n_batch n_ubatch n_seq_max n_rs_seq n_outputs_max n_outputs_max_per_seq".split()]
    _fields_ += [(n, C.c_int32) for n in "n_threads n_threads_batch ctx_type rope_scaling pooling attention flash_attn".split()]
    _fields_ += [("rope", C.c_float * 6), ("yarn_orig_ctx", C.c_uint32), ("defrag_thold", C.c_float), ("callback", C.c_void_p * 2)]
    _fields_ += [("type_k", C.c_int32), ("type_v", C.c_int32), ("rest", C.c_void_p * 16)]


class Llama:
    def __init__(self, path, window):
        import xllamacpp

        self.lib = lib = C.CDLL(xllamacpp.xllamacpp.__file__)
        for name, result in {
            "llama_model_default_params": ModelParams, "llama_context_default_params": ContextParams, "llama_model_load_from_file": C.c_void_p,
            "llama_init_from_model": C.c_void_p, "llama_model_get_vocab": C.c_void_p, "llama_get_logits_ith": C.POINTER(C.c_float),
            "llama_get_memory": C.c_void_p,
        }.items():
            getattr(lib, name).restype = result
        self.quiet = C.CFUNCTYPE(None, C.c_int, C.c_char_p, C.c_void_p)(lambda level, text, _: level >= 4 and sys.stderr.write(text.decode()))
        lib.llama_log_set(self.quiet, None)
        lib.llama_backend_init()
        p = lib.llama_model_default_params()
        p.n_gpu_layers = 0
        lib.llama_model_load_from_file.argtypes = [C.c_char_p, ModelParams]
        self.model = lib.llama_model_load_from_file(str(path).encode(), p)
        assert self.model, path
        c = lib.llama_context_default_params()
        c.n_ctx = c.n_batch = c.n_ubatch = window
        c.n_threads = c.n_threads_batch = 2
        c.type_k = c.type_v = c.flash_attn = 0
        lib.llama_init_from_model.argtypes = [C.c_void_p, ContextParams]
        self.context = lib.llama_init_from_model(self.model, c)
        assert self.context, path
        self.vocab = C.c_void_p(lib.llama_model_get_vocab(C.c_void_p(self.model)))

    def ids(self, text):
        raw = text.encode()
        out = (C.c_int32 * (len(raw) + 8))()
        n = self.lib.llama_tokenize(self.vocab, raw, len(raw), out, len(out), C.c_bool(False), C.c_bool(True))
        return list(out[:n])

    def logits(self, ids):
        self.lib.llama_memory_clear(C.c_void_p(self.lib.llama_get_memory(C.c_void_p(self.context))), C.c_bool(True))
        n = len(ids)

        class Batch(C.Structure):
            _fields_ = [("n_tokens", C.c_int32), ("token", C.c_void_p), ("embd", C.c_void_p), ("pos", C.c_void_p), ("n_seq_id", C.c_void_p),
                        ("seq_id", C.c_void_p), ("logits", C.c_void_p)]

        token, pos, counts = (C.c_int32 * n)(*ids), (C.c_int32 * n)(*range(n)), (C.c_int32 * n)(*[1] * n)
        zero = (C.c_int32 * 1)(0)
        seqs, wanted = (C.POINTER(C.c_int32) * n)(*[C.cast(zero, C.POINTER(C.c_int32))] * n), (C.c_int8 * n)(*[1] * n)
        batch = Batch(n, C.addressof(token), None, C.addressof(pos), C.addressof(counts), C.addressof(seqs), C.addressof(wanted))
        self.lib.llama_decode.argtypes = [C.c_void_p, Batch]
        assert self.lib.llama_decode(self.context, batch) == 0
        size = self.lib.llama_vocab_n_tokens(self.vocab)
        return np.stack([np.ctypeslib.as_array(self.lib.llama_get_logits_ith(C.c_void_p(self.context), i), (size,)).copy() for i in range(n)])

    def perplexity(self, text, window):
        """llama-perplexity's: of windows that follow one another BOS is the first token, and the second half is scored."""
        bos = self.lib.llama_vocab_bos(self.vocab)
        ids = [bos] + self.ids(text)
        total, count = 0.0, 0
        for at in range(0, len(ids) - window + 1, window):
            part = [bos] + ids[at + 1 : at + window]
            rows = self.logits(part).astype(np.float64)
            for i in range(window // 2, window - 1):
                row = rows[i]
                total += math.log(np.exp(row - row.max()).sum()) + row.max() - row[part[i + 1]]
                count += 1
        return math.exp(total / count), count


def hashed(name, shape):
    """Numbers in [-1, 1) of a name and of elements' numbers, as tests/models/gguf_test.cpp's: FNV-1a, then a multiplication."""
    h = 14695981039346656037
    for c in name.encode():
        h = (h ^ c) * 1099511628211 % 2**64
    with np.errstate(over="ignore"):
        x = (np.arange(math.prod(shape), dtype=np.uint64) + np.uint64(h)) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return ((x >> np.uint64(40)).astype(np.float64) / 2**23 - 1).reshape(shape)


def nvfp4_model(folder):
    """tests/models/gguf_test.cpp's write_nvfp4_model: as compressed-tensors packs it."""
    import torch
    from safetensors.torch import save_file

    group = {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "float", "group_size": 16, "strategy": "tensor_group", "symmetric": True}}
    config = {"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "vocab_size": 64, "hidden_size": 64, "head_dim": 16,
              "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 64, "moe_intermediate_size": 64,
              "num_experts": 2, "num_experts_per_tok": 1, "norm_topk_prob": True, "max_position_embeddings": 64, "rms_norm_eps": 1e-6,
              "rope_theta": 1e4, "tie_word_embeddings": False, "dtype": "bfloat16",
              "quantization_config": {"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized", "config_groups": {"group_0": group}}}
    layer = "model.layers.0."
    plain = {"model.embed_tokens.weight": [64, 64], "model.norm.weight": [64], "lm_head.weight": [64, 64], layer + "mlp.gate.weight": [2, 64],
             layer + "input_layernorm.weight": [64], layer + "post_attention_layernorm.weight": [64],
             layer + "self_attn.q_norm.weight": [16], layer + "self_attn.k_norm.weight": [16]}
    packed = {layer + f"self_attn.{n}_proj": rows for n, rows in dict(q=64, k=32, v=32, o=64).items()}
    packed |= {layer + f"mlp.experts.{e}.{n}_proj": 64 for e in range(2) for n in ("gate", "up", "down")}
    tensors = {n: torch.from_numpy(np.floor(hashed(n, s) * 128) / 128).bfloat16() for n, s in plain.items()}
    for n, rows in packed.items():
        tensors[n + ".weight_packed"] = torch.from_numpy(((hashed(n + ".codes", [rows, 32]) + 1) * 128).astype(np.uint8))
        scales = ((hashed(n + ".scales", [rows, 4]) + 1) * 60 + 1).astype(np.uint8)
        tensors[n + ".weight_scale"] = torch.from_numpy(scales).view(torch.float8_e4m3fn)
        tensors[n + ".weight_global_scale"] = torch.from_numpy(hashed(n, [1]) + 2).float()
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))


def small_model(folder):
    """tests/models/gguf_test.cpp's hashed_model, with write_small_tokenizer's tokenizer."""
    from safetensors.numpy import save_file

    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 704, "hidden_size": 256, "intermediate_size": 256,
              "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 512, "rms_norm_eps": 1e-5,
              "rope_theta": 10000.0, "bos_token_id": 0, "eos_token_id": 1, "tie_word_embeddings": False}
    shapes = {"model.embed_tokens.weight": [704, 256], "model.norm.weight": [256], "lm_head.weight": [704, 256]}
    for i in range(2):
        layer = f"model.layers.{i}."
        shapes |= {layer + "input_layernorm.weight": [256], layer + "post_attention_layernorm.weight": [256]}
        shapes |= {layer + f"self_attn.{n}_proj.weight": [rows, 256] for n, rows in dict(q=256, k=128, v=128, o=256).items()}
        shapes |= {layer + f"mlp.{n}_proj.weight": [256, 256] for n in ("gate", "up", "down")}
    folder.mkdir()
    weights = {n: hashed(n, s) * 0.25 + 1 if len(s) == 1 else hashed(n, s) * 0.125 for n, s in shapes.items()}
    save_file({n: w.astype(np.float32) for n, w in weights.items()}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    t = json.loads((HERE.parent.parent / "text/data/llama3.json").read_text())
    begin = "<|begin|>"
    t["post_processor"] = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": begin, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                           "pair": [], "special_tokens": {begin: {"id": begin, "ids": [0], "tokens": [begin]}}}
    (folder / "tokenizer.json").write_text(json.dumps(t))
    (folder / "tokenizer_config.json").write_text(json.dumps({"bos_token": begin, "eos_token": "<|end|>"}))


def perplexities():
    text = (HERE / "gguf.txt").read_text()
    out = {"window": WINDOW, "perplexities": {}}
    with tempfile.TemporaryDirectory() as t:
        small_model(Path(t) / "model")
        for name in FORMATS:
            path = Path(t) / f"{name}.gguf"
            subprocess.run(["dyadic", "convert", Path(t) / "model", path, "--format", name], check=True, stdout=subprocess.DEVNULL)
            llama = Llama(path, WINDOW)
            out["perplexities"][name], out["tokens"] = llama.perplexity(text, WINDOW)
            out["ids"] = llama.ids(text)
            print(name, out["perplexities"][name])
    return out


if __name__ == "__main__":
    sys.path[:0] = [sys.argv[1], sys.argv[1] + "/gguf-py"]
    made = {"converted": {f: converted(sys.argv[1], f) for f in FAMILIES} | {"adapter": adapter(sys.argv[1])}, "perplexity": perplexities()}
    (HERE / "gguf.json").write_text(json.dumps(made, separators=(",", ":")) + "\n")

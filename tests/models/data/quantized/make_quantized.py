#!/usr/bin/env python3
"""Makes this folder's models whose weights are quantized, and what the tools that quantized them read there:
pip install torch transformers accelerate safetensors bitsandbytes compressed-tensors autoawq auto-gptq torchao mlx mlx-cpu

    python make_quantized.py [name ...]

Each folder has a model as the tool writes it, the weights that are not quantized in float32, and expected.safetensors: `ids`
[2, 14], `logits` of the same model with the weights that the tool reads from its codes, in float32 by the eager kernels, and one of
these weights, `weight`, whose name is in the metadata.
"""
import importlib
import importlib.machinery
import json
import sys
import tempfile
import types
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, LlamaConfig, LlamaForCausalLM

HERE = Path(__file__).parent
SHOWN = "model.layers.0.self_attn.k_proj.weight"


def base(**more):
    torch.manual_seed(7)
    sizes = dict(vocab_size=64, hidden_size=64, intermediate_size=96, num_hidden_layers=1, num_attention_heads=4,
                 num_key_value_heads=2, max_position_embeddings=64, initializer_range=0.4, tie_word_embeddings=True,
                 bos_token_id=1, eos_token_id=2)
    return LlamaForCausalLM(LlamaConfig(**{**sizes, **more}, dtype="float32", attn_implementation="eager")).eval()


def linears(model):
    return {name + ".weight": m for name, m in model.named_modules() if isinstance(m, torch.nn.Linear) and name != "lm_head"}


@torch.no_grad()
def expect(folder, model, weights, shown=SHOWN):
    """Of `model` with the given weights in place of its own."""
    state = dict(model.named_parameters())
    for name, w in weights.items():
        state[name].copy_(w)
    ids = torch.randint(3, 64, (2, 14))
    out = {"ids": ids, "logits": model(ids).logits, "weight": weights[shown].float().contiguous()}
    save_file(out, folder / "expected.safetensors", {"weight": shown})


def write(name, model, tensors, quantization, replaced):
    """A folder of `tensors` in place of the weights whose names are `replaced`."""
    folder = HERE / name
    folder.mkdir(exist_ok=True)
    plain = {k: v.detach().clone() for k, v in model.named_parameters() if k not in replaced}
    save_file({**plain, **{k: v.contiguous() for k, v in tensors.items()}}, folder / "model.safetensors", {"format": "pt"})
    config = {**model.config.to_dict(), "quantization_config": quantization}
    (folder / "config.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")
    return folder


# bitsandbytes, by way of transformers.


def by_bitsandbytes(name, read, shown=SHOWN, **options):
    model = base(intermediate_size=320)  # bitsandbytes reads rows that are no whole blocks wrongly on a CPU
    folder = HERE / name
    with tempfile.TemporaryDirectory() as plain:
        model.save_pretrained(plain)
        q = AutoModelForCausalLM.from_pretrained(plain, quantization_config=BitsAndBytesConfig(**options), dtype=torch.float32,
                                                 device_map="cpu")
        q.save_pretrained(folder)
    (folder / "generation_config.json").unlink()
    layers = dict(q.named_modules())
    expect(folder, model, {n: read(layers[n.removesuffix(".weight")].weight) for n in linears(model)}, shown)


def read4(w):
    import bitsandbytes.functional as F
    return F.dequantize_4bit(w.data, w.quant_state)


def read8(w):
    return w.data.float() * w.SCB.view(-1, 1) / 127


# GPTQ and AWQ: the packages pack, of codes that are the nearest.


def part_of(package, module):
    """A module of a package that as a whole wants another transformers."""
    if package not in sys.modules:
        sys.modules[package] = types.ModuleType(package)
        sys.modules[package].__path__ = importlib.machinery.PathFinder.find_spec(package).submodule_search_locations
    return importlib.import_module(f"{package}.{module}")


def integers(w, bits, groups, symmetric, least_zero=0):
    """Of w [out, in] scales in f16 and zero points, [out, groups], and w as codes with them make it; groups: of each column."""
    top, n = 2**bits - 1, int(groups.max()) + 1
    scales, zeros = torch.zeros(len(w), n), torch.zeros(len(w), n, dtype=torch.int64)
    for g in range(n):
        part = w[:, groups == g]
        low, high = part.amin(1).clamp(max=0), part.amax(1).clamp(min=0)
        if symmetric:
            scales[:, g] = part.abs().amax(1) / 2 ** (bits - 1) * 1.01
        else:
            scales[:, g] = (high - low) / top * 1.01
        scales[:, g] = scales[:, g].half().float()
        zeros[:, g] = 2 ** (bits - 1) if symmetric else (-low / scales[:, g]).round().clamp(least_zero, top)
    s, z = scales[:, groups], zeros[:, groups]
    return scales, zeros, ((w / s).round() + z).clamp(0, top).sub(z) * s


def linear_of(w):
    layer = torch.nn.Linear(w.shape[1], w.shape[0], bias=False)
    layer.weight.data = w.clone()
    return layer


@torch.no_grad()
def by_gptq(name, bits, group, symmetric, version=1, ordered=False):
    QuantLinear = part_of("auto_gptq", "nn_modules.qlinear.qlinear_cuda").QuantLinear
    model, tensors, read = base(), {}, {}
    for key, m in linears(model).items():
        rows, cols = m.weight.shape
        groups = torch.arange(cols) // group
        if ordered:
            groups = groups[torch.randperm(cols)]
        scales, zeros, w = integers(m.weight.data, bits, groups, symmetric, least_zero=1)
        layer = QuantLinear(bits, group, cols, rows, False, weight_dtype=torch.float32)
        layer.pack(linear_of(w), scales, zeros.float(), groups.int())
        read[key] = layer(torch.eye(cols)).t()
        assert torch.allclose(read[key], w, atol=1e-6)
        ones = {2: 0x55555555, 4: 0x11111111, 8: 0x01010101}.get(bits, 0)
        stem = key.removesuffix("weight")
        tensors |= {stem + "qweight": layer.qweight, stem + "scales": layer.scales.half(), stem + "g_idx": groups.int(),
                    stem + "qzeros": layer.qzeros + (ones if version == 2 else 0)}
    q = {"quant_method": "gptq", "bits": bits, "group_size": group, "sym": symmetric, "desc_act": ordered}
    if version == 2:
        q["checkpoint_format"] = "gptq_v2"
    expect(write(name, model, tensors, q, read), model, read)


@torch.no_grad()
def by_awq(name, group):
    gemm, packing = part_of("awq", "modules.linear.gemm"), part_of("awq", "utils.packing_utils")
    gemm.get_best_device = lambda: "cpu"
    model, tensors, read = base(), {}, {}
    for key, m in linears(model).items():
        scales, zeros, w = integers(m.weight.data, 4, torch.arange(m.in_features) // group, False)
        layer = gemm.WQLinear_GEMM.from_linear(linear_of(w), 4, group, scales=scales.t(), zeros=zeros.t())
        read[key] = packing.dequantize_gemm(layer.qweight, layer.qzeros, layer.scales.float(), 4, group).t()
        assert torch.allclose(read[key], w, atol=1e-6)
        stem = key.removesuffix("weight")
        tensors |= {stem + "qweight": layer.qweight, stem + "scales": layer.scales, stem + "qzeros": layer.qzeros}
    q = {"quant_method": "awq", "bits": 4, "group_size": group, "version": "gemm", "zero_point": True}
    expect(write(name, model, tensors, q, read), model, read)


# 8-bit floats with scales of tiles, and MXFP4: what the published formats say, read by transformers where it can.


def by_fp8(name, sizes, tile, powers):
    """sizes: of the model; its last tiles are cut where they are no multiples of the tile."""
    model, tensors, read = base(**sizes), {}, {}
    for key, m in linears(model).items():
        w = m.weight.data
        rows, cols = w.shape
        down, across = -(-rows // tile[0]), -(-cols // tile[1])
        padded = torch.zeros(down * tile[0], across * tile[1])
        padded[:rows, :cols] = w
        scale = padded.view(down, tile[0], across, tile[1]).abs().amax((1, 3)) / 448
        if powers:
            scale = 2 ** torch.ceil(torch.log2(scale))
        each = scale.repeat_interleave(tile[0], 0).repeat_interleave(tile[1], 1)[:rows, :cols]
        codes = (w / each).to(torch.float8_e4m3fn)
        read[key] = codes.float() * each
        tensors |= {key: codes, key + "_scale_inv": scale.to(torch.float8_e8m0fnu) if powers else scale}
    q = {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": list(tile)}
    expect(write(name, model, tensors, q, read), model, read)


@torch.no_grad()
def by_mxfp4(name):
    from transformers import GptOssConfig, GptOssForCausalLM
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors
    torch.manual_seed(9)
    model = GptOssForCausalLM(GptOssConfig(
        vocab_size=64, hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2,
        head_dim=12, max_position_embeddings=64, initializer_range=0.4, num_local_experts=4, num_experts_per_tok=2, swiglu_limit=1.5,
        layer_types=["full_attention"], tie_word_embeddings=True, dtype="float32", attn_implementation="eager")).eval()
    tensors, read = {}, {}
    for key, p in model.named_parameters():
        if "experts" in key or "router" in key or "sinks" in key:
            p.copy_(0.4 * torch.randn_like(p))
        if key.endswith(("gate_up_proj", "down_proj")):
            experts, cols, rows = p.shape
            blocks = torch.randint(0, 256, (experts, rows, cols // 32, 16), dtype=torch.uint8)
            scales = torch.randint(122, 126, (experts, rows, cols // 32), dtype=torch.uint8)
            read[key] = convert_moe_packed_tensors(blocks, scales, dtype=torch.float32)
            tensors |= {key + "_blocks": blocks, key + "_scales": scales}
    q = {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}
    expect(write(name, model, tensors, q, read), model, read, "model.layers.0.mlp.experts.down_proj")


# compressed-tensors: its own compressors.


@torch.no_grad()
def by_compressed_tensors(name, kind, **weights):
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.compressors.nvfp4.helpers import unpack_fp4_from_uint8
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
    from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam
    args = QuantizationArgs(**weights)
    scheme = QuantizationScheme(targets=["Linear"], weights=args)
    compressor = BaseCompressor.get_value_from_registry(kind)
    model, tensors, read = base(), {}, {}
    for key, m in linears(model).items():
        w = m.weight.data
        rows, cols = w.shape
        if args.strategy == "group" or args.strategy == "tensor_group":
            parts, dims = w.view(rows, -1, args.group_size), -1
        elif args.strategy == "channel":
            parts, dims = w.view(rows, 1, cols), -1
        elif args.strategy == "tensor":
            parts, dims = w.view(1, -1), -1
        state = {"weight": w.clone()}
        whole = None
        if args.strategy == "tensor_group":
            whole = state["weight_global_scale"] = generate_gparam(w.amin(), w.amax()).float().reshape(1)
        scale, zero = calculate_qparams(parts.amin(dims), parts.amax(dims), args, global_scale=whole)
        state["weight_scale"] = scale if kind.startswith("nv") or kind.startswith("mx") else scale.half().float()
        state["weight_zero_point"] = zero
        packed = compressor.compress(state, scheme)
        read[key] = compressor.decompress(packed, scheme)["weight"].float()
        if whole is not None:  # which it reads in bfloat16
            values = unpack_fp4_from_uint8(packed["weight_packed"], rows, cols, torch.float32)
            exact = values * (packed["weight_scale"].float() / whole).repeat_interleave(args.group_size, 1)
            assert torch.allclose(read[key], exact, rtol=2**-7)
            read[key] = exact
        if "weight_scale" in packed and packed["weight_scale"].dtype == torch.float32:
            packed["weight_scale"] = packed["weight_scale"].half()
        stem = key.removesuffix("weight")
        tensors |= {stem + k: v for k, v in packed.items()}
    q = {"quant_method": "compressed-tensors", "format": kind, "quantization_status": "compressed", "ignore": ["lm_head"],
         "config_groups": {"group_0": json.loads(scheme.model_dump_json())}}
    expect(write(name, model, tensors, q, read), model, read)


# Others.


def by_torchao(name, kind):
    import torchao.quantization as ao
    from transformers import TorchAoConfig
    model, folder = base(), HERE / name
    with tempfile.TemporaryDirectory() as plain:
        model.save_pretrained(plain)
        q = AutoModelForCausalLM.from_pretrained(plain, quantization_config=TorchAoConfig(quant_type=getattr(ao, kind)()),
                                                 dtype=torch.float32, device_map="cpu")
        read = {n: m.weight.dequantize().clone() for n, m in linears(q).items()}
        q.save_pretrained(folder)
    (folder / "generation_config.json").unlink()
    expect(folder, model, read)


def by_mlx(name, bits, group, mode="affine"):
    import mlx.core as mx
    import numpy as np
    model, tensors, read = base(), {}, {}
    whole = {"model.embed_tokens.weight": model.model.embed_tokens, **linears(model)}
    for key, m in whole.items():
        parts = mx.quantize(mx.array(m.weight.detach().half().numpy()), group_size=group, bits=bits, mode=mode)
        wide = [parts[0]] + [p.astype(mx.float32) if mode == "affine" else p for p in parts[1:]]
        values = mx.dequantize(*wide, group_size=group, bits=bits, mode=mode).astype(mx.float32)
        read[key] = torch.from_numpy(np.array(values))
        for part, ending in zip(parts, ("weight", "scales", "biases")):
            tensors[key.removesuffix("weight") + ending] = torch.from_numpy(np.array(part))
    q = {"group_size": group, "bits": bits, **({} if mode == "affine" else {"mode": mode})}
    expect(write(name, model, tensors, q, read), model, read)


@torch.no_grad()
def by_bitnet(name):
    from transformers.integrations.bitnet import pack_weights, unpack_weights
    model, tensors, read = base(), {}, {}
    for key, m in linears(model).items():
        w = m.weight.data
        scale = (1 / w.abs().mean().clamp(min=1e-5)).bfloat16()
        codes = (w * scale.float()).round().clamp(-1, 1)
        tensors |= {key: pack_weights(codes.to(torch.int8)), key + "_scale": scale.reshape(1)}
        read[key] = unpack_weights(tensors[key], torch.float32) / scale.float()
        assert torch.equal(unpack_weights(tensors[key], torch.float32), codes)
    expect(write(name, model, tensors, {"quant_method": "bitnet", "linear_class": "bitlinear"}, read), model, read)


GROUPS = dict(type="int", strategy="group")

MAKE = {
    "bnb_nf4": lambda n: by_bitsandbytes(n, read4, load_in_4bit=True, bnb_4bit_quant_type="nf4"),
    "bnb_nf4_double": lambda n: by_bitsandbytes(n, read4, "model.layers.0.mlp.down_proj.weight", load_in_4bit=True,
                                                bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True),
    "bnb_fp4": lambda n: by_bitsandbytes(n, read4, load_in_4bit=True),
    "bnb_int8": lambda n: by_bitsandbytes(n, read8, load_in_8bit=True),
    "gptq_sym4": lambda n: by_gptq(n, 4, 32, True),
    "gptq_asym4_ordered": lambda n: by_gptq(n, 4, 32, False, ordered=True),
    "gptq_asym3": lambda n: by_gptq(n, 3, 32, False),
    "gptq_sym8": lambda n: by_gptq(n, 8, 32, True),
    "gptq_v2_asym8": lambda n: by_gptq(n, 8, 32, False, version=2),
    "awq": lambda n: by_awq(n, 32),
    "fp8": lambda n: by_fp8(n, dict(hidden_size=144, intermediate_size=160, head_dim=16), (128, 128), False),
    "fp8_e8m0": lambda n: by_fp8(n, {}, (32, 64), True),
    "mxfp8": lambda n: by_fp8(n, {}, (1, 32), True),
    "mxfp4": by_mxfp4,
    "ct_int4": lambda n: by_compressed_tensors(n, "pack-quantized", num_bits=4, group_size=32, symmetric=True, **GROUPS),
    "ct_int4_asym": lambda n: by_compressed_tensors(n, "pack-quantized", num_bits=4, group_size=32, symmetric=False, **GROUPS),
    "ct_int8": lambda n: by_compressed_tensors(n, "int-quantized", num_bits=8, symmetric=True, type="int", strategy="channel"),
    "ct_float8": lambda n: by_compressed_tensors(n, "float-quantized", num_bits=8, symmetric=True, type="float", strategy="channel"),
    "ct_nvfp4": lambda n: by_compressed_tensors(n, "nvfp4-pack-quantized", num_bits=4, group_size=16, symmetric=True, type="float",
                                                strategy="tensor_group"),
    "torchao_int8": lambda n: by_torchao(n, "Int8WeightOnlyConfig"),
    "torchao_float8": lambda n: by_torchao(n, "Float8WeightOnlyConfig"),
    "mlx_4": lambda n: by_mlx(n, 4, 32),
    "mlx_8": lambda n: by_mlx(n, 8, 32),
    "mlx_3": lambda n: by_mlx(n, 3, 32),
    "mlx_6": lambda n: by_mlx(n, 6, 32),
    "mlx_mxfp4": lambda n: by_mlx(n, 4, 32, "mxfp4"),
    "bitnet": by_bitnet,
    "ct_mxfp4": lambda n: by_compressed_tensors(n, "mxfp4-pack-quantized", num_bits=4, group_size=32, symmetric=True, type="float",
                                                strategy="group", scale_dtype="torch.uint8", zp_dtype="torch.uint8"),
}

if __name__ == "__main__":
    for name in sys.argv[1:] or MAKE:
        MAKE[name](name)
        size = sum(f.stat().st_size for f in (HERE / name).iterdir())
        [f.chmod(0o644) for f in (HERE / name).iterdir()]
        with safe_open(HERE / name / "model.safetensors", "pt") as f:
            print(f"{name}: {size} bytes, {len(f.keys())} tensors")

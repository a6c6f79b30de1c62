"""Speed and memory of one optimisation step, compared with the same step written plainly, in one interleaved run.

    python benchmarks/pretraining.py SHARD VOCABULARY [--recipes mini small] [--rounds 5] [--output FILE]

The plain step has the same model, loss and batches. It runs autograd through a loop over the time steps, applies the
char encoder to every token and position, runs one direction after the other, and uses float32 and torch's optimiser
with its defaults (AdamW where ours is Muon). Both use the huge pages and the kept memory that `elmokit` asks for.
The share of peak divides the arithmetic that the step needs (three products for each one of the forward pass) by the
measured peak of this machine's matrix products in that type. Peak memory is measured in one process per variant.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # before torch, as the command line does

import torch
from torch import Tensor
from torch.nn import functional

from elmokit.cli.pretraining import keep_freed_memory
from elmokit.corpus.batches import Batch, Packer, packed_batches
from elmokit.corpus.stream import SentenceStream
from elmokit.layers.char_encoder import CharEncoder
from elmokit.layers.devices import find_device
from elmokit.layers.projected_lstm import ProjectedLSTM
from elmokit.layers.sampled_softmax import Softmax, draw_negatives, log_expected_count
from elmokit.model.bilm import BiLM
from elmokit.pretraining.before_training import resolved
from elmokit.pretraining.config import PretrainingConfig
from elmokit.pretraining.gradients import LossAndGradients, draw
from elmokit.pretraining.optimizers import new_optimizer
from elmokit.pretraining.recipes import recipe
from elmokit.pretraining.train import new_softmax
from elmokit.text.characters import PADDING_ID
from elmokit.text.spelling import ByteSpelling
from elmokit.text.vocabulary import Vocabulary
from machine import peak_megabytes, processor_name

PLAIN = "plain float32"


@dataclass(frozen=True)
class Row:
    """One variant of one recipe; times are medians over the rounds."""

    recipe: str
    variant: str
    tokens_per_second: float
    tokens_per_cpu_second: float
    times_plain: float
    share_of_peak: float
    peak_megabytes: int


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("shard", type=Path)
    parser.add_argument("vocabulary", type=Path)
    parser.add_argument("--recipes", nargs="+", default=["mini", "small"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--memory-of", nargs=2, metavar=("RECIPE", "VARIANT"), help="used by the script itself")
    arguments = parser.parse_args()
    keep_freed_memory()  # as the command line does
    if arguments.memory_of:
        name, variant = arguments.memory_of
        step = Bench(name, arguments.shard, arguments.vocabulary).step(variant)
        for number in range(3):
            step(number)
        print(round(peak_megabytes()))
        return
    arguments.variants = variants()
    dtypes = [torch.float32, *([torch.bfloat16] if "bfloat16" in arguments.variants else [])]
    peaks = {dtype: matrix_peak(dtype) for dtype in dtypes}
    rows = [row for name in arguments.recipes for row in measure(name, arguments, peaks)]
    print_table(rows, peaks)
    if arguments.output:
        record = {
            "command": " ".join(["python", *sys.argv]),
            "machine": f"{processor_name()}, {torch.get_num_threads()} threads",
            "torch": torch.__version__,
            "peak_gflops": {str(dtype): round(peak / 1e9) for dtype, peak in peaks.items()},
            "rows": [asdict(row) for row in rows],
        }
        arguments.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def variants() -> list[str]:
    """The plain step and ours; also ours in bfloat16 if `precision="auto"` would choose it."""
    chosen = resolved(recipe("mini"), num_tokens=1_000_000, device=find_device(None)).precision
    return [PLAIN, "float32", *(["bfloat16"] if chosen == "bfloat16" else [])]


class Bench:
    """The variants of a recipe over the same batches of real text; each has a separate model and optimiser."""

    def __init__(self, name: str, shard: Path, vocabulary_path: Path) -> None:
        self.device = find_device(None)
        config = recipe(name)
        vocabulary = Vocabulary.read(vocabulary_path)
        packers = [
            Packer(
                SentenceStream([shard], purpose=purpose),
                vocabulary,
                rows=[[]] * config.batch_size,
                bptt_steps=config.bptt_steps,
                backward=purpose == "backward",
            )
            for purpose in ("forward", "backward")
        ]
        source = packed_batches(packers, spelling=ByteSpelling(config.bilm.max_characters_per_token))
        self.batches = [next(source) for _ in range(4)]
        self.config = config
        self.num_tokens = len(vocabulary)

    def step(self, variant: str) -> Callable[[int], None]:
        """A function that takes the number of a step and runs that step; this method creates its model."""
        if variant == PLAIN:
            return self._plain(replace(self.config, precision="float32"))
        return self._ours(replace(self.config, precision=variant))

    def _model(self, config: PretrainingConfig) -> tuple[BiLM, Softmax]:
        torch.manual_seed(0)
        return BiLM(config.bilm).to(self.device), new_softmax(self.num_tokens, config).to(self.device)

    def _ours(self, config: PretrainingConfig) -> Callable[[int], None]:
        bilm, softmax = self._model(config)
        maker = LossAndGradients(bilm, softmax, config, device=self.device)
        parameters = [*bilm.parameters(), *softmax.parameters()]
        optimizer = new_optimizer(config, bilm, softmax)

        def step(number: int) -> None:
            batch = self.batches[number % len(self.batches)]
            maker.backward(draw(batch, config, num_tokens=self.num_tokens, number=number), None)
            torch.nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
            optimizer.step()
            self._wait()

        return step

    def _plain(self, config: PretrainingConfig) -> Callable[[int], None]:
        bilm, softmax = self._model(config)
        parameters = [*bilm.parameters(), *softmax.parameters()]
        kind = torch.optim.Adagrad if config.optimizer == "adagrad" else torch.optim.AdamW
        optimizer = kind(parameters, lr=config.learning_rate)

        def step(number: int) -> None:
            optimizer.zero_grad()
            loss = plain_loss(bilm, softmax, config, self.batches[number % len(self.batches)], step=number)
            (loss * config.bptt_steps).backward()
            torch.nn.utils.clip_grad_norm_(parameters, config.clip_norm)
            optimizer.step()
            self._wait()

        return step

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()


def plain_loss(bilm: BiLM, softmax: Softmax, config: PretrainingConfig, batch: Batch, *, step: int) -> Tensor:
    """Mean of both directions' sampled losses, from the definitions."""
    device = softmax.weight.device
    losses: list[Tensor] = []
    for index, lstm in enumerate((bilm.forward_lstm, bilm.backward_lstm)):
        assert lstm is not None
        part = batch.directions[index]
        ids = torch.from_numpy(batch.character_ids[part.tokens.reshape(-1)]).to(device)
        steps = plain_encoder(bilm.char_encoder, ids).view(*part.tokens.shape, -1)
        starts = torch.from_numpy(part.starts).to(device)
        hidden = plain_lstm(lstm, steps, starts if config.reset_state else None).flatten(0, 1)
        targets = torch.from_numpy(part.targets).to(device).flatten()
        num_tokens = len(softmax.bias)
        negatives = draw_negatives(
            config.num_negatives, num_tokens=num_tokens, generator=torch.Generator().manual_seed(2 * step + index)
        )
        ids_drawn = negatives.ids.to(device)
        counts = {"num_draws": negatives.num_draws, "num_tokens": num_tokens}
        true = (hidden * softmax.weight[targets]).sum(1) + softmax.bias[targets] - log_expected_count(targets, **counts)
        sampled = hidden @ softmax.weight[ids_drawn].t() + softmax.bias[ids_drawn]
        sampled = sampled - log_expected_count(ids_drawn, **counts)
        sampled = sampled.masked_fill(targets[:, None] == ids_drawn[None, :], -torch.inf)
        classes = torch.cat([true[:, None], sampled], dim=1)
        losses.append(functional.cross_entropy(classes, torch.zeros_like(targets)))
    return torch.stack(losses).mean()


def plain_encoder(encoder: CharEncoder, ids: Tensor) -> Tensor:
    embedded = encoder.embedding(ids).transpose(1, 2)
    pooled = torch.cat([convolution(embedded).amax(dim=2) for convolution in encoder.convolutions], dim=1)
    hidden = encoder.activation(pooled)
    for highway in encoder.highways:
        hidden = highway(hidden)
    return hidden if encoder.projection is None else encoder.projection(hidden)


def plain_lstm(lstm: ProjectedLSTM, steps: Tensor, starts: Tensor | None) -> Tensor:
    for number, layer in enumerate(lstm.layers):
        h = steps.new_zeros(steps.shape[1], steps.shape[2])
        c = steps.new_zeros(steps.shape[1], len(layer.bias) // 4)
        outputs: list[Tensor] = []
        for time_step in range(len(steps)):
            if starts is not None:
                kept = ~starts[time_step][:, None]
                c, h = c * kept, h * kept
            gates = steps[time_step] @ layer.input_weight.T + h @ layer.recurrent_weight.T + layer.bias
            i, f, o, j = gates.chunk(4, dim=1)
            c = (torch.sigmoid(f + 1) * c + torch.sigmoid(i) * torch.tanh(j)).clamp(-3, 3)
            h = ((torch.sigmoid(o) * torch.tanh(c)) @ layer.projection_weight.T).clamp(-3, 3)
            outputs.append(h)
        steps = torch.stack(outputs) + steps if number > 0 else torch.stack(outputs)
    return steps


def measure(name: str, arguments: argparse.Namespace, peaks: dict[torch.dtype, float]) -> list[Row]:
    names: list[str] = arguments.variants
    bench = Bench(name, arguments.shard, arguments.vocabulary)
    steps = {variant: bench.step(variant) for variant in names}
    times: dict[str, list[tuple[float, float]]] = {variant: [] for variant in names}
    for number in range(arguments.rounds + 1):
        for variant in names:
            wall, cpu = time.perf_counter(), time.process_time()
            steps[variant](number)
            if number > 0:  # the first round warms up
                times[variant].append((time.perf_counter() - wall, time.process_time() - cpu))
    tokens = bench.config.batch_size * bench.config.bptt_steps
    flops = statistics.mean(step_flops(bench.config, batch) for batch in bench.batches)
    medians = {
        variant: [statistics.median(column) for column in zip(*times[variant], strict=True)] for variant in names
    }
    return [
        Row(
            recipe=name,
            variant=variant,
            tokens_per_second=round(tokens / wall),
            tokens_per_cpu_second=round(tokens / cpu),
            times_plain=round(medians[PLAIN][0] / wall, 2),
            share_of_peak=round(flops / wall / peaks[torch.bfloat16 if variant == "bfloat16" else torch.float32], 3),
            peak_megabytes=_peak_megabytes(name, variant, arguments),
        )
        for variant, (wall, cpu) in medians.items()
    ]


def _peak_megabytes(name: str, variant: str, arguments: argparse.Namespace) -> int:
    command = [sys.executable, __file__, str(arguments.shard), str(arguments.vocabulary), "--memory-of", name, variant]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def step_flops(config: PretrainingConfig, batch: Batch) -> float:
    """Multiplications and additions in the products of one step; the char encoder counts once per distinct word."""
    bilm = config.bilm
    per_token = (
        bilm.num_layers * 2 * (2 * bilm.projection_dim * 4 * bilm.lstm_dim + bilm.lstm_dim * bilm.projection_dim)
    )
    per_token += 2 * bilm.projection_dim * (config.num_negatives + 1)
    lengths = (batch.character_ids != PADDING_ID).sum(axis=1)
    per_position = 2 * bilm.character_dim * sum(width * number for width, number in bilm.filters)
    per_word = 2 * bilm.num_filters * (bilm.num_highway_layers * 2 * bilm.num_filters + bilm.projection_dim)
    encoder = float(lengths.sum()) * per_position + len(lengths) * per_word
    return 3 * (bilm.num_directions * config.batch_size * config.bptt_steps * per_token + encoder)


def matrix_peak(dtype: torch.dtype) -> float:
    """FLOP/s of the fastest of several large square matrix products on all threads."""
    device = find_device(None)
    size = 2048 if device.type == "cpu" else 8192
    left, right = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    best = 0.0
    for _ in range(8):
        began = time.perf_counter()
        torch.mm(left, right)
        if device.type == "cuda":
            torch.cuda.synchronize()
        best = max(best, 2 * size**3 / (time.perf_counter() - began))
    return best


def print_table(rows: list[Row], peaks: dict[torch.dtype, float]) -> None:
    print(", ".join(f"{dtype} peak {peak / 1e9:,.0f} GFLOP/s" for dtype, peak in peaks.items()))
    print("| recipe | step | tokens/s | per CPU-second | x plain | share of peak | peak MB |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for row in rows:
        print(
            f"| {row.recipe} | {row.variant} | {row.tokens_per_second:,.0f} | {row.tokens_per_cpu_second:,.0f} "
            f"| {row.times_plain:.2f} | {100 * row.share_of_peak:.0f} % | {row.peak_megabytes:,} |"
        )


if __name__ == "__main__":
    main()

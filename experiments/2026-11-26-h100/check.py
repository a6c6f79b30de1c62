"""Compare loss, gradients and the step of train.py with elmokit's, in float64 on a CPU; then the Triton kernels.

python check.py            # TRITON_INTERPRET=1 runs the kernels on a CPU, if triton is there
"""

from __future__ import annotations

import lzma
import random
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from kernels import Kernels, triton
from train import Batches, Model, Optimizer, groups_of, read_text

from elmokit.corpus.batches import Batch, DirectionBatch
from elmokit.layers.projected_lstm import LSTMState
from elmokit.layers.sampled_softmax import draw_negatives
from elmokit.model.bilm import BiLMState
from elmokit.model.config import BiLMConfig
from elmokit.pretraining.gradients import LossAndGradients
from elmokit.pretraining.optimizers import new_optimizer
from elmokit.pretraining.recipes import mini
from elmokit.pretraining.train import new_softmax
from elmokit.text.vocabulary import Vocabulary


def toy(folder: Path) -> tuple[Path, Vocabulary]:
    rng = random.Random(0)
    words = ["".join(rng.choices("abcdefg", k=rng.randint(1, 14))) for _ in range(200)] + ["x" * 60]
    for shard in range(2):
        lines = (" ".join(rng.choices(words, k=rng.randint(1, 30))) for _ in range(900))
        with lzma.open(folder / f"train-{shard}.txt.xz", "wt") as file:
            file.write("\n".join(lines) + "\n")
    return folder, Vocabulary(["<S>", "</S>", "<UNK>", *dict.fromkeys(words[:150])])


def main() -> None:
    torch.manual_seed(0)
    device = torch.device("cpu")
    with tempfile.TemporaryDirectory() as folder:
        shards, vocabulary = toy(Path(folder))
        text = read_text(shards, vocabulary)
    assert text.offsets[-1] == len(text.tokens) and (text.tokens[text.offsets[:-1]] == 0).all()
    assert (text.tokens[text.offsets[1:] - 1] == 1).all() and (np.diff(text.lengths[2:]) >= 0).all()
    batches = Batches(text, streams=8, chunk=4, device=device, seed=0)
    read, targets, kept = batches.next()
    for side, sign in ((0, 1), (1, -1)):  # what is predicted is what is read next, but for the end of a sentence
        one, aim, start = read[:, side], targets[:, side], ~kept[:, side]
        assert (one[start] == (0 if sign == 1 else 1)).all()
        follows = ~start[:, 1:]
        assert (torch.from_numpy(text.targets)[one[:, 1:].long()][follows] == aim[:, :-1][follows]).all()
    filters = ((1, 8), (2, 8), (3, 16), (5, 8))
    config = BiLMConfig(filters=filters, character_dim=8, num_highway_layers=1, projection_dim=16, lstm_dim=48)
    settings = replace(mini(), bilm=config, num_negatives=40, precision="float64", weight_decay=0.1)
    types, bounds, index = batches.distinct(read)
    step = 2
    mine = slice(int(bounds[step]), int(bounds[step + 1]))
    rows = torch.from_numpy(text.rows)[types[mine]].long()
    of_step = bounds[step : step + 2] - bounds[step]
    groups = groups_of(len(rows), torch.from_numpy(text.lengths), types[mine], of_step, 5)
    print("groups", groups)
    for negatives in (0, 40):
        model = Model(config, len(vocabulary), device=device, dtype=torch.float64)
        softmax = new_softmax(len(vocabulary), settings)
        found = model.state_dict()
        bilm = model.bilm
        bilm.load_state_dict({k: v for k, v in found.items() if not k.startswith("softmax.")})
        softmax.load_state_dict({k.removeprefix("softmax."): v for k, v in found.items() if k.startswith("softmax.")})
        bilm, softmax = bilm.double(), softmax.double()
        kind = "sampled" if negatives else "full"
        theirs = LossAndGradients(bilm, softmax, replace(settings, softmax=kind), device=device)
        generator = torch.Generator().manual_seed(theirs.seed_for(0, 0))
        drawn = draw_negatives(40, num_tokens=len(vocabulary), generator=generator)
        theirs.seed_for = lambda step, direction: settings.seed * 1_000_003 * 2  # both directions draw the same
        directions = tuple(
            DirectionBatch(index[step, side].numpy(), targets[step, side].long().numpy(), ~kept[step, side].numpy())
            for side in (0, 1)
        )
        state = [(torch.randn_like(c), torch.randn_like(h)) for c, h in model.state(8)]
        old = BiLMState(*(tuple(LSTMState(c[side], h[side]) for c, h in state) for side in (0, 1)))
        losses, after = theirs.backward(Batch(text.rows[types[mine].numpy()].astype(np.int32), directions), old, step=0)
        loss, means, last = model.loss(
            rows, groups, index[step], targets[step], kept[step], state, negatives=negatives, dropout=0.0,
            drawn=(drawn.ids, torch.tensor(float(drawn.num_draws), dtype=torch.float64)),
        )  # fmt: skip
        gradients = torch.autograd.grad(loss, list(model.named.values()))
        for value, gradient in zip(model.named.values(), gradients, strict=True):
            value.grad = gradient
        print(negatives, losses, means.tolist())
        worst = 0.0
        for name, value in model.named.items():
            for side in (0, 1):
                if name.startswith("layers."):
                    other = bilm.get_parameter(f"{('forward', 'backward')[side]}_lstm.{name}").grad
                    one = value.grad[side]
                else:
                    other = (bilm if name.startswith("char") else softmax).get_parameter(name).grad
                    one = value.grad
                worst = max(worst, float((one - other).abs().max() / other.abs().max()))
        print("largest relative difference of a gradient", worst)
        assert worst < 1e-5  # the log expected counts are float32 in both
        for (c, h), a, b in zip(last, after.forward, after.backward, strict=True):
            assert torch.allclose(c, torch.stack([a.cell, b.cell]))
            assert torch.allclose(h, torch.stack([a.output, b.output]))
        ours = Optimizer(model.named, betas=(0.9, 0.999), decay=0.1)
        ours.rate.fill_(settings.learning_rate)
        with torch.no_grad():
            ours.step()
        new_optimizer(settings, bilm, softmax).step()
        after, worst = model.state_dict(), 0.0
        for name, value in (bilm.state_dict() | {f"softmax.{k}": v for k, v in softmax.state_dict().items()}).items():
            worst = max(worst, float((after[name] - value).abs().max()))
        print("largest difference of a weight after a step", worst)
        assert worst < 1e-5
    if triton is not None:
        kernels_agree()


def kernels_agree() -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    plain, fast = Kernels(False), Kernels(True)
    b, h, t = 6, 96, 3
    new = lambda *shape: torch.randn(*shape, device=device)  # noqa: E731
    wide = new(2, t, b, 4 * h)
    mask = (torch.rand(2, t, b, device=device) > 0.3).float()
    results = []
    before, to_hidden, to_cell = 2 * new(2, b, h), new(2, b, h), new(2, b, h)
    for kernels in (plain, fast):
        gates, (cell, hidden) = 3 * wide.clone(), torch.zeros(2, 2, t, b, h, device=device)
        kernels.cell_forward(gates[:, 1], before, mask[:, 1], cell[:, 1], hidden[:, 1], 1.5)
        to_gates, back = torch.zeros_like(gates), to_cell.clone()
        kernels.cell_backward(to_hidden, gates[:, 1], cell[:, 1], before, mask[:, 1], back, to_gates[:, 1], 1.5)
        results.append((gates, cell, hidden, to_gates, back))
    print("cells", [float((x - y).abs().max()) for x, y in zip(*results, strict=True)])
    assert all(torch.allclose(x, y, atol=1e-5) for x, y in zip(*results, strict=True))
    logits, offsets, true = 4 * new(5, 9001), new(9001), new(5)
    hits = torch.tensor([-1, 3, 9000, 4096, -1], device=device)
    both = []
    for kernels in (plain, fast):
        held = logits.clone()
        both.append((held, *kernels.shares(held, offsets, true, hits, 0.2)))
    print("shares", [float((x - y).abs().max()) for x, y in zip(*both, strict=True)])
    assert all(torch.allclose(x, y, atol=1e-5) for x, y in zip(*both, strict=True))


if __name__ == "__main__":
    main()

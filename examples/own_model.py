"""Trains your own PyTorch model with ELMo inside, saves, loads and copies it. Takes seconds on a CPU."""

import copy
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file  # pip install safetensors
from torch import Tensor, nn
from torch.utils.data import DataLoader

from elmokit import ElmoEmbedding, tokenize

LABELS = ["weather", "food"]
TEXTS = [
    ("It rained all night, and the streets were wet.", "weather"),
    ("The soup was cold but the bread was fresh.", "food"),
    ("A strong wind blew from the north.", "weather"),
    ("She ate two apples and a piece of cheese.", "food"),
    ("Snow fell on the hills in the morning.", "weather"),
    ("They cooked rice with chicken for dinner.", "food"),
]
NEW = ["There was fog and rain on the coast.", "We bought fish, butter and sugar."]


class TextClassifier(nn.Module):
    """The mean of the tokens' ELMo vectors, and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.elmo = ElmoEmbedding.from_pretrained("small-en", dropout_rate=0.2, penalty_factor=0.001)
        self.score = nn.Linear(self.elmo.output_dim, len(LABELS))

    def forward(self, sentences: Sequence[Sequence[str]]) -> Tensor:
        output = self.elmo(sentences)
        (vectors,) = output.mixes  # (B,T,E), zero at padding
        return self.score(vectors.sum(dim=1) / output.mask.sum(dim=1, keepdim=True))


def collate(examples: Sequence[tuple[str, str]]) -> tuple[list[list[str]], Tensor]:
    """Collates a batch; it runs in the data-loading processes."""
    return [tokenize(text) for text, _ in examples], torch.tensor([LABELS.index(label) for _, label in examples])


def main() -> None:
    torch.manual_seed(0)
    model = TextClassifier()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]  # not the frozen biLM's
    optimizer = torch.optim.Adam(trained, lr=0.01)
    batches = DataLoader(TEXTS, batch_size=4, shuffle=True, collate_fn=collate, num_workers=2, persistent_workers=True)
    for epoch in range(1, 16):
        for sentences, labels in batches:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(sentences), labels) + model.elmo.penalty()
            loss.backward()
            optimizer.step()
        if epoch % 5 == 0:
            print(f"epoch {epoch}: loss {loss.item():.3f}")
    with tempfile.TemporaryDirectory() as folder:
        save_file(model.state_dict(), Path(folder) / "model.safetensors")
        again = TextClassifier()
        again.load_state_dict(load_file(Path(folder) / "model.safetensors"))
    for text, scores in zip(NEW, copy.deepcopy(again).eval()([tokenize(text) for text in NEW]), strict=True):
        print(f"{LABELS[int(scores.argmax())]:8} {text}")


if __name__ == "__main__":  # where processes are spawned, each imports this file
    main()

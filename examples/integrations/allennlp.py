"""A tagger written for AllenNLP's `Elmo`: only the import changes.

AllenNLP: from allennlp.modules.elmo import Elmo, batch_to_ids
"""

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from elmokit.integrations.allennlp import Elmo, batch_to_ids

RIVERS = [
    "We sat on the bank of the river .",
    "They walked along the muddy bank .",
    "The boat was tied to the bank .",
    "Trees grow along the bank of the stream .",
]
MONEY = [
    "The bank raised its rates .",
    "She works at a bank in London .",
    "He opened an account at the bank .",
    "The bank refused to lend them money .",
]
SENTENCES = [text.split() for text in RIVERS + MONEY]


class SenseTagger(nn.Module):
    """Scores each token: is this bank a river's edge or a place for money?"""

    def __init__(self, options_file: str, weight_file: str | None) -> None:
        super().__init__()
        self.elmo = Elmo(options_file, weight_file, 1, dropout=0.0)
        self.score = nn.Linear(self.elmo.get_output_dim(), 2)

    def forward(self, character_ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        output = self.elmo(character_ids)
        return self.score(output["elmo_representations"][0]), output["mask"]


torch.manual_seed(1)
model = SenseTagger("small-en", None)  # or the paths of an options file and a weight file
character_ids = batch_to_ids(SENTENCES)
banks = torch.tensor([sentence.index("bank") for sentence in SENTENCES])
senses = torch.tensor([0] * len(RIVERS) + [1] * len(MONEY))
optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.02)
for epoch in range(60):
    scores, mask = model(character_ids)
    of_banks = scores[torch.arange(len(SENTENCES)), banks]
    loss = cross_entropy(of_banks, senses)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        print(f"epoch {epoch}: loss {loss.item():.3f}")

model.eval()
texts = ["The fish swam near the bank .", "The bank lent him nothing .", "He robbed a bank ."]  # it misses the last one
unseen = [text.split() for text in texts]
scores, mask = model(batch_to_ids(unseen))
for row, sentence in enumerate(unseen):
    money = scores[row, sentence.index("bank")].softmax(dim=0)[1].item()
    print(f"{' '.join(sentence)}  money: {money:.2f}")

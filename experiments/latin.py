"""Files for docs/your-own-language.md: training sets of 100 to all sentences, and the models compared with the biLM.

python experiments/latin.py split ud_perseus/train.conllu perseus   # writes perseus-100.conllu and so on
python experiments/latin.py fasttext half.txt half.vec ud_*/*.conllu
python experiments/latin.py masked-lm half.txt half-bert 32
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

SIZES = (100, 300, 1000)


def split(train: str, prefix: str) -> None:
    """Write the first sentences of the training set in one random order, so that larger sets contain the smaller."""
    sentences = Path(train).read_text(encoding="utf-8").strip().split("\n\n")
    random.Random(0).shuffle(sentences)
    for name, size in [*((str(size), size) for size in SIZES), ("all", len(sentences))]:
        Path(f"{prefix}-{name}.conllu").write_text("\n\n".join(sentences[:size]) + "\n\n", encoding="utf-8")


class Lines:
    """The lower-cased tokens of a text, line by line; they can be read several times."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __iter__(self) -> Iterator[list[str]]:
        with open(self.path, encoding="utf-8") as file:
            yield from (line.lower().split() for line in file)


def fasttext(text: str, output: str, *treebanks: str) -> None:
    """Write vectors for the words of the text and the treebanks; new words get vectors from their n-grams."""
    from gensim.models import FastText

    model = FastText(Lines(text), vector_size=100, min_count=2, sg=1, epochs=10, workers=1, seed=0)
    words = dict.fromkeys(model.wv.index_to_key)
    for path in sorted(treebanks):
        rows = [line.split("\t") for line in Path(path).read_text(encoding="utf-8").splitlines()]
        forms = [row[1] for row in rows if len(row) == 10 and row[0].isdecimal() and " " not in row[1]]
        words |= dict.fromkeys(form for pair in zip(forms, map(str.lower, forms), strict=True) for form in pair)
    lines = [" ".join([word, *(f"{x:.5f}" for x in model.wv[word])]) for word in words]
    Path(output).write_text("\n".join([f"{len(words)} 100", *lines]) + "\n", encoding="utf-8")


def masked_lm(text: str, output: str, cpu_minutes: str) -> None:
    """Train a small BERT on the text for this many minutes of CPU time, and write it with its tokenizer."""
    import torch
    import transformers as hf
    from tokenizers import BertWordPieceTokenizer

    random.seed(0)
    torch.manual_seed(0)
    pieces = BertWordPieceTokenizer(lowercase=False, strip_accents=False)
    pieces.train([text], vocab_size=8000, show_progress=False)
    tokenizer = hf.BertTokenizerFast(tokenizer_object=pieces._tokenizer, do_lower_case=False, model_max_length=128)
    sizes = {"hidden_size": 192, "num_hidden_layers": 3, "num_attention_heads": 3, "intermediate_size": 768}
    config = hf.BertConfig(vocab_size=len(tokenizer), max_position_embeddings=128, **sizes)
    model = hf.BertForMaskedLM(config).train()
    lines = Path(text).read_text(encoding="utf-8").splitlines()
    sentences = [{"input_ids": tokenizer(line, truncation=True)["input_ids"]} for line in lines]
    sentences.sort(key=lambda sentence: len(sentence["input_ids"]))
    masks = hf.DataCollatorForLanguageModeling(tokenizer)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, weight_decay=0.01)
    end, began, step = 60 * float(cpu_minutes), time.process_time(), 0
    batches = range(0, len(sentences), 16)
    while (share := (time.process_time() - began) / end) < 1:
        start = random.choice(batches)
        batch = masks(sentences[start : start + 16])
        chosen = batch["labels"] >= 0
        hidden = model.bert(batch["input_ids"], attention_mask=batch["attention_mask"]).last_hidden_state
        loss = torch.nn.functional.cross_entropy(model.cls(hidden[chosen]), batch["labels"][chosen])
        optimizer.param_groups[0]["lr"] = 5e-4 * min(share / 0.06, 1 - share)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        step += 1
        if step % 500 == 0:
            print(f"step {step}, {share:.1%} of the time, loss {loss.item():.3f}")
    model.bert.save_pretrained(output)
    tokenizer.save_pretrained(output)


if __name__ == "__main__":
    {"split": split, "fasttext": fasttext, "masked-lm": masked_lm}[sys.argv[1]](*sys.argv[2:])

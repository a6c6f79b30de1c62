"""Shuffled shards of Korean text: lines as they are, without those that share ten successive words with a test.

`elmokit prepare` would split and tokenise the sentences again, which are one tokenised sentence per line already.

    python experiments/2026-11-22-mini-ko/shuffle.py .data/ko/lines .data
"""

import random
import sys
from pathlib import Path

from elmokit import tokenize
from elmokit.corpus.exclusion import Exclusion

TESTS = (
    *(f"ko/tasks/homonym_ko/{part}.jsonl" for part in ("train", "test")),
    *(f"ko/tasks/ner_klue/{part}.conll" for part in ("dev", "test")),
    *(f"ko/tasks/nli_klue/{part}.jsonl" for part in ("dev", "test")),
    *(f"ko/tasks/nsmc/{part}.tsv" for part in ("dev", "test")),
    *(f"ko/tasks/ud_gsd/{part}.conllu" for part in ("dev", "test")),
    *(f"external/kobest/v1.0/WiC/{part}.tsv" for part in ("train", "dev", "test")),
)
NUM_WORDS = 10
NUM_SHARDS = 5
SEED = 0


def main(output: Path, data: Path) -> None:
    exclusion = Exclusion([data / name for name in TESTS], num_words=NUM_WORDS, tokenizer=tokenize)
    lines: list[str] = []
    dropped = [0] * len(TESTS)
    for shard in sorted((data / "ko").glob("train-*.txt")):
        for line in shard.read_text(encoding="utf-8").splitlines(keepends=True):
            found = exclusion.find(line.split())
            if found is None:
                lines.append(line)
            else:
                dropped[found] += 1
    random.Random(SEED).shuffle(lines)
    output.mkdir()
    size = -(-len(lines) // NUM_SHARDS)
    for number in range(NUM_SHARDS):
        part = lines[number * size : (number + 1) * size]
        (output / f"train-{number:02d}.txt").write_text("".join(part), encoding="utf-8")
    for name, count in zip(TESTS, dropped, strict=True):
        print(f"{count:7,} lines share {NUM_WORDS} words with {name}")
    print(f"{len(lines):7,} lines, {sum(len(line.split()) for line in lines):,} tokens")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

"""ELMo helps where context decides: the sense of `bank` next to words that the training sentences do not have."""

from pathlib import Path

import pytest

from elmokit import load_task, task_recipe, train_task

FRAMES = ("We saw the bank and the {} .", "The {} was near the bank .", "There was a {} by the bank .")
LEARNT = {"RIVER": ("river", "boat", "fish"), "MONEY": ("loan", "manager", "office")}
UNSEEN = {"RIVER": ("lake", "canoe", "stream", "swimmer"), "MONEY": ("mortgage", "lawyer", "shop", "investor")}


def columns(words: dict[str, tuple[str, ...]]) -> str:
    """The format of CoNLL: one token and its tag per line. Both senses of `bank` have the same frames."""
    sentences = [(frame.format(word), f"B-{sense}") for sense in words for word in words[sense] for frame in FRAMES]
    rows = ([f"{token} {tag if token == 'bank' else 'O'}\n" for token in text.split()] for text, tag in sentences)
    return "\n".join(map("".join, rows))


@pytest.mark.learnt
@pytest.mark.slow
def test_senses_in_unseen_contexts_are_told_apart_with_elmo_only(tmp_path: Path):
    for name in ("train.conll", "dev.conll"):
        (tmp_path / name).write_text(columns(LEARNT))
    (tmp_path / "test.conll").write_text(columns(UNSEEN))
    common = "min_word_count=1 train_word_vectors=true character_dim=0 first_dim=16 second_dim=16 batch_size=18"
    common += " learning_rate=0.03 max_epochs=60 patience=60 dropout_rate=0 output_dropout_rate=0"
    gains: list[float] = []
    for seed in range(2):
        found: list[float] = []
        for elmo, word_dim in (("none", 16), ("input", 0)):
            settings = [*common.split(), f"elmo={elmo}", f"word_dim={word_dim}", f"seed={seed}"]
            config = task_recipe("named-entities", "cpu", settings)
            run_dir = train_task("named-entities", tmp_path, run_dir=tmp_path / f"{elmo}-{seed}", config=config)
            tagger = load_task(run_dir)
            learnt = tagger.evaluate(tmp_path / "train.conll")["f1"]
            assert elmo == "none" or learnt > 90  # without ELMo, some seeds need many epochs for it
            found.append(tagger.evaluate(tmp_path / "test.conll")["f1"])
        gains.append(found[1] - found[0])
    assert sum(gains) / len(gains) > 5, gains  # rounding decides some of the tags: from 17 to 58, with other seeds too

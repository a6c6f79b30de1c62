"""A resumed run reads the text that it started with, wherever that is now, or says what is wrong with it."""

import re
from pathlib import Path
from typing import Any

import pytest

from elmokit.cli.main import main
from elmokit.pretraining.run_folder import read_record
from elmokit.pretraining.train import pretrain, resume_pretraining
from toy_run import toy_config, write_text

pytestmark = pytest.mark.usefixtures("on_cpu")
TEXTS = ("the boat lay by the bank of the river\n", "she put the money in the bank\n")


def new_run(folder: Path, *, num_steps: int) -> Path:
    (folder / "text").mkdir(parents=True)
    for index, text in enumerate(TEXTS):
        (folder / "text" / f"{index}.txt").write_text(text * 20)
    _, vocabulary = write_text(folder, "".join(TEXTS))
    config = toy_config("checkpoint_every=2", f"num_steps={num_steps}")
    return pretrain(shards_in(folder / "text"), vocabulary_path=vocabulary, run_dir=folder / "run", config=config)


def shards_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.txt"))


def test_a_run_whose_text_has_moved_asks_for_it_and_gets_the_same_bits(tmp_path: Path, capsys: Any) -> None:
    whole = new_run(tmp_path / "whole", num_steps=6)
    run = new_run(tmp_path / "moved", num_steps=3).rename(tmp_path / "a run")
    (tmp_path / "moved" / "text").rename(tmp_path / "elsewhere")
    resumed = ["--resume", str(run), "--set", "num_steps=6"]
    assert main(["pretrain", *resumed]) == 2
    assert re.search(r"no shard .*text/0\.txt, which .*--resume '.*/a run' SHARD \.\.\.", capsys.readouterr().err)
    moved = shards_in(tmp_path / "elsewhere")
    assert main(["pretrain", *map(str, moved), *resumed]) == 0
    assert (run / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    assert read_record(run).shards == moved
    resume_pretraining(run, ["num_steps=8"])  # without saying where the text is, from now on


def test_a_run_reads_all_of_its_text_with_its_vocabulary_and_at_its_end_none(tmp_path: Path) -> None:
    run = new_run(tmp_path, num_steps=2)
    with pytest.raises(ValueError, match=r"the run reads 2 shards, but got 1; .*order: 0\.txt, 1\.txt"):
        resume_pretraining(run, ["num_steps=4"], shards=shards_in(tmp_path / "text")[:1])
    other = tmp_path / "text" / "1.txt"
    other.write_text(other.read_text().replace("bank", "boat"))  # of the same size
    with pytest.raises(ValueError, match=r"1\.txt has other contents than when .*run started, so .*elmokit finetune"):
        resume_pretraining(run, ["num_steps=4"])
    other.write_text(TEXTS[1] * 20)
    resume_pretraining(run, ["num_steps=4"])
    vocabulary = run / "vocabulary.txt"
    lines = vocabulary.read_text().splitlines(keepends=True)
    for changed in (sorted(lines), lines[:-1]):
        vocabulary.write_text("".join(changed))
        with pytest.raises(ValueError, match=r"vocabulary\.txt is not the vocabulary that the run began with"):
            resume_pretraining(run, ["num_steps=6"])
    vocabulary.write_text("".join(lines))
    for shard in shards_in(tmp_path / "text"):
        shard.unlink()
    assert resume_pretraining(run) == run

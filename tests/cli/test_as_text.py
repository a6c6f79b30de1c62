"""Every command that reads text refuses what looks like something else, and reads it with --as-text."""

from pathlib import Path

import pytest

from elmokit.cli.main import main
from toy_bilm import write_toy

TABLE = "id,text\n1,a b\n2,b a\n3,a a b\n"
VOCABULARY = "<S>\n</S>\n<UNK>\na\nb\n"


@pytest.mark.parametrize(
    "command",
    [
        "prepare table --held-out 0 --min-tokens 1 -o out",
        "vocabulary table -o out",
        "perplexity model table",
        "surprisal model table -o out",
        "embed table --model model -o out.npy",
        "embed table --model model -o out.tsv --types --min-count 1",
        "embed table --model model -o out.npy --split-sentences",
        "change table table --model model --min-uses 2 --resamples 9",
        "neighbours a --word a --corpus table --model model",
        "pretrain table --vocabulary vocabulary --run out --recipe tiny --set num_steps=1 batch_size=1 bptt_steps=2",
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_a_command_reads_a_table_as_text_if_told_so(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    write_toy(tmp_path / "model")
    (tmp_path / "table").write_text(TABLE)
    (tmp_path / "vocabulary").write_text(VOCABULARY)
    assert main(command.split()) == 2
    assert "table looks like a table of cells" in (said := capsys.readouterr().err) and "--as-text" in said
    assert main([*command.split(), "--as-text"]) == 0, capsys.readouterr().err

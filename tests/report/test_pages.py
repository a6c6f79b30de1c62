"""Reports of pretraining runs: what is drawn where, what the tables say, and which logs are refused."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from elmokit.cli.main import main
from elmokit.pretraining.config import PretrainingConfig
from elmokit.pretraining.recipes import recipe
from elmokit.pretraining.run_folder import RunRecord, write_record
from elmokit.pretraining.train import pretrain
from elmokit.report.pages import report_training
from elmokit.report.run_history import read_history
from elmokit.report.training_curve import perplexity_ticks, round_ticks
from elmokit.text.vocabulary import Vocabulary

SVG = "{http://www.w3.org/2000/svg}"
TRAINED = [(500_000, 1000.0), (1_000_000, 200.0), (2_000_000, 100.0)]
SETTINGS = PretrainingConfig(
    bilm=recipe("mini").bilm,
    num_steps=2500,
    batch_size=64,
    accumulate=2,
    num_negatives=4096,
    optimizer="adamw",
    learning_rate=3e-3,
    schedule="cosine",
    dropout_rate=0.25,
)
MEASURED = [(1_000_000, 300.0), (1_500_000, 250.0), (2_000_000, 260.0)]


def trained(num_tokens: int, perplexity: float) -> dict[str, object]:
    """A line of the log; forward is 0.5 nats below the mean, backward as much above."""
    loss = math.log(perplexity)
    return {
        "step": num_tokens // 1000,
        "num_tokens": num_tokens,
        "loss": loss,
        "losses": [loss - 0.5, loss + 0.5],
        "learning_rate": 0.1,
        "tokens_per_second": 1.0,
        "seconds": num_tokens / 500,
    }


def measured(num_tokens: int, mean: float) -> dict[str, object]:
    heldout = {"forward": mean - 10, "backward": mean + 10, "mean": mean}
    return {"step": num_tokens // 1000, "num_tokens": num_tokens, "seconds": 1.0, "heldout": heldout}


def make_run(folder: Path, *records: dict[str, object], config: PretrainingConfig | None = None) -> Path:
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    if config is not None:
        write_record(folder, RunRecord(config, []))
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    lines = sorted([*(trained(*one) for one in TRAINED), *(measured(*one) for one in MEASURED)], key=step_of)
    return make_run(tmp_path / "mine", *lines, config=SETTINGS)


def step_of(record: dict[str, object]) -> int:
    step = record["step"]
    assert isinstance(step, int)
    return step


def report(*runs: Path, folder: Path) -> tuple[ElementTree.Element, str]:
    """The picture and the page."""
    picture, page = report_training(runs, folder)
    return ElementTree.parse(picture).getroot(), page.read_text(encoding="utf-8")


def lines_of(picture: ElementTree.Element, kind: str) -> list[list[tuple[float, float]]]:
    found = [line for line in picture.iter(f"{SVG}polyline") if (line.get("class") or "").split()[0] == kind]
    return [[tuple(map(float, point.split(","))) for point in line.attrib["points"].split()] for line in found]  # type: ignore[misc]


def text_of(picture: ElementTree.Element) -> str:
    return "\n".join(element.text or "" for element in picture.iter(f"{SVG}text"))


def places_of_numbers(picture: ElementTree.Element, *, axis: str) -> dict[str, float]:
    anchor = {"x": "middle", "y": "end"}[axis]
    numbers = [
        each for each in picture.iter(f"{SVG}text") if each.get("text-anchor") == anchor and not each.get("class")
    ]
    return {each.text or "": float(each.attrib[axis]) for each in numbers}


def row_of(page: str, start: str, *, number: int = 0) -> list[str]:
    rows = [line for line in page.splitlines() if line.startswith(f"| {start} |")]
    return [cell.strip() for cell in rows[number].strip("|").split("|")]


def test_points_stand_where_the_axes_say(run: Path, tmp_path: Path):
    picture, _ = report(run, folder=tmp_path / "docs")
    (training,), (heldout,) = lines_of(picture, "training"), lines_of(picture, "heldout")
    across, down = places_of_numbers(picture, axis="x"), places_of_numbers(picture, axis="y")
    assert [x for x, _ in training] == pytest.approx([across["0.5"], across["1"], across["2"]], abs=0.1)
    assert [y for _, y in training] == pytest.approx([down[name] - 4 for name in ("1,000", "200", "100")], abs=0.1)
    assert len(heldout) == 3 and heldout[0][0] == training[1][0]
    share = math.log(300 / 200) / math.log(1000 / 200)
    assert heldout[0][1] == pytest.approx(training[1][1] * (1 - share) + training[0][1] * share, abs=0.1)


def test_the_picture_says_what_it_shows(run: Path, tmp_path: Path):
    picture, _ = report(run, folder=tmp_path / "docs")
    described = [picture.find(f"{SVG}{name}") for name in ("title", "desc")]
    assert picture.get("aria-labelledby") == " ".join(each.attrib["id"] for each in described if each is not None)
    assert "mine: training perplexity from 1,000.0 to 100.0" in (picture.findtext(f"{SVG}desc") or "")
    text = text_of(picture)
    for expected in (
        "millions of tokens read",
        "perplexity (log scale",
        "training 100.0, sampled softmax",
        "held-out 260",
    ):
        assert expected in text
    assert "prefers-color-scheme: dark" in (picture.findtext(f"{SVG}style") or "")


@pytest.mark.parametrize("softmax", ["sampled", "full", None])
def test_only_a_sampled_softmax_is_warned_about(softmax: str | None, tmp_path: Path):
    config = None if softmax is None else replace(SETTINGS, softmax=softmax)
    run = make_run(tmp_path / "run", *(trained(*one) for one in TRAINED), config=config)
    picture, page = report(run, folder=tmp_path / "docs")
    assert ("not comparable" in text_of(picture)) == ("not comparable" in page) == (softmax == "sampled")
    assert (f"{softmax} softmax" if softmax else "softmax unknown") in text_of(picture)


def test_the_tables_have_the_numbers_of_the_log(run: Path, tmp_path: Path):
    _, page = report(run, folder=tmp_path / "docs")
    loss = math.log(100)
    # 2 million tokens in 4,000 seconds
    progress = ["mine", "2,000 of 2,500", "2,000,000", "1.11", "500", f"{loss - 0.5:.3f}", f"{loss + 0.5:.3f}"]
    assert row_of(page, "mine") == progress
    best, last = ["1,500", "240.0", "260.0", "250.0"], ["2,000", "250.0", "270.0", "260.0"]
    assert row_of(page, "mine", number=1) == ["mine", *best, *last]
    sizes = ["mini", "128, 1024", "512", "5,363,920"]
    settings = ["sampled, 4,096", "adamw", "0.003, cosine", "64 x 20 x 2", "0.25"]
    assert row_of(page, "mine", number=2) == ["mine", *sizes, *settings]
    assert f"`elmokit report {run} -o {tmp_path / 'docs'}`" in page.split("\n\n")[1]
    assert "(training-curve.svg)" in page


def test_a_log_by_itself_has_no_settings(run: Path, tmp_path: Path):
    (run / "config.json").unlink()
    _, page = report(run / "metrics.jsonl", folder=tmp_path / "docs")
    assert row_of(page, "mine")[:2] == ["mine", "2,000"]
    assert "learning rate" not in page


def test_a_forward_model_has_one_direction(tmp_path: Path):
    one = {"losses": [5.0]}
    heldout = {"heldout": {"forward": 200.0, "backward": None, "mean": 200.0}}
    run = make_run(
        tmp_path / "single", trained(1000, 9.0) | one, trained(2000, 9.0) | one, measured(2000, 200.0) | heldout
    )
    _, page = report(run, folder=tmp_path / "docs")
    assert row_of(page, "single")[-2:] == ["5.000", "–"]
    assert row_of(page, "single", number=1)[1:5] == ["2", "200.0", "–", "200.0"]


def test_long_lines_are_thinned_out_evenly_and_keep_their_ends(tmp_path: Path):
    lines = [trained(10_000 * number, 1000 - number / 10) for number in range(1, 2001)]
    evaluations = [measured(20_000_000, 300.0)] * 400
    runs = [make_run(tmp_path / name, *lines, *evaluations) for name in "abcd"]
    picture, _ = report(*runs, folder=tmp_path / "docs")
    for points in lines_of(picture, "training"):
        gaps = [after[0] - before[0] for before, after in itertools.pairwise(points)]
        assert len(points) == 300
        assert max(gaps) - min(gaps) < 0.5
        across = places_of_numbers(picture, axis="x")
        assert (points[0][0], points[-1][0]) == pytest.approx((across["20"] / 2000, across["20"]), abs=0.1)
    assert [len(points) for points in lines_of(picture, "heldout")] == [300] * 4
    assert (tmp_path / "docs" / "training-curve.svg").stat().st_size < 60_000


def test_runs_of_one_name_are_told_apart_by_their_paths(run: Path, tmp_path: Path):
    other = make_run(tmp_path / "old" / "mine", *(trained(*one) for one in TRAINED))
    picture, page = report(run, other, folder=tmp_path / "docs")
    assert len(lines_of(picture, "training")) == 2 and len(lines_of(picture, "heldout")) == 1
    assert row_of(page, str(run).replace("_", "\\_")) != row_of(page, str(other).replace("_", "\\_"))


def test_names_with_signs_spoil_neither_picture_nor_table(tmp_path: Path):
    run = make_run(tmp_path / "a|b <&>", *(trained(*one) for one in TRAINED))
    picture, page = report(run, folder=tmp_path / "docs")
    assert "a|b <&>" in text_of(picture)
    assert "| a\\|b \\<&\\> | 2,000 |" in page


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (75, 1020, [50, 100, 200, 500, 1000, 2000]),
        (101, 104, [100, 105]),
        (100, 290, [100, 150, 200, 250, 300]),
        (3, 5e9, [1, 1e2, 1e4, 1e6, 1e8, 1e10]),
    ],
)
def test_perplexities_are_numbered_roundly_around_what_is_drawn(low: float, high: float, expected: list[float]):
    assert perplexity_ticks(low, high) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("most", "expected"),
    [(25.6, [0, 5, 10, 15, 20, 25]), (8, list(range(9))), (0.3, [0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3])],
)
def test_tokens_are_numbered_roundly(most: float, expected: list[float]):
    assert round_ticks(most) == pytest.approx(expected)


def test_a_line_that_is_still_being_written_is_left_out_with_a_warning(run: Path):
    whole = read_history(run)
    path = run / "metrics.jsonl"
    text = path.read_text()
    path.write_text(text + '{"step": 2100, "num_to')
    with pytest.warns(UserWarning, match=r"metrics\.jsonl, line 7 is not whole"):
        assert read_history(run) == whole
    path.write_text(text.rstrip("\n"))
    assert read_history(run) == whole


LINE = json.dumps(trained(500_000, 9.0))


@pytest.mark.parametrize(
    ("log", "message"),
    [
        ("", "run has logged 0 training lines, and a curve needs 2"),
        (f"{LINE}\n", "run has logged 1 training lines"),
        (f"{LINE}\n{{]\n{LINE}\n", "metrics.jsonl, line 2: not JSON"),
        (f"{LINE}\n\n{LINE}\n", "metrics.jsonl, line 2: not JSON"),
        (f"{LINE}\n{{]\n", "metrics.jsonl, line 2: not JSON"),
        (f"{LINE}\n7\n", "metrics.jsonl, line 2: expected a JSON object"),
        (f'{LINE}\n{{"step": 1}}\n', "line 2: step 1 comes after step 500"),
        (f'{LINE}\n{{"step": 600}}\n', "line 2: neither losses nor heldout"),
        (LINE.replace('"num_tokens": 500000', '"num_tokens": null'), "line 1: num_tokens is null; expected a number"),
        ('{"step": 1, "losses": 3}', "line 1: losses are 3; expected a list"),
        (LINE.replace('"seconds": 1000.0', '"seconds": NaN'), "line 1: seconds is NaN"),
        (LINE.replace('"seconds": 1000.0', '"seconds": Infinity'), "line 1: seconds is Infinity"),
        (
            '{"step": 1, "num_tokens": 9, "heldout": {"forward": 9, "mean": 0}}',
            "line 1: mean is 0; expected a number that",
        ),
    ],
)
def test_a_bad_log_is_refused_and_nothing_is_written(
    log: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    run = make_run(tmp_path / "run")
    (run / "metrics.jsonl").write_text(log)
    assert main(["report", str(run), "-o", str(tmp_path / "docs")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "docs").exists()


def test_what_is_no_run_is_refused(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "empty").mkdir()
    (run / "config.json").write_text(
        '{"format": "elmokit", "version": 1, "pretraining": {"shards": [], "unheard": 1}, "bilm": {}}'
    )
    for path, message in (
        (tmp_path / "nothing", "no run "),
        (tmp_path / "empty", "has no metrics.jsonl; a run writes it"),
        (run, "config.json cannot be read: unknown field 'unheard'"),
    ):
        assert main(["report", str(path), "-o", str(tmp_path / "docs")]) == 2
        assert message in capsys.readouterr().err


def test_the_verb_names_what_it_wrote(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["report", str(run), "-o", str(tmp_path)]) == 0
    assert capsys.readouterr().out.split() == [str(tmp_path / "training-curve.svg"), str(tmp_path / "training.md")]


def test_reads_what_pretraining_writes(tmp_path: Path):
    text, vocabulary = tmp_path / "text.txt", tmp_path / "vocabulary.txt"
    text.write_text("the boat lay by the bank\nthe bank lay by the river\n")
    Vocabulary(["<S>", "</S>", "<UNK>", "the", "boat", "lay", "by", "bank", "river"]).write(vocabulary)
    config = replace(recipe("tiny"), num_steps=2, log_every=1, evaluate_every=1, precision="float32")
    run = pretrain([text], vocabulary_path=vocabulary, run_dir=tmp_path / "run", config=config, held_out=[text])
    history = read_history(run)
    assert [line.step for line in history.training] == [1, 2]
    assert [measured.step for measured in history.evaluations] == [1, 2]
    assert [len(line.losses) for line in history.training] == [2, 2]
    assert history.config == config
    report(run, folder=tmp_path / "docs")


def test_needs_no_torch():
    code = "import sys, elmokit.report.pages; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0

"""A user's own runs of tasks: what is in one table, and what ELMo brings there."""

from pathlib import Path

import pytest

from elmokit.report.pages import write_report
from paper.plan import ELMO, NO_ELMO, Arm
from toy_planned_runs import write_arm

NER = "named-entities"


def page_of(folder: Path) -> str:
    (page,), _ = write_report([folder / "runs"], folder / "page")
    return page.read_text(encoding="utf-8")


def test_the_gain_is_over_the_runs_without_elmo_seed_by_seed(tmp_path: Path):
    mixes = {"input": {"gamma": 2.0, "shares": [0.2, 0.4, 0.4]}}
    write_arm(tmp_path / "runs", NER, NO_ELMO, (81, 83, 85), test=(80, 82, 84))
    write_arm(tmp_path / "runs", NER, ELMO, (86, 86, 89), test=(85, 85, 88), mixes=mixes)
    page = page_of(tmp_path)
    assert page.count("## ") == 1 and "## named-entities, conll2003, 200 training examples" in page
    assert "| no ELMo | 0, 1, 2 | 83.00 ± 2.00 | – | 82.00 ± 2.00 | – |" in page
    elmo = "| mini-en (01234567) at input | 0, 1, 2 | 87.00 ± 1.73 | +4.00 \\[1.52, 6.48\\] | 86.00 ± 1.73 | +4.00"
    assert elmo in page  # gains of 5, 3 and 4: 4 ± 4.303 * 1 / sqrt(3)
    assert "-01234567-1 | input | 0.20 0.40 0.40 | 2.00 |" in page


def test_runs_of_other_data_or_settings_have_a_table_of_their_own(tmp_path: Path):
    write_arm(tmp_path / "runs", NER, NO_ELMO, (80,))
    write_arm(tmp_path / "runs", NER, ELMO, (85,), num_train=100)
    write_arm(tmp_path / "runs", NER, Arm("", ("max_epochs=99",)), (86,))
    (other,) = write_arm(tmp_path / "runs" / "other", NER, ELMO, (87,))
    config = other / "config.json"
    config.write_text(config.read_text().replace('"/data/conll2003/train"', '"/new/conll2003/train"'))
    (own_words,) = write_arm(tmp_path / "runs" / "words", NER, ELMO, (88,))
    changed = (own_words / "config.json").read_text().replace('"word_vectors": "', '"word_vectors": "/other/')
    (own_words / "config.json").write_text(changed)
    (page,), _ = write_report([tmp_path / "runs", other, own_words], tmp_path / "page")
    page = page.read_text(encoding="utf-8")
    assert page.count("## named-entities") == 5 and "+" not in page
    assert page.count("`data/conll2003/train`, `data/conll2003/dev` (200 training and 50 development examples).") == 3
    assert page.count("Files: `new/conll2003/train`, `data/conll2003/dev` (200 ") == 1


def test_of_two_runs_with_the_same_seed_the_first_counts_and_a_warning_names_both(tmp_path: Path):
    (first,) = write_arm(tmp_path / "a", NER, NO_ELMO, (80,))
    (second,) = write_arm(tmp_path / "b", NER, NO_ELMO, (90,))
    with pytest.warns(UserWarning, match=f"{first} and {second} are runs of the same data, settings and seed; the fi"):
        (page,), _ = write_report([first, second, first], tmp_path / "page")
    assert "| no ELMo | 0 | 80.00 | – |" in page.read_text(encoding="utf-8")


def test_settings_that_the_recipe_does_not_have_tell_arms_apart(tmp_path: Path):
    write_arm(tmp_path / "runs", NER, ELMO, (85,))
    write_arm(tmp_path / "runs", NER, Arm("", ("elmo.layers=top",)), (86,), best_epoch=3)
    page = page_of(tmp_path)
    assert "| mini-en (01234567) at input | 0 |" in page
    assert "| mini-en (01234567) at input, layers top (still improving) | 0 |" in page


def test_a_run_that_has_not_ended_has_its_best_score_so_far(tmp_path: Path):
    (run,) = write_arm(tmp_path / "runs", NER, NO_ELMO, (50,), epochs=((9, 80.5),))
    (run / "metrics.jsonl").write_text((run / "metrics.jsonl").read_text().splitlines()[0] + "\n")
    assert f"| not finished | best f1 so far |\n|---|---:|\n| {run.name} | 80.5 |" in page_of(tmp_path)

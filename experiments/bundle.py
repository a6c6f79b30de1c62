"""Make a bundled model from a run: float16 weights, an int8 softmax, perplexities of held-out text, sense rates, card.

PYTHONPATH=. python experiments/bundle.py mini-ko RUN HELDOUT RESULTS_FOLDER [--earlier RUN ...] [--homonyms FOLDER]

This measures the bundled weights, not the run's own weights, and writes `results.json` and `runs.jsonl` (settings
and log of the run, and of earlier runs that it continues) into the results folder. HELDOUT contains
`heldout_DOMAIN.txt.xz`; the homonyms (train.jsonl, test.jsonl) are for Korean.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

import torch

import elmokit
from elmokit import Elmo
from elmokit.analysis.polysemes import LISTS, Occurrence, language_of, read_polysemes, senses_of, words_of
from elmokit.analysis.polysemy import measure_senses
from elmokit.files.json import json_lines, picked
from elmokit.files.lines import read_lines
from elmokit.formats.find import convert
from elmokit.runs.log import LoggedRun, read_runs
from elmokit.scoring.perplexity import Perplexity, each_text_once, join_texts, text_losses
from elmokit.system.markdown import markdown_table

BUNDLED = Path(elmokit.__file__).parent / "bundled"
MAX_FILE_BYTES = 21_000_000
TEXTS = Path(__file__).with_name("cards")


@dataclass(frozen=True)
class Language:
    """The 5-gram baseline of a language, from benchmarks/results/ngrams.md."""

    five_gram: dict[str, tuple[float, float]]
    """Forward and backward perplexity by domain, `all` first."""
    five_gram_tokens: str


LANGUAGES = {
    "small-en": Language(
        {
            "all": (163.4, 163.6),
            "encyclopedia": (191.8, 192.0),
            "fiction": (154.8, 155.1),
            "news": (154.3, 154.5),
            "speech": (88.8, 89.0),
            "textbook": (149.3, 149.2),
        },
        "38.7",
    ),
    "mini-ko": Language(
        {
            "all": (372.7, 371.7),
            "wiki": (352.9, 351.6),
            "nsmc": (414.2, 414.4),
            "petitions": (465.3, 463.7),
            "bible": (524.7, 527.0),
        },
        "21.0",
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", choices=LANGUAGES)
    parser.add_argument("run", type=Path)
    parser.add_argument("heldout", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--homonyms", type=Path)
    parser.add_argument("--hardware", help="what the run was made on, if it is not this machine")
    parser.add_argument("--earlier", nargs="+", type=Path, default=[], metavar="RUN")
    arguments = parser.parse_args()
    target = BUNDLED / arguments.name
    _replace_model(arguments.run, target)

    log_lines = (arguments.run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    log = [entry for entry in map(json.loads, log_lines) if "loss" in entry]
    results = {
        "steps": log[-1]["step"],
        "tokens": log[-1]["num_tokens"],
        "optimisation_minutes": round(log[-1]["seconds"] / 60, 1),
        "tokens_per_second": round(log[-1]["num_tokens"] / log[-1]["seconds"]),
        "hardware": arguments.hardware or f"{torch.get_num_threads()} cores of {_processor()}, no GPU",
        "torch": torch.__version__,
        "perplexity": _perplexities(target, arguments.heldout, list(LANGUAGES[arguments.name].five_gram)[1:]),
        "polysemes": _polysemes(target),
    }
    command = " ".join(["python", *sys.argv]).replace(f"{Path(__file__).parents[1]}/", "")
    if arguments.homonyms:
        results |= _homonyms(target, arguments.homonyms)
    arguments.results.mkdir(exist_ok=True)
    text = json.dumps({"command": command, **results}, indent=2, ensure_ascii=False)
    (arguments.results / "results.json").write_text(text + "\n", encoding="utf-8")
    (run,) = read_runs([arguments.run])
    config = json.loads((target / "config.json").read_text(encoding="utf-8"))  # without local paths
    runs = [*read_runs(arguments.earlier), replace(run, name=arguments.run.name, config=config)]
    _write_runs(runs, arguments.results / "runs.jsonl")
    card = _card(arguments.name, results, target, arguments.results.name)
    (target / "README.md").write_text(card, encoding="utf-8")
    print(text)


def _write_runs(runs: Sequence[LoggedRun], path: Path) -> None:
    """Write a runs.jsonl, sorted by name, that `read_runs` reads back. Raises ValueError if two runs share a name."""
    by_name = {run.name: run for run in runs}
    if len(by_name) < len(runs):
        raise ValueError(f"the runs are named {', '.join(run.name for run in runs)}; expected one run per name")
    with path.open("w", encoding="utf-8") as file:
        for name, run in sorted(by_name.items()):
            line = {"name": name, "config": run.config, "metrics": [record.values for record in run.records]}
            file.write(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")


def _replace_model(run: Path, target: Path) -> None:
    """Convert the run next to the existing model, and delete that model only when the new one is complete."""
    new = target.with_name(f"{target.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    convert(run, new, to="native", dtype="float16", softmax_dtype="int8", max_file_bytes=MAX_FILE_BYTES)
    _forget_local_paths(new / "config.json")
    if target.exists():
        shutil.rmtree(target)
    new.rename(target)


def _perplexities(model: Path, heldout: Path, domains: list[str]) -> dict[str, dict[str, Any]]:
    scored = Elmo.from_pretrained(str(model)).surprisal_model()
    texts = [each_text_once([heldout / f"heldout_{domain}.txt.xz"]) for domain in domains]
    losses = [text_losses(scored, text) for text in texts]
    named = zip(["all", *domains], [reduce(join_texts, losses), *losses], strict=True)
    return {name: _row(text.perplexity()) for name, text in named}


def _row(result: Perplexity) -> dict[str, Any]:
    record = asdict(result)
    return {key: record[key] for key in ("forward", "backward", "num_sentences", "num_predictions", "num_unknown")}


def _polysemes(model: Path) -> dict[str, dict[str, str]]:
    """Rates of nearest neighbours over the fixed list of polysemes, as the demo shows them."""
    elmo = Elmo.from_pretrained(model)
    uses = read_polysemes(LISTS[language_of(elmo.vocabulary)])
    of_each = [use.contrast for use in uses]
    contrasts = {name: [at for at, other in enumerate(of_each) if other == name] for name in dict.fromkeys(of_each)}
    return {
        vectors.name: {
            "all": str(vectors.nearest_rate()),
            **{contrast: str(vectors.nearest_rate(members)) for contrast, members in contrasts.items()},
        }
        for vectors in measure_senses(elmo.encode([use.tokens for use in uses], layers="all"), uses)
    }


def _homonyms(model: Path, folder: Path) -> dict[str, Any]:
    train, test = (read_homonyms(folder / f"{half}.jsonl") for half in ("train", "test"))
    elmo = Elmo.from_pretrained(model)

    def record(train: list[Occurrence], test: list[Occurrence]) -> dict[str, dict[str, float]]:
        """Hits and total of each rate, by name, for `results.json`."""
        occurrences = [*train, *test]
        encoded = elmo.encode([each.tokens for each in occurrences], layers="all")
        measured = measure_senses(encoded, occurrences, num_known=len(train))
        rates = {vectors.name: vectors.nearest_rate() for vectors in measured}
        return {
            name: {"hits": round(rate.correct, 3), "total": rate.total, "guessed": rate.guessed}
            for name, rate in rates.items()
        }

    return {"homonym_ko": record(train, test), "homonym_ko_same_form": record(*of_one_form(train, test))}


def _forget_local_paths(config: Path) -> None:
    record = json.loads(config.read_text(encoding="utf-8"))
    settings = record["pretraining"]
    settings["shards"] = [Path(shard).name for shard in settings["shards"]]
    if "started_from" in settings:
        settings["started_from"] = Path(settings["started_from"]).name
    config.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    flags = next((line.split() for line in lines if line.startswith("flags")), [])
    known = {"avx2": "AVX2", "avx512f": "AVX-512", "avx512_bf16": "bfloat16"}
    kinds = [kind for flag, kind in known.items() if flag in flags]
    return f"{names[0] if names else platform.processor()} ({', '.join(kinds)})"


def _card(name: str, results: dict[str, Any], model: Path, results_folder: str) -> str:
    """The model card: the text of `cards/NAME.md` with numbers from `results` and the run's config."""
    settings = json.loads((model / "config.json").read_text(encoding="utf-8"))["pretraining"]
    words = {
        "millions": f"{results['tokens'] / 1e6:.1f}",
        "minutes": f"{results['optimisation_minutes']:.0f}",
        "steps": f"{results['steps']:,}",
        "speed": f"{results['tokens_per_second']:,}",
        "hardware": results["hardware"],
        "shards": ", ".join(settings["shards"]),
        "batch": f"{settings['batch_size']} streams x {settings['bptt_steps']} tokens",
        "negatives": f"{settings['num_negatives']:,}",
        "optimizer": settings["optimizer"],
        "rate": str(settings["learning_rate"]),
        "warmup": str(settings["warmup_steps"]),
        "schedule": settings["schedule"],
        "decay": f"{settings['decay_steps'] or round(settings['decay_share'] * settings['num_steps']):,}",
        "precision": settings["precision"],
        "weight_decay": str(settings["weight_decay"]),
        "dropout": str(settings["dropout_rate"]),
        "results": f"experiments/{results_folder}/",
        "perplexities": _perplexity_table(name, results["perplexity"]),
        "senses": _sense_table(results),
    }
    text = (TEXTS / f"{name}.md").read_text(encoding="utf-8")
    for key, value in words.items():
        text = text.replace(f"@{key}@", value)
    assert "@" not in text, text[text.index("@") :][:40]
    return text


def _perplexity_table(name: str, measured: dict[str, dict[str, Any]]) -> str:
    language = LANGUAGES[name]
    rows: list[list[str]] = []
    for domain, five_gram in language.five_gram.items():
        part = measured[domain]
        sides = part["forward"], part["backward"]
        rows.append(
            [
                domain,
                f"{part['num_predictions']:,}",
                f"{part['num_unknown'] / part['num_predictions']:.1%}",
                *(f"{side['perplexity']:.1f}" for side in sides),
                *map(str, five_gram),
                *(f"{side['perplexity_without_unknown']:.1f}" for side in sides),
            ]
        )
    header = ("held-out text", "predictions", "`<UNK>`", "forward", "backward", "5-gram fwd", "5-gram bwd")
    table = markdown_table((*header, "fwd without UNK", "bwd without UNK"), rows)
    about = f"Compared with an interpolated Kneser-Ney 5-gram of all {language.five_gram_tokens} million tokens:"
    return f"{about}\n\n{table}"


def _sense_table(results: dict[str, Any]) -> str:
    columns = {"our list": {name: rates["all"] for name, rates in results["polysemes"].items()}}
    for key in ("homonym_ko", "homonym_ko_same_form"):
        if key in results:
            columns[key] = {
                name: f"{rate['hits']:g} of {rate['total']} = {rate['hits'] / rate['total']:.1%}"
                for name, rate in results[key].items()
            }
    names = list(dict.fromkeys(name for column in columns.values() for name in column))
    rows = [[name, *(column.get(name, "") for column in columns.values())] for name in names]
    return markdown_table(("", *columns), rows, num_names=1 + len(columns))


@dataclass(frozen=True)
class _Homonym:
    """A line of a file of homonyms."""

    word: str
    sense: str
    index: int
    tokens: tuple[str, ...]


def read_homonyms(path: Path) -> list[Occurrence]:
    """The occurrences in a file of JSON lines: word (the noun without its particle), sense, index, tokens.

    The token at `index` is the noun with its particle, so the forms of a word differ, and a static vector can tell
    some senses apart. Raises ValueError, naming the line, if a field is missing.
    """
    lines = list(read_lines(path))  # all of them, so that the file is closed if a line is refused
    found = [picked(values, _Homonym, where=where) for where, values in json_lines(lines, name=str(path))]
    return [Occurrence(each.word, "noun/noun", each.sense, each.index, each.tokens) for each in found]


def of_one_form(train: Sequence[Occurrence], test: Sequence[Occurrence]) -> tuple[list[Occurrence], list[Occurrence]]:
    """Both halves with `word` set to the form with its particle, so that particles give nothing away.

    A test occurrence is kept only if the train half has its form in the same sense and in another sense.
    """
    known, asked = ([replace(each, word=each.tokens[each.index]) for each in half] for half in (train, test))
    senses = {form: set(senses_of(form, known)) for form in words_of(asked)}
    return known, [each for each in asked if each.sense in senses[each.word] and len(senses[each.word]) > 1]


if __name__ == "__main__":
    main()

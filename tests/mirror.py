"""Which test runs a file of src/elmokit: tests/ mirrors it, and tests/doors mirrors its integrations.

What needs large packages is tested in tests/doors, by `make test-doors`; everything else by `make test`.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

TESTS = Path(__file__).parent
DOORS = "doors/"

TESTED_THROUGH = {
    "analysis/polysemes.py": ("analysis/test_polysemy.py", "the list of words is read to be measured"),
    "analysis/sense_study.py": ("web/test_demo.py", "the demo shows a whole study"),
    "analysis/geometry.py": ("analysis/test_neighbours.py", "neighbours are what its cosines are for"),
    "cli/*.py": ("cli/test_main.py", "a verb is tested as it is called"),
    "comparators/run_folder.py": ("comparators/test_context2vec.py", "a folder is read when its system is opened"),
    "corpus/external_sort.py": ("corpus/test_vocabulary_counts.py", "counts must not depend on the memory"),
    "corpus/manifest.py": ("corpus/test_prepare.py", "every sentence is accounted for"),
    "corpus/raw_text.py": ("corpus/test_prepare.py", "raw text is what a corpus is made of"),
    "integrations/allennlp_*.py": ("integrations/test_allennlp.py", "the parts of one class"),
    "layers/highway.py": ("layers/test_char_encoder.py", "computed by hand as part of the encoder"),
    "layers/meta_device.py": ("model/formats/test_read.py", "models are built without memory when they are read"),
    "layers/packed/lookup_encoder.py": ("layers/test_lookup_encoder.py", "equal to the module"),
    "layers/packed/lstm.py": ("model/test_packed_bilm.py", "equal to the module for any configuration"),
    "model/bundled.py": ("model/test_elmo.py", "a bundled model is opened by its name"),
    "model/config.py": ("model/test_bilm.py", "a configuration is tested by the model that it makes"),
    "model/encoded_sentence.py": ("model/test_elmo.py", "Elmo encodes sentences"),
    "model/formats/*.py": ("model/formats/test_round_trips.py", "formats are tested on files, not file by file"),
    "model/formats/containers/*.py": (
        "model/formats/test_hdf5_refusals.py",
        "containers are what damaged files damage",
    ),
    "model/frozen_layers.py": ("model/test_embedding.py", "an embedding holds frozen layers"),
    "model/layer_choice.py": ("model/test_elmo.py", "the options of encode"),
    "model/loaded.py": ("model/test_elmo.py", "Elmo loads and packs its biLM"),
    "model/token_cache.py": ("model/test_elmo.py", "what was remembered changes no vector"),
    "pretraining/*.py": ("pretraining/test_train.py", "parts of a run are tested by runs that stop and resume"),
    "report/figures.py": ("report/test_results_report.py", "figures are drawn for the page"),
    "report/pictures.py": ("report/test_results_report.py", "pictures are made for the page"),
    "report/results_page.py": ("report/test_results_report.py", "the page is written with its files"),
    "report/run_history.py": ("report/test_pages.py", "a history is read for its page"),
    "report/training_page.py": ("report/test_pages.py", "the page is one of those"),
    "reproduce/*.py": ("reproduce/test_table1.py", "what every table is made with"),
    "runs/settings.py": ("pretraining/test_train.py", "settings change the config of a run"),
    "tasks/*/prediction.py": ("tasks/named_entities/test_task.py", "what a task's `result` makes"),
    "tasks/*/config.py": ("tasks/test_train.py", "data; its checks are those of the recipes"),
    "tasks/*/recipes.py": ("tasks/test_train.py", "data, with its sources"),
    "tasks/*.py": ("tasks/test_train.py", "parts of a run are tested by runs of a toy task"),
    "text/character_numbers.py": ("text/test_characters.py", "the ids of characters are within them"),
    "text/fasta.py": ("vectors/test_proteins.py", "proteins are read to be embedded"),
    "vectors/*.py": ("vectors/test_embed_file.py", "each layout is written and read with every choice of layers"),
    "web/explore/*.py": ("web/test_explore.py", "the parts of one site"),
    "web/demo/*.py": ("web/test_demo.py", "the parts of one page"),
}
"""Pattern of files without a test of their own -> the test that runs them, and why."""


def own_tests(file: str) -> list[str]:
    """The tests of the file's own name."""
    path = PurePosixPath(file)
    own = path.with_name(f"test_{path.name}").as_posix()
    places = (own, own.replace("integrations/", DOORS, 1))
    return [test for test in dict.fromkeys(places) if (TESTS / test).exists()]


def runners(file: str) -> list[str]:
    """The tests that run the file: its own, or those that stand in TESTED_THROUGH."""
    through = (test for pattern, (test, _) in TESTED_THROUGH.items() if PurePosixPath(file).match(pattern))
    return own_tests(file) or list(through)


def integration_of(example: Path) -> str:
    """The file of src that a script in examples/integrations is about.

    A script `spacy.py` would be imported in place of spaCy, so that one is `with_spacy.py`.
    """
    return f"integrations/{example.stem.removeprefix('with_')}.py"


def is_behind_doors(file: str) -> bool:
    """Whether only `make test-doors` runs the file."""
    tests = runners(file)
    return bool(tests) and all(test.startswith(DOORS) for test in tests)

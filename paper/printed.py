"""Every number that Peters et al. (2018, NAACL; arXiv 1802.05365v2) print in tables 1 to 13 and about figures 1 and 2.

The submission of 2017 has different numbers in tables 1, 2, 3 and 6; these are the numbers of the final version.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Printed:
    """A cell as the paper prints it: `92.22 ± 0.10`, or a text."""

    text: str
    is_checked: bool = True
    """False if the number was written down from memory and has not been checked against the paper."""

    @property
    def value(self) -> float:
        """The number, without its deviation. Raises ValueError for a text."""
        return float(self.text.partition(" ± ")[0])

    @property
    def deviation(self) -> float | None:
        """The standard deviation; None if none is printed."""
        deviation = self.text.partition(" ± ")[2]
        return float(deviation) if deviation else None


Cells = tuple[Printed | None, ...]
"""A row without its name; None for an empty cell."""


@dataclass(frozen=True)
class PaperTable:
    """A table, a figure, or numbers in the running text, as printed."""

    name: str
    """Name in the paper: `Table 1`."""
    section: str
    """Number of the section."""
    about: str
    """What is measured, on which data, in which unit."""
    columns: tuple[str, ...] = ()
    """Headings of the columns, without that of the rows' names."""
    rows: Mapping[str, tuple[Printed | None, ...]] = field(
        default_factory=lambda: dict[str, tuple[Printed | None, ...]]()
    )
    """Cells of each row by the row's name, in the paper's order."""
    statements: tuple[str, ...] = ()
    """What its authors say about it besides the cells."""
    notes: tuple[str, ...] = ()
    """What a reader of the cells, theirs and ours, has to know."""
    source: str = "Peters et al. (2018)"
    """Who has measured it."""
    topic: str = ""
    """What it shows, in a few words, for headings; empty where the name says it."""

    def __post_init__(self) -> None:
        for name, cells in self.rows.items():
            if len(cells) != len(self.columns):
                raise ValueError(f"{self.name}, {name}: {len(cells)} cells in {len(self.columns)} columns")

    @property
    def heading(self) -> str:
        """Its name and its topic: `Table 2: how the layers are weighted`."""
        return f"{self.name}: {self.topic}" if self.topic else self.name

    def cell(self, row: str, column: str) -> Printed:
        """The cell in a row and a column. Raises ValueError if there is no such row or column, or the cell is empty."""
        if row not in self.rows or column not in self.columns:
            raise ValueError(
                f"{self.name} has no cell ({row}, {column}); its rows are {', '.join(self.rows)}, its columns "
                f"{', '.join(self.columns)}"
            )
        cell = self.rows[row][self.columns.index(column)]
        if cell is None:
            raise ValueError(f"{self.name} prints nothing at ({row}, {column})")
        return cell


def _printed(*cells: str | None) -> Cells:
    return tuple(None if cell is None else Printed(cell) for cell in cells)


def _remembered(*cells: str | None) -> Cells:
    return tuple(None if cell is None else Printed(cell, is_checked=False) for cell in cells)


TABLE_1 = PaperTable(
    name="Table 1",
    section="4",
    topic="test scores of the six tasks",
    about="Test sets: F1 in percent of SQuAD, SRL, NER; accuracy of SNLI, SST-5; mean F1 of MUC, B3, CEAF-e of Coref.",
    columns=("previous best", "its score", "baseline", "+ ELMo", "gain", "relative"),
    rows={
        "SQuAD": _printed("Liu et al. (2017)", "84.4", "81.1", "85.8", "4.7", "24.9"),
        "SNLI": _printed("Chen et al. (2017)", "88.6", "88.0", "88.7 ± 0.17", "0.7", "5.8"),
        "SRL": _printed("He et al. (2017)", "81.7", "81.4", "84.6", "3.2", "17.2"),
        "Coref": _printed("Lee et al. (2017)", "67.2", "67.2", "70.4", "3.2", "9.8"),
        "NER": _printed("Peters et al. (2017)", "91.93 ± 0.19", "90.15", "92.22 ± 0.10", "2.06", "21"),
        "SST-5": _printed("McCann et al. (2017)", "53.7", "51.4", "54.7 ± 0.5", "3.3", "6.8"),
    },
    statements=(
        "SNLI, NER and SST-5 are means over five seeds, with their standard deviations; the others are single models.",
        "SRL is 1.2 F1 above the best ensemble of five models before it, Coref 1.6 above the best ensemble.",
        "CoVe's gain over a SQuAD baseline was 1.8 F1.",
    ),
    notes=("Relative is the gain in percent of the baseline's error.",),
)

ENSEMBLES = PaperTable(
    name="Ensembles",
    section="4",
    about="Ensembles of the models with ELMo on the test sets: F1 of SQuAD, accuracy of SNLI, in percent.",
    columns=("models", "exact match", "score"),
    rows={"SQuAD": _printed("11", "81.0", "87.4"), "SNLI": _printed("5", None, "89.3")},
)

TABLE_2 = PaperTable(
    name="Table 2",
    section="5.1",
    topic="how the layers are weighted",
    about="Development sets: F1 of SQuAD and SRL, accuracy of SNLI, in percent.",
    columns=("baseline", "last layer only", "all layers, lambda=1", "all layers, lambda=0.001"),
    rows={
        "SQuAD": _printed("80.8", "84.7", "85.0", "85.2"),
        "SNLI": _printed("88.1", "89.1", "89.3", "89.5"),
        "SRL": _printed("81.6", "84.1", "84.6", "84.8"),
    },
    statements=("NER, whose training set is small, gives much the same with any lambda.",),
)

TABLE_2_COVE = PaperTable(
    name="Table 2, CoVe",
    section="5.1",
    about="The same comparison with CoVe in place of ELMo, development sets, in percent.",
    columns=("last layer only", "all layers, lambda=1"),
    rows={"SNLI": _printed("88.2", "88.7"), "SRL": _printed(None, "82.2")},
    statements=("SRL gains 0.1 F1 from the average of the layers.",),
)

TABLE_3 = PaperTable(
    name="Table 3",
    section="5.2",
    topic="where ELMo goes",
    about="Development sets: F1 of SQuAD and SRL, accuracy of SNLI, in percent.",
    columns=("input only", "input and output", "output only"),
    rows={
        "SQuAD": _printed("85.1", "85.6", "84.8"),
        "SNLI": _printed("88.9", "89.5", "88.7"),
        "SRL": _printed("84.7", "84.3", "80.9"),
    },
    statements=("Coref is best with ELMo at the input only, as SRL is; at both it loses about 0.7 F1 (from memory).",),
)

TABLE_4 = PaperTable(
    name="Table 4",
    section="5.3",
    topic="nearest neighbours of a word",
    about='Nearest neighbours of "play": ten words of GloVe; for the biLM, the nearest occurrence in SemCor.',
    columns=("source", "nearest neighbours"),
    rows={
        "GloVe": _printed("play", "playing, game, games, played, players, plays, player, Play, football, multiplayer"),
        "biLM, 1": _printed("a play in a baseball game", "all-round play of a baseball player"),
        "biLM, 2": _printed("a Broadway play that an actress signed for", "a successful play that actors had roles in"),
    },
    notes=("The paper's rows of the biLM are described here, not quoted.",),
)

OTHER_ROWS = (
    "The tables below have all layers, mixes of layers and other systems. CoVe has no token layer: its layers 0 and 1 "
    "are the first and the second LSTM layer. docs/comparators.md says what the other systems are, and on how much "
    "text they were trained."
)

TABLE_5 = PaperTable(
    name="Table 5",
    section="5.3",
    topic="word senses",
    about="Fine-grained word sense disambiguation, all words: F1 in percent over Senseval-2, Senseval-3, SemEval-2013 "
    "and SemEval-2015.",
    columns=("F1",),
    rows={
        "WordNet 1st sense": _printed("65.9"),
        "Raganato et al. (2017a)": _printed("69.9"),
        "Iacobacci et al. (2016)": _printed("70.1"),
        "CoVe, first layer": _printed("59.4"),
        "CoVe, second layer": _printed("64.7"),
        "biLM, first layer": _printed("67.4"),
        "biLM, second layer": _printed("69.0"),
    },
    notes=(OTHER_ROWS,),
)

TABLE_6 = PaperTable(
    name="Table 6",
    section="5.3",
    topic="parts of speech",
    about="Part-of-speech tagging, test set of the Penn Treebank's WSJ: accuracy in percent.",
    columns=("accuracy",),
    rows={
        "Collobert et al. (2011)": _printed("97.3"),
        "Ma and Hovy (2016)": _printed("97.6"),
        "Ling et al. (2015)": _printed("97.8"),
        "CoVe, first layer": _printed("93.3"),
        "CoVe, second layer": _printed("92.8"),
        "biLM, first layer": _printed("97.3"),
        "biLM, second layer": _printed("96.8"),
    },
    notes=(OTHER_ROWS,),
)

FIGURE_1 = PaperTable(
    name="Figure 1",
    section="5.4",
    topic="size of the training set",
    about="SNLI and SRL with and without ELMo, trained on 0.1 % to 100 % of the data. No values are printed.",
    statements=(
        "SRL: with ELMo, 1 % of the training set gives about the F1 of the baseline with 10 %.",
        "The gain is largest for small training sets.",
    ),
)

SAMPLE_EFFICIENCY = PaperTable(
    name="Section 5.4",
    section="5.4",
    about="SRL, development set: epochs until the best F1 of the baseline is reached.",
    columns=("baseline", "+ ELMo", "fewer updates, in percent"),
    rows={"SRL": _printed("486", "10", "98")},
)

FIGURE_2 = PaperTable(
    name="Figure 2",
    section="5.5",
    topic="weights that tasks have learnt",
    about="Softmax-normalised weights of the layers in the mixes that the tasks have learnt. No values are printed.",
    statements=(
        "At the input, every task prefers the first LSTM layer; coreference and SQuAD most, the others less.",
        "At the output the weights are about equal, with a slight preference for the lower layers.",
    ),
)

TABLE_7 = PaperTable(
    name="Table 7",
    section="A.1",
    topic="fine-tuning the biLM",
    about="Perplexity of the development sets, mean of both directions, before and after one epoch of fine-tuning.",
    columns=("before", "after"),
    rows={
        "SNLI": _printed("72.1", "16.8"),
        "CoNLL 2012 (coref/SRL)": _remembered("92.3", None),
        "CoNLL 2003 (NER)": _printed("103.2", "46.3"),
        "SQuAD, contexts": _printed("99.1", "43.5"),
        "SQuAD, questions": _printed("158.2", "52.0"),
        "SST": _printed("131.5", "78.6"),
    },
)

FINE_TUNING = PaperTable(
    name="Appendix A.1",
    section="A.1",
    about="SNLI, development set: accuracy in percent with a biLM that is fine-tuned on the task's text, or not.",
    columns=("not fine-tuned", "fine-tuned"),
    rows={"SNLI": _remembered("88.9", "89.5")},
    statements=("SNLI gains 0.6.", "SST-5 is about the same with either biLM."),
)

GAMMA = PaperTable(
    name="Appendix A.2",
    section="A.2",
    topic="the scale gamma",
    about="The scale gamma of the mix. No values are printed.",
    statements=("Without gamma, the last layer alone is well below the baseline on SNLI, and training fails on SRL.",),
)

LAYER_NORM = PaperTable(
    name="Section 3.2",
    section="3.2",
    topic="layer normalisation",
    about="Layer normalisation of each biLM layer before the mix. No values are printed.",
    statements=("In some cases it helped to normalise each layer before weighting it.",),
)

DROPOUT = PaperTable(
    name="Section 3.3",
    section="3.3",
    topic="dropout of ELMo's vectors",
    about="Dropout of ELMo's vectors. No values are printed.",
    statements=("A moderate amount of dropout was beneficial.",),
)

PRETRAINING = PaperTable(
    name="Section 3.4",
    section="3.4",
    about="Perplexity of held-out text of the 1B Word Benchmark; of the biLM, the mean of both directions, 10 epochs.",
    columns=("perplexity",),
    rows={"biLM": _printed("39.7"), "CNN-BIG-LSTM, forward": _printed("30.0")},
)

TABLE_8 = PaperTable(
    name="Table 8",
    section="A.3",
    about="SNLI, test set: accuracy in percent.",
    columns=("accuracy",),
    rows={
        "Feature based": _remembered("78.2"),
        "DIIN": _remembered("88.0"),
        "BCN+Char+CoVe": _remembered("88.1"),
        "ESIM": _remembered("88.0"),
        "ESIM+TreeLSTM": _printed("88.6"),
        "ESIM+ELMo": _printed("88.7 ± 0.17"),
        "DIIN ensemble": _remembered("88.9"),
        "ESIM+ELMo ensemble": _printed("89.3"),
    },
)

TABLE_9 = PaperTable(
    name="Table 9",
    section="A.4",
    about="SQuAD, test set, on 17 November 2017: exact match and F1 in percent.",
    columns=("exact match", "F1"),
    rows={
        "BiDAF": _remembered("68.0", "77.3"),
        "BiDAF + self-attention": (Printed("72.1", is_checked=False), Printed("81.1")),
        "DCN+": _remembered("75.1", "83.1"),
        "Reg-RaSoR": _remembered("75.8", "83.3"),
        "FusionNet": _remembered("76.0", "83.9"),
        "r-net": _remembered("76.5", "84.3"),
        "SAN": (Printed("76.8", is_checked=False), Printed("84.4")),
        "BiDAF + self-attention + ELMo": _printed("78.6", "85.8"),
        "DCN+ ensemble": _remembered("78.9", "86.0"),
        "FusionNet ensemble": _remembered("79.0", "86.0"),
        "AoA Reader+ ensemble": _remembered("79.1", "86.5"),
        "BiDAF + self-attention + ELMo ensemble": _printed("81.0", "87.4"),
    },
)

TABLE_10 = PaperTable(
    name="Table 10",
    section="A.5",
    about="SRL, CoNLL-2012 test set: F1 in percent.",
    columns=("F1",),
    rows={
        "Pradhan et al. (2013)": _remembered("77.5"),
        "Zhou and Xu (2015)": _remembered("81.3"),
        "He et al. (2017), single": _printed("81.7"),
        "He et al. (2017), ensemble": _remembered("83.4"),
        "He et al. (2017), our implementation": _printed("81.4"),
        "He et al. (2017) + ELMo": _printed("84.6"),
    },
)

TABLE_11 = PaperTable(
    name="Table 11",
    section="A.6",
    about="Coreference, CoNLL-2012 test set: mean F1 of MUC, B3 and CEAF-e in percent.",
    columns=("average F1",),
    rows={
        "Durrett and Klein (2013)": _remembered("60.3"),
        "Wiseman et al. (2016)": _remembered("64.2"),
        "Clark and Manning (2016)": _remembered("65.7"),
        "Lee et al. (2017), single": _printed("67.2"),
        "Lee et al. (2017), ensemble": _remembered("68.8"),
        "Lee et al. (2017) + ELMo": _printed("70.4"),
    },
)

TABLE_12 = PaperTable(
    name="Table 12",
    section="A.7",
    about="NER, CoNLL-2003 test set: F1 in percent.",
    columns=("F1",),
    rows={
        "Collobert et al. (2011)": _remembered("89.59"),
        "Lample et al. (2016)": _remembered("90.94"),
        "Ma and Hovy (2016)": _remembered("91.2"),
        "Chiu and Nichols (2016)": _remembered("91.62 ± 0.33"),
        "Peters et al. (2017)": _printed("91.93 ± 0.19"),
        "biLSTM-CRF + ELMo": _printed("92.22 ± 0.10"),
    },
)

TABLE_13 = PaperTable(
    name="Table 13",
    section="A.8",
    about="SST-5, test set: accuracy in percent.",
    columns=("accuracy",),
    rows={
        "DMN": _remembered("52.1"),
        "LSTM-CNN": _remembered("52.4"),
        "NTI": _remembered("53.1"),
        "BCN+Char+CoVe": _printed("53.7"),
        "BCN+ELMo": _printed("54.7"),
    },
)

ALL_TABLES = (
    *(TABLE_1, ENSEMBLES, TABLE_2, TABLE_2_COVE, TABLE_3, TABLE_4, TABLE_5, TABLE_6),
    *(FIGURE_1, SAMPLE_EFFICIENCY, FIGURE_2, TABLE_7, FINE_TUNING, GAMMA, LAYER_NORM, DROPOUT, PRETRAINING),
    *(TABLE_8, TABLE_9, TABLE_10, TABLE_11, TABLE_12, TABLE_13),
)

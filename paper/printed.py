"""The numbers of Peters et al. (2018, NAACL; arXiv 1802.05365v2) in tables 1 to 7 and about figures 1 and 2.

The submission of 2017 has different numbers in tables 1, 2, 3 and 6; these are the numbers of the final version. Below
them are the figures of other publications on tests that the paper does not have, with where they were read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class PaperTable:
    """A table, a figure, or numbers in the running text, as printed."""

    name: str
    """Name in the paper: `Table 1`."""
    about: str
    """What is measured, on which data, in which unit."""
    section: str = ""
    """Number of the section; empty for numbers of other papers."""
    columns: tuple[str, ...] = ()
    """Headings of the columns, without that of the rows' names."""
    rows: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict[str, "tuple[str | None, ...]"])
    """Cells of each row by the row's name, in the paper's order."""
    statements: tuple[str, ...] = ()
    """What its authors say about it besides the cells."""
    notes: tuple[str, ...] = ()
    """What a reader of the cells, theirs and ours, has to know."""
    source: str = "Peters et al. (2018)"
    """Who has measured it."""
    topic: str = ""
    """What it shows, in a few words, for headings; empty where the name says it."""

    def cell(self, row: str, column: str) -> str | None:
        """The cell in a row and a column; None if the paper prints nothing there."""
        return self.rows[row][self.columns.index(column)]


TABLE_1 = PaperTable(
    name="Table 1",
    section="4",
    topic="test scores of the six tasks",
    about="Test sets: F1 in percent of SQuAD, SRL, NER; accuracy of SNLI, SST-5; mean F1 of MUC, B3, CEAF-e of Coref.",
    columns=("previous best", "its score", "baseline", "+ ELMo", "gain", "relative"),
    rows={
        "SQuAD": ("Liu et al. (2017)", "84.4", "81.1", "85.8", "4.7", "24.9"),
        "SNLI": ("Chen et al. (2017)", "88.6", "88.0", "88.7 ± 0.17", "0.7", "5.8"),
        "SRL": ("He et al. (2017)", "81.7", "81.4", "84.6", "3.2", "17.2"),
        "Coref": ("Lee et al. (2017)", "67.2", "67.2", "70.4", "3.2", "9.8"),
        "NER": ("Peters et al. (2017)", "91.93 ± 0.19", "90.15", "92.22 ± 0.10", "2.06", "21"),
        "SST-5": ("McCann et al. (2017)", "53.7", "51.4", "54.7 ± 0.5", "3.3", "6.8"),
    },
    statements=(
        "SNLI, NER and SST-5 are means over five seeds, with their standard deviations; the others are single models.",
        "SRL is 1.2 F1 above the best ensemble of five models before it, Coref 1.6 above the best ensemble.",
        "CoVe's gain over a SQuAD baseline was 1.8 F1.",
    ),
    notes=("Relative is the gain in percent of the baseline's error.",),
)

ENSEMBLES = {"SQuAD": ("11", "87.4"), "SNLI": ("5", "89.3")}
"""Section 4: the numbers of models in ensembles with ELMo, and their test scores."""

TABLE_2 = PaperTable(
    name="Table 2",
    section="5.1",
    topic="how the layers are weighted",
    about="Development sets: F1 of SQuAD and SRL, accuracy of SNLI, in percent.",
    columns=("baseline", "last layer only", "all layers, lambda=1", "all layers, lambda=0.001"),
    rows={
        "SQuAD": ("80.8", "84.7", "85.0", "85.2"),
        "SNLI": ("88.1", "89.1", "89.3", "89.5"),
        "SRL": ("81.6", "84.1", "84.6", "84.8"),
    },
    statements=("NER, whose training set is small, gives much the same with any lambda.",),
)

TABLE_3 = PaperTable(
    name="Table 3",
    section="5.2",
    topic="where ELMo goes",
    about="Development sets: F1 of SQuAD and SRL, accuracy of SNLI, in percent.",
    columns=("input only", "input and output", "output only"),
    rows={
        "SQuAD": ("85.1", "85.6", "84.8"),
        "SNLI": ("88.9", "89.5", "88.7"),
        "SRL": ("84.7", "84.3", "80.9"),
    },
    statements=("Coref is best with ELMo at the input only, as SRL is.",),
)

TABLE_4 = PaperTable(
    name="Table 4",
    section="5.3",
    topic="nearest neighbours of a word",
    about='Nearest neighbours of "play": ten words of GloVe; for the biLM, the nearest occurrence in SemCor.',
    columns=("source", "nearest neighbours"),
    rows={
        "GloVe": ("play", "playing, game, games, played, players, plays, player, Play, football, multiplayer"),
        "biLM, 1": ("a play in a baseball game", "all-round play of a baseball player"),
        "biLM, 2": ("a Broadway play that an actress signed for", "a successful play that actors had roles in"),
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
        "WordNet 1st sense": ("65.9",),
        "Raganato et al. (2017a)": ("69.9",),
        "Iacobacci et al. (2016)": ("70.1",),
        "CoVe, first layer": ("59.4",),
        "CoVe, second layer": ("64.7",),
        "biLM, first layer": ("67.4",),
        "biLM, second layer": ("69.0",),
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
        "Collobert et al. (2011)": ("97.3",),
        "Ma and Hovy (2016)": ("97.6",),
        "Ling et al. (2015)": ("97.8",),
        "CoVe, first layer": ("93.3",),
        "CoVe, second layer": ("92.8",),
        "biLM, first layer": ("97.3",),
        "biLM, second layer": ("96.8",),
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
        "SRL has its best score without ELMo after 486 epochs, and reaches it after 10 with ELMo: 98 % fewer updates.",
    ),
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
        "SNLI": ("72.1", "16.8"),
        "CoNLL 2012 (coref/SRL)": (None, None),
        "CoNLL 2003 (NER)": ("103.2", "46.3"),
        "SQuAD, contexts": ("99.1", "43.5"),
        "SQuAD, questions": ("158.2", "52.0"),
        "SST": ("131.5", "78.6"),
    },
    statements=("With the fine-tuned biLM SNLI gains 0.6, and SST-5 is about the same.",),
    notes=("Ours are of the full softmax over the biLM's own vocabulary, each sentence by itself.",),
)

GAMMA = PaperTable(
    name="Appendix A.2",
    section="A.2",
    topic="the scale gamma",
    about="The scale gamma of the mix. No values are printed.",
    statements=("Without gamma, the last layer alone is well below the baseline on SNLI, and training fails on SRL.",),
)

PERPLEXITY = PaperTable(
    name="Gain by perplexity",
    topic="what a better biLM brings",
    about="Whether ELMo brings more when its biLM predicts better. The paper has a single biLM; no values are printed.",
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

WIC = PaperTable(
    name="Word in Context",
    source="Pilehvar and Camacho-Collados (2019), as listed by Papers with Code",
    about="WiC 1.0, test set: accuracy in percent. Guessing gets 50.",
    columns=("accuracy",),
    rows={
        "Sentence LSTM": ("53.1",),
        "ELMo": ("57.7",),
        "SW2V": ("58.1",),
        "DeConf": ("58.7",),
        "Context2vec": ("59.3",),
        "BERT-large": ("65.5",),
    },
    notes=("The best of the published ELMo's layers is listed, with a threshold on the cosine, as ours.",),
)

KOBEST_WIC = PaperTable(
    name="KB-WiC",
    topic="Korean words in context",
    source="KoBEST, Kim et al. (2022)",
    about="Test set: accuracy in percent. Guessing gets 50. The published figures of other systems were not at hand.",
    columns=("accuracy",),
    notes=(
        "Of KoBEST's five parts, this is the one that word vectors can do without training a model. BoolQ, COPA and "
        "HellaSwag ask for reasoning over sentences, and SentiNeg for a trained classifier.",
    ),
)

POLYSEMY_KO = PaperTable(
    name="Korean words with several senses",
    source="Ours",
    about="Share, in percent, of occurrences whose nearest other occurrence of the word has the same sense.",
    columns=("homonyms", "homonyms, same form", "list", "잘한다"),
    notes=(
        "Reviews of NSMC are a task of sentences (korean-tasks.md); a book on Korean embeddings "
        "(github.com/ratsgo/embedding) reports an accuracy of 87.44 % for its ELMo there, on another split.",
    ),
)

BLIMP = PaperTable(
    name="BLiMP",
    topic="minimal pairs",
    source="Warstadt et al. (2020), table 3",
    about="Share of 67,000 minimal pairs, in percent, in which the acceptable sentence is the more probable one.",
    columns=("accuracy",),
    rows={
        "5-gram": ("61.2",),
        "LSTM": ("69.8",),
        "Transformer-XL": ("69.6",),
        "GPT-2": ("83.0",),
        "people": ("88.6",),
    },
    notes=(
        "The published models read forwards; the LSTM was trained on 83 million tokens of Wikipedia.",
        "Both adds the log probabilities of the two directions. A tie counts as wrong.",
    ),
)

READING_TIMES = PaperTable(
    name="Reading times",
    source="Natural Stories, Futrell et al. (2021)",
    about="What the surprisals of a word and of the one before it add, per word, to the log likelihood (nats) of its "
    "mean self-paced reading time, next to position, lengths and frequencies.",
    columns=("added log likelihood",),
    notes=(
        "Linear regression; each of the ten stories is predicted from the other nine. The number after ± is the "
        "standard error over words.",
        "Sentences are read by themselves. Words at the edge of a sentence are left out, and words that are not in "
        "the vocabulary or follow one that is not.",
    ),
)

KOREAN_TASKS = PaperTable(
    name="Korean tasks",
    source="Ours",
    about="F1 of KLUE-NER and accuracy of NSMC, with and without mini-ko.",
)

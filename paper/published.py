"""Published figures of other systems on public tests that the paper does not have, and where they were read."""

from __future__ import annotations

from paper.printed import PaperTable

WIC = PaperTable(
    name="Word in Context",
    section="",
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
    section="",
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
    section="",
    source="Ours",
    about="Share, in percent, of occurrences whose nearest other occurrence of the word has the same sense.",
    columns=("homonyms", "homonyms, same form", "list", "잘한다"),
    notes=(
        "Reviews of NSMC, a task of sentences, are below, under the tasks; a book on Korean embeddings "
        "(github.com/ratsgo/embedding) reports an accuracy of 87.44 % for its ELMo there, on another split.",
    ),
)

BLIMP = PaperTable(
    name="BLiMP",
    section="",
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
    section="",
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
    section="",
    source="Ours",
    about="F1 of KLUE-NER and accuracy of NSMC, with and without mini-ko.",
)

"""Published figures of other systems on public tests that the paper does not have, and where they were read."""

from __future__ import annotations

from elmokit.reproduce.paper import PaperTable, Printed

WIC = PaperTable(
    name="Word in Context",
    section="",
    source="Pilehvar and Camacho-Collados (2019), as listed by Papers with Code",
    about="WiC 1.0, test set: accuracy in percent. Guessing gets 50.",
    columns=("accuracy",),
    rows={
        "Sentence LSTM": (Printed("53.1"),),
        "ELMo": (Printed("57.7"),),
        "SW2V": (Printed("58.1"),),
        "DeConf": (Printed("58.7"),),
        "Context2vec": (Printed("59.3"),),
        "BERT-large": (Printed("65.5"),),
    },
    statements=("The best of the published ELMo's layers is listed, with a threshold on the cosine, as ours.",),
)

KOBEST_WIC = PaperTable(
    name="KB-WiC",
    section="",
    source="KoBEST, Kim et al. (2022)",
    about="Korean words in context, test set: accuracy in percent. Guessing gets 50. The published figures of other "
    "systems were not at hand.",
    columns=("accuracy",),
    statements=(
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
    statements=(
        "A book on Korean embeddings (github.com/ratsgo/embedding) reports 87.44 % for its ELMo on NSMC, on another "
        "split of the reviews.",
    ),
)

from elmokit.cli.scoring_tables import perplexity_text
from elmokit.scoring.breakdown import Breakdown, Cost, MeasuredText, PerplexityTable
from elmokit.scoring.perplexity import DirectionPerplexity, Perplexity

PERPLEXITY = Perplexity(
    forward=DirectionPerplexity(120.0, 100.5),
    backward=DirectionPerplexity(80.0, 70.25),
    num_sentences=1234,
    num_predictions=20_000,
    num_unknown=500,
    num_tokens_in_vocabulary=1_000,
    carried_state=False,
)
WORD = Cost("bank", 5, share=0.25, mean_loss=2.0, perplexity=7.389, total_loss=10.0, loss_share=0.5)
BAND = Cost("1 to 100", 0, share=0.0, mean_loss=None, perplexity=None, total_loss=0.0, loss_share=0.0)
SIDE = Breakdown(bands=(BAND,), worst_words=(WORD,))
ONE = MeasuredText("news.txt", PERPLEXITY, forward=Breakdown((), ()), backward=Breakdown((), ()))


def test_a_text_has_a_row_with_the_perplexity_of_each_direction_and_their_mean():
    assert perplexity_text(PerplexityTable((ONE,), ONE)).splitlines() == [
        "          predictions    UNK  forward  without UNK  backward  without UNK    mean",
        "news.txt       20,000  2.50%   120.00       100.50     80.00        70.25  100.00",
        "1,234 sentences, 20,000 predictions per direction, 500 of UNK (2.50%), vocabulary 1,000, "
        "each sentence by itself",
    ]


def test_several_texts_have_a_row_each_and_the_whole_has_its_bands_and_words():
    whole = MeasuredText("all", PERPLEXITY, forward=SIDE, backward=SIDE)
    lines = perplexity_text(PerplexityTable((ONE, ONE), whole), bands=True).splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["news.txt", "news.txt", "all"]
    band = lines[lines.index("forward, by rank in the vocabulary") + 2]
    assert band.split() == ["1", "to", "100", "0", "0.0%", "-", "-", "0.0%"]
    word = lines[lines.index("forward, costliest words") + 2]
    assert word.split() == ["1", "5", "2.000", "10.0", "50.00%", "bank"]
    assert lines[-2].startswith("Losses are in nats;")

from __future__ import annotations

from elmokit.cli.corpus_tables import corpus_text, vocabulary_text
from elmokit.corpus.manifest import Amount, CorpusFile, CorpusManifest, Source
from elmokit.corpus.vocabulary_counts import VocabularySummary

MANIFEST = CorpusManifest(
    made_by="elmokit",
    options={},
    sources=[Source("raw.txt", 9, "", 1_200, 5_000, 60_000), Source("more.txt", 9, "", 34, 100, 900)],
    dropped={"too short": Amount(50, 100), "duplicates": Amount()},
    excluded=[],
    held_out_documents=1_001,
    held_out=CorpusFile("heldout.txt.xz", 50, 800, 9, ""),
    shards=[CorpusFile("train-00000.txt.xz", 5_000, 60_000, 9, "")],
)


def test_a_corpus_is_what_was_read_less_what_was_dropped():
    assert corpus_text(MANIFEST).splitlines() == [
        "read                           5,100 sentences         60,900 tokens in 1,234 documents",
        "too short                         50 sentences            100 tokens",
        "training                       5,000 sentences         60,000 tokens in 1 shard",
        "held out                          50 sentences            800 tokens of 1,001 documents",
    ]


def test_a_vocabulary_is_shown_by_what_it_covers():
    summary = VocabularySummary(
        num_sentences=3,
        num_tokens=2_000,
        num_types=7,
        num_kept=2,
        num_known_tokens=1_000,
        num_cut_tokens=1,
        rarest_count=2,
    )
    assert vocabulary_text(summary).splitlines() == [
        "3 sentences, 2,000 tokens, 7 types",
        "kept 2 types and 3 specials; the rarest has count 2",
        "coverage 50.00% of the tokens; OOV rate 50.00%",
        "longer than 48 bytes, and cut: 1 tokens (0.0500%)",
    ]

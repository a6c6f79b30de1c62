"""What was prepared and what was counted, in a few lines for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from elmokit.corpus.vocabulary_counts import SPECIALS
from elmokit.system.messages import plural

if TYPE_CHECKING:
    from elmokit.corpus.manifest import Amount, CorpusFile, CorpusManifest, Source
    from elmokit.corpus.vocabulary_counts import VocabularySummary


def corpus_text(manifest: CorpusManifest) -> str:
    """What was read, dropped and kept."""
    num_documents = sum(source.documents for source in manifest.sources)
    joined = f"{manifest.joined_words:>12,} of {manifest.broken_words:,} words broken at line ends"
    lines = [
        f"{'read':24}{_amounts(manifest.sources)} in {num_documents:,} documents",
        *([f"{'joined':24}{joined}"] if manifest.options.get("join_hyphens") else []),
        *(f"{reason:24}{_amounts([amount])}" for reason, amount in manifest.dropped.items() if amount.sentences),
        f"{'training':24}{_amounts(manifest.shards)} in {plural(len(manifest.shards), 'shard')}",
    ]
    if manifest.held_out:
        documents = plural(manifest.held_out_documents, "document")
        lines.append(f"{'held out':24}{_amounts([manifest.held_out])} of {documents}")
    return "\n".join(lines)


def vocabulary_text(summary: VocabularySummary) -> str:
    """How many types there are, and how much of the text they cover."""
    share_cut = summary.num_cut_tokens / summary.num_tokens
    return (
        f"{summary.num_sentences:,} sentences, {summary.num_tokens:,} tokens, {summary.num_types:,} types\n"
        f"kept {summary.num_kept:,} types and {len(SPECIALS)} specials; "
        f"the rarest has count {summary.rarest_count:,}\n"
        f"coverage {summary.coverage:.2%} of the tokens; OOV rate {summary.unknown_rate:.2%}\n"
        f"longer than 48 bytes, and cut: {summary.num_cut_tokens:,} tokens ({share_cut:.4%})"
    )


def _amounts(parts: Sequence[Source | CorpusFile | Amount]) -> str:
    num_sentences, num_tokens = sum(part.sentences for part in parts), sum(part.tokens for part in parts)
    return f"{num_sentences:>12,} sentences {num_tokens:>14,} tokens"

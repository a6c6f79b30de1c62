#!/usr/bin/env bash
# Korean tasks with and without mini-ko: KLUE-NER, three seeds, and NSMC with all of its training reviews, one seed.
# Run from the repository's root:  bash experiments/2026-11-22-korean/run.sh DATA_FOLDER OUTPUT_FOLDER
# named-entities-ko-none-0 is in 2026-11-21-tasks already, with the same score to the last digit.
set -euo pipefail
data=$1/ko/tasks out=$2
train() { .venv/bin/elmokit train "$@" --recipe cpu-ko --test; }

# In runs.jsonl the runs have the names that paper/plan.py gives them.
for seed in 0 1 2; do
  for elmo in none input; do
    train ner --data "$data/ner_klue/ner_klue" --elmo $elmo --seed $seed --run "$out/named-entities-ko-$elmo-$seed"
  done
done
for elmo in none both; do
  train sst --data "$data/nsmc/nsmc" --elmo $elmo --run "$out/sentiment-ko-all-$elmo-0" \
    --set max_train_examples=0 max_dev_examples=0 max_epochs=4 patience=1
done

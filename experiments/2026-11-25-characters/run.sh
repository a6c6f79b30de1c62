#!/bin/sh
# Named entities without the tagger's own character CNN, without ELMo and with it: does ELMo's spelling take its place?
# Run from the repository's root:  sh experiments/2026-11-25-characters/run.sh DATA RUNS
set -e
# In runs.jsonl the runs have the names that paper/plan.py gives them.
for seed in 0 1 2; do
    for elmo in none input; do
        run="$2/named-entities-cpu-$elmo-character_dim.0-$seed"
        test -e "$run/config.json" || elmokit train named-entities --recipe cpu --data "$1/tasks/conll2003" --elmo $elmo \
            --word-vectors "$1/tasks/glove/glove.6B.50d.100k.txt.gz" --set character_dim=0 --seed $seed --run "$run" --test
    done
done

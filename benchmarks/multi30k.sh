#!/usr/bin/env bash
# Multi30k en-de with the tiny preset and an hour of training: benchmarks/multi30k.sh DATA [OUT]
# DATA holds train, val, test2016 and test2017, each .en and .de. Leaves log, curve and scores in benchmarks/results/multi30k-en-de.
set -euo pipefail
data=$1
out=${2:-runs/multi30k-en-de}
results=$(dirname "${BASH_SOURCE[0]}")/results/multi30k-en-de
mkdir -p "$results"
headway train --train "$data/train" --valid "$data/val" --test "$data/test2016" --from en --to de \
  --preset tiny --optimizer adam --max-minutes 60 --metric bleu --length-penalty 0.6 --out "$out" 2> >(tee -a "$results/train.log" >&2)
cp "$out/metrics.jsonl" "$out/config.yaml" "$out/curves.png" "$results/"
for test in test2016 test2017; do
  headway translate "$out/best" "$data/$test.en" -o "$out-$test.de"
  for case in "" "--lowercase"; do
    echo "$test $case"
    headway evaluate --hypotheses "$out-$test.de" --references "$data/$test.de" $case
  done
done | tee "$results/scores.txt"

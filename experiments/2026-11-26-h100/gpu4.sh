# Fourth call, when the English model is there: its weights, in pieces.
cd /tmp/w; for i in $(seq ${WAIT:-60}); do [ -e en.finished ] && break; sleep 1; done
tail -12 en.log; tail -2 ko.log; split -b 15M en.softmax $OUT/en.softmax.; split -b 15M en.bilm $OUT/en.bilm.; cp en.jsonl en.json en.log $OUT/

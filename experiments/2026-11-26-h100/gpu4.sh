# Fourth call, when the English model is there: its softmax, in pieces.
cd /tmp/w; for i in $(seq ${WAIT:-60}); do [ -e en.finished ] && break; sleep 1; done
tail -12 en.log; tail -2 ko.log; split -b 15M en.softmax.pt $OUT/en.softmax.pt.; cp en.jsonl en.json en.log $OUT/

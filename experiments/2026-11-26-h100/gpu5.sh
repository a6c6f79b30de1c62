# Last call: the rest.
cd /tmp/w; for i in $(seq ${WAIT:-200}); do [ -e ko.finished ] && break; sleep 1; done
tail -9 ko.log; split -b 15M en.bilm.pt $OUT/en.bilm.pt.; split -b 15M ko.bilm.pt $OUT/ko.bilm.pt.; split -b 15M ko.softmax.pt $OUT/ko.softmax.pt.
cp ko.json $OUT/; cat ko.log ko.jsonl > $OUT/ko.logs; ls -la $OUT

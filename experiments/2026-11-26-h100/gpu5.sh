# Last call: the Korean model.
cd /tmp/w; for i in $(seq ${WAIT:-200}); do [ -e ko.finished ] && break; sleep 1; done
tail -9 ko.log; split -b 15M ko.bilm $OUT/ko.bilm.; split -b 15M ko.softmax $OUT/ko.softmax.
cp ko.json $OUT/; cat ko.log ko.jsonl > $OUT/ko.logs; ls -la $OUT

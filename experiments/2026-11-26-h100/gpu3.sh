# Third call: the test suite, which uses the GPU wherever a user's call would, while the training goes on.
tail -2 /tmp/w/en.log; tail -2 /tmp/w/ko.log
python3 -m pip install -q --no-index --no-deps --no-compile --upgrade --target /tmp/site /tmp/w/whl/*.whl
export FAILURES=$OUT/failures.log PYTHONPATH=$PWD/experiments/2026-11-26-h100:/tmp/site:$PWD/src:$PWD OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
nice -n 10 timeout ${TEST_SECONDS:-170} python3 -m pytest -q -n 12 -p no:cacheprovider -p no:benchmark -p instant --maxfail=60 --tb=short ${TESTS:-tests} -m "not slow" > $OUT/tests.log 2>&1
grep -E "^(FAILED|ERROR)" $OUT/tests.log | cut -c1-200 | head -60; tail -3 $OUT/tests.log
tail -2 /tmp/w/en.log; tail -3 /tmp/w/ko.log

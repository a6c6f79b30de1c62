import threading

import pytest
import torch

from elmokit.layers.parallel import run_in_parallel

pytestmark = pytest.mark.usefixtures("two_threads")


def test_both_run_at_once_and_their_results_come_in_order():
    meeting = threading.Barrier(2, timeout=20)  # neither gets past it alone

    def meet(name: str) -> str:
        meeting.wait()
        return name

    assert run_in_parallel(lambda: meet("first"), lambda: meet("second")) == ["first", "second"]


def test_each_has_half_of_the_threads_and_the_caller_keeps_its_own():
    assert run_in_parallel(torch.get_num_threads, torch.get_num_threads) == [1, 1]
    assert torch.get_num_threads() == 2
    seen: list[int] = []
    other = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
    other.start()
    other.join()
    assert seen == [2]  # a thread that has nothing to do with it


def test_with_one_thread_they_run_one_after_the_other_in_the_caller():
    torch.set_num_threads(1)
    here = threading.get_ident()
    assert run_in_parallel(threading.get_ident, threading.get_ident) == [here, here]


def test_there_are_no_gradients_and_errors_arrive():
    with torch.inference_mode():
        assert run_in_parallel(torch.is_inference_mode_enabled, torch.is_grad_enabled) == [True, False]

    def fail() -> bool:
        raise ValueError("the second failed")

    with pytest.raises(ValueError, match="the second failed"):
        run_in_parallel(torch.is_grad_enabled, fail)

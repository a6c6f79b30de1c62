import threading

import pytest
import torch

from elmokit.layers.parallel import run_in_parallel

pytestmark = pytest.mark.usefixtures("two_threads")


def test_both_run_at_once_on_half_of_the_threads_and_the_caller_keeps_its_own():
    meeting = threading.Barrier(2, timeout=20)  # neither gets past it alone

    def meet(name: str) -> tuple[str, int]:
        meeting.wait()
        return name, torch.get_num_threads()

    assert run_in_parallel(lambda: meet("first"), lambda: meet("second")) == [("first", 1), ("second", 1)]
    assert torch.get_num_threads() == 2
    seen: list[int] = []
    other = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
    other.start()
    other.join()
    assert seen == [2]  # a thread that has nothing to do with it
    torch.set_num_threads(1)  # one after the other, in the caller
    here = threading.get_ident()
    assert run_in_parallel(threading.get_ident, threading.get_ident) == [here, here]


def test_there_are_no_gradients_and_errors_arrive():
    with torch.inference_mode():
        assert run_in_parallel(torch.is_inference_mode_enabled, torch.is_grad_enabled) == [True, False]

    def fail() -> bool:
        raise ValueError("the second failed")

    with pytest.raises(ValueError, match="the second failed"):
        run_in_parallel(torch.is_grad_enabled, fail)

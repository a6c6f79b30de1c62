import platform
import threading

import pytest
import torch

from elmokit.layers.devices import describe_machine, find_device, is_about_devices, seeded
from elmokit.layers.parallel import run_in_parallel


@pytest.mark.parametrize("name", ["nonsense", "", "cuda:x", "cuda:99", "meta", "vulkan", "hpu", "opengl"])
def test_a_device_that_is_not_there_is_one_sentence(name: str):
    with pytest.raises(ValueError, match=f"^device '{name}' cannot be used here; available: cpu"):
        find_device(name)


def test_the_default_is_the_gpu_if_there_is_one_and_those_that_are_there_are_named(monkeypatch: pytest.MonkeyPatch):
    for has_cuda, has_mps, expected in ((0, 0, "cpu"), (0, 1, "mps"), (1, 0, "cuda"), (1, 1, "cuda")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda has_cuda=has_cuda: has_cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda has_mps=has_mps: has_mps)
        assert find_device(None) == torch.device(expected)
    assert find_device(torch.device("cpu")) == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert find_device("cuda:1") == torch.device("cuda", 1)
    with pytest.raises(ValueError, match="^device 'cuda:2' cannot be used here; available: cpu, cuda:0, cuda:1, mps$"):
        find_device("cuda:2")


def test_torch_complains_about_devices_in_many_words():
    for text in ("CUDA error: device-side assert triggered", "DefaultCPUAllocator: can't allocate memory"):
        assert is_about_devices(RuntimeError(text))
    assert is_about_devices(torch.OutOfMemoryError("Tried to allocate 20.00 GiB"))
    assert not is_about_devices(RuntimeError("mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)"))


def test_a_machine_is_described_by_its_processor_threads_and_torch_or_its_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    described = describe_machine(torch.device("cpu"))
    assert platform.machine() in described and torch.backends.cpu.get_cpu_capability() in described
    assert described.endswith(f", {torch.get_num_threads()} threads, torch {torch.__version__}")
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"loom {device}")
    assert describe_machine(torch.device("cuda", 1)) == f"loom cuda:1, torch {torch.__version__}"
    monkeypatch.setattr(torch.backends.mps, "get_name", lambda: "Apple M4")
    monkeypatch.setattr(torch.backends.mps, "get_core_count", lambda: 10)
    assert describe_machine(torch.device("mps")) == f"Apple M4, 10 GPU cores, torch {torch.__version__}"


def test_numbers_follow_from_the_seed_and_leave_all_generators_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "manual_seed_all", lambda _: pytest.fail("a GPU's generator is touched"))
    torch.default_generator.manual_seed(1)
    expected = torch.rand(3)
    torch.default_generator.manual_seed(1)
    with torch.device("meta"), seeded(7):  # whatever the default device is
        one = torch.rand(3)
    assert torch.equal(torch.rand(3), expected)
    torch.default_generator.manual_seed(7)
    assert torch.equal(one, torch.rand(3))


@pytest.mark.usefixtures("two_threads")
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
    assert seen == [2]  # an unrelated thread
    torch.set_num_threads(1)  # now they run one after the other, in the caller
    here = threading.get_ident()
    assert run_in_parallel(threading.get_ident, threading.get_ident) == [here, here]


@pytest.mark.usefixtures("two_threads")
def test_there_are_no_gradients_and_errors_arrive():
    with torch.inference_mode():
        assert run_in_parallel(torch.is_inference_mode_enabled, torch.is_grad_enabled) == [True, False]

    def fail() -> bool:
        raise ValueError("the second failed")

    with pytest.raises(ValueError, match="the second failed"):
        run_in_parallel(torch.is_grad_enabled, fail)

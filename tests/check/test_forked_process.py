"""A forked process answers messages of any size, and its end is told from its pipe and its status."""

import os
import signal
import threading
import time

import pytest

from gradcli.check.workers import ForkedProcess, Pipe, with_something_to_read


def echo(pipe: Pipe) -> None:
    while (message := pipe.receive()) is not None:
        pipe.send(message)


def test_messages_larger_than_a_pipe_go_both_ways():
    process = ForkedProcess(echo)
    text = "x" * 3_000_000
    answer: list[str] = []
    reader = threading.Thread(target=lambda: answer.append(process.pipe.receive()))
    reader.start()
    process.pipe.send(text)
    reader.join(20)
    process.pipe.send(None)
    process.wait(20)
    assert answer == [text]
    assert process.status == 0


def test_a_process_without_anything_to_say_is_not_read():
    process = ForkedProcess(echo)
    assert with_something_to_read([process.pipe], 0.01) == []
    process.pipe.send(1)
    assert with_something_to_read([process.pipe], 20) == [process.pipe]
    process.kill()
    assert process.status == -signal.SIGKILL


@pytest.mark.parametrize(("end", "status"), [(lambda: os._exit(3), 3), (lambda: 1 / 0, 1)])
def test_the_end_of_a_process_ends_its_pipe(end, status, capfd):
    process = ForkedProcess(lambda pipe: end())
    assert with_something_to_read([process.pipe], 20) == [process.pipe]
    with pytest.raises(EOFError):
        process.pipe.receive()
    process.wait(20)
    assert process.status == status
    with pytest.raises(OSError, match="Broken pipe"):
        process.pipe.send(1)
    assert capfd.readouterr().err == ""


def test_threads_of_a_process_are_waited_for():
    process = ForkedProcess(lambda pipe: threading.Thread(target=time.sleep, args=(0.3,)).start())
    start = time.monotonic()
    process.wait(20)
    assert time.monotonic() - start > 0.2
    assert process.status == 0


def test_a_process_can_be_told_what_to_close():
    first = ForkedProcess(echo)
    second = ForkedProcess(echo, [first.pipe])
    first.pipe.close()
    first.wait(20)  # ends only where the second does not hold the pipe
    assert first.status == 1
    second.kill()

"""A forked process answers messages of any size, and its end is told from its pipe and its status."""

import threading

from gradcli.check.workers import ForkedProcess, Pipe


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

"""HTTP servers that answer with JSON, over one persistent connection."""

from __future__ import annotations

import http.client
import json
import os
from typing import Any
from urllib.parse import urlsplit

from ...errors import GradcliError, TimeIsUp
from ...lang.limits import within
from ..claim import CallError, GoneError
from .process import LONGEST_ANSWER, error_text, shorten_answer

CLOSED = (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError)
"""Errors of a persistent connection that the server has closed."""
NOT_THE_MODEL = (401, 403, 404, 405, 407, 502, 503, 504)
"""Statuses from a proxy or login in front of the model, which would be the same at another point."""


class Server:
    """A server at http[s]://HOST:PORT/PATH. model: the last part of the path; timeout: seconds for one request."""

    def __init__(self, address: str, timeout: float):
        try:
            parts = urlsplit(address)
            port = parts.port
        except ValueError as error:
            raise GradcliError(f"{address} is not an address: {error}") from None
        if not parts.hostname or parts.query or parts.fragment or parts.username is not None:
            raise GradcliError(f"{address} is not the address of a model", hint="write http://HOST:PORT/MODEL")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self.place = f"{parts.scheme}://{parts.netloc}"
        self.path, _, self.model = parts.path.rpartition("/")
        self.timeout, self.owner = timeout, os.getpid()
        self.open = lambda: kind(parts.hostname or "", port, timeout=timeout)
        self.connection: http.client.HTTPConnection | None = None

    def ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Send a POST with a body, or a GET; return the answer's JSON. Raises CallError and GoneError."""
        if self.owner != os.getpid():  # a forked process must not use its parent's connection
            self.connection, self.owner = None, os.getpid()
        kept = self.connection is not None
        where = f"{self.place}{self.path}/{path}"
        try:
            with within(self.timeout):  # an answer may come byte by byte
                try:
                    status, text, location = self.exchange(path, body)
                except CLOSED:
                    self.close()
                    if not kept:
                        raise
                    status, text, location = self.exchange(path, body)
        except (TimeoutError, TimeIsUp):
            self.close()
            raise GoneError(f"{where}: no answer within {self.timeout:g} seconds (--timeout)") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise GoneError(f"{where}: {reason}") from None
        if 300 <= status < 400:
            raise GoneError(f"{where}: status {status} redirects to {location}; gradcli does not follow redirects")
        return read_answer(where, status, text)

    def exchange(self, path: str, body: dict[str, Any] | None) -> tuple[int, str, str | None]:
        if self.connection is None:
            self.connection = self.open()
        headers = {"Accept": "application/json", **({"Content-Type": "application/json"} if body is not None else {})}
        data = None if body is None else json.dumps(body).encode()
        self.connection.request("GET" if body is None else "POST", f"{self.path}/{path}", data, headers)
        with self.connection.getresponse() as response:
            text = response.read(LONGEST_ANSWER + 1)
            if len(text) > LONGEST_ANSWER:
                raise http.client.HTTPException(f"the answer is longer than {LONGEST_ANSWER >> 20} MiB")
            return response.status, text.decode("utf-8", "replace"), response.getheader("Location")

    def close(self) -> None:
        if self.connection is not None and self.owner == os.getpid():
            self.connection.close()
        self.connection = None


def read_answer(where: str, status: int, text: str) -> Any:
    """Return the JSON of an answer. Raises CallError for other text, and for statuses other than 200."""
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        answer = None
    if status != 200:
        said = answer.get("error", answer.get("detail", answer)) if isinstance(answer, dict) else text.strip()
        message = f"{where}: status {status}: {error_text(said)}"
        raise (GoneError if status in NOT_THE_MODEL else CallError)(message)
    if answer is None:
        raise CallError(f"{where}: the answer is not JSON: {shorten_answer(text)}")
    return answer

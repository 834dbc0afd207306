"""A long request is decoded beside the event loop, and refused as a short one is."""

from __future__ import annotations

import threading
from typing import Any

import httpx2

from gridloom.platform.http.decode.json_decoder import Decoder


class TestALongRequest:
    async def test_is_decoded_beside_the_event_loop(self, client: httpx2.AsyncClient, monkeypatch) -> None:
        decoded_by: list[threading.Thread] = []
        decode = Decoder.__call__

        def note_thread(decoder: Decoder, body: bytes) -> Any:
            decoded_by.append(threading.current_thread())
            return decode(decoder, body)

        monkeypatch.setattr(Decoder, "__call__", note_thread)
        for weights in ([1.5], [1.5] * 100_000):
            made = await client.post("/toys", json={"name": "heavy", "weights": weights})
            assert made.status_code == 201, made.text
        refused = await client.post("/toys", json={"name": "heavy", "weights": [*[1.5] * 100_000, -1]})
        assert refused.status_code == 400
        assert refused.json()["errors"][0]["pointer"] == "/weights/100000"
        short, long, _ = decoded_by
        assert short is threading.current_thread()
        assert long is not threading.current_thread()

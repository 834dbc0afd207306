"""MQTT: a message is acknowledged to the broker when its samples are on disk, so a kill at any moment loses none."""

from __future__ import annotations

import logging
import ssl
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec
import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from gridloom_gateway.configuration import Mqtt, TopicSignal, make_trust, read_secret
from gridloom_gateway.connection import Deliver, Reading, RejectionLog, SetPoint, SiteUnreachable

MAX_PAYLOAD_BYTES: Final = 256 * 1024
WRITE_TIMEOUT_S: Final = 5.0
KEEP_ALIVE_S: Final = 30
_US_PER_UNIT: Final = {"s": 1_000_000.0, "ms": 1000.0, "us": 1.0, "ns": 0.001}

_decoder = msgspec.json.Decoder()

_log = logging.getLogger(__name__)


class MqttConnection:
    """One battery at a broker. Its session stays with the broker, which keeps messages while the gateway is away."""

    def __init__(self, asset: UUID, configuration: Mqtt, reject: RejectionLog, *, keeps_session: bool = True) -> None:
        self._asset, self._configuration, self._reject = asset, configuration, reject
        self._by_topic: dict[str, list[tuple[str, TopicSignal, float]]] = defaultdict(list)
        for name, signal in configuration.signals.items():
            self._by_topic[signal.topic].append((name, signal, signal.factor))
        self._client = paho.Client(
            CallbackAPIVersion.VERSION2,
            client_id=configuration.client_id or f"gridloom-{asset}",
            clean_session=not keeps_session,
            manual_ack=True,
        )
        self._client.max_inflight_messages_set(1000)
        self._prepare_security()
        self._control: bytes | None = None
        self._is_refused = False
        self._deliver: Deliver | None = None
        set_point = configuration.set_point
        if set_point is not None and set_point.control_topic is not None:
            self._client.will_set(set_point.control_topic, b"site", qos=1, retain=True)

    def _prepare_security(self) -> None:
        configuration = self._configuration
        if configuration.username is not None:
            purpose = f"password of {configuration.username} at {configuration.host}"
            self._client.username_pw_set(
                configuration.username, read_secret(configuration.password_file, configuration.password_env, purpose)
            )
        if configuration.tls:
            context = make_trust(configuration.ca_file)
            context.minimum_version = ssl.TLSVersion.TLSv1_2
            self._client.tls_set_context(context)

    def start(self, deliver: Deliver) -> None:
        self._deliver = deliver
        self._client.on_connect = self._on_connect
        self._client.on_connect_fail = self._on_connect_fail
        self._client.on_disconnect = self._on_disconnect
        self._client.on_message = self._on_message
        self._client.reconnect_delay_set(1, 10)
        self._client.connect_async(self._configuration.host, self._configuration.port, KEEP_ALIVE_S)
        self._client.loop_start()

    def write(self, set_point: SetPoint) -> None:
        target = self._configuration.set_point
        assert target is not None, "the configuration was checked"
        if not self._client.is_connected():
            raise SiteUnreachable(f"the broker {self._configuration.host} cannot be reached")
        if set_point.power_kw is not None:
            value = round(set_point.power_kw / target.factor, 6) + 0.0
            self._publish_message(target.topic, f"{value:.10g}".encode(), retain=target.retain)
        control = b"site" if set_point.power_kw is None else b"gridloom"
        if target.control_topic is not None and control != self._control:
            self._publish_message(target.control_topic, control, retain=True)
            self._control = control

    def _publish_message(self, topic: str, payload: bytes, *, retain: bool) -> None:
        """Returns when the broker has it."""
        message = self._client.publish(topic, payload, qos=1, retain=retain)
        try:
            message.wait_for_publish(WRITE_TIMEOUT_S)
        except (RuntimeError, ValueError) as error:
            raise SiteUnreachable(f"the broker {self._configuration.host} took no message: {error}") from None
        if not message.is_published():
            raise SiteUnreachable(f"the broker {self._configuration.host} did not confirm within {WRITE_TIMEOUT_S:g} s")

    def stop(self) -> None:
        """The last will is for crashes; leaving in order says so itself."""
        target = self._configuration.set_point
        if target is not None and target.control_topic is not None and self._client.is_connected():
            self._client.publish(target.control_topic, b"site", qos=1, retain=True).wait_for_publish(1.0)
        self._client.disconnect()
        self._client.loop_stop()

    # --- called by the client's own thread ---

    def _on_connect(self, client: Any, _data: Any, _flags: Any, reason: Any, _properties: Any) -> None:
        if reason.is_failure:
            self._log_refusal(reason)
            return
        self._control, self._is_refused = None, False
        if self._by_topic:
            client.subscribe([(topic, 1) for topic in self._by_topic])

    def _on_connect_fail(self, _client: Any, _data: Any) -> None:
        self._log_refusal(sys.exc_info()[1])

    def _log_refusal(self, reason: object) -> None:
        """Once until it is reached: a connection that fails is tried again for ever."""
        if not self._is_refused:
            where = f"{self._configuration.host}:{self._configuration.port}"
            _log.error("Battery %s: no connection to the broker %s: %s.", self._asset, where, reason)
        self._is_refused = True

    def _on_disconnect(self, _client: Any, _data: Any, _flags: Any, reason: Any, _properties: Any) -> None:
        if reason.is_failure and not self._is_refused:
            _log.warning("Battery %s: the broker %s is gone: %s.", self._asset, self._configuration.host, reason)

    def _on_message(self, client: Any, _data: Any, message: paho.MQTTMessage) -> None:
        try:
            readings = self._read_payload(message)
        except Exception as error:  # noqa: BLE001  # whatever a payload does, the gateway goes on
            self._reject(self._asset, "a payload cannot be read", repr(error))
            readings = []
        assert self._deliver is not None, "messages come after the start"
        self._deliver(readings, _make_acknowledgement(client, message))

    def _read_payload(self, message: paho.MQTTMessage) -> list[Reading]:
        topic = message.topic
        signals = self._by_topic.get(topic)
        if signals is None:
            self._reject(self._asset, "a topic has no signal", topic)
            return []
        if len(message.payload) > MAX_PAYLOAD_BYTES:
            self._reject(self._asset, "a payload is too long", f"{len(message.payload)} bytes in {message.topic}")
            return []
        document = _decoder.decode(message.payload)
        time_us = self._read_time(document)
        readings = []
        for name, signal, factor in signals:
            value = document if signal.field is None else find_field(document, signal.field)
            if type(value) is float:
                readings.append(Reading(name, time_us, value * factor))
                continue
            if isinstance(value, str):
                value = _parse_number(value)
            if isinstance(value, bool):
                value = float(value)
            if isinstance(value, int | float):
                readings.append(Reading(name, time_us, float(value) * factor))
            elif value is not None or signal.field is None:
                self._reject(self._asset, "a value is not a number", f"{name} in {message.topic}")
        return readings

    def _read_time(self, document: Any) -> int | None:
        field = self._configuration.time_field
        found = find_field(document, field) if field is not None else None
        if found is None:
            return None
        if isinstance(found, int | float) and self._configuration.time_unit is not None:
            if isinstance(found, int) and self._configuration.time_unit == "ns":
                return found // 1000
            return int(found * _US_PER_UNIT[self._configuration.time_unit])
        instant = datetime.fromisoformat(str(found))
        if instant.tzinfo is None:
            raise ValueError(f"the time {found} has no offset")
        return int(instant.timestamp() * 1_000_000)


def find_field(document: Any, path: str) -> Any:
    """The value at a path with dots; None where there is none."""
    if "." not in path:
        return document.get(path) if isinstance(document, dict) else None
    for step in path.split("."):
        if not isinstance(document, Mapping):
            return None
        document = document.get(step)
    return document


def _parse_number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _make_acknowledgement(client: paho.Client, message: paho.MQTTMessage) -> Callable[[], None]:
    def acknowledge() -> None:
        client.ack(message.mid, message.qos)

    return acknowledge

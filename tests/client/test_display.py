"""How clients, methods, items and answers show themselves, and that no secret is shown."""

from __future__ import annotations

import inspect
import json
import ssl
import textwrap
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.client.script import ORGANISATION
from tests.each import for_each

from gridloom_client import AsyncClient, Client, ForbiddenError, RawResponse, Request, Rows
from gridloom_client.answers import DataPoints, IssuedApiKey, Latest, SeriesPoint, SignedIn
from gridloom_client.display import short_text, table_html
from gridloom_client.operations import OPERATIONS, Endpoint
from gridloom_client.resources.auctions import Auctions
from gridloom_client.streams import FollowedPoints

CLIENT = Client("http://gridloom.test", username="ada", password="a-password")
INTERFACE = json.loads((Path(__file__).parents[2] / "openapi.json").read_bytes())
TIME = datetime.fromisoformat("2026-03-29T00:00:00+00:00")
SECRET = "gl_secret_value"


def endpoint_of(name: str) -> Endpoint[..., Any]:
    resource, _, method = name.partition(".")
    found = type(getattr(CLIENT, resource)).__dict__[method]
    assert isinstance(found, Endpoint)
    return found


def answering(status: int, body: Any) -> httpx2.MockTransport:
    return httpx2.MockTransport(lambda request: httpx2.Response(status, json=body))


def issued_key() -> IssuedApiKey:
    made = {"id": "01890a5d-ac96-774b-bcce-b302099a8057", "name": "Gateway", "secret": SECRET, "permissions": []}
    times = {"createdAt": "2026-03-29T00:00:00Z", "expiresAt": "2027-03-29T00:00:00Z"}
    with Client("http://x", api_key="k", transport=answering(201, {**made, **times, "allowedNetworks": []})) as client:
        return client.auth.create_api_key(name="Gateway", permissions=[])


class TestTheDocstring:
    @for_each(sorted(OPERATIONS.values()))
    def test_says_what_the_interface_says_with_every_parameter(self, name: str):
        endpoint = endpoint_of(name)
        text = inspect.getdoc(endpoint) or ""
        operation = INTERFACE["paths"][endpoint.path][endpoint.method.lower()]
        assert text.startswith(f"{operation['summary']}.")
        assert " ".join(operation.get("description", "").split()) in " ".join(text.split())
        for parameter in list(endpoint.signature.parameters)[1:]:
            assert f"\n    {parameter}: " in text

    @for_each(sorted(OPERATIONS.values()))
    def test_has_an_example_that_can_be_called_where_it_takes_more_than_the_path(self, name: str):
        endpoint = endpoint_of(name)
        needed = {
            parameter.name
            for parameter in endpoint.signature.parameters.values()
            if parameter.default is parameter.empty
        }
        _, _, example = (inspect.getdoc(endpoint) or "").partition("Example:\n")
        assert bool(example) is bool(needed - {"self", *endpoint.in_path})
        if example:
            call = textwrap.dedent(example).replace("(", ".request(", 1)
            assert isinstance(eval(call, {"client": CLIENT, "datetime": datetime}), Request)

    def test_is_what_help_shows_with_a_client_and_without(self):
        for method in (CLIENT.auctions.bid, Auctions.bid):
            assert "price: EUR, at most 2 decimals" in (inspect.getdoc(method) or "")


class TestARepr:
    def test_of_a_client_says_where_and_as_whom(self):
        assert repr(CLIENT) == "Client('http://gridloom.test', as ada)"
        assert repr(AsyncClient("http://x", api_key=SECRET)) == "AsyncClient('http://x', with an API key)"
        assert "auctions" in CLIENT._repr_html_()

    def test_of_a_resource_lists_its_methods(self):
        assert "bid, bids, withdraw" in repr(CLIENT.auctions)
        assert "Place a bid" in CLIENT.auctions._repr_html_()

    def test_of_items_fetches_none(self):
        assert repr(CLIENT.auctions.list()).startswith("<items of auctions.list")
        assert "auctions.list" in CLIENT.auctions.list()._repr_html_()

    def test_of_an_answer_fits_a_line_and_a_notebook(self):
        with Client("http://x", api_key="k", transport=answering(200, ORGANISATION)) as client:
            response = client.organisations.get.answer("1")
        assert "name='A'" in repr(response.value)
        assert "<th>name</th><td>&#x27;A&#x27;</td>" in response._repr_html_()

    def test_shows_no_secret(self):
        shown = [repr(issued_key()), issued_key()._repr_html_(), Rows([issued_key()])._repr_html_()]
        tokens = SignedIn(access_token=SECRET, refresh_token=SECRET, token_type="Bearer", expires_in=900, scope="")
        request = Request("GET", "/", {"Authorization": f"Bearer {SECRET}"}, SECRET.encode())
        shown += [repr(each) for each in (tokens, request, RawResponse(200, {"x": SECRET}, SECRET.encode()))]
        shown += [repr(Client("http://x", api_key=SECRET)), repr(Client("http://x", username="a", password=SECRET))]
        assert not [text for text in shown if SECRET in text]
        assert issued_key().secret == SECRET


class TestAnError:
    def test_names_the_method(self):
        problem = {"type": "/docs/problems/forbidden", "title": "Permission denied", "detail": "No.", "status": 403}
        with Client("http://x", api_key="k", transport=answering(403, problem)) as client:
            with pytest.raises(ForbiddenError) as caught:
                client.auctions.bid("1", price="1")
            with pytest.raises(ForbiddenError) as listed:
                list(client.auctions.list())
        assert (caught.value.method, listed.value.method) == ("auctions.bid", "auctions.list")
        assert caught.value.__notes__ == ["In auctions.bid: POST /auctions/{auctionID}/bids"]
        assert str(caught.value) == "No."

    def test_about_an_argument_names_the_method(self):
        with pytest.raises(TypeError, match=r"auctions\.bid\(\): missing a required argument: 'price'"):
            CLIENT.auctions.bid("1")  # type: ignore[call-arg]


class TestCertificates:
    def test_are_checked_against_the_file_that_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        with pytest.raises(ValueError, match="cannot be used as a CA file: No such file"):
            Client("https://x", verify=tmp_path / "missing.pem")
        (tmp_path / "empty.pem").write_text("nothing")
        with pytest.raises(ValueError, match="it holds no certificate"):
            AsyncClient("https://x", verify=str(tmp_path / "empty.pem"))
        monkeypatch.setenv("GRIDLOOM_CA_FILE", str(tmp_path / "empty.pem"))
        with pytest.raises(ValueError, match=r"empty\.pem"):
            Client("https://x")
        Client("https://x", verify=ssl.create_default_context()).close()


class TestAShape:
    points = DataPoints(
        meta_data=(), data={"a": (SeriesPoint(TIME, 1.0),), "b": (SeriesPoint(TIME, 2.0), SeriesPoint(TIME, 3.0))}
    )

    def test_of_series_is_wide_or_long(self):
        assert self.points.to_arrow().column_names == ["time", "a", "b"]
        assert self.points.to_arrow(shape="wide").equals(self.points.to_arrow())
        assert self.points.to_pandas(shape="long").to_dict("list") == {
            "time": [TIME, TIME],
            "name": ["a", "b"],
            "value": [1.0, 3.0],
        }

    def test_of_what_is_followed_is_long_or_wide(self):
        followed = FollowedPoints("datapoints", {"a": (SeriesPoint(TIME, 1.0),), "b": (SeriesPoint(TIME, 2.0),)}, "7")
        assert followed.to_arrow(shape="long").column_names == ["signal", "time", "value"]
        assert followed.to_arrow(shape="wide").to_pylist() == [{"time": TIME, "a": 1.0, "b": 2.0}]

    def test_is_wide_with_a_row_for_all_that_is_neither_name_nor_value(self):
        rows = Rows(
            {"time": TIME, "zone": zone, "name": name, "value": value}
            for zone, name, value in (("A", "p10", 1.0), ("A", "p50", 2.0), ("B", "p10", 3.0))
        )
        assert rows.to_arrow(shape="wide").to_pylist() == [
            {"time": TIME, "zone": "A", "p10": 1.0, "p50": 2.0},
            {"time": TIME, "zone": "B", "p10": 3.0, "p50": None},
        ]

    def test_of_the_latest_points_is_a_row_for_each_signal(self):
        latest = Latest(meta_data=(), data={"a": SeriesPoint(TIME, 1.0), "b": SeriesPoint(TIME, 2.0)})
        assert latest.to_arrow().to_pylist()[1] == {"signal": "b", "time": TIME, "value": 2.0}


class TestAShortText:
    def test_tells_of_what_is_long_how_long_it_is_and_leaves_the_rest(self):
        whole, cut = "x" * 58, "x" * 59
        shown: list[tuple[Any, str]] = [
            *(([1, 2, 3, 4], "(4 × int)"), ((1, 2, 3, 4), "(4 × int)"), ([1, 2, 3], "[1, 2, 3]")),
            *((dict.fromkeys("abcd", 1), "{4 names}"), ({"a": 1, "b": 2}, "{'a': 1, 'b': 2}")),
            *((TIME, "2026-03-29T00:00:00+00:00"), (1.5, "1.5"), (10**70, "1" + "0" * 70)),
            *((whole, f"'{whole}'"), (cut, f"'{whole}…")),
        ]
        assert [short_text(value) for value, _ in shown] == [text for _, text in shown]

    def test_of_a_cell_is_empty_where_nothing_is_known_and_hides_secrets(self):
        row = {"name": "<a>", "token": SECRET, "note": None, "at": TIME}
        cells = "<td>&lt;a&gt;</td><td>…</td><td></td><td>2026-03-29T00:00:00+00:00</td>"
        html = table_html(list(row), [row], 2)
        assert f"<tbody><tr>{cells}</tr></tbody>" in html
        assert html.endswith("<p>2 rows, the first 1 shown</p>")

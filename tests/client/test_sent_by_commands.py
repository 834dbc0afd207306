"""What each command asks of the service, and what it shows of the answer; the service itself is played."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.client.played import BATTERY, ETAG, OTHERS, OURS, SECOND, THING, VIRTUAL, Run

pytestmark = pytest.mark.pure


class TestACommand:
    def test_exports_each_market_day_as_much_of_it_as_is_asked_for(self, run: Run, tmp_path: Path):
        window = "--start 2026-10-24T12:00 --end 2026-10-26T06:00 --resolution 15-minute --aggregation max"
        shown = run(f"monitoring export Husum {tmp_path / 'out.csv'} {window} --signals active_power")
        asked = [line.partition("?")[2] for line in shown.service.lines if "/datapoints" in line]
        assert [re.findall(r"(?:start|end)=([^&]+)", query) for query in asked] == [
            ["2026-10-24T10:00:00Z", "2026-10-24T22:00:00Z"],
            ["2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"],
            ["2026-10-25T23:00:00Z", "2026-10-26T05:00:00Z"],
        ], shown.err
        assert all("datapoints=active_power" in query and "aggregation=max" in query for query in asked)


class TestAnAnswer:
    def test_of_a_preview_names_those_who_lose_and_no_others(self, run: Run):
        holders = [
            {"kind": "VIRTUAL_ASSET", "virtualAssetID": VIRTUAL, "before": 50, "after": 45},
            {"kind": "VIRTUAL_ASSET", "virtualAssetID": SECOND, "before": 70, "after": 70},
        ]
        words = "unavailability add Husum 2026-07-02 2026-07-03 --type MAINTENANCE --description Inverter --yes"
        preview = {"free": 12, "cut": 5, "holders": holders}
        shown = run(words, {f"POST /physical-assets/{BATTERY}/unavailability-previews": preview})
        out = shown.out
        assert not shown.err
        assert "12 kW of free capacity are lost, and 5 kW that are held" in out
        assert VIRTUAL[-8:] in out
        assert SECOND[-8:] not in out
        preview["holders"] = holders[1:]
        out = run(words, {f"POST /physical-assets/{BATTERY}/unavailability-previews": preview}).out
        assert "No promise is broken; 12 kW" in out

    def test_of_auctions_leaves_out_those_that_closed_more_than_a_day_ago(self, run: Run):
        ends = {"11-17T11:59": THING, "11-17T12:01": SECOND, "11-19T12:00": BATTERY}
        known = [{"id": id, "end": f"2026-{end}:00Z", "status": "LOST"} for end, id in ends.items()]
        listed = run("auctions list", {"/auctions": known})
        assert [id[-8:] in listed.out for id in (THING, SECOND, BATTERY)] == [False, True, True]
        assert "1 that closed earlier" in listed.out
        for words in ("auctions list --all", "auctions list --status LOST"):
            assert THING[-8:] in run(words, {"/auctions": known}).out
        listed = run("auctions list -o csv", {"/auctions": known})
        assert (len(listed.out.splitlines()), listed.err) == (1 + 3, ""), "scripts get all of them"

    def test_of_prices_covers_every_quarter_hour_and_shows_the_forecast_beside(self, run: Run):
        hour = {"start": "2026-07-01T10:00:00Z", "end": "2026-07-01T11:00:00Z", "price": 42.5}
        forecast = [{"time": "2026-07-01T10:15:00Z", "p10": 10, "p50": 50, "p90": 90}]
        shown = run(
            "prices --day 2026-07-01 --utc",
            {"/reference-prices": [hour], "/forecasts/day-ahead": {"forecast": forecast}},
        )
        lines, none = [line.split()[1:] for line in shown.out.splitlines()[2:]], ["42.50", "–", "–", "–"]
        assert [line[1:] for line in lines] == [none, ["42.50", "50.00", "10.00", "90.00"], none, none]
        assert [line[0] for line in lines] == ["10:00Z", "10:15Z", "10:30Z", "10:45Z"]

    def test_of_shares_says_what_is_used_of_which_limit(self, run: Run):
        share = {"share": "jobs", "used": 3, "limit": 20, "waiting": 5, "unit": "COUNT", "counted": "PLATFORM"}
        shown = run("organisations usage", {f"/organisations/{OURS}/usage": {"shares": [share]}})
        assert shown.out.splitlines()[-1].split() == ["jobs", "3", "20", "5", "COUNT", "PLATFORM"]

    def test_of_virtual_assets_leaves_out_those_that_are_over(self, run: Run):
        path = f"/organisations/{OURS}/virtual-assets"
        ends = {"Elbe": "2026-11-18T12:00:00Z", "Weser": "2026-11-18T12:15:00Z"}
        assets = [{"id": THING, "name": name, "end": end} for name, end in ends.items()]
        out = run("virtual list", {path: assets}).out
        assert ("Elbe" in out, "Weser" in out, "1 that are over" in out) == (False, True, True)
        for words, is_said in (("--all", False), ("-o csv", False)):
            out = run(f"virtual list {words}", {path: assets}).out
            assert ("Elbe" in out, "Weser" in out, "that are over" in out) == (True, True, is_said)


class TestAThing:
    def test_that_several_ids_end_like_is_asked_for_again(self, run: Run):
        refused = run("grants list 1")
        assert (refused.code, "type more of the id" in refused.err) == (2, True)
        assert not any("/grants" in line for line in refused.service.lines)

    def test_is_granted_anew_on_the_condition_that_was_seen(self, run: Run):
        granted = [{"organisationID": OTHERS}]
        shown = run("grants set Husum Südwind Read:monitoring", {f"/physical-assets/{BATTERY}/grants": granted})
        assert [f"if {ETAG}" in line for line in shown.service.changes] == [True]
        granted = [{"organisationID": OURS}]
        shown = run("grants set Husum Südwind Read:monitoring", {f"/physical-assets/{BATTERY}/grants": granted})
        assert [f"if {ETAG}" in line for line in shown.service.changes] == [False], "what another has is no condition"

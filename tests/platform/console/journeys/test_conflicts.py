"""Two people change one thing, each in a browser of their own: nothing is lost and nothing overwritten unasked."""

from __future__ import annotations

import asyncio
import re
from datetime import date, datetime, time, timedelta

from playwright.async_api import Locator, Page, expect
from tests.people import PASSWORD
from tests.platform.console.journeys.conftest import OpenTab
from tests.platform.console.journeys.scene import BERLIN, Scene, Somebody
from tests.platform.console.journeys.test_virtual_battery import fifth_day, schedule_of
from tests.platform.console.journeys.watching import Tab


async def type_power(page: Page, at: str, power: str) -> None:
    await page.get_by_role("gridcell", name=re.compile(f"^{at} ")).click()
    await page.keyboard.type(power)
    await page.keyboard.press("Enter")


class TestTwoPeopleWhoPlanOneDay:
    async def test_choose_range_by_range_what_is_saved(self, open_tab: OpenTab, scene: Scene):
        path = f"/virtual-batteries/{scene.virtual_asset_id}/{fifth_day(scene)}"
        async with open_tab("trader") as mara, open_tab("jonas") as jonas:
            mara.expect_refusal(412)
            await mara.open(path)
            await jonas.open(path)
            await type_power(mara.page, "20:00", "1")
            await type_power(mara.page, "21:00", "2")
            await type_power(jonas.page, "21:00", "-1.5")
            await type_power(jonas.page, "22:00", "-2")
            save = mara.page.get_by_role("button", name="Save")
            place = await save.bounding_box()
            await jonas.page.keyboard.press("Control+s")
            await expect(jonas.page.get_by_text("No changes")).to_be_visible()

            notice = mara.page.get_by_text("Jonas Petersen changed 2 quarter-hours just now.")
            await expect(notice).to_be_visible()
            assert await save.bounding_box() == place, "the notice moves Save under a hand"
            await expect(mara.page.get_by_text("2 changed", exact=True)).to_be_visible()
            await mara.page.keyboard.press("Control+s")
            page = mara.page
            await expect(page.get_by_text("Jonas Petersen saved this day while you were editing.")).to_be_visible()
            await expect(page.get_by_text("3 ranges differ")).to_be_visible()
            save = page.get_by_role("button", name=re.compile("^Save version"))
            await expect(save).to_be_disabled()
            await mara.check_in_both_themes()
            assert await asyncio.to_thread(schedule_at, scene, 20, 21, 22) == [0, -1500, -2000]

            both = page.get_by_role("group", name="21:00–21:15")
            await both.get_by_text("Keep mine").click()
            await expect(save).to_be_enabled()
            # What was chosen against another power of theirs is no choice any more.
            await asyncio.to_thread(put_power, scene, "21:00", -1000)
            await expect(page.get_by_role("alert").filter(has_text="1 choice was dropped")).to_be_visible()
            await expect(save).to_be_disabled()
            await both.get_by_text("Keep mine").click()
            await save.click()
            await expect(page.get_by_text("No changes")).to_be_visible()
        assert await asyncio.to_thread(schedule_at, scene, 20, 21, 22) == [1000, 2000, -2000]

    async def test_take_what_the_other_saved_and_balance_the_rest(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("trader") as tab:
            page = tab.page
            await tab.open(f"/virtual-batteries/{scene.virtual_asset_id}/{fifth_day(scene)}")
            await type_power(page, "18:00", "1")
            await asyncio.to_thread(put_power, scene, "18:00", 3000)
            await page.get_by_role("button", name="Compare").click()
            await expect(page.get_by_text("1 range differs")).to_be_visible()
            await page.get_by_role("button", name="All theirs").click()
            await page.get_by_role("button", name="Back to editing").click()
            await expect(page.get_by_text("1 changed")).to_be_visible()
            await page.get_by_role("button", name="Compare").click()
            await page.get_by_role("button", name="All mine").click()
            await page.get_by_role("button", name="Balance the rest").click()
            await expect(page.get_by_role("region", name="Proposal")).to_contain_text("Balanced")
            await page.get_by_role("region", name="Proposal").get_by_role("button", name="Dismiss").click()
            await page.get_by_role("button", name="Discard").click()
        assert await asyncio.to_thread(schedule_at, scene, 18) == [3000]


class TestTwoPeopleWhoEditOneForm:
    async def test_choose_field_by_field_what_is_saved(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("owner") as tab:
            page = tab.page
            tab.expect_refusal(412)
            await tab.open(f"/physical-assets/{scene.assets['Hürth']}/parameters", "Hürth")
            await page.get_by_role("button", name="Change").click()
            form = page.get_by_role("dialog")
            limit = form.get_by_label("FCR limit")
            before = await limit.input_value()
            await limit.fill("150")
            tab.expect_refusal(400)
            await form.get_by_role("button", name="Save as a new version").click()
            await expect(form.get_by_role("alert")).to_have_text(
                "Not saved. FCR limit: Expected a number of at most 100 %."
            )
            await limit.fill(before)
            await form.get_by_label("Discharging power").fill("19")
            await form.get_by_label("Cycles a day").fill("3")
            await tab.check()
            await asyncio.to_thread(put_parameters, scene, ratedDischargePower=18_000, fcrLimitRatio=0.5)
            await expect(form.get_by_role("status")).to_contain_text("just now")
            await form.get_by_role("button", name="Save as a new version").click()
            await expect(form.get_by_text("Another version was saved while you were editing.")).to_be_visible()
            save = form.get_by_role("button", name="Save as a new version")
            await expect(save).to_be_disabled()
            await expect(form.get_by_role("button", name="Keep theirs")).to_have_count(0)
            await tab.check_in_both_themes()
            await form.get_by_role("group", name="Discharging power").get_by_text("Keep mine").click()
            await save.click()
            await expect(form).to_have_count(0)
        stored = await asyncio.to_thread(scene.owner.get, f"/physical-assets/{scene.assets['Hürth']}/parameters")
        assert (stored["ratedDischargePower"], stored["dailyCycleLimit"], stored["fcrLimitRatio"]) == (19_000, 3, 0.5)

    async def test_hear_of_each_other_before_they_save(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("owner") as mine, open_tab("lena") as theirs:
            form, other = await open_parameters(mine, scene), await open_parameters(theirs, scene)
            await form.get_by_label("Cycles a year").fill("500")
            await save_field(other, "Highest state of charge", "96")
            notice = form.get_by_role("status")
            await expect(notice).to_have_text(
                "Lena Brandt changed Highest state of charge just now. Your changes are kept.Compare"
            )
            await expect(form.get_by_label("Cycles a year")).to_have_value("500")
            await mine.check_in_both_themes()
            await notice.get_by_role("button", name="Compare").click()
            await expect(notice).to_have_count(0)
            await expect(form.get_by_role("group", name="Highest state of charge")).to_be_visible()
            await form.get_by_role("button", name="Save as a new version").click()
            await expect(form).to_have_count(0)
            # Where nothing was typed, the form shows what the other saved.
            form, other = await open_parameters(mine, scene), await open_parameters(theirs, scene)
            await save_field(other, "Highest state of charge", "97")
            await expect(form.get_by_role("status")).to_have_text(
                "Lena Brandt changed this just now. The form shows it."
            )
            await expect(form.get_by_label("Highest state of charge")).to_have_value("97")
        stored = await asyncio.to_thread(scene.owner.get, f"/physical-assets/{scene.assets['Wilster']}/parameters")
        assert (stored["annualCycleLimit"], stored["maxStateOfCharge"]) == (500, 0.97)

    async def test_is_so_for_unavailabilities_auctions_and_portfolios(self, open_tab: OpenTab, scene: Scene):
        async with open_tab("owner") as tab:
            await tab.open(f"/physical-assets/{scene.assets['Stade']}", "Stade")
            await tab.page.get_by_role("button", name="Change: Inverter maintenance").click()
            form = tab.page.get_by_role("dialog")
            await form.get_by_label("Reason").fill("Inverters, both")
            tab.expect_refusal(412)
            await asyncio.to_thread(rename_unavailability, scene, "Inverter maintenance", "Inverter 7")
            await expect(form.get_by_role("status")).to_contain_text("just now")
            await form.get_by_role("button", name="Save").click()
            await form.get_by_role("group", name="Reason").get_by_text("Take theirs").click()
            await form.get_by_role("button", name="Keep theirs").click()
            await expect(form).to_have_count(0)
            await expect(tab.page.get_by_text("Inverter 7").first).to_be_visible()
        async with open_tab("operator") as tab:
            await tab.open(f"/auctions/{scene.auctions['ahead']}")
            await tab.page.get_by_role("button", name="Change").click()
            form = tab.page.get_by_role("dialog")
            await form.get_by_label("Hurdle price").fill("1200")
            await form.get_by_role("button", name="Save").click()
            await expect(form).to_have_count(0)
            await expect(tab.page.get_by_text("€1,200.00")).to_be_visible()
        async with open_tab("trader") as tab:
            await tab.open("/virtual-batteries")
            await tab.page.get_by_role("button", name="Portfolio").click()
            form = tab.page.get_by_role("dialog")
            await form.get_by_role("button", name="Cancel").click()
            await expect(form).to_have_count(0)
            await expect(tab.page.get_by_role("button", name="Edit")).to_have_count(0)
            await tab.page.get_by_role("button", name="Portfolio").click()
            await form.get_by_label("Name").fill("North")
            await form.get_by_role("button", name="Save").click()
            await expect(tab.page.get_by_role("button", name="Edit North")).to_be_visible()

    async def test_hear_of_each_other_in_portfolios_unavailabilities_and_auctions(
        self, open_tab: OpenTab, scene: Scene
    ):
        portfolios = f"/organisations/{scene.trader.organisation_id}/portfolios"
        await asyncio.to_thread(scene.trader.post, portfolios, {"name": "East"})
        async with open_tab("trader") as mine, open_tab("jonas") as theirs:
            form, other = await edit_portfolio(mine, "East"), await edit_portfolio(theirs, "East")
            await form.get_by_label("Name").fill("Far east")
            await save_field(other, "Name", "Near east", "Save")
            await expect(form.get_by_role("status")).to_contain_text("Jonas Petersen changed Name just now.")
            await form.get_by_role("button", name="Compare").click()
            await form.get_by_role("group", name="Name").get_by_text("Keep mine").click()
            await form.get_by_role("button", name="Save").click()
            await expect(mine.page.get_by_role("button", name="Edit Far east")).to_be_visible()
            await expect(theirs.page.get_by_role("button", name="Edit Far east")).to_be_visible()
        await asyncio.to_thread(report_transformer, scene)
        async with open_tab("owner") as tab:
            await tab.open(f"/physical-assets/{scene.assets['Stade']}", "Stade")
            await tab.page.get_by_role("button", name="Change: Transformer", exact=True).click()
            form = tab.page.get_by_role("dialog")
            await form.get_by_label("Missing power").fill("7")
            await asyncio.to_thread(rename_unavailability, scene, "Transformer", "Transformer 2", by=scene.engineer)
            await expect(form.get_by_role("status")).to_contain_text("Lena Brandt changed Reason just now.")
        async with open_tab("operator") as tab:
            await tab.open(f"/auctions/{scene.auctions['ahead']}")
            await tab.page.get_by_role("button", name="Change").click()
            form = tab.page.get_by_role("dialog")
            await form.get_by_label("Hurdle price").fill("1300")
            change = {"hurdlePrice": "1250.00"}
            await asyncio.to_thread(scene.operator.change, f"/auctions/{scene.auctions['ahead']}", change)
            await expect(form.get_by_role("status")).to_contain_text("You, in another window, changed Hurdle price")


class TestASessionThatEndsInMidEdit:
    async def test_is_taken_up_again_with_all_that_was_typed(self, open_tab: OpenTab, scene: Scene):
        async with open_tab(None) as tab:
            page = tab.page
            await tab.sign_in("trader")
            await tab.open(f"/virtual-batteries/{scene.virtual_asset_id}/{fifth_day(scene)}")
            await type_power(page, "16:00", "1")
            tab.expect_refusal(401)
            headers = {"X-Gridloom-Console": "1"}
            await page.evaluate("(headers) => fetch('/console/session', { method: 'DELETE', headers })", headers)
            await page.keyboard.press("Control+s")
            await expect(page.get_by_text("what you typed is kept")).to_be_visible()
            await tab.check()
            await expect(page.get_by_label("User name")).to_have_value("trader")
            await page.get_by_label("Password").fill(PASSWORD)
            await page.get_by_role("button", name="Sign in").click()
            await expect(page.get_by_text("1 changed")).to_be_visible()
            await expect(page.get_by_text("Sign in")).to_have_count(0)
            await page.keyboard.press("Control+s")
            await expect(page.get_by_text("No changes")).to_be_visible()
        assert await asyncio.to_thread(schedule_at, scene, 16) == [1000]


def schedule_at(scene: Scene, *hours: int) -> list[float]:
    powers = schedule_of(scene, fifth_day(scene), 24)
    return [powers[4 * hour] for hour in hours]


def put_power(scene: Scene, at: str, power: float) -> None:
    organisation, asset = scene.trader.organisation_id, scene.virtual_asset_id
    moment = datetime.combine(date.fromisoformat(fifth_day(scene)), time.fromisoformat(at), BERLIN)
    point = {"time": moment.isoformat(), "power": power}
    scene.colleague.put(f"/organisations/{organisation}/virtual-assets/{asset}/schedule", {"schedule": [point]})


def put_parameters(scene: Scene, **changes: float) -> None:
    path = f"/physical-assets/{scene.assets['Hürth']}/parameters"
    names = (
        "ratedChargePower",
        "ratedDischargePower",
        "energyCapacity",
        "chargeEfficiency",
        "dischargeEfficiency",
        "dailyCycleLimit",
    )
    stored = scene.owner.get(path)
    scene.owner.put(path, {**{name: stored[name] for name in names}, **changes})


async def open_parameters(tab: Tab, scene: Scene) -> Locator:
    await tab.open(f"/physical-assets/{scene.assets['Wilster']}/parameters", "Wilster")
    await tab.page.get_by_role("button", name="Change").click()
    return tab.page.get_by_role("dialog")


async def edit_portfolio(tab: Tab, name: str) -> Locator:
    await tab.open("/virtual-batteries")
    await tab.page.get_by_role("button", name=f"Edit {name}").click()
    return tab.page.get_by_role("dialog")


async def save_field(form: Locator, label: str, value: str, button: str = "Save as a new version") -> None:
    await form.get_by_label(label).fill(value)
    await form.get_by_role("button", name=button).click()
    await expect(form).to_have_count(0)


def report_transformer(scene: Scene) -> None:
    start = scene.now + timedelta(days=11)
    scene.owner.post(
        f"/physical-assets/{scene.assets['Stade']}/unavailability",
        {
            "type": "MAINTENANCE",
            "start": start.isoformat(),
            "end": (start + timedelta(hours=3)).isoformat(),
            "volume": {"powerCapacity": {"charge": 5000, "discharge": 5000}, "energyCapacity": 0},
            "description": "Transformer",
        },
    )


def rename_unavailability(scene: Scene, before: str, after: str, *, by: Somebody | None = None) -> None:
    path = f"/physical-assets/{scene.assets['Stade']}/unavailability"
    found = next(one for one in scene.owner.get(path) if one["description"] == before)
    (by or scene.owner).change(f"{path}/{found['id']}", {"description": after})

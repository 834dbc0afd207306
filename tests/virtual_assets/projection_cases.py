"""Cases of the projection as JSON, for its twins in other languages: `python -m tests.virtual_assets.projection_cases`.

`inputs` is what goes in, `projection` what must come out. Arrays by lane are lists of lists.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np

from gridloom.virtual_assets.energy.projection import CycleBudget, ProjectionInput, project
from gridloom.virtual_assets.model import Efficiency

PATH = Path(__file__).parents[1] / "data" / "projection_cases.json"
SEED = 20260329


def cases() -> list[dict[str, Any]]:
    dice = random.Random(SEED)
    return [_case(f"random {number}", _random_standing(dice)) for number in range(40)] + [
        _case("a lost discharge, then a full store", _lost_discharge())
    ]


def _case(name: str, inputs: ProjectionInput) -> dict[str, Any]:
    found = project(inputs)
    activated = inputs.activated_kwh
    return {
        "name": name,
        "standing": {
            "powerKW": inputs.power_kw.tolist(),
            "chargeKW": inputs.charge_kw.tolist(),
            "dischargeKW": inputs.discharge_kw.tolist(),
            "lowestKWh": inputs.lowest_kwh.tolist(),
            "highestKWh": inputs.highest_kwh.tolist(),
            "energyKWh": inputs.energy_kwh,
            "capacityKWh": inputs.capacity_kwh,
            "chargeEfficiency": inputs.efficiency.charge,
            "dischargeEfficiency": inputs.efficiency.discharge,
            "activatedKWh": None if activated is None else activated.tolist(),
            "closed": inputs.closed,
            "cycles": [
                {
                    "limitKWh": rule.limit_kwh,
                    "groups": rule.groups.tolist(),
                    "exportedBeforeKWh": rule.exported_before_kwh,
                }
                for rule in inputs.cycles
            ],
        },
        "projection": {
            "powerKW": found.power_kw.tolist(),
            "energyKWh": found.energy_kwh.tolist(),
            "unexplainedKWh": found.unexplained_kwh.tolist(),
            "cuts": [
                {
                    "position": cut.position,
                    "acceptedKW": cut.accepted_kw,
                    "adjustedKW": cut.adjusted_kw,
                    "reason": cut.reason.value,
                }
                for cut in found.cuts
            ],
        },
    }


def _random_standing(dice: random.Random) -> ProjectionInput:
    lanes, count = dice.choice([1, 1, 2]), dice.choice([4, 12, 32, 96])
    capacity_kwh = float(dice.choice([1000, 4000]))

    def powers(low: int, high: int) -> Any:
        return np.array([[float(dice.randrange(low, high, 50)) for _ in range(count)] for _ in range(lanes)])

    has_loss, has_reserve = dice.random() < 0.5, dice.random() < 0.3
    power_kw = powers(-1000, 1001) * np.array([dice.random() < 0.6 for _ in range(count)])
    full = np.full((lanes, count), 1000.0)
    return ProjectionInput(
        power_kw=power_kw,
        charge_kw=powers(0, 1001) if has_loss else full,
        discharge_kw=powers(0, 1001) if has_loss else full,
        lowest_kwh=np.full(count, 0.1 * capacity_kwh if has_reserve else 0.0),
        highest_kwh=np.full(count, (0.9 if has_reserve else 1.0) * capacity_kwh),
        energy_kwh=0.5 * capacity_kwh,
        capacity_kwh=capacity_kwh,
        efficiency=Efficiency(*dice.choice([(1.0, 1.0), (0.95, 0.93)])),
        cycles=(
            [
                CycleBudget(0.5 * capacity_kwh, np.arange(count) // 24, 100.0),
                CycleBudget(2 * capacity_kwh, np.zeros(count, dtype=np.int64), 0.0),
            ]
            if dice.random() < 0.5
            else ()
        ),
        activated_kwh=(
            np.array([float(dice.choice([0, 0, 0, -250, 100])) for _ in range(count)]) if dice.random() < 0.4 else None
        ),
        closed=dice.choice([0, 0, count // 4]),
    )


def _lost_discharge() -> ProjectionInput:
    return ProjectionInput(
        power_kw=np.array([[1500.0] * 4 + [0.0] * 4 + [-3000.0] * 4]),
        charge_kw=np.full((1, 12), 4000.0),
        discharge_kw=np.array([[0.0] * 4 + [4000.0] * 8]),
        lowest_kwh=np.zeros(12),
        highest_kwh=np.full(12, 4000.0),
        energy_kwh=2000.0,
        capacity_kwh=4000.0,
        efficiency=Efficiency(1.0, 1.0),
    )


if __name__ == "__main__":
    PATH.write_text("[\n" + ",\n".join(json.dumps(case) for case in cases()) + "\n]\n")

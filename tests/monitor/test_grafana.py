"""The dashboard in Grafana's own types (its foundation SDK): they read it and write the same again, so every field is one that Grafana knows."""

import copy
import importlib.util
import json
import unittest

import support

SDK = support.needs("Grafana's foundation SDK", importlib.util.find_spec("grafana_foundation_sdk") or support.sys.version_info < (3, 11))


def lost(said, known, place="dashboard"):
    """The fields of `said` that are not in `known`, or have other values."""
    if isinstance(said, dict) and isinstance(known, dict):
        return [field for name, value in said.items() for field in (lost(value, known[name], f"{place}.{name}") if name in known else [f"{place}.{name}"])]
    if isinstance(said, list) and isinstance(known, list) and len(said) == len(known):
        return [field for number, (one, other) in enumerate(zip(said, known)) for field in lost(one, other, f"{place}[{number}]")]
    return [] if said == known else [place]


@SDK
@unittest.skipIf(support.sys.version_info < (3, 11), "Grafana's foundation SDK needs Python 3.11")
class Dashboard(unittest.TestCase):
    def setUp(self):
        from grafana_foundation_sdk.cog.plugins import register_default_plugins

        register_default_plugins()
        self.said = json.loads((support.ROOT / "python/headrace/monitor/grafana.json").read_text())

    @staticmethod
    def read(said):
        from grafana_foundation_sdk.models.dashboard import Dashboard

        return Dashboard.from_json(copy.deepcopy(said))

    def lost(self, said):
        from grafana_foundation_sdk.cog.encoder import JSONEncoder

        return lost(said, json.loads(JSONEncoder().encode(self.read(said))))

    def test_grafana_knows_every_field(self):
        self.assertEqual(self.lost(self.said), [])

    def test_a_wrong_field_is_found(self):
        self.said["panels"][0]["gridpos"] = self.said["panels"][0].pop("gridPos")
        self.said["panels"][1]["targets"][0]["expression"] = "1"
        self.assertEqual(self.lost(self.said), ["dashboard.panels[0].gridpos", "dashboard.panels[1].targets[0].expression"])

    def test_its_queries_are_of_prometheus(self):
        from grafana_foundation_sdk.models.prometheus import Dataquery

        targets = [target for panel in self.read(self.said).panels for target in panel.targets]
        self.assertEqual({type(target) for target in targets}, {Dataquery})
        self.assertTrue(all(target.expr for target in targets))


if __name__ == "__main__":
    unittest.main()

"""`schedule`: what is listed, shown, verified and drawn.

Usage: schedule_test.py TOOL [unittest arguments]
"""
import json
import os
import subprocess
import sys
import unittest
import xml.etree.ElementTree

TOOL = None


def run(*arguments):
    return subprocess.run([TOOL, *arguments], capture_output=True, text=True, timeout=30)


class Schedules(unittest.TestCase):
    def document(self, *arguments, code=0):
        result = run("schedule", *arguments, "--json")
        self.assertEqual(result.returncode, code, result.stderr)
        return json.loads(result.stdout)

    def test_list_has_every_pair_with_its_reason(self):
        schedules = self.document("list")["schedules"]
        self.assertEqual(len({(s["name"], s["target"]) for s in schedules}), 7 * 4)
        for s in schedules:
            self.assertEqual(list(s), ["name", "target", "legal", "reason", "proven"])
            self.assertEqual(s["proven"], s["reason"] == "", s)
            self.assertTrue(s["legal"] or not s["proven"], s)
        proven = {(s["name"], s["target"]) for s in schedules if s["proven"]}
        self.assertEqual(proven, {("default", t) for t in ("gfx942", "gfx950", "sm80", "sm90")} |
                         {("ping-pong", "gfx950"), ("4-wave", "gfx950"), ("blocks", "gfx950"),
                          ("legacy/default", "gfx942"), ("legacy/default", "gfx950")})

    def test_verify_of_what_is_proven(self):
        for name, target in (("default", "gfx942"), ("ping-pong", "gfx950"), ("4-wave", "gfx950"), ("default", "sm80"),
                             ("default", "sm90")):
            document = self.document("verify", name, "--target", target)
            self.assertEqual((document["name"], document["target"]), (name, target))
            self.assertTrue(document["proven"])
            self.assertEqual(document["hazards"], [])
            self.assertGreaterEqual(document["ii"], document["mii"])
            self.assertEqual({e["phase"] for e in document["entries"]}, {"prologue", "kernel", "epilogue"})

    def test_declared_blocks_are_proven_and_have_no_interval(self):
        document = self.document("verify", "blocks", "--target", "gfx950")
        self.assertTrue(document["proven"])
        self.assertIsNone(document["ii"])
        self.assertEqual(document["mii"], 4096)
        kernel = [e["op"] for e in document["entries"] if e["phase"] == "kernel"]
        self.assertEqual((len(kernel), kernel.count("BAR"), kernel.count("VM6")), (64, 16, 2))
        self.assertIn("MMA", run("schedule", "show", "blocks", "--target", "gfx950").stdout)

    def test_verify_finds_the_hazards_of_the_reference(self):
        for name, hazard in (("legacy/ping-pong", "HAZARD_WAR: FB01"), ("legacy/4-wave", "HAZARD_RAW: LB01")):
            document = self.document("verify", name, "--target", "gfx950", code=1)
            self.assertFalse(document["proven"])
            self.assertTrue(any(h.startswith(hazard) for h in document["hazards"]), document["hazards"])
        self.assertEqual(self.document("show", "legacy/4-wave", "--target", "gfx950")["proven"], False)

    def test_show_says_why_each_wait_has_its_value(self):
        document = self.document("show", "default", "--target", "sm80")
        entries = document["entries"]
        kernel = [e["op"] for e in entries if e["phase"] == "kernel"]
        self.assertEqual(kernel.count("BAR"), 1, kernel)
        self.assertEqual(sum(op.startswith("CG") for op in kernel), 1, kernel)
        for entry in entries:
            self.assertEqual("why" in entry, entry["op"].startswith("CG"), entry)
        text = run("schedule", "show", "default", "--target", "sm80").stdout
        self.assertIn("mma_unit   |", text)
        self.assertIn("II 1024, MII 1024", text)

    def test_certificate_adds_up_to_the_smallest_interval(self):
        for name, target in (("default", "gfx942"), ("default", "gfx950"), ("ping-pong", "gfx950"), ("4-wave", "gfx950"),
                             ("default", "sm80"), ("default", "sm90"), ("legacy/ping-pong", "gfx950"),
                             ("legacy/4-wave", "gfx950")):
            document = self.document("show", name, "--target", target)
            certificate = document["certificate"]
            units, recurrence = certificate["units"], certificate["recurrence"]
            self.assertEqual(units["mii"], -(-sum(u["cycles"] for u in units["uses"]) // units["capacity"]))
            delay = sum(s["delay"] for s in recurrence["cycle"])
            distance = sum(s["distance"] for s in recurrence["cycle"])
            self.assertEqual((recurrence["delay"], recurrence["distance"]), (delay, distance))
            self.assertEqual(recurrence["mii"], -(-delay // distance))
            self.assertEqual([s["from"] for s in recurrence["cycle"]], document["critical_cycle"])
            self.assertEqual(certificate[certificate["set_by"]]["mii"], document["mii"])
            text = run("schedule", "show", name, "--target", target).stdout
            self.assertIn(f"{units['unit']} is busy for {sum(u['cycles'] for u in units['uses'])} cycles", text)
            self.assertIn(f"{delay} cycles in {distance} iteration", text)

    def test_show_of_roles_that_run_programs_of_their_own(self):
        document = self.document("show", "default", "--target", "sm90")
        kernel = {role: [e["op"] for e in document["entries"] if e["phase"] == "kernel" and e["role"] == role]
                  for role in ("producer", "consumer")}
        self.assertEqual(kernel["producer"], ["empty0.wait", "full0.arrive", "LA", "LB"])
        self.assertEqual(kernel["consumer"], ["full0.wait", "WF", "MMA", "WC", "WG1", "empty0.arrive"])
        why = {e["op"]: e["why"] for e in document["entries"] if "why" in e}
        self.assertIn("parity (t / 3) mod 2", why["full0.wait"])
        self.assertIn("parity (t / 3 + 1) mod 2", why["empty0.wait"])
        self.assertIn("49152 B", why["full0.arrive"])
        self.assertEqual(document["critical_cycle"], ["MMA"])

    def test_show_raises_the_priority_around_each_cluster(self):
        for name, target in (("default", "gfx942"), ("ping-pong", "gfx950"), ("4-wave", "gfx950")):
            ops = [e["op"] for e in self.document("show", name, "--target", target)["entries"] if e["phase"] == "kernel"]
            self.assertGreater(ops.count("PR1"), 0, ops)
            self.assertEqual(ops.count("PR1"), ops.count("PR0"), ops)

    def test_show_says_what_sets_the_interval(self):
        text = run("schedule", "show", "default", "--target", "gfx950").stdout
        self.assertIn("II 992, MII 992: units 512 (mma_unit), recurrence 992 (LD > ST > LD), optimal", text)

    def test_svg_of_every_target(self):
        for target, op in (("gfx942", "MM1"), ("gfx950", "MM1"), ("sm80", "MMA10"), ("sm90", "full0.wait")):
            result = run("schedule", "svg", "default", "--target", target)
            self.assertEqual(result.returncode, 0)
            self.assertEqual(xml.etree.ElementTree.fromstring(result.stdout).tag, "{http://www.w3.org/2000/svg}svg")
            self.assertIn(op, result.stdout)
            document = self.document("svg", "default", "--target", target)
            for field in ("name", "target", "entries", "ii", "mii", "proven", "hazards"):
                self.assertIn(field, document)

    def test_svg_is_a_document(self):
        for name in ("ping-pong", "legacy/ping-pong"):
            result = run("schedule", "svg", name, "--target", "gfx950")
            self.assertEqual(result.returncode, 0)
            self.assertEqual(xml.etree.ElementTree.fromstring(result.stdout).tag, "{http://www.w3.org/2000/svg}svg")
            self.assertIn("MMA11", result.stdout)
            self.assertEqual("HAZARD_WAR" in result.stdout, name.startswith("legacy"))


if __name__ == "__main__":
    TOOL = os.path.abspath(sys.argv.pop(1))
    unittest.main()

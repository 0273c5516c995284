"""`schedule`: what is listed, shown, verified and drawn, shipped and in a file of the user's.

Usage: schedule_test.py TOOL [unittest arguments]
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

TOOL = None
EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "your_schedule" / "main.cpp"
# Two rings on sm90; another that reads one buffer twice and the other never; one with a load
# that takes no time; one for any target.
MINE = """#include "warpwright/schedule/bodies.h"
#include "warpwright/schedule/registry.h"
using namespace warpwright::schedule;
constexpr BodySpec two_rings() {
  BodySpec body = tma_ring(targets::sm90a);
  body.buffers[1].ring = 1;
  return body;
}
constexpr Pipeline rings() { return compile(two_rings(), targets::sm90a); }
constexpr Pipeline unread() {
  BodySpec body = two_rings();
  body.loop.ops[2].accesses.list[1].buffer = 0;
  return compile(body, targets::sm90a);
}
@PROOF@
constexpr Pipeline instant() {
  BodySpec body = two_rings();
  body.loop.ops[0].latency = 0;
  return compile(body, targets::sm90a);
}
constexpr Pipeline any(const Target& target) { return compile(default_matmul(target), target); }
extern "C" void warpwright_schedules(Registry& registry) {
  registry.add("rings", rings);
  registry.add("unread", unread);
  registry.add("instant", instant);
  registry.add("any", any);
}
"""


def run(*arguments):
    return subprocess.run([TOOL, *arguments], capture_output=True, text=True, timeout=120)


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


@unittest.skipUnless(any(shutil.which(name) for name in ("c++", "g++", "clang++")), "no C++ compiler is installed")
class OwnSchedules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.file = pathlib.Path(folder.name) / "mine.cpp"
        cls.file.write_text(MINE.replace("@PROOF@", ""))

    def asked(self, verb, name, *arguments):
        return run("schedule", verb, str(self.file), "--name", name, *arguments)

    def refused(self, *arguments, file=None):
        result = run("schedule", "verify", str(file or self.file), *arguments)
        self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
        return result.stderr.splitlines()[-1]

    def test_the_example_is_proven_shown_and_drawn(self):
        result = run("schedule", "show", str(EXAMPLE))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("mine on sm80: proven, II 320, MII 320", result.stdout)
        self.assertIn("CG1              COPY is complete, 1 issued after it may be open", result.stdout)
        result = run("schedule", "svg", str(EXAMPLE))
        self.assertEqual(xml.etree.ElementTree.fromstring(result.stdout).tag, "{http://www.w3.org/2000/svg}svg")
        self.assertIn("FRAG", result.stdout)

    def test_two_rings_are_proven_within_the_limits_of_the_compiler(self):
        proven = self.file.with_name("proven.cpp")
        proven.write_text(MINE.replace("@PROOF@", "static_assert(require_order<rings>());"))
        result = run("schedule", "verify", str(proven), "--name", "rings", "--json", "--target", "sm90")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        document = json.loads(result.stdout)
        self.assertEqual((document["name"], document["target"], document["proven"]), ("rings", "sm90", True))
        self.assertEqual((document["hazards"], document["remarks"]), ([], []))
        self.assertIn("full1.wait", [e["op"] for e in document["entries"]])

    def test_a_load_that_nobody_reads(self):
        result = self.asked("verify", "unread")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(result.stdout.splitlines()[0],
                         "VALUE_UNREAD: LB and B: an op writes a value that no op of the body reads")
        bad = self.file.with_name("bad.cpp")
        bad.write_text(MINE.replace("@PROOF@", "static_assert(require_order<unread>());"))
        line = bad.read_text().splitlines().index("static_assert(require_order<unread>());") + 1
        self.assertIn(f"bad.cpp:{line}: this does not compile: schedule: VALUE_UNREAD: an op writes a value that no op of the "
                      "body reads ('LB', 'B').", self.refused("--name", "unread", file=bad))

    def test_a_latency_that_was_not_given(self):
        result = self.asked("verify", "instant")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("LA takes 0 cycles: its latency is not one of sm90", result.stdout)

    def test_one_of_several_and_its_target(self):
        self.assertIn("registers rings, unread, instant, any; name one of them", self.refused())
        self.assertIn("does not register 'mine'; it has rings", self.refused("--name", "mine"))
        self.assertIn("--target sm80: 'rings' of", self.refused("--name", "rings", "--target", "sm80"))
        self.assertIn("--target is required: 'any' of", self.refused("--name", "any"))
        result = self.asked("verify", "any", "--target", "gfx950")
        self.assertIn("any on gfx950: proven, II 992", result.stdout)

    def test_what_is_no_schedule(self):
        empty = self.file.with_name("empty.cpp")
        empty.write_text("int nothing = NOTHING;\n")
        self.assertIn("does not define extern \"C\" void warpwright_schedules", self.refused("-D", "NOTHING=1", file=empty))
        self.assertIn("empty.cpp:1: this does not compile: 'NOTHING' was not declared", self.refused(file=empty))
        self.assertIn("is not a file", self.refused(file=self.file.with_name("absent.cpp")))


if __name__ == "__main__":
    TOOL = os.path.abspath(sys.argv.pop(1))
    unittest.main()

#!/usr/bin/python3
"""The timeline's page in a real browser: lanes, bars under the pointer, zoom, arrows, critical path, counters.

Usage: page_test.py TOOL. Exits 77 (skipped) where chromium, its driver or selenium is not installed.
"""

import copy
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    from selenium import webdriver
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.support.select import Select
except ImportError:
    print("selenium is not installed for this Python")
    sys.exit(77)
if not (shutil.which("chromium") and shutil.which("chromedriver")):
    print("chromium or chromedriver is not installed")
    sys.exit(77)

TOOL = sys.argv.pop(1)
# Where to leave a picture of the page; it is the README's when run by hand.
PICTURE = os.environ.get("WARPWRIGHT_PAGE_PICTURE")


class Page(unittest.TestCase):
    ARGUMENTS = ["--m", "512", "--n", "512", "--k", "512", "--target", "sim:sm90", "--plan", "dense-128x256-c2-s4"]

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.file = os.path.join(cls.folder.name, "timeline.html")
        result = subprocess.run(
            [TOOL, "trace", *cls.ARGUMENTS, "--html", cls.file, "--json"], capture_output=True, text=True, check=True)
        cls.document = json.loads(result.stdout)
        options = Options()
        for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                     "--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=1500,980"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        cls.browser = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        cls.browser.set_window_size(1500, 980)

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.folder.cleanup()

    CTAS = "0-1"  # shown by the tests; the page itself begins with those in which the critical path ends

    def setUp(self):
        self.browser.get("file://" + self.file)
        if self.CTAS:
            self.show(self.CTAS)

    def show(self, ctas):
        box = self.browser.find_element(By.ID, "ctas")
        box.clear()
        box.send_keys(ctas + "\n")

    def run_script(self, text, *arguments):
        return self.browser.execute_script("return " + text, *arguments)

    def bar(self, **wanted):
        """The number of the first bar of CTA 0 whose fields are as given, and long enough to be pointed at."""
        for i, bar in enumerate(self.run_script("timeline.bars()")):
            if bar["cta"] == 0 and all(bar[k].startswith(v) for k, v in wanted.items()) and bar["end"] - bar["begin"] > 60:
                return i, bar
        self.fail(f"no such bar: {wanted}")

    def point_at(self, number):
        at = self.run_script("timeline.position(arguments[0])", number)
        chart = self.browser.find_element(By.ID, "chart").rect
        ActionChains(self.browser).move_to_element_with_offset(
            self.browser.find_element(By.ID, "chart"), at["x"] - chart["x"] - chart["width"] / 2,
            at["y"] - chart["y"] - chart["height"] / 2).perform()

    def painted(self, x, y):
        """Red, green, blue, opacity of the chart at a place of the window."""
        return self.run_script(
            "(() => { const c = document.getElementById('chart'), a = c.getBoundingClientRect(), s = c.width / a.width;"
            "return [...c.getContext('2d').getImageData((arguments[0] - a.left) * s, (arguments[1] - a.top) * s, 1, 1).data]"
            "})()", x, y)

    def test_no_error_and_no_request(self):
        # The browser's advice about reading pixels is meant for these tests.
        messages = [e["message"] for e in self.browser.get_log("browser")]
        self.assertEqual([m for m in messages if "willReadFrequently" not in m], [])
        self.assertEqual(self.run_script("performance.getEntriesByType('resource').length"), 0)

    def test_a_lane_for_every_warp_grouped_by_role(self):
        shown = [e.text for e in self.browser.find_elements(By.CSS_SELECTOR, ".lane")]
        lanes = self.run_script("timeline.lanes()")
        self.assertEqual(shown, [lane["text"] for lane in lanes])
        first_cta = shown[1:shown.index("CTA 1")]
        warps = [name for name in first_cta if " warp " in name]
        self.assertEqual([name for name in warps if name.startswith("mma")], [f"mma warp {i}" for i in range(8)])
        for wanted in ("load warp 8", "TMA", "TMA store", "tensor core", "input stages full", "tensor core busy"):
            self.assertIn(wanted, first_cta)
        tops = [lane["top"] for lane in lanes]
        self.assertEqual(tops, sorted(tops))

    def test_bars_are_painted_in_the_colour_of_their_stage(self):
        number, _ = self.bar(lane="TMA", name="input.b[1]")
        at = self.run_script("timeline.position(arguments[0])", number)
        self.assertEqual(self.painted(at["x"], at["y"])[:3], [0xf5, 0x9e, 0x0b])

    def tones(self, x, y, count):
        """The different colours of so many neighbours in a line of the chart."""
        strip = self.run_script(
            "(() => { const c = document.getElementById('chart'), a = c.getBoundingClientRect(), s = c.width / a.width;"
            "return [...c.getContext('2d').getImageData((arguments[0] - a.left) * s, (arguments[1] - a.top) * s,"
            "arguments[2], 1).data] })()", x, y, count)
        return {tuple(strip[i:i + 3]) for i in range(0, len(strip), 4)}

    def test_waits_look_like_waits(self):
        self.browser.find_element(By.ID, "critical").click()
        Select(self.browser.find_element(By.ID, "arrows")).select_by_value("hover")
        work, wait = (self.run_script("timeline.position(arguments[0])", self.bar(**what)[0]) for what in
                      ({"lane": "TMA", "name": "input.b[1]"}, {"kind": "wait", "name": "wait input.full[0]"}))
        self.assertLessEqual(len(self.tones(work["x"] - 2, work["y"], 4)), 1, "a bar of work is filled")
        self.assertGreaterEqual(len(self.tones(wait["x"] - 2, wait["y"], 8)), 3, "a wait is hatched")

    def test_counters_are_drawn_and_can_be_left_out(self):
        def lanes():
            return {lane["text"]: lane for lane in self.run_script("timeline.lanes()")}

        shown, chart = lanes(), self.browser.find_element(By.ID, "chart").rect
        counters = {name for name, lane in shown.items() if lane["kind"] == "counter"}
        self.assertIn("tensor core busy", counters)
        self.assertTrue(any(re.fullmatch(r"input stages (seen )?full", name) for name in counters), counters)
        busy = shown["tensor core busy"]
        middle = busy["top"] + busy["height"] / 2 + 2
        if middle < chart["height"]:
            seen = self.tones(chart["x"] + 0.2 * chart["width"], chart["y"] + middle, int(0.75 * chart["width"]))
            self.assertGreaterEqual(len(seen), 2, "busy and idle times differ")
        self.browser.find_element(By.ID, "counters").click()
        self.assertEqual(set(shown) - set(lanes()), counters)

    def test_the_pointer_shows_name_time_and_line(self):
        number, bar = self.bar(kind="wait", name="wait input.full[0]")
        self.point_at(number)
        tip = self.browser.find_element(By.ID, "tip")
        self.assertTrue(tip.is_displayed())
        self.assertIn(bar["name"], tip.text)
        self.assertRegex(tip.text, r"\w+\.h:\d+")
        self.assertIn("released by input.", tip.text)
        ActionChains(self.browser).move_to_element(self.browser.find_element(By.ID, "title")).perform()
        self.assertFalse(tip.is_displayed())

    def test_zoom_and_pan(self):
        whole = self.run_script("timeline.view()")
        self.browser.find_element(By.ID, "zoom-in").click()
        near = self.run_script("timeline.view()")
        self.assertAlmostEqual(near["to"] - near["from"], 0.6 * (whole["to"] - whole["from"]), delta=1)
        chart = self.browser.find_element(By.ID, "chart")
        ActionChains(self.browser).drag_and_drop_by_offset(chart, 200, 0).perform()
        moved = self.run_script("timeline.view()")
        self.assertLess(moved["from"], near["from"])
        self.assertAlmostEqual(moved["to"] - moved["from"], near["to"] - near["from"], delta=1)
        number, bar = self.bar(lane="TMA", name="input.a[0]")
        self.point_at(number)
        ActionChains(self.browser).double_click().perform()
        close = self.run_script("timeline.view()")
        self.assertLess(close["to"] - close["from"], 1.3 * (bar["end"] - bar["begin"]))
        self.assertTrue(close["from"] <= bar["begin"] and bar["end"] <= close["to"])
        self.browser.find_element(By.ID, "fit").click()
        self.assertEqual(self.run_script("timeline.view()"), whole)

    def test_arrows(self):
        select = Select(self.browser.find_element(By.ID, "arrows"))
        select.select_by_value("all")
        every = self.run_script("timeline.arrowsDrawn()")
        self.assertGreater(every, 10)
        self.assertLessEqual(every, self.document["edges"])
        select.select_by_value("hover")
        ActionChains(self.browser).move_to_element(self.browser.find_element(By.ID, "title")).perform()
        self.assertEqual(self.run_script("timeline.arrowsDrawn()"), 0)
        number, _ = self.bar(kind="wait", name="wait input.full[0]")
        self.point_at(number)
        self.assertGreaterEqual(self.run_script("timeline.arrowsDrawn()"), 1)

    def test_the_critical_path_is_drawn_and_told(self):
        self.assertRegex(self.browser.find_element(By.ID, "summary").text, r"Critical path: .*tensor core \d+ %")
        count = ("(() => { const c = document.getElementById('chart');"
                 "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let n = 0;"
                 "for (let i = 0; i < d.length; i += 4) n += d[i] === 0xe8 && d[i + 1] === 0x59 && d[i + 2] === 0x0c;"
                 "return n })()")
        self.browser.get("file://" + self.file)
        drawn = self.run_script(count)
        self.assertGreater(drawn, 200)
        self.browser.find_element(By.ID, "critical").click()
        self.assertEqual(self.run_script(count), 0)

    def test_choosing_ctas_and_finding(self):
        self.show("1")
        heads = [e.text for e in self.browser.find_elements(By.CSS_SELECTOR, ".lane.head")]
        self.assertEqual(heads, ["CTA 1"])
        self.browser.find_element(By.ID, "find").send_keys("input.full[0]")
        self.assertRegex(self.browser.find_element(By.ID, "found").text, r"^[1-9]\d* bars$")

    def test_picture(self):
        file = PICTURE or os.path.join(self.folder.name, "page.png")
        end = self.run_script("timeline.view()")["to"]
        self.run_script("timeline.setView(arguments[0], arguments[1])", 0.17 * end, end)
        self.assertTrue(self.browser.save_screenshot(file))
        self.assertGreater(os.path.getsize(file), 20000)


class Stacked(Page):
    """A measured run above a simulated one: the page of one run, with a second run put before it."""

    CTAS = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(cls.file) as file:
            before, data, after = re.split(r'(?s)(?<=id="data">)(.*?)(?=</script>)', file.read(), maxsplit=1)
        data = json.loads(data)
        measured = copy.deepcopy(data["runs"][0])
        measured.update(target="sm90", times="measured on a GPU")
        measured["bars"] = [[lane, row, 2 * begin, 2 * end, *rest] for lane, row, begin, end, *rest in measured["bars"]]
        measured["counters"], measured["critical"], measured["end"] = [], [], 2 * measured["end"]
        data["runs"].insert(0, measured)
        with open(cls.file, "w") as file:
            file.write(before + json.dumps(data) + after)

    def first_of_run(self, run, **wanted):
        found = [i for i, b in enumerate(self.run_script("timeline.bars()"))
                 if b["cta"] == 0 and all(b[k].startswith(v) for k, v in wanted.items()) and b["end"] - b["begin"] > 60]
        half = self.run_script("timeline.bars().length") // 2
        return next(i for i in found if (i >= half) == (run == 1))

    def test_a_lane_for_every_warp_grouped_by_role(self):
        shown = [e.text for e in self.browser.find_elements(By.CSS_SELECTOR, ".lane")]
        self.assertEqual(shown[0], "sm90/dense-128x256-c2-s4/bf16-nt on sm90, measured on a GPU")
        second = next(i for i, text in enumerate(shown) if text.startswith("sm90/dense-128x256-c2-s4/bf16-nt on sim:sm90"))
        self.assertEqual(shown.count("CTA 0"), 2)
        self.assertNotIn("CTA 1", shown)
        for part in (shown[:second], shown[second:]):
            self.assertEqual([t for t in part if t.startswith("mma")], [f"mma warp {i}" for i in range(8)])
            self.assertIn("TMA", part)
        self.assertEqual(shown, [lane["text"] for lane in self.run_script("timeline.lanes()")])

    def test_both_runs_begin_at_the_left_and_share_the_ruler(self):
        upper, lower = (self.first_of_run(r, lane="mma warp 0", name="wait input.full[0]") for r in (0, 1))
        bars = self.run_script("timeline.bars()")
        self.assertEqual(bars[upper]["begin"], 2 * bars[lower]["begin"])
        at = [self.run_script("timeline.position(arguments[0])", i) for i in (upper, lower)]
        self.assertLess(at[0]["y"], at[1]["y"])
        zero = self.browser.find_element(By.ID, "chart").rect["x"] + 190
        self.assertAlmostEqual(at[0]["x"] - zero, 2 * (at[1]["x"] - zero), delta=2)

    def test_the_critical_path_is_drawn_and_told(self):
        lines = self.browser.find_element(By.ID, "summary").text.splitlines()
        self.assertEqual(len(lines), 2)
        self.assertIn("times measured on a GPU", lines[0])
        self.assertRegex(lines[1], r"Critical path: .*tensor core \d+ %")

    def test_choosing_ctas_and_finding(self):
        self.show("1")
        heads = [e.text for e in self.browser.find_elements(By.CSS_SELECTOR, ".lane.head")]
        self.assertEqual(heads, ["CTA 1", "CTA 1"])

    def test_arrows(self):
        # A wait may be released by the other CTA of its cluster.
        box = self.browser.find_element(By.ID, "ctas")
        box.clear()
        box.send_keys("0-1\n")
        super().test_arrows()

    test_picture = None


class Measured(Page):
    """The timeline of a launch that was recorded on an H200, from its file."""

    ARGUMENTS = ["--recording", os.path.join(os.path.dirname(__file__), "../../docs/evidence/gemm_sm90-512.record")]

    def test_the_critical_path_is_drawn_and_told(self):
        self.assertRegex(self.browser.find_element(By.ID, "summary").text,
                         r"measured on NVIDIA H200 by timestamps in the kernel; 8 CTAs, .*Critical path: ")

    def test_a_lane_for_every_warp_grouped_by_role(self):
        shown = [e.text for e in self.browser.find_elements(By.CSS_SELECTOR, ".lane")]
        first_cta = shown[1:shown.index("CTA 1")]
        self.assertEqual([t for t in first_cta if " warp " in t],
                         [f"mma warp {i}" for i in range(8)] + ["load warp 8", "store warp 9", "store warp 10", "idle warp 11"])
        for wanted in ("TMA", "TMA store", "tensor core", "input stages seen full", "tensor core busy"):
            self.assertIn(wanted, first_cta)

    test_picture = None


if __name__ == "__main__":
    unittest.main(verbosity=2)

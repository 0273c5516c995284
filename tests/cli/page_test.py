#!/usr/bin/python3
"""The timeline's page in a real browser: lanes, bars under the pointer, wheel and keys, search, measuring, arrows, critical
path, counters, the table of stalls.

Usage: page_test.py TOOL. Exits 77 (skipped) where chromium, its driver or selenium is not installed.
"""

import base64
import copy
import json
import os
import re
import unittest

from browser import Browser  # ends the program where there is none
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select


def unpacked(text):
    """The numbers of a page: seven bits a byte, the lowest first; the lowest bit of a number is its sign."""
    numbers, value, shift = [], 0, 0
    for byte in base64.b64decode(text):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(value >> 1 ^ -(value & 1))
            value = shift = 0
    return numbers


def packed(numbers):
    out = bytearray()
    for number in numbers:
        rest = number << 1 if number >= 0 else ~number << 1 | 1
        while rest >= 128:
            out.append(rest & 127 | 128)
            rest >>= 7
        out.append(rest)
    return base64.b64encode(bytes(out)).decode()


class Page(Browser):
    ARGUMENTS = ["--m", "512", "--n", "512", "--k", "512", "--target", "sim:sm90", "--plan", "dense-128x256-c2-s4"]

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

    def test_the_pointer_has_its_time(self):
        number, bar = self.bar(kind="wait", name="wait input.full[0]")
        self.point_at(number)
        cursor = self.browser.find_element(By.ID, "cursor")
        value, unit = re.fullmatch(r"([\d.]+) (µs|ns)", cursor.text).groups()
        middle, pixel = (bar["begin"] + bar["end"]) / 2, self.width() / (self.browser.find_element(By.ID, "chart").rect["width"] - 190)
        self.assertAlmostEqual(float(value) * (1000 if unit == "µs" else 1), middle, delta=2 * pixel + 1)
        ActionChains(self.browser).move_to_element(self.browser.find_element(By.ID, "title")).perform()
        self.assertFalse(cursor.is_displayed())

    def test_a_marked_bar_is_described_and_its_cause_followed(self):
        number, bar = self.bar(kind="wait", name="wait input.full[0]")
        self.point_at(number)
        ActionChains(self.browser).click().perform()
        self.assertEqual(self.run_script("timeline.marked()"), number)
        line = self.browser.find_element(By.ID, "mark")
        self.assertIn(bar["name"], line.text)
        self.assertRegex(line.text, r"\w+\.h:\d+")
        self.assertIn("released by input.", line.text)
        self.press("[")
        cause = self.run_script("timeline.bar(timeline.marked())")
        self.assertTrue(cause["lane"] == "TMA" and cause["name"].startswith("input."), cause)
        self.assertIn(cause["name"], line.text)
        self.press("]")
        effect = self.run_script("timeline.marked()")
        self.assertTrue(self.run_script("timeline.bar(arguments[0])", effect)["name"].startswith("wait input.full[0]"))
        self.press(".")
        after = self.run_script("timeline.bar(timeline.marked())")
        self.assertGreaterEqual(after["begin"], bar["begin"])
        self.press(",")
        self.assertEqual(self.run_script("timeline.marked()"), effect)
        self.press(Keys.ESCAPE)
        self.assertEqual(self.run_script("timeline.marked()"), -1)
        self.assertFalse(line.is_displayed())

    def test_a_cause_in_another_cta_is_shown_with_it(self):
        self.show("0")
        far = self.run_script("(() => { for (let i = 0; i < timeline.size(); ++i) { const by = bars.by[i]; "
                              "if (by >= 0 && laneOf(i).cta === 0 && laneOf(by).cta !== 0) return i; } return -1; })()")
        if far < 0:
            self.skipTest("no wait of CTA 0 is released by another one")
        self.run_script("visit(arguments[0])", far)
        self.press("[")
        self.assertNotEqual(self.run_script("timeline.bar(timeline.marked())")["cta"], 0)
        self.assertRegex(self.browser.find_element(By.ID, "ctas").get_attribute("value"), r"^0[-,]\d+$")

    def test_names_that_do_not_fit_end_in_an_ellipsis(self):
        def fitted(room):
            return self.run_script("(() => { const g = document.getElementById('chart').getContext('2d');"
                                   "return fitted(g, 'output.empty[3] phase 12', arguments[0]) })()", room)

        self.assertEqual(fitted(500), "output.empty[3] phase 12")
        self.assertEqual(fitted(100), "output.empty[3]")
        self.assertRegex(fitted(50), r"^output[.a-z]*…$")
        self.assertEqual(fitted(10), "")

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

    def test_the_wheel_zooms_where_the_pointer_is_and_moves_with_shift(self):
        chart = self.browser.find_element(By.ID, "chart")
        whole = self.run_script("timeline.view()")
        at = 190 + (chart.rect["width"] - 190) / 4
        under = whole["from"] + self.width() / 4
        self.wheel(chart, at, 60, -240)
        near = self.run_script("timeline.view()")
        self.assertLess(near["to"] - near["from"], 0.6 * (whole["to"] - whole["from"]))
        self.assertAlmostEqual(near["from"] + (near["to"] - near["from"]) / 4, under, delta=0.01 * (whole["to"] - whole["from"]))
        self.wheel(chart, at, 60, 120, shift=True)
        moved = self.run_script("timeline.view()")
        self.assertGreater(moved["from"], near["from"])
        self.assertAlmostEqual(moved["to"] - moved["from"], near["to"] - near["from"], delta=1)
        # Over the names it scrolls, and leaves the times as they are.
        self.wheel(self.browser.find_element(By.ID, "lanes"), 60, 60, 120)
        self.assertEqual(self.run_script("timeline.view()"), moved)
        self.wait_for("document.getElementById('lanes').scrollTop > 0")

    def test_keys(self):
        whole = self.width()
        for nearer, farther in (("+", "-"), ("w", "s")):
            self.press(nearer)
            self.assertAlmostEqual(self.width(), 0.7 * whole, delta=2)
            self.press(nearer, farther)
            self.assertAlmostEqual(self.width(), 0.7 * whole, delta=2)
            before = self.run_script("timeline.view()")
            self.press(Keys.ARROW_LEFT if nearer == "+" else "a")
            self.assertLess(self.run_script("timeline.view()")["from"], before["from"])
            self.press(Keys.ARROW_RIGHT if nearer == "+" else "d")
            self.assertAlmostEqual(self.run_script("timeline.view()")["from"], before["from"], delta=1)
            self.press("f")
            self.assertAlmostEqual(self.width(), whole, delta=1)
        self.press(Keys.ARROW_DOWN)
        self.assertGreater(self.run_script("document.getElementById('lanes').scrollTop"), 0)
        self.press(Keys.ARROW_UP)
        self.assertEqual(self.run_script("document.getElementById('lanes').scrollTop"), 0)

    def test_the_fit_leaves_out_the_launch(self):
        span, view = self.run_script("timeline.span()"), self.run_script("timeline.view()")
        self.assertAlmostEqual(view["from"], max(0, span["begin"] - 0.01 * (span["end"] - span["begin"])), delta=1)
        self.assertEqual(view["to"], span["end"])
        self.press("0")
        self.assertEqual(self.run_script("timeline.view()"), {"from": 0, "to": span["end"]})

    def test_enter_goes_to_the_next_match(self):
        box = self.browser.find_element(By.ID, "find")
        box.send_keys("wait input.full[1]")
        total = int(re.fullmatch(r"(\d+) bars", self.browser.find_element(By.ID, "found").text).group(1))
        self.assertGreater(total, 1)
        seen = []
        for i in range(3):
            box.send_keys(Keys.ENTER)
            self.assertEqual(self.browser.find_element(By.ID, "found").text, f"{i % total + 1} of {total} bars")
            number = self.run_script("timeline.marked()")
            bar, view = self.run_script("timeline.bar(arguments[0])", number), self.run_script("timeline.view()")
            self.assertTrue(bar["name"].startswith("wait input.full[1]"), bar)
            self.assertTrue(view["from"] <= bar["end"] and bar["begin"] <= view["to"], "it is in sight")
            at = self.run_script("timeline.position(arguments[0])", number)
            lanes = self.browser.find_element(By.ID, "lanes").rect
            self.assertTrue(lanes["y"] <= at["y"] <= lanes["y"] + lanes["height"])
            seen.append((bar["begin"], number))
        self.assertEqual(seen[:min(3, total)], sorted(seen[:min(3, total)]), "in the order of time")
        box.send_keys(Keys.SHIFT + Keys.ENTER)
        self.assertEqual(self.run_script("timeline.marked()"), seen[1][1])

    def test_measuring_a_range(self):
        ruler, chart = (self.browser.find_element(By.ID, name) for name in ("ruler", "chart"))
        middle = chart.rect["width"] / 2
        view = self.run_script("timeline.view()")
        scale = (view["to"] - view["from"]) / (chart.rect["width"] - 190)
        for element, shift in ((ruler, False), (chart, True)):
            actions = ActionChains(self.browser)
            if shift:
                actions.key_down(Keys.SHIFT)
            actions.move_to_element_with_offset(element, 0, 0).click_and_hold().move_by_offset(200, 0).release()
            if shift:
                actions.key_up(Keys.SHIFT)
            actions.perform()
            measured = self.run_script("timeline.range()")
            self.assertAlmostEqual(measured["to"] - measured["from"], 200 * scale, delta=2 * scale)
            self.assertAlmostEqual(measured["from"], view["from"] + (middle - 190) * scale, delta=2 * scale)
            self.assertEqual(self.run_script("timeline.view()"), view, "measuring does not move")
            told = self.browser.find_element(By.ID, "idle").text
            self.assertRegex(told, r"^In the range from .* idle \d+ %")
            self.assertRegex(self.browser.find_element(By.ID, "stalls").text, r"^range \d")
            self.press(Keys.ESCAPE)
            self.assertIsNone(self.run_script("timeline.range()"))
            self.assertNotIn("range", self.browser.find_element(By.ID, "idle").text)

    def test_the_table_of_stalls_says_what_the_tool_says(self):
        runs = self.document.get("runs", [self.document])
        stalls = runs[-1]["stalls"]
        self.assertIn(stalls["idle"]["text"], self.browser.find_element(By.ID, "idle").text)
        lines = self.browser.find_element(By.ID, "stalls").text
        for role in stalls["roles"]:
            self.assertRegex(lines, rf"(?m)^{role['role']} {role['warps']} warps? {round(100 * role['busy'])} %")
            for wait in role["waits"]:
                if wait["share"] > 0.02:
                    self.assertIn(f"{wait['for']} {round(100 * wait['share'])} %", lines)

    def test_dark(self):
        def shown():
            return self.run_script("[getComputedStyle(document.body).backgroundColor, timeline.drawn().bars > 100,"
                                   "[...document.getElementById('chart').getContext('2d').getImageData(300, 5, 1, 1).data]]")

        light = shown()
        scheme = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
        try:
            self.wait_for("getComputedStyle(document.body).backgroundColor === 'rgb(18, 22, 29)'")
            self.wait_for("(timeline.drawn(), document.getElementById('chart').getContext('2d').getImageData(300, 5, 1, 1).data[0] < 64)")
            dark = shown()
        finally:
            self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        self.assertEqual((light[0], light[1], dark[1]), ("rgb(255, 255, 255)", True, True))
        self.assertNotEqual(light[2], dark[2], "the chart follows")

    def test_the_time_is_that_of_the_tool(self):
        us = self.document.get("predicted_us", self.document.get("kernel_us"))
        self.assertIn(f"{us:.1f} µs", self.browser.find_element(By.ID, "summary").text)

    def test_arrows(self):
        select = Select(self.browser.find_element(By.ID, "arrows"))
        select.select_by_value("all")
        every = self.run_script("timeline.drawn().arrows")
        self.assertGreater(every, 10)
        self.assertLessEqual(every, self.document["edges"])
        select.select_by_value("hover")
        ActionChains(self.browser).move_to_element(self.browser.find_element(By.ID, "title")).perform()
        self.assertEqual(self.run_script("timeline.drawn().arrows"), 0)
        number, _ = self.bar(kind="wait", name="wait input.full[0]")
        self.point_at(number)
        self.assertGreaterEqual(self.run_script("timeline.drawn().arrows"), 1)

    def test_the_critical_path_is_drawn_and_told(self):
        self.assertRegex(self.browser.find_element(By.ID, "summary").text, r"Critical path: .*tensor core \d+ %")
        count = ("(() => { timeline.drawn(); const c = document.getElementById('chart');"
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
        bars = unpacked(measured["bars"])
        measured["bars"] = packed(number * (2 if i % 4 in (1, 2) else 1) for i, number in enumerate(bars))
        measured.update(counters=[], critical="", end=2 * measured["end"], begin=2 * measured["begin"], idle="", time="")
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
        zero = self.run_script("timeline.x(0)")
        self.assertAlmostEqual(at[0]["x"] - zero, 2 * (at[1]["x"] - zero), delta=2)

    def test_the_critical_path_is_drawn_and_told(self):
        lines = self.browser.find_element(By.ID, "summary").text.splitlines()
        self.assertEqual(len(lines), 2)
        self.assertIn("times measured on a GPU", lines[0])
        self.assertRegex(lines[0], r"^sm90: 15\.\d+ µs")
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

    def test_the_table_of_stalls_says_what_the_tool_says(self):
        lines = self.browser.find_element(By.ID, "stalls").text.splitlines()
        self.assertEqual([line for line in lines if line in ("sm90", "sim:sm90")], ["sm90", "sim:sm90"])
        super().test_the_table_of_stalls_says_what_the_tool_says()

    test_enter_goes_to_the_next_match = None


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



class Workgroups(Page):
    """A kernel of gfx950: lanes of memory, LDS and MFMA units, and the names of its waits explained."""

    ARGUMENTS = ["--m", "512", "--n", "512", "--k", "512", "--target", "sim:gfx950"]

    def test_a_lane_for_every_warp_grouped_by_role(self):
        shown = [e.text for e in self.browser.find_elements(By.CSS_SELECTOR, ".lane")]
        self.assertEqual(shown[0], "workgroup 0")
        first = shown[1:shown.index("workgroup 1")]
        self.assertEqual(len([t for t in first if " wave " in t]), 8)
        for wanted in ("memory", "LDS", "MFMA 0", "MFMA 3", "MFMA units busy"):
            self.assertIn(wanted, first)

    def test_waits_are_explained(self):
        legend = self.browser.find_element(By.ID, "legend").text
        self.assertIn("VM0 s_waitcnt vmcnt(0): waits until all loads from memory of the wave are complete", legend)
        self.assertIn("BAR s_barrier: waits until every wave of the workgroup is here", legend)
        number, _ = self.bar(kind="wait", name="VM0")
        self.point_at(number)
        tip = self.browser.find_element(By.ID, "tip").text
        self.assertIn("s_waitcnt vmcnt(0)", tip)
        self.assertRegex(tip, r"released by L[AB]\d+ \(workgroup 0, memory\)")

    def test_the_critical_path_is_drawn_and_told(self):
        self.assertRegex(self.browser.find_element(By.ID, "summary").text, r"Critical path: .*(LDS|memory) \d+ %")

    def test_the_table_of_stalls_says_what_the_tool_says(self):
        stalls = self.document["runs"][0]["stalls"]
        self.assertEqual(self.browser.find_element(By.ID, "idle").text, stalls["idle"]["text"])
        self.assertRegex(stalls["idle"]["text"], r"^MFMA idle \d+ %: ")

    test_bars_are_painted_in_the_colour_of_their_stage = test_waits_look_like_waits = None
    test_the_pointer_shows_name_time_and_line = test_zoom_and_pan = test_arrows = test_choosing_ctas_and_finding = None
    test_counters_are_drawn_and_can_be_left_out = test_enter_goes_to_the_next_match = None
    test_the_pointer_has_its_time = test_a_marked_bar_is_described_and_its_cause_followed = None


if __name__ == "__main__":
    unittest.main(verbosity=2)

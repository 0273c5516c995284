#!/usr/bin/python3
"""The timeline's page where there are many bars: 2048^3, the size that the tool suggests, and lanes with more bars than
pixels. How long it takes is printed, not asserted.

Usage: large_page_test.py TOOL. Exits 77 (skipped) where chromium, its driver or selenium is not installed.
"""

import os
import time
import unittest

import page_test
from browser import Browser  # ends the program where there is none
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys


class Large(Browser):
    """The largest problem that the simulator takes."""

    ARGUMENTS = ["--m", "2048", "--n", "2048", "--k", "2048", "--target", "sim:sm90"]

    def setUp(self):
        begun = time.monotonic()
        self.browser.get("file://" + self.file)
        ready, size = self.run_script("[timeline.ready, timeline.size()]")
        print(f"{size} bars, {os.path.getsize(self.file) / 1e6:.1f} MB: "
              f"ready after {ready:.0f} ms, open after {time.monotonic() - begun:.2f} s", flush=True)
        self.show("0-1")

    def test_bars_are_drawn(self):
        self.assertGreater(self.run_script("timeline.size()"), 200000)
        drawn = self.run_script("timeline.drawn()")
        self.assertGreater(drawn["bars"] + drawn["slices"], 300)
        self.assertGreater(self.painted_share(), 0.1)

    def test_every_cta_can_be_shown(self):
        self.show("all")
        heads = self.browser.find_elements(By.CSS_SELECTOR, ".lane.head")
        self.assertEqual(len(heads), 132)
        self.assertLess(self.run_script("timeline.drawn().bars"), 20000, "only what is in sight")
        box = self.browser.find_element(By.ID, "find")
        box.send_keys("wait input.full")
        self.assertGreater(int(self.browser.find_element(By.ID, "found").text.split()[0]), 30000)
        box.send_keys(Keys.ENTER)
        self.assertGreaterEqual(self.run_script("timeline.marked()"), 0)
        print(f"drawing takes {self.run_script('timeline.drawn().milliseconds'):.1f} ms", flush=True)

    test_no_error_and_no_request = page_test.Page.test_no_error_and_no_request
    test_the_wheel = page_test.Page.test_the_wheel_zooms_where_the_pointer_is_and_moves_with_shift
    test_keys = page_test.Page.test_keys
    test_the_fit_leaves_out_the_launch = page_test.Page.test_the_fit_leaves_out_the_launch
    test_enter_goes_to_the_next_match = page_test.Page.test_enter_goes_to_the_next_match
    test_measuring_a_range = page_test.Page.test_measuring_a_range
    test_the_table_of_stalls = page_test.Page.test_the_table_of_stalls_says_what_the_tool_says
    test_the_critical_path_is_drawn_and_told = page_test.Page.test_the_critical_path_is_drawn_and_told
    test_the_time_is_that_of_the_tool = page_test.Page.test_the_time_is_that_of_the_tool


class Deep(Browser):
    """One tile of great depth: thousands of bars in a lane."""

    ARGUMENTS = ["--m", "64", "--n", "64", "--k", "65536", "--target", "sim:sm90", "--plan", "dense-64x64-c1-s4"]

    def test_bars_narrower_than_a_pixel_are_drawn_as_slices(self):
        self.assertGreater(self.run_script("timeline.size()"), 10000)
        far = self.run_script("timeline.drawn()")
        self.assertGreater(far["slices"], 500)
        self.assertLess(far["slices"] + far["bars"], self.run_script("timeline.size()") / 2)
        self.assertGreater(self.painted_share(), 0.05)
        middle = self.run_script("timeline.span().end / 2")
        self.run_script("timeline.setView(arguments[0], arguments[0] + 2000)", middle)
        near = self.run_script("timeline.drawn()")
        self.assertEqual(near["slices"], 0)
        self.assertGreater(near["bars"], 30)

    def test_slices_have_the_colour_of_what_fills_them(self):
        """The tensor core's lane is green far away and near."""
        lane = next(r for r in self.run_script("timeline.lanes()") if r["text"] == "tensor core")
        chart = self.browser.find_element(By.ID, "chart").rect
        self.run_script("document.getElementById('critical').click()")
        far = self.tones(chart["x"] + chart["width"] / 2, chart["y"] + lane["top"] + 4, 100)
        self.assertIn((0x16, 0xa3, 0x4a), far)


if __name__ == "__main__":
    unittest.main(verbosity=2)

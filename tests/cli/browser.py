"""A page of the timeline in headless Chromium, for the tests of pages. Where chromium, its driver or selenium is not
installed, importing this ends the program with 77 (skipped).
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    print("selenium is not installed for this Python")
    sys.exit(77)
if not (shutil.which("chromium") and shutil.which("chromedriver")):
    print("chromium or chromedriver is not installed")
    sys.exit(77)

TOOL = sys.argv.pop(1)


def start(*more):
    """A browser without a window, which reaches no network."""
    options = Options()
    for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                 "--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=1500,980", *more):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
    browser.set_window_size(1500, 980)
    return browser


class Browser(unittest.TestCase):
    """The page of `trace ARGUMENTS`, made once for a class."""

    ARGUMENTS = []

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.file = os.path.join(cls.folder.name, "timeline.html")
        result = subprocess.run(
            [TOOL, "trace", *cls.ARGUMENTS, "--html", cls.file, "--json"], capture_output=True, text=True, check=True)
        cls.document = json.loads(result.stdout)
        cls.browser = start()

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
            "(() => { timeline.drawn(); const c = document.getElementById('chart'), a = c.getBoundingClientRect(), s = c.width / a.width;"
            "return [...c.getContext('2d').getImageData((arguments[0] - a.left) * s, (arguments[1] - a.top) * s, 1, 1).data]"
            "})()", x, y)

    def tones(self, x, y, count):
        """The different colours of this many neighbours in a line of the chart."""
        strip = self.run_script(
            "(() => { timeline.drawn(); const c = document.getElementById('chart'), a = c.getBoundingClientRect(), s = c.width / a.width;"
            "return [...c.getContext('2d').getImageData((arguments[0] - a.left) * s, (arguments[1] - a.top) * s,"
            "arguments[2], 1).data] })()", x, y, count)
        return {tuple(strip[i:i + 3]) for i in range(0, len(strip), 4)}

    def wheel(self, element, x, y, by, shift=False):
        """Turns the wheel over a place of an element, from its upper left corner."""
        rect = element.rect
        origin = ScrollOrigin.from_element(element, int(x - rect["width"] / 2), int(y - rect["height"] / 2))
        actions = ActionChains(self.browser)
        if shift:
            actions.key_down(Keys.SHIFT)
        actions.scroll_from_origin(origin, 0, by)
        if shift:
            actions.key_up(Keys.SHIFT)
        actions.perform()

    def width(self):
        view = self.run_script("timeline.view()")
        return view["to"] - view["from"]

    def press(self, *keys):
        ActionChains(self.browser).send_keys(*keys).perform()

    def painted_share(self):
        """Of the chart's pixels."""
        return self.run_script(
            "(() => { timeline.drawn(); const c = document.getElementById('chart');"
            "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let n = 0;"
            "for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n / (c.width * c.height) })()")

    def wait_for(self, script):
        """For what the browser does in its own time."""
        for _ in range(200):
            if self.run_script(script):
                return
            time.sleep(0.02)
        self.fail(f"never so: {script}")

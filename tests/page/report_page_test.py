"""Opens the page of a run in headless Chromium and uses it as a reader would: report_page_test.py EMPLACE.

Exit status 77 (skipped) where there is no Chromium, no driver for it or no Selenium. With a folder as second argument
it leaves screenshots there.
"""
import base64
import csv
import io
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

CHROMIUM = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")
try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import Select, WebDriverWait
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
if not CHROMIUM or not DRIVER:
    print("skipped: no chromium, or no chromedriver")
    sys.exit(77)

EMPLACE = ""
SCREENSHOTS = None

# Would run if a name were ever more than text.
HOSTILE = "</script><script>window.broken=1</script><img src=x onerror='window.broken=1'>"
MILLISECOND = 1000


def graph(ops, kind="matmul", cost_us=10 * MILLISECOND):
    """Returns a graph file of a chain of ops, each of which takes 10 ms on one cluster and has a hostile name."""
    return {
        "schema": "emplace-graph",
        "version": 1,
        "name": "hostile",
        "ops": [
            {
                "name": f"{HOSTILE}/op_{at}",
                "kind": kind,
                "scope": f"{HOSTILE}/{at // 4}",
                "outputs": [{"shape": [250000], "bytes": 1000000}],
                "measured": [{"device_class": "gpu-k80", "cost_us": cost_us}],
            }
            for at in range(ops)
        ],
        # Two chains that meet at the end.
        "edges": [[at, 0, min(at + 2, ops - 1)] for at in range(ops - 1)],
    }


def suite(graph_file):
    """Returns a suite; one of its graphs is too large for some of its agents."""
    return {
        "schema": "emplace-suite",
        "version": 1,
        "name": "page",
        "summary": f"a suite for tests {HOSTILE}",
        "graphs": [graph_file, "inception-v3:batch=32", "inception-v3:batch=128"],
        "clusters": ["p2-8xlarge-2", "dgx-1-v100"],
        "agents": ["single-gpu", "heft", "human-expert", {"agent": "hill-climb", "name": HOSTILE}],
        "repetitions": 2,
        "max_evaluations": 150,
        "baselines": ["heft"],
        "published": {
            "source": f"nobody {HOSTILE}",
            "recalled": False,
            "figures": [
                {"graph": "inception-v3:batch=32", "cluster": "p2-8xlarge-2", "agent": HOSTILE,
                 "step_time_s": 0.7, "evaluations": 20}
            ],
        },
    }


def suite_with_policy():
    """Returns a suite that trains a policy on two networks, twice."""
    return {
        "schema": "emplace-suite",
        "version": 1,
        "name": "held-out",
        "families": [{"name": "cells", "groups": 10, "train": ["cifar10:members=2"],
                      "test": ["cifar10:split=test,members=2"]}],
        "clusters": ["p2-8xlarge-2"],
        "policies": [{"name": "net", "agent": "placeto:preset=released,rounds=1", "episodes": 8}],
        "agents": ["single-gpu", {"policy": "net", "learns": False, "name": "zero-shot"}],
        "repetitions": 2,
        "max_evaluations": 22,
        "baselines": ["single-gpu"],
    }


def suite_of_many_ops():
    """Returns a suite whose step has far more ops than a screen has pixels."""
    return {
        "schema": "emplace-suite",
        "version": 1,
        "name": "many-ops",
        "graphs": ["layered:tasks=20000"],
        "clusters": ["p2-8xlarge-2"],
        "agents": ["m-topo"],
    }


def suite_of_no_time(graph_file):
    """Returns a suite whose step takes no time."""
    return {
        "schema": "emplace-suite",
        "version": 1,
        "name": "no-time",
        "graphs": [graph_file],
        "clusters": ["p2-8xlarge-2"],
        "agents": ["single-gpu", "heft"],
    }


def fail_cells(path):
    """Makes the cells of human-expert on the graph of ours failed ones: no agent of ours fails by itself."""
    cells = [json.loads(line) for line in path.read_text().splitlines()]
    for cell in cells:
        if cell["agent"] == "human-expert" and cell["graph"] == "./graph.json":
            cell.update(status="failed", message=HOSTILE, step_time_us=0, problem_groups=0, decision_groups=0,
                        placement_hash="", peak_bytes=[])
            for member in ("placement", "history"):
                cell.pop(member, None)
            cell["measured"].pop("history_s", None)
    for cell in cells:
        del cell["crc32"]  # as one must who changes a stored file by hand
    path.write_text("".join(json.dumps(cell) + "\n" for cell in cells))


def write_pages(folder):
    """Runs the suites and returns the pages of their reports, by suite, and the first of these as JSON."""
    (folder / "graph.json").write_text(json.dumps(graph(16)))
    (folder / "suite.json").write_text(json.dumps(suite("./graph.json")))

    def emplace(*arguments):
        done = subprocess.run([EMPLACE, *arguments], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 4):
            raise RuntimeError(f"emplace {' '.join(arguments)}: {done.returncode}: {done.stderr}")
        return done.stdout

    emplace("run", "./suite.json", "-o", "run", "--quiet", "--threads", "1")
    fail_cells(folder / "run" / "cells.jsonl")
    emplace("report", "run", "--format", "html", "-o", "report.html")
    pages = {"page": folder / "report.html"}
    (folder / "no-time-graph.json").write_text(json.dumps(graph(3, "input", 0)))
    for one in (suite_with_policy(), suite_of_many_ops(), suite_of_no_time("./no-time-graph.json")):
        name = one["name"]
        (folder / f"{name}.json").write_text(json.dumps(one))
        emplace("run", f"./{name}.json", "-o", name, "--quiet", "--threads", "1")
        emplace("report", name, "--format", "html", "-o", f"{name}.html")
        pages[name] = folder / f"{name}.html"
    for file, agent in (("one.json", "single-gpu"), ("heft.json", "heft")):
        emplace("place", "vgg-16", "--cluster", "p2-8xlarge-2", "--agent", agent, "-o", file)
    emplace("compare", "one.json", "heft.json", "-o", "placements.html")
    pages["placements"] = folder / "placements.html"
    return pages, json.loads(emplace("report", "run", "--json"))


class ReportPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.pages, cls.report = write_pages(pathlib.Path(cls.folder.name))
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        # Chromium has no sandbox for root; it has no network but what this machine offers.
        for argument in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "hide-scrollbars",
                         "no-first-run", "disable-background-networking", f"user-data-dir={cls.folder.name}/profile"):
            options.add_argument(f"--{argument}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        cls.driver = webdriver.Chrome(service=Service(DRIVER), options=options)
        cls.addClassCleanup(cls.driver.quit)
        # What Chromium itself asks for at its start.
        cls.driver.get("about:blank")
        cls.driver.get_log("performance")

    def setUp(self):
        self.show(1280)

    def tearDown(self):
        self.assertEqual([entry for entry in self.driver.get_log("browser")], [])
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        urls = [one["params"]["request"]["url"] for one in messages if one["method"] == "Network.requestWillBeSent"]
        pages = [page.as_uri() for page in self.pages.values()]
        self.assertEqual([url for url in urls if not url.startswith((*pages, "data:"))], [])
        self.assertIsNone(self.driver.execute_script("return window.broken ?? null"))

    def show(self, width, scheme="light", page="page"):
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        self.driver.get(self.pages[page].as_uri())
        self.driver.execute_script("document.documentElement.style.scrollBehavior = 'auto'")

    def find(self, name):
        return self.driver.find_element(By.ID, name)

    def text(self, name):
        return self.find(name).text

    def rows(self):
        return self.driver.execute_script(
            "return [...document.querySelectorAll('#table tbody tr')].map(r => [...r.cells].map(c => c.textContent))")

    def head(self, name):
        heads = self.driver.find_elements(By.CSS_SELECTOR, "#table th")
        return next((at, one) for at, one in enumerate(heads) if one.text.split(" \u25b2")[0].strip() == name)

    def column(self, name):
        at, _ = self.head(name)
        return [row[at] for row in self.rows()]

    def key(self, legend, name):
        """Returns the colour that a legend gives to a name."""
        buttons = self.driver.find_elements(By.CSS_SELECTOR, f"#{legend} button")
        button = next(one for one in buttons if one.text == name)
        return button.find_element(By.CLASS_NAME, "key").value_of_css_property("background-color")

    def names_of_layers(self):
        return [word for word in self.driver.execute_script("return window.words") if word.startswith("layer_")]

    def image(self, chart):
        return self.driver.execute_script(f"return document.querySelector('#{chart} canvas').toDataURL()")

    def drawn(self, chart, was):
        """Waits until a chart looks different."""
        WebDriverWait(self.driver, 10).until(lambda _: self.image(chart) != was)

    def at(self, chart, x, y):
        """Scrolls to a chart and points there, in pixels from its upper left corner."""
        box = self.find(chart)
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", box)
        return ActionChains(self.driver).move_to_element_with_offset(
            box, x - box.size["width"] // 2, y - box.size["height"] // 2)

    def hint(self, chart, x, y):
        """Points into a chart and returns what it tells."""
        self.at(chart, x, y).perform()
        tips = f"#{chart} .tip"
        WebDriverWait(self.driver, 10).until(lambda driver: driver.find_elements(By.CSS_SELECTOR, tips))
        return self.driver.find_element(By.CSS_SELECTOR, tips).text

    def screenshot(self, name):
        if SCREENSHOTS:
            size = self.driver.execute_script(
                "return [innerWidth, document.documentElement.scrollHeight]")
            image = self.driver.execute_cdp_cmd("Page.captureScreenshot", {
                "captureBeyondViewport": True,
                "clip": {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}})
            (SCREENSHOTS / f"{name}.png").write_bytes(base64.b64decode(image["data"]))

    # --- Tests -------------------------------------------------------------------------------------

    def test_the_table_has_the_rows_of_the_report(self):
        expected = []
        for table in self.report["tables"]:
            for row in table["rows"]:
                step = row["step_time_us"]
                expected.append((table["graph"], table["cluster"], row["agent"], f"{step / 1e3:.3f}" if step else ""))
        columns = [self.column(name) for name in ("graph", "cluster", "agent", "step [ms]")]
        self.assertEqual(list(zip(*columns)), expected)
        self.assertEqual(self.text("shown"), f"{len(expected)} of {len(expected)} rows")
        self.screenshot("light")

    def test_outcomes_are_told_apart(self):
        outcomes = [option.text for option in Select(self.find("filter-outcome")).options]
        self.assertEqual(set(outcomes), {"all", "ok", "failed", "out of memory"})
        for outcome, style in (("failed", "failed"), ("out of memory", "out-of-memory")):
            Select(self.find("filter-outcome")).select_by_visible_text(outcome)
            rows = self.driver.find_elements(By.CSS_SELECTOR, "#table tbody tr")
            self.assertGreater(len(rows), 0)
            self.assertTrue(all(row.get_attribute("class") == style for row in rows))
            self.assertTrue(all(outcome in note for note in self.column("note")))

    def test_a_click_sorts(self):
        _, head = self.head("step [ms]")
        for order, reverse in (("ascending", False), ("descending", True)):
            head.find_element(By.TAG_NAME, "button").click()
            self.assertEqual(head.get_attribute("aria-sort"), order)
            steps = [float(step) for step in self.column("step [ms]") if step]
            self.assertEqual(steps, sorted(steps, reverse=reverse))
            # Rows without a time come last either way.
            self.assertEqual(self.column("step [ms]")[-1], "")

    def test_filters(self):
        self.find("filter").send_keys("HEFT dgx")
        self.assertEqual(set(self.column("agent")), {"heft"})
        self.assertEqual(set(self.column("cluster")), {"dgx-1-v100"})
        self.assertEqual(self.text("shown"), f"3 of {sum(len(t['rows']) for t in self.report['tables'])} rows")
        Select(self.find("filter-graph")).select_by_visible_text("inception-v3:batch=32")
        self.assertEqual(len(self.rows()), 1)

    def test_names_stay_text(self):
        self.assertIn(HOSTILE, self.column("agent"))
        self.assertEqual(len(self.driver.find_elements(By.CSS_SELECTOR, "body img")), 0)
        # The library and the page's own script; the others hold data.
        scripts = self.driver.find_elements(By.CSS_SELECTOR, "script:not([type])")
        self.assertEqual(len(scripts), 2)
        self.assertIn(HOSTILE, self.text("summary"))
        self.assertTrue(any(HOSTILE in one.text for one in self.driver.find_elements(By.CSS_SELECTOR, "#curves-legend button")))
        self.assertIn(f"{HOSTILE}: ", self.hint("by-evaluations", 400, 150))
        self.assertRegex(self.hint("timeline", 600, 220), r"gpu:0: \d MB of 11 GB")
        self.at("timeline", 300, 20).perform()
        WebDriverWait(self.driver, 10).until(lambda _: "cost" in self.hint("timeline", 300, 20))
        hint = self.hint("timeline", 300, 20)
        self.assertIn(HOSTILE, hint)
        self.assertIn("cost 10 ms (measured)", hint)
        self.assertIn("outputs take 1 MB", hint)

    def test_zoom_changes_the_axis(self):
        whole = self.text("range")
        before = self.image("timeline")
        self.find("zoom-in").click()
        self.drawn("timeline", before)
        half = self.text("range")
        self.assertNotEqual(half, whole)
        self.find("later").click()
        WebDriverWait(self.driver, 10).until(lambda _: self.text("range") != half)
        self.find("whole").click()
        WebDriverWait(self.driver, 10).until(lambda _: self.text("range") == whole)
        # Ctrl and the wheel, where the pointer is.
        self.at("timeline", 400, 20).perform()
        box = self.find("timeline").rect
        top = self.driver.execute_script("return scrollY")
        self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {
            "type": "mouseWheel", "x": box["x"] + 400, "y": box["y"] - top + 20, "deltaX": 0, "deltaY": -300,
            "modifiers": 2})
        WebDriverWait(self.driver, 10).until(lambda _: self.text("range") != whole)

    def test_timeline_and_graph_are_linked(self):
        Select(self.find("choice")).select_by_visible_text("inception-v3:batch=32 on p2-8xlarge-2")
        WebDriverWait(self.driver, 10).until(lambda _: "1121 ops" in self.text("timeline-caption"))
        timeline, graph = self.image("timeline"), self.image("graph")
        self.at("timeline", 250, 20).click().perform()
        WebDriverWait(self.driver, 10).until(lambda _: self.text("selection").startswith("Group "))
        self.drawn("timeline", timeline)
        self.drawn("graph", graph)
        self.screenshot("selected")
        self.find("clear").click()
        WebDriverWait(self.driver, 10).until(lambda _: self.text("selection").startswith("Click"))

    def keep_boxes(self):
        """Lets pages that are shown from now on keep what they draw.

        window.boxes has [x, y, width, height], window.tips the number of ends of arrows, which are small discs,
        window.words all texts, and window.wordsOf those of each chart.
        """
        keep = self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": """
            window.boxes = [];
            window.tips = 0;
            window.words = [];
            window.wordsOf = {};
            const { arc, fillText, rect } = CanvasRenderingContext2D.prototype;
            CanvasRenderingContext2D.prototype.rect = function (...shape) {
              window.boxes.push(shape);
              return rect.apply(this, shape);
            };
            CanvasRenderingContext2D.prototype.arc = function (x, y, radius, ...rest) {
              if (radius === 1.6) window.tips++;
              return arc.call(this, x, y, radius, ...rest);
            };
            CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
              window.words.push(text);
              (window.wordsOf[this.canvas.closest(".chart")?.id] ??= []).push(text);
              return fillText.call(this, text, ...rest);
            };"""})
        self.addCleanup(self.driver.execute_cdp_cmd, "Page.removeScriptToEvaluateOnNewDocument", keep)

    def test_a_step_that_takes_no_time_is_drawn(self):
        self.keep_boxes()
        self.show(1280, page="no-time")
        self.assertIn("3 ops", self.text("timeline-caption"))
        self.screenshot("no-time")
        self.assertEqual(len(self.driver.find_elements(By.CSS_SELECTOR, "#table tr.best")), 2, "ties are all the best")
        # A device's ops all lie at the left edge, one behind the other.
        boxes = self.driver.execute_script("return window.boxes")
        self.assertEqual(len({tuple(box) for box in boxes if box[2] == 1 and box[3] > 5}), 1)

    def test_a_step_of_many_ops_draws_what_a_screen_can_show(self):
        self.keep_boxes()
        self.show(1280, page="many-ops")
        self.assertIn("20000 ops and 13967 transfers", self.text("timeline-caption"))
        self.assertFalse(self.names_of_layers(), "no op has room for a name")
        self.assertEqual(self.driver.execute_script("return window.tips"), 0, "too many arrows to be told apart")
        boxes = [self.driver.execute_script("return window.boxes.length")]
        self.screenshot("many-ops")
        for _ in range(9):
            was = self.text("range")
            self.driver.execute_script("[window.boxes, window.words] = [[], []]")
            self.find("zoom-in").click()
            WebDriverWait(self.driver, 10).until(lambda _, was=was: self.text("range") != was)
            boxes.append(self.driver.execute_script("return window.boxes.length"))
        self.screenshot("many-ops-zoomed")
        self.assertGreater(self.driver.execute_script("return window.tips"), 5)
        # Of 33,967, each once or twice.
        self.assertLess(boxes[0], 12000)
        # A 512th of the step has some 66, and few are drawn where many are out of sight.
        self.assertGreater(boxes[-1], 20)
        self.assertLess(boxes[-1], 500)
        self.assertTrue(self.names_of_layers())
        self.driver.execute_script("window.words = []")
        was = self.text("range")
        self.find("whole").click()
        WebDriverWait(self.driver, 10).until(lambda _: self.text("range") != was)
        self.assertFalse(self.names_of_layers(), "no op has room any more")

    def test_a_legend_hides_an_agent_in_all_charts(self):
        curves, profile = self.image("by-evaluations"), self.image("profile")
        button = next(one for one in self.driver.find_elements(By.CSS_SELECTOR, "#curves-legend button") if one.text == "heft")
        button.click()
        self.assertEqual(button.get_attribute("aria-pressed"), "false")
        self.drawn("by-evaluations", curves)
        self.drawn("profile", profile)

    def test_every_graph_and_cluster_can_be_shown(self):
        choice = Select(self.find("choice"))
        self.assertEqual(len(choice.options), len(self.report["tables"]))
        for at, table in enumerate(self.report["tables"]):
            choice.select_by_index(at)
            winner = table["rows"][0]
            fits = winner["step_time_us"] is not None
            self.assertIn(winner["agent"] if fits else "none fits", self.text("problem-facts"))
            self.assertEqual(self.find("step").is_displayed(), fits)

    def test_phone_width_and_dark(self):
        light = self.driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        self.show(375, "dark")
        self.assertEqual(self.driver.execute_script("return document.documentElement.scrollWidth"), 375)
        self.assertNotEqual(
            self.driver.execute_script("return getComputedStyle(document.body).backgroundColor"), light)
        self.screenshot("phone")
        was = self.image("timeline")
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "light"}]})
        self.drawn("timeline", was)

    def test_a_phone_shows_the_step_time(self):
        self.show(400)
        _, head = self.head("step [ms]")
        self.assertLess(head.rect["x"] + head.rect["width"], 400)

    def test_columns_are_chosen(self):
        names = [head.text for head in self.driver.find_elements(By.CSS_SELECTOR, "#table th")]
        self.assertNotIn("search [s]", names)
        self.find("choose").find_element(By.TAG_NAME, "summary").click()
        boxes = self.driver.find_elements(By.CSS_SELECTOR, "#choose label")
        for box in boxes:
            if box.text in ("search [s]", "gap [%]"):
                box.click()
        self.assertIn("search [s]", [head.text for head in self.driver.find_elements(By.CSS_SELECTOR, "#table th")])
        # What was shown is not any more.
        self.assertEqual("gap [%]" in names, "gap [%]" not in [
            head.text for head in self.driver.find_elements(By.CSS_SELECTOR, "#table th")])

    def test_the_first_card_says_who_won(self):
        winner = self.text("verdict").split(" is the fastest")[0]
        fastest = [table["rows"][0]["agent"] for table in self.report["tables"]]
        self.assertIn(winner, fastest)
        self.assertIn("% shorter than heft, the baseline: 95 % interval", self.text("verdict"))
        self.show(1280, page="held-out")
        self.assertRegex(self.text("verdict"), r"% shorter than|single-gpu is the fastest")

    def test_two_steps_side_by_side(self):
        Select(self.find("choice")).select_by_visible_text("inception-v3:batch=32 on p2-8xlarge-2")
        names = [option.text for option in Select(self.find("agent")).options]
        self.assertEqual(len(names), 4)
        self.assertFalse(self.driver.find_elements(By.CSS_SELECTOR, "#timeline-next canvas"))
        slower = next(name for name in names[1:] if name.startswith("human-expert"))
        Select(self.find("agent-next")).select_by_visible_text(slower)
        self.assertTrue(self.text("step-title-next").startswith("By human-expert"))
        left, right = self.find("timeline").rect, self.find("timeline-next").rect
        self.assertEqual(left["y"], right["y"])
        self.assertLess(left["x"] + left["width"], right["x"])
        # They move together, on the axis of the longer step.
        self.assertIn("stem", self.text("layers-legend"))
        was = self.image("timeline"), self.image("timeline-next")
        self.find("zoom-in").click()
        self.drawn("timeline", was[0])
        self.drawn("timeline-next", was[1])
        self.screenshot("next")
        # A click on a row of the table shows its step alone.
        self.driver.find_elements(By.CSS_SELECTOR, "#table tbody tr")[-1].click()
        self.assertEqual(Select(self.find("agent-next")).first_selected_option.text, "nothing")

    def saved(self, button):
        """Clicks, and returns the name and the content of the file that the page hands out."""
        self.driver.execute_script("""
            window.files = [];
            HTMLAnchorElement.prototype.click = function () { window.files.push([this.download, this.href]); };""")
        self.driver.execute_script("arguments[0].click()", button)
        WebDriverWait(self.driver, 10).until(lambda driver: driver.execute_script("return window.files.length"))
        name, text = self.driver.execute_async_script("""
            const [[name, href]] = window.files;
            const [done] = arguments;
            const request = new FileReader();
            request.onload = () => done([name, request.result]);
            request.readAsDataURL(window.blobs.get(href));""")
        return name, base64.b64decode(text.split(",")[1])

    def test_charts_and_the_table_are_saved(self):
        self.driver.execute_script("""
            window.blobs = new Map();
            const { createObjectURL } = URL;
            URL.createObjectURL = (blob) => {
              const href = createObjectURL(blob);
              window.blobs.set(href, blob);
              return href;
            };""")
        Select(self.find("choice")).select_by_visible_text("inception-v3:batch=32 on p2-8xlarge-2")
        for chart in ("profile", "pairs", "by-evaluations", "by-seconds", "timeline", "graph"):
            svg, png = self.driver.find_elements(By.XPATH, f"//*[@id='{chart}']/preceding-sibling::div[1]//button")
            name, text = self.saved(svg)
            self.assertEqual(name, f"{chart}.svg")
            picture = xml.etree.ElementTree.fromstring(text)
            kinds = [one.tag.split("}")[1] for one in picture.iter()]
            self.assertGreater(kinds.count("path"), 5, chart)
            words = [one.text for one in picture.iter() if one.tag.endswith("text")]
            if chart == "timeline":
                self.assertTrue({"gpu:0", "stem", "layers:"} <= set(words), words)
            name, image = self.saved(png)
            self.assertEqual(name, f"{chart}.png")
            self.assertTrue(image.startswith(b"\x89PNG"))
        self.find("filter").send_keys("heft")
        name, text = self.saved(self.find("save-table"))
        rows = list(csv.DictReader(io.StringIO(text.decode())))
        self.assertEqual(name, "results.csv")
        self.assertEqual({row["agent"] for row in rows}, {"heft"})
        self.assertIn("search [s]", rows[0])

    def test_policies_have_learning_curves(self):
        self.assertFalse(self.find("learning").is_displayed())
        self.keep_boxes()
        self.show(1280, page="held-out")
        self.assertTrue(self.find("learning").is_displayed())
        hint = self.hint("learning-chart", 400, 150)
        self.assertEqual(hint.count("net: best "), 2)
        families = [option.text for option in Select(self.find("set")).options]
        self.assertIn("cells on p2-8xlarge-2", families)
        # Of few graphs each step time is shown, and an interval would say little.
        Select(self.find("set")).select_by_visible_text("cells on p2-8xlarge-2")
        self.assertEqual(self.text("profile-title"), "Step times of all agents")
        self.assertFalse(self.find("pairs-figure").is_displayed())
        self.assertEqual(self.key("learning-legend", "net"), self.key("curves-legend", "zero-shot"))
        words = self.driver.execute_script("return window.wordsOf['learning-chart']")
        evaluations = {word for word in words if word.replace(",", "").isdigit() and word not in ("1", "2", "4")}
        self.assertGreaterEqual(len(evaluations), 2, words)
        self.screenshot("held-out")

    def test_placements_are_compared(self):
        self.show(1280, page="placements")
        self.assertEqual(self.text("suite"), "Placements of vgg-16 on p2-8xlarge-2")
        tables = self.driver.find_elements(By.CSS_SELECTOR, "#placements table")
        self.assertIn("heft.json", tables[0].text)
        self.assertIn("channel of gpu:0", tables[1].text)
        self.assertFalse(self.find("results").is_displayed())
        # The first two are next to each other.
        titles = [self.text(one) for one in ("step-title", "step-title-next")]
        self.assertEqual(titles, ["By one.json", "By heft.json"])
        self.assertTrue(self.find("timeline-next").is_displayed())
        self.screenshot("placements")
        self.show(390, page="placements")
        self.assertLessEqual(self.driver.execute_script("return document.documentElement.scrollWidth"), 390)
        self.screenshot("placements-phone")

    def test_it_prints(self):
        paper = self.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": False})
        document = base64.b64decode(paper["data"])
        self.assertTrue(document.startswith(b"%PDF"))
        if SCREENSHOTS:
            (SCREENSHOTS / "print.pdf").write_bytes(document)
        # Heads are plain text, which browsers repeat on each page.
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        heads = self.driver.find_elements(By.CSS_SELECTOR, "#table th")
        self.assertFalse(any(head.find_element(By.TAG_NAME, "button").is_displayed() for head in heads))
        self.assertIn("step [ms]", [head.text for head in heads])


if __name__ == "__main__":
    EMPLACE = str(pathlib.Path(sys.argv[1]).resolve())
    if len(sys.argv) > 2:
        SCREENSHOTS = pathlib.Path(sys.argv[2])
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    unittest.main(argv=sys.argv[:1], verbosity=2)

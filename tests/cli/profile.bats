#!/usr/bin/env bats
# shellcheck disable=SC2154  # output and stderr are set by run
# Device profiles: emplace show, from a name, a profile file or a cluster file, and emplace dev fit.

load cli.bash

# measured_profile FILE: writes a profile with measurements. The roofline of convolutions gives 20 us
# to 1e9 FLOPs (1e14 FLOP/s) beside 10 us of fixed time, and half of that is measured; that of relu
# is exact.
measured_profile() {
  cat >"$1" <<'END'
{"schema": "emplace-device-profile", "version": 1, "name": "lab-gpu", "device_class": "gpu-lab",
 "summary": "a <b>GPU</b> of \"the lab\" & more", "peak_flops_per_s": 1e14, "memory_bytes_per_s": 1e12,
 "memory_bytes": 16000000000, "launch_us": 2.5,
 "op_classes": {
  "convolution": {"fixed_us": 10, "compute_efficiency": 1, "memory_efficiency": 1, "relative_deviation": 0.25},
  "elementwise": {"fixed_us": 0, "compute_efficiency": 1, "memory_efficiency": 0.5}},
 "fallback": {"fixed_us": 5, "compute_efficiency": 0.1, "memory_efficiency": 0.5},
 "measured": [
  {"kind": "conv2d", "shape": [1, 2], "us": 10, "runs": 20, "library": "cudnn", "flops": 1000000000, "bytes": 1000},
  {"kind": "relu", "shape": [500000], "us": 2, "runs": 20, "library": "<i>emplace</i>", "flops": 500000, "bytes": 1000000}],
 "calibration": {
  "product": "Lab GPU", "software": "driver 1.2", "clocks": "1980 MHz", "date": "2026-11-20",
  "runs_throttled": 3, "runs_lost": 4,
  "op_classes": {"convolution": {"measurements": 1,
    "interpolated": {"predicted": 0, "mean_error": 0, "max_error": 0},
    "roofline": {"predicted": 1, "mean_error": 0.123, "max_error": 0.456}}},
  "all": {"measurements": 2,
    "interpolated": {"predicted": 0, "mean_error": 0, "max_error": 0},
    "roofline": {"predicted": 2, "mean_error": 0.3, "max_error": 0.4}}},
 "provenance": {"kind": "measured", "source": "a test", "date": "2026-11-20", "notes": "quiet"}}
END
}

# lab_cluster FILE: writes a cluster with the measured profile and a shipped one.
lab_cluster() {
  measured_profile profile.json
  cat >"$1" <<END
{"schema": "emplace-cluster", "version": 1, "name": "lab", "summary": "", "transfer_model": "grappler",
 "grappler": {"latency_us": 1, "bytes_per_us": 1000},
 "devices": [{"name": "gpu:0", "profile": $(cat profile.json)}, {"name": "cpu:0", "profile": "xeon-8480c"}],
 "provenance": {"kind": "measured", "source": "a test", "date": "2026-11-20", "notes": ""}}
END
}

@test "a shipped profile is shown with its rooflines and where they come from" {
  answers 0 show h200
  [[ "$output" == "h200: NVIDIA H200 SXM5"* ]]
  [[ "$output" == *"66.908 TFLOP/s in float32, 494.715 in TF32"* ]]
  [[ "$output" == *"stream        4150.0 GB/s by BabelStream; cache 52.4 MB"* ]]
  [[ "$output" == *"in steps      1.02 times as long in float32, 1.43 in tf32, 1.23 in float16"* ]]
  [[ "$output" == *"provenance    fitted"* ]]
  [[ "$output" =~ matmul\ +8\.39\ +87\.7\ %\ +73\.7\ % ]]
  [[ "$output" == *"conv2d, 3x3, tf32 (proxy: v100 float16)"* ]]
  [[ "$output" != *"predict worst"* ]]
  [ -z "$stderr" ]
}

@test "a measured profile tells errors of classes and the ops predicted worst" {
  measured_profile profile.json
  answers 0 show profile.json
  [[ "$output" == *"Lab GPU, 2026-11-20"* ]]
  [[ "$output" == *"3 runs below the clock, 4 without records"* ]]
  [[ "$output" =~ convolution\ +10\.00\ +100\.0\ %\ +100\.0\ %\ +25\.0\ %\ +1\ +1\ +12\.3\ %\ +45\.6\ % ]]
  # 10 us and 1e9 FLOPs at 1e8 FLOP/us against 10 us; 1e6 bytes at 5e5 bytes/us against 2 us.
  [[ "$output" =~ conv2d\ \[1,\ 2\]\ float32\ +cudnn\ +10\.000\ +20\.000\ +\+100\.0\ % ]]
  [[ "$output" =~ relu\ \[500000\]\ float32\ .*\ 2\.000\ +2\.000\ +\+0\.0\ % ]]
}

@test "the same in JSON, with all that the file has" {
  measured_profile profile.json
  answers 0 show profile.json --json
  holds 'd["schema_version"] == 1' \
    'd["profile"]["name"] == "lab-gpu"' \
    'd["profile"]["calibration"]["runs_lost"] == 4' \
    'len(d["profile"]["measured"]) == 2' \
    '[r["kind"] for r in d["residuals"]] == ["conv2d", "relu"]' \
    'abs(d["residuals"][0]["error"] - 1) < 1e-12'
}

@test "a profile of a cluster is shown by its name" {
  lab_cluster lab.json
  answers 0 show lab.json --profile lab-gpu
  [[ "$output" == "lab-gpu: "* ]]
  [[ "$output" != *"xeon-8480c"* ]]
  answers 0 show dgx-h200 --profile h200 --json
  holds 'd["profile"]["name"] == "h200"'
}

@test "a picture is an SVG with a point for each measurement under the roofs" {
  measured_profile profile.json
  answers 0 show profile.json -o picture.svg
  python3 - <<'END'
import xml.etree.ElementTree as tree
svg = "{http://www.w3.org/2000/svg}"
root = tree.parse("picture.svg").getroot()
assert root.tag == svg + "svg"
titles = [title.text for title in root.iter(svg + "title")]
assert len(titles) == 4, titles
assert titles[0] == "conv2d [1, 2] float32: 10.000 us, 1e+14 FLOP/s", titles
assert titles[2].endswith("measured 10.000 us, roofline 20.000 us (+100.0 %)"), titles
# The roof of the device and of two classes, and three lines of the residuals.
assert len(list(root.iter(svg + "polyline"))) == 6
END
}

@test "a page has the picture and the tables, and markup of names is escaped" {
  measured_profile profile.json
  answers 0 show profile.json -o page.html
  python3 - <<'END'
import html.parser
class Page(html.parser.HTMLParser):
    tags, text = [], ""
    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            # The namespace of SVG is a name, not an address that is read.
            assert name == "xmlns" or "//" not in (value or ""), (tag, name, value)
    def handle_data(self, data):
        self.text += data
page = Page()
page.feed(open("page.html").read())
assert page.tags.count("svg") == 3 and page.tags.count("table") == 3, page.tags
assert not {"b", "i", "script", "link", "img"} & set(page.tags), page.tags
assert 'a <b>GPU</b> of "the lab" & more' in page.text
assert "<i>emplace</i>" in page.text
END
}

@test "a profile without measurements has a picture of its roofs" {
  answers 0 show k80 -o roofs.svg
  python3 - <<'END'
import xml.etree.ElementTree as tree
svg = "{http://www.w3.org/2000/svg}"
root = tree.parse("roofs.svg").getroot()
assert len(list(root.iter(svg + "polyline"))) == 10  # the device and nine classes
assert "depthwise-convolution" in [text.text for text in root.iter(svg + "text")]
END
}

@test "an op that was measured costs what was measured, one between is interpolated" {
  tiny_graph graph.json
  measured_profile profile.json
  python3 - <<'END'
import json
profile = json.load(open("profile.json"))
work = {"runs": 20, "library": "cublas", "bytes": 8000}
profile["measured"] = [
    {"kind": "matmul", "shape": [64, 64, 64], "us": 7, "flops": 2000000000, **work},
    {"kind": "add", "shape": [1], "us": 3, "flops": 1000, **work, "bytes": 12000}]
json.dump({"schema": "emplace-cluster", "version": 1, "name": "lab", "summary": "",
           "transfer_model": "grappler", "grappler": {"latency_us": 1, "bytes_per_us": 1000},
           "devices": [{"name": "gpu:0", "profile": profile}],
           "provenance": profile["provenance"]}, open("lab.json", "w"))
END
  answers 0 show graph.json --cluster lab.json --json
  holds 'd["device_classes"][0]["ops_by_cost_source"]["measured"] == 2' \
    'd["device_classes"][0]["ops_by_cost_source"]["interpolated"] == 1' \
    'abs(d["device_classes"][0]["all_ops_us"] - 17) < 1e-9'
}

@test "mistakes are told" {
  refuses 2 "missing NAME" show
  refuses 2 "give --samples, or --proxies, or both" dev fit --device v100 -o v.json
  refuses 3 "cannot read 'no.csv'" dev fit --samples no.csv --device v100 -o v.json
  refuses 2 "unknown option '--outpu'; did you mean '--output'" show h200 --outpu x.svg
  refuses 2 "ends in .svg, .png, .pdf or .html, found 'x.gif'" show h200 -o x.gif
  refuses 3 "nothing is called 'h20'; did you mean 'h200'" show h20
  refuses 3 "did you mean 'h200'" show dgx-h200 --profile h20
  refuses 3 "none.json" show none.json
  refuses 2 "'h200' is of the kind device profile, for which there is no --cluster" show h200 --cluster dgx-h200
}

@test "a profile is written to a file that can be edited and shown" {
  "$EMPLACE" show k80 -o k80.json >/dev/null
  answers 0 show ./k80.json
  [[ "$output" == "k80: "* ]]
}

@test "profiles are listed" {
  answers 0 list profiles
  [[ "$output" =~ h200\ +66\.908\ +4800\.0\ +150\.8 ]]
  answers 0 list profiles --json
  holds '[p["name"] for p in d["profiles"]] == sorted(p["name"] for p in d["profiles"])' \
    'len(d["profiles"]) == 20'
}

@test "dev fit makes of the shipped samples the shipped profile" {
  local samples="$EMPLACE_SOURCE_DIR/profiles/data/samples"
  answers 0 dev fit --samples "$samples/m40.csv.gz" --proxies "$samples/p100.csv.gz" --device m40 -o m40.json
  python3 - "$samples/../devices/m40.json" <<'END'
import json, sys
fitted, shipped = json.load(open("m40.json")), json.load(open(sys.argv[1]))
for member in ("op_classes", "fallback", "peak_flops_per_s"):
    assert fitted[member] == shipped[member], member
END
}

@test "math modes change what a step takes on devices with TF32" {
  local graph=resnet-50:batch=8 mode
  for mode in float32 tf32; do
    answers 0 simulate "$graph" --cluster "dgx-a100:math=$mode" --agent single-gpu --json
    echo "$output" >"$mode.json"
  done
  python3 - <<'END'
import json
assert json.load(open("tf32.json"))["step_time_us"] < 0.8 * json.load(open("float32.json"))["step_time_us"]
END
}

@test "ops cost what they take in a framework's step, or alone" {
  local graph=resnet-50:batch=8,dtype=float16
  answers 0 place "$graph" --cluster dgx-a100 --agent single-gpu -o in_step.json
  answers 0 place "$graph" --cluster dgx-a100 --agent single-gpu --no-framework -o alone.json
  answers 0 simulate --placement alone.json --json
  echo "$output" >again.json
  answers 0 simulate --placement in_step.json --no-framework --json
  echo "$output" >without.json
  answers 0 simulate --placement in_step.json --json
  echo "$output" >step.json
  python3 - <<'END'
import json
alone, again, step = (json.load(open(f + ".json"))["step_time_us"] for f in ("without", "again", "step"))
assert alone == again and 1.03 < step / alone < 1.25, (alone, again, step)
END
  refuses 2 "framework is 'maybe', expected true or false" \
    simulate "$graph" --cluster dgx-a100:framework=maybe --agent single-gpu
}

@test "images of another layout take longer" {
  for layout in nchw nhwc; do
    answers 0 simulate "resnet-50:batch=8,dtype=float16,layout=$layout" --cluster dgx-a100 --agent single-gpu --json
    echo "$output" >"$layout.json"
  done
  python3 - <<'END'
import json
assert json.load(open("nchw.json"))["step_time_us"] > 1.1 * json.load(open("nhwc.json"))["step_time_us"]
END
}

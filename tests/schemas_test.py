"""Validates shipped and exported JSON against the schemas of all modules.

Usage: schemas_test.py SOURCE_DIR EMPLACE
Every schema must have a document, accept it, and refuse it with a member that it does not know.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import jsonschema

root = pathlib.Path(sys.argv[1])
emplace = sys.argv[2]


def shipped(folder):
    return {str(path.relative_to(root)): path.read_text() for path in sorted(root.glob(folder))}


def written(*arguments):
    command = [emplace, *arguments]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {" ".join(["emplace", *arguments]): output}


def shown(path):
    """The profiles of a cluster file, as they are written again."""
    profiles = json.loads(next(iter(written("show", str(path), "--json").values())))
    return {f"{path.name}: {entry['profile']['name']}": json.dumps(entry["profile"])
            for entry in profiles["profiles"]}


def trained():
    """A policy that was trained for one episode."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "policy.json"
        written("train", "placeto:preset=released,rounds=1", "in-tree:levels=3", "--cluster", "p2-8xlarge-2",
                "--episodes", "1", "-o", str(path))
        return {"emplace train": path.read_text()}


documents = {
    "graphs/schema/graph.schema.json": written("convert", "inception-v3"),
    "profiles/schema/device_profile.schema.json": {
        **shipped("profiles/data/devices/*.json"),
        **shown(root / "tests/profiles/measured_cluster.json")},
    "profiles/schema/cluster.schema.json": {
        **shipped("profiles/data/clusters/*.json"),
        **shipped("tests/profiles/measured_cluster.json")},
    "profiles/schema/constraints.schema.json": shipped("examples/constraints.json"),
    "sim/schema/placement.schema.json": {
        **written("place", "inception-v3", "--cluster", "p2-8xlarge-2", "--agent", "round-robin"),
        **written("place", "inception-v3", "--cluster", "p2-8xlarge-2", "--agent", "heft:order=plan")},
    "bench/schema/best_known.schema.json": shipped("bench/best_known/*.json"),
    "bench/schema/published_steps.schema.json": shipped("bench/published/*.json"),
    "bench/schema/suite.schema.json": shipped("bench/suites/*.json"),
    "bench/schema/policy.schema.json": trained(),
}

failures = 0
for path in sorted(root.glob("*/schema/*.schema.json")):
    name = str(path.relative_to(root))
    schema = json.loads(path.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    # References between schemas are relative to the file.
    resolver = jsonschema.RefResolver(path.as_uri(), schema)
    validator = jsonschema.Draft202012Validator(schema, resolver=resolver)
    if not documents.get(name):
        print(f"{name}: no document")
        failures += 1
    for source, text in documents.get(name, {}).items():
        document = json.loads(text)
        errors = [f"{error.json_path}: {error.message[:200]}"
                  for error in validator.iter_errors(document)]
        if validator.is_valid({**document, "no such member": 1}):
            errors.append("accepts a member that it does not know")
        print(f"{name}: {source}: {'; '.join(errors[:5]) or 'ok'}")
        failures += len(errors)
sys.exit(1 if failures else 0)

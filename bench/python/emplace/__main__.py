"""What the program leaves to Python: `emplace run SUITE --python FILE` and `emplace calibrate --framework torch`."""

import argparse
import json
import os
import runpy
import signal
import sys
import warnings
from pathlib import Path

from emplace import _agents, _core
from emplace._errors import Error, UsageError
from emplace._runs import run_cells, show_progress

# The exit codes of the program.
_WRONG_USE, _BAD_INPUT, _SOME_CELLS_FAILED, _INTERRUPTED = 2, 3, 4, 130


class _LoadPlugin(argparse.Action):
    def __call__(self, parser, options, path, option=None):
        _core.load_plugin(path)


def _options(arguments):
    parser = argparse.ArgumentParser(prog="emplace", allow_abbrev=False)
    commands = parser.add_subparsers(required=True)
    run, calibrate = (commands.add_parser(name, allow_abbrev=False) for name in ("run", "calibrate"))
    for common in (parser, run, calibrate):
        common.add_argument("-q", "--quiet", action="store_true", default=argparse.SUPPRESS)
        common.add_argument("--color", choices=("auto", "always", "never"), default=argparse.SUPPRESS)
        common.add_argument("--plugin", action=_LoadPlugin, default=argparse.SUPPRESS)
    run.add_argument("suite")
    run.add_argument("--python", action="append", default=[])
    run.add_argument("-o", "--output")
    run.add_argument("--resume", action="store_true")
    run.add_argument("--shard", default="1/1")
    run.add_argument("-j", "--threads", type=int, default=0)
    run.add_argument("--seed", type=int, default=0)
    run.add_argument("--json", action="store_true")
    run.set_defaults(command=_run)
    for ignored in ("--json", "--wide"):  # it prints neither JSON nor tables
        calibrate.add_argument(ignored, action="store_true")
    calibrate.add_argument("graphs", nargs="*", default=["inception-v3", "nmt"])
    calibrate.add_argument("--framework", required=True)
    calibrate.add_argument("--devices", default="gpu,cpu")
    calibrate.add_argument("--fp32", action="store_true")
    calibrate.add_argument("--runs", type=int, default=20)
    calibrate.add_argument("--name", default="this-machine")
    calibrate.add_argument("--max-copy", type=int, default=1 << 30)
    calibrate.add_argument("--save-samples")
    calibrate.add_argument("-o", "--output", required=True)
    calibrate.add_argument("-j", "--threads", type=int, default=0)
    calibrate.set_defaults(command=_calibrate)
    return parser.parse_args(arguments)


def _load(path):
    """Runs a file and returns the agents that it registers."""
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    before = set(_agents.registered())
    # As Python does for a program: its folder comes first, for the modules that it imports.
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    try:
        runpy.run_path(path)
    except (Exception, SystemExit) as error:
        raise UsageError(f"{path}: {_agents.note_failure(error, error.__traceback__, path)}") from error
    added = [name for name in _agents.registered() if name not in before]
    if not added:
        raise UsageError(f"{path}: registers no agent (see emplace.agent)")
    for name in added:
        _agents.add_file(name, path, text)
    return added


def _run(options):
    added = [name for path in options.python for name in _load(path)]
    listed = json.loads(_core.suite_text(options.suite))["agents"]
    named = {(entry["agent"] if isinstance(entry, dict) else entry).partition(":")[0] for entry in listed}
    quiet = getattr(options, "quiet", False)

    def warn(text):
        if not quiet:
            print(f"emplace: warning: {text}", file=sys.stderr)

    folder, faults = run_cells(options.suite, agents=[name for name in added if name not in named],
                               output=options.output, seed=options.seed, shard=options.shard, resume=options.resume,
                               threads=options.threads, warn=warn,
                               progress=show_progress if sys.stderr.isatty() and not quiet else None)
    # Who reads no more ends this program as it ends others. Not before: agents may have pipes of their own.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if faults:
        print(f"emplace: {faults}; continue with the same command and --resume", file=sys.stderr)
        return _SOME_CELLS_FAILED
    if not quiet:
        print(f"results in {folder}", file=sys.stderr)
    color = getattr(options, "color", "auto")
    is_colored = color == "always" or (color == "auto" and sys.stdout.isatty() and "NO_COLOR" not in os.environ
                                       and os.environ.get("TERM") != "dumb")
    text, _, failed, _ = _core.report_text(folder, is_colored, options.json)
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
    return _SOME_CELLS_FAILED if failed else 0


def _calibrate(options):
    from emplace._calibrate import calibrate
    quiet = getattr(options, "quiet", False)
    is_shown = sys.stderr.isatty() and not quiet

    def progress(what, done):
        print(f"\r\033[K[{100 * done:3.0f} %] {what}", end="", file=sys.stderr, flush=True)

    def warn(message, *_):
        if not quiet:
            print(f"emplace: warning: {message}", file=sys.stderr)

    warnings.showwarning = warn
    try:
        result = calibrate(options.graphs, devices=options.devices, output=options.output, name=options.name,
                           runs=options.runs, max_copy=options.max_copy, full_precision=options.fp32,
                           progress=progress if is_shown else None)
    finally:
        if is_shown:
            print("\r\033[K", end="", file=sys.stderr)
    if options.save_samples:
        result.save_samples(options.save_samples)
    count = sum(not line.startswith("#") for line in result.samples.splitlines()) - 1
    print(f"{count} ops measured by PyTorch; emplace show {options.output} shows what they took")
    if result.left_out:
        print(f"\n{len(result.left_out)} left out:")
        print("\n".join(f"  {line}" for line in result.left_out[:10]))
        if len(result.left_out) > 10:
            print(f"  and {len(result.left_out) - 10} more")
    return 0


def main(arguments=None):
    options = _options(arguments)
    try:
        return options.command(options)
    except KeyboardInterrupt:
        resume = "; continue with the same command and --resume" if options.command is _run else ""
        print(f"emplace: interrupted{resume}", file=sys.stderr)
        return _INTERRUPTED
    except Error as error:
        print(f"emplace: {error}", file=sys.stderr)
        return _WRONG_USE if isinstance(error, UsageError) else _BAD_INPUT


if __name__ == "__main__":
    sys.exit(main())

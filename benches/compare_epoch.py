"""One epoch of adaptation, newfound beside PyTorch, in turn, several times: ratios and their spread.

python benches/compare_epoch.py IMAGES MODEL --python VENV/bin/python [--repeats 3] [--backbone resnet50] [--batch 64]

IMAGES is a folder or a list of paths; MODEL any source model of newfound's with that backbone. Needs a Python with PyTorch
and torchvision for the other side, and `cargo build --release` before. Nothing else should run on the machine.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def run(command):
    """Output and peak memory in MB of a command."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    output, messages = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(messages)
    return output, usage.ru_maxrss / 1024


def ours(o):
    with tempfile.TemporaryDirectory() as place:
        out = pathlib.Path(place) / "run"
        words = ["adapt", o.images, "--model", o.model, "--out", out, "--epochs", 1, "--batch", o.batch]
        program = HERE.parent / "target/release/newfound"
        _, peak = run([str(word) for word in [program, *words]])
        events = (out / "events.jsonl").read_text().splitlines()
        epoch = next(event for event in map(json.loads, events) if event["event"] == "epoch")
        return epoch["images_per_second"], epoch["waiting"], peak


def theirs(o):
    best = None
    for workers in [1, 2]:
        words = [HERE / "adaptation.py", o.images, o.backbone, o.batch, "--workers", workers]
        output, _ = run([str(word) for word in [o.python, *words]])
        found = json.loads(output.strip().splitlines()[-1])
        found = found["images_per_second"], workers, found["peak_mb"]
        best = max(best or found, found)
    return best


def main():
    options = argparse.ArgumentParser()
    options.add_argument("images")
    options.add_argument("model")
    options.add_argument("--python", required=True)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--backbone", default="resnet50")
    options.add_argument("--batch", type=int, default=64)
    o = options.parse_args()
    print(f"an epoch of adaptation, {o.backbone}, batch {o.batch}; newfound beside PyTorch, {o.repeats} times in turn")
    pairs = [(ours(o), theirs(o)) for _ in range(o.repeats)]
    rates = [[side[0] for side in sides] for sides in zip(*pairs)]
    ratios = [us / them for us, them in zip(*rates)]
    show = lambda values: f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"
    print(f"{show(rates[0])} beside {show(rates[1])} images/s, ratio {show(ratios)}")
    (_, waiting, ours_peak), (_, workers, their_peak) = pairs[-1]
    print(f"newfound waited for images {100 * waiting:.1f} % of the time; PyTorch was faster with {workers} workers")
    print(f"peak {ours_peak:.0f} MB beside {their_peak:.0f} MB (its main process alone)")


main()

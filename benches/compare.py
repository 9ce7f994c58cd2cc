"""newfound beside PyTorch, in turn, several times: ratios and their spread.

python benches/compare.py --python VENV/bin/python [--repeats 3] [--seconds 15] [--backbone resnet50] [--batch 16] [--size 224]

Needs a Python with PyTorch for the other side; newfound itself never does. Nothing else should run on the machine.
"""

import argparse
import json
import pathlib
import statistics
import subprocess

HERE = pathlib.Path(__file__).resolve().parent


def run(command):
    lines = subprocess.run(command, cwd=HERE.parent, check=True, capture_output=True, text=True).stdout
    return json.loads(lines.strip().splitlines()[-1])


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--python", required=True)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--seconds", type=int, default=15)
    options.add_argument("--backbone", default="resnet50")
    options.add_argument("--batch", type=int, default=16)
    options.add_argument("--size", type=int, default=224)
    o = options.parse_args()
    ours = ["cargo", "bench", "-q", "--bench", "engine", "--"]
    theirs = [o.python, str(HERE / "pytorch.py")]
    print(f"{o.backbone}, batch {o.batch}, {o.size} px; newfound beside PyTorch, {o.repeats} times in turn")
    for work in ["train", "infer"]:
        arguments = [work, o.backbone, str(o.batch), str(o.size), str(o.seconds)]
        pairs = [(run(ours + arguments), run(theirs + arguments)) for _ in range(o.repeats)]
        rates = [[side["images_per_second"] for side in sides] for sides in zip(*pairs)]
        ratios = [us / them for us, them in zip(*rates)]
        memory = [max(side["peak_mb"] for side in sides) for sides in zip(*pairs)]
        first = [statistics.median(side["first_step"] for side in sides) for sides in zip(*pairs)]
        show = lambda values: f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"
        print(f"{work}: {show(rates[0])} beside {show(rates[1])} images/s, ratio {show(ratios)}")
        print(f"       first step {first[0]:.2f} s beside {first[1]:.2f} s; peak {memory[0]} MB beside {memory[1]} MB")


main()

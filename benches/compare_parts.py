"""What is not the network, newfound beside scikit-learn, PyTorch, torchvision and Pillow, in turn: ratios and their spread.

python benches/compare_parts.py IMAGES --python VENV/bin/python [--repeats 3]

IMAGES is a folder or a list of paths. Needs a Python with those libraries. Nothing else should run on the machine.
"""

import argparse
import array
import json
import pathlib
import random
import statistics
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def points(path, rows, clusters=20, width=256):
    """Clusters that overlap a little, as features do."""
    random.seed(0)
    centres = [[random.gauss(0, 1) for _ in range(width)] for _ in range(clusters)]
    values = array.array("f")
    for row in range(rows):
        values.extend(c + random.gauss(0, 2.5) for c in centres[row % clusters])
    path.write_bytes(values.tobytes())


def run(command):
    done = subprocess.run(command, cwd=HERE.parent, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def main():
    options = argparse.ArgumentParser()
    options.add_argument("images")
    options.add_argument("--python", required=True)
    options.add_argument("--repeats", type=int, default=3)
    o = options.parse_args()
    ours = ["cargo", "bench", "-q", "--bench", "parts", "--"]
    theirs = [o.python, str(HERE / "parts.py")]
    with tempfile.TemporaryDirectory() as place:
        few, many = pathlib.Path(place) / "few", pathlib.Path(place) / "many"
        points(few, 2000)
        points(many, 16384)
        works = [
            ("k-means", few, "k-means, 2,000 × 256, 20 clusters, 10 restarts", "scikit-learn"),
            ("neighbours", many, "10 neighbours of 64 among 16,384 × 256", "torch topk"),
            ("views", pathlib.Path(o.images).resolve(), "weak and two strong views, from file", "torchvision, Pillow"),
            ("update", "-", "SGD and moving average, ResNet-50", "torch foreach"),
        ]
        for part, file, name, other in works:
            arguments = [part, str(file)]
            pairs = [(run(ours + arguments), run(theirs + arguments)) for _ in range(o.repeats)]
            times = [[1000 * side["seconds"] for side in sides] for sides in zip(*pairs)]
            ratios = [them / us for us, them in zip(*times)]
            show = lambda values, digits: (
                f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"
            )
            print(f"{name}: {show(times[0], 1)} ms beside {other} {show(times[1], 1)} ms, ratio {show(ratios, 2)}")
            for key in ["inertia", "sum"]:
                if key in pairs[0][0]:
                    print(f"    {key} {pairs[0][0][key]} beside {pairs[0][1][key]}")


main()

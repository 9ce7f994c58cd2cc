"""The work of crates/newfound/benches/engine.rs in PyTorch, as fast as it gets on a CPU.

python pytorch.py train|infer BACKBONE BATCH SIZE SECONDS      prints one line of JSON

Channels-last; oneDNN as it comes; inference without autograd, eager or scripted, frozen and fused, whichever is faster.
"""

import json
import resource
import sys
import time

import torch
from torch import nn


def conv(i, o, k, s=1):
    return nn.Conv2d(i, o, k, s, k // 2, bias=False)


class Block(nn.Module):
    """Two 3×3 (basic), or 1×1, 3×3 with the stride, 1×1 (bottleneck)."""

    def __init__(self, i, width, stride, bottleneck):
        super().__init__()
        o = width * (4 if bottleneck else 1)
        if bottleneck:
            sizes = [(i, width, 1, 1), (width, width, 3, stride), (width, o, 1, 1)]
        else:
            sizes = [(i, width, 3, stride), (width, o, 3, 1)]
        layers = []
        for n, size in enumerate(sizes):
            layers += [conv(*size), nn.BatchNorm2d(size[1])]
            if n + 1 < len(sizes):
                layers.append(nn.ReLU(inplace=True))
        self.body = nn.Sequential(*layers)
        self.relu = nn.ReLU(inplace=True)
        self.short = nn.Identity()
        if stride != 1 or i != o:
            self.short = nn.Sequential(conv(i, o, 1, stride), nn.BatchNorm2d(o))

    def forward(self, x):
        return self.relu(self.body(x) + self.short(x))


def network(name, outputs=20):
    blocks, bottleneck = {
        "resnet18": ([2, 2, 2, 2], False),
        "resnet34": ([3, 4, 6, 3], False),
        "resnet50": ([3, 4, 6, 3], True),
        "resnet101": ([3, 4, 23, 3], True),
    }[name]
    layers = [conv(3, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    i = 64
    for stage, count in enumerate(blocks):
        for block in range(count):
            width = 64 * 2**stage
            layers.append(Block(i, width, 2 if stage and not block else 1, bottleneck))
            i = width * (4 if bottleneck else 1)
    head = nn.utils.parametrizations.weight_norm(nn.Linear(256, outputs), dim=0)
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(i, 256), nn.BatchNorm1d(256), head]
    return nn.Sequential(*layers).to(memory_format=torch.channels_last)


def timed(step, batch, seconds):
    began = time.perf_counter()
    step()
    first = time.perf_counter() - began
    step()
    began, steps = time.perf_counter(), 0
    while steps < 2 or time.perf_counter() - began < seconds:
        step()
        steps += 1
    return steps * batch / (time.perf_counter() - began), first


def main():
    work, name = sys.argv[1], sys.argv[2]
    batch, size, seconds = map(int, sys.argv[3:6])
    torch.manual_seed(0)
    model = network(name)
    images = torch.randn(batch, 3, size, size).to(memory_format=torch.channels_last)
    labels = torch.arange(batch) % 20
    if work == "train":
        body, head = list(model[:-3].parameters()), list(model[-3:].parameters())
        groups = [{"params": body, "lr": 0.001}, {"params": head, "lr": 0.01}]
        sgd = torch.optim.SGD(groups, momentum=0.9, nesterov=True, weight_decay=1e-3, foreach=True)

        def step():
            sgd.zero_grad(set_to_none=True)
            loss = nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            sgd.step()
            return loss.item()

        rate, first = timed(step, batch, seconds)
    else:
        model.eval()
        nn.utils.parametrize.remove_parametrizations(model[-1], "weight")
        with torch.inference_mode():
            rate, first = timed(lambda: model(images).sum().item(), batch, seconds / 2)
        with torch.no_grad():
            traced = torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.trace(model, images)))
            fused, _ = timed(lambda: traced(images).sum().item(), batch, seconds / 2)
        rate = max(rate, fused)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"images_per_second": round(rate, 3), "first_step": round(first, 3), "peak_mb": round(peak)}))


if __name__ == "__main__":
    main()

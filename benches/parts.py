"""The work of crates/newfound/benches/parts.rs with the libraries people use for it in Python.

python parts.py k-means|neighbours|views|update FILE      prints one line of JSON
"""

import json
import statistics
import sys
import time

import numpy
import torch
from torch.nn import functional as F


def median(work):
    work()
    times = []
    for _ in range(9):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def k_means(file):
    from sklearn.cluster import KMeans

    points = numpy.fromfile(file, "<f4").reshape(-1, 256)
    found = {}

    def work():
        model = KMeans(20, init="k-means++", n_init=10, max_iter=300, tol=0, random_state=0)
        found["inertia"] = float(model.fit(points).inertia_)

    return {"seconds": median(work), **found}


def neighbours(file):
    bank = F.normalize(torch.from_numpy(numpy.fromfile(file, "<f4").reshape(-1, 256)))
    found = {}

    def work():
        similarity = bank[:64] @ bank.T
        similarity[torch.arange(64), torch.arange(64)] = -2.0
        found["sum"] = int(similarity.topk(10, dim=1).indices.sum())

    with torch.inference_mode():
        return {"seconds": median(work), **found}


def views(file):
    from adaptation import Views

    images, best = Views(file), None
    for workers in [1, 2, 3]:
        loader = torch.utils.data.DataLoader(images, 64, num_workers=workers, prefetch_factor=2)
        began = time.perf_counter()
        for _ in loader:
            pass
        seconds = time.perf_counter() - began
        best = min(best or seconds, seconds)
    return {"seconds": best, "images": len(images)}


def update(_):
    from pytorch import network

    online, momentum = network("resnet50"), network("resnet50")
    parameters, slow = list(online.parameters()), [p.detach() for p in momentum.parameters()]
    sgd = torch.optim.SGD(parameters, 1e-3, momentum=0.9, nesterov=True, weight_decay=1e-3, foreach=True)
    for parameter in parameters:
        parameter.grad = parameter.detach().clone()
    sgd.step()

    def work():
        sgd.step()
        with torch.no_grad():
            torch._foreach_lerp_(slow, [p.detach() for p in parameters], 0.01)

    return {"seconds": median(work), "parameters": sum(p.numel() for p in parameters)}


if __name__ == "__main__":
    work = {"k-means": k_means, "neighbours": neighbours, "views": views, "update": update}[sys.argv[1]]
    print(json.dumps(work(sys.argv[2])))

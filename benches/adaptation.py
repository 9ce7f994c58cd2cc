"""One epoch of adaptation in plain PyTorch, as fast as it gets on a CPU: the step of crates/newfound/src/algorithm.rs.

python adaptation.py IMAGES BACKBONE BATCH [--workers 2]      prints one line of JSON

The images of a folder or of a list of paths, three views each by torchvision and Pillow in DataLoader workers; channels-last; the momentum
model without autograd, batch statistics as in newfound's default; foreach updates; the same losses, bank, queue and
label history. Weights are random: only the time is of interest.
"""

import argparse
import copy
import json
import pathlib
import random
import resource
import time

import torch
from PIL import Image, ImageFilter
from torch import nn
from torch.nn import functional as F
from torchvision.transforms import v2

from pytorch import network

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
KNOWN, PRIVATE, NEIGHBOURS, EPOCHS_KEPT, TEMPERATURE, EMA = 10, 10, 10, 5, 0.07, 0.9583
CLASSES = KNOWN + PRIVATE
ENDINGS = {".jpg", ".jpeg", ".png", ".bmp"}



class Blur(nn.Module):
    """Pillow's, as newfound's: several times faster than torchvision's on these sizes."""

    def forward(self, image):
        return image.filter(ImageFilter.GaussianBlur(random.uniform(0.1, 2.0)))


to_tensor = [v2.PILToTensor(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
weak = v2.Compose([v2.Resize((256, 256)), v2.RandomCrop(224), v2.RandomHorizontalFlip(), *to_tensor])
strong = v2.Compose(
    [
        v2.RandomResizedCrop(224, scale=(0.2, 1.0)),
        v2.RandomApply([v2.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
        v2.RandomGrayscale(p=0.2),
        v2.RandomApply([Blur()], p=0.5),
        v2.RandomHorizontalFlip(),
        *to_tensor,
    ]
)


class Views(torch.utils.data.Dataset):
    def __init__(self, images):
        images = pathlib.Path(images)
        if images.is_dir():
            files = sorted(images.rglob("*"))
        else:
            files = [images.parent / line.strip() for line in images.read_text().splitlines()]
        self.paths = [path for path in files if path.suffix.lower() in ENDINGS]

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        image = Image.open(self.paths[index]).convert("RGB")
        return index, weak(image), strong(image), strong(image)


class Adaptation:
    def __init__(self, name, count):
        model = network(name, CLASSES)
        self.body, self.head = model[:-1], model[-1]
        self.online = model
        self.momentum = copy.deepcopy(model).requires_grad_(False)
        size = 256
        self.features = F.normalize(torch.randn(count, size))
        self.probabilities = torch.softmax(torch.randn(count, CLASSES), 1)
        self.queue = F.normalize(torch.randn(count, size))
        self.queue_images = torch.arange(count)
        self.queue_next = 0
        self.history = torch.randint(CLASSES, (count, EPOCHS_KEPT))
        body, head = list(model[:-3].parameters()), list(model[-3:].parameters())
        groups = [{"params": body, "lr": 0.001}, {"params": head, "lr": 0.01}]
        self.sgd = torch.optim.SGD(groups, momentum=0.9, nesterov=True, weight_decay=1e-3, foreach=True)

    @torch.no_grad()
    def refine(self, images, z):
        similarity = F.normalize(z) @ self.features.T
        similarity[torch.arange(len(images)), images] = -2.0
        neighbours = similarity.topk(NEIGHBOURS, dim=1).indices
        refined = self.probabilities[neighbours].mean(1)
        entropy = -(refined * refined.clamp_min(1e-12).log2()).sum(1)
        u_nc = (entropy / torch.log2(torch.tensor(float(CLASSES)))).clamp(0, 1)
        top = refined.topk(2, dim=1).indices
        prototypes = F.normalize(self.head.weight)[top]
        distances = 1 - (F.normalize(z)[:, None] * prototypes).sum(2)
        u_cs = distances[:, 0] / distances.sum(1).clamp_min(1e-12)
        selected = (torch.rand(len(z)) < torch.exp(-u_nc)) & (torch.rand(len(z)) < 1 - u_cs)
        return top[:, 0], selected.float()

    def step(self, images, x_weak, x_query, x_key):
        with torch.no_grad():
            slow, fast = list(self.momentum.parameters()), list(self.online.parameters())
            torch._foreach_lerp_(slow, fast, 1 - EMA)
            z_weak = self.momentum[:-1](x_weak)
            p_weak = torch.softmax(self.momentum[-1](z_weak), 1)
            labels, selected = self.refine(images, z_weak)
        query = self.body(x_query)
        logits = self.head(query)
        with torch.no_grad():
            key = F.normalize(self.momentum[:-1](x_key))
            mine, theirs = self.history[images], self.history[self.queue_images]
            negatives = images[:, None] != self.queue_images[None]
            for epoch in range(EPOCHS_KEPT):
                negatives &= mine[:, epoch, None] != theirs[None, :, epoch]

        log_p = F.log_softmax(logits, 1)
        not_class = -torch.log((1 - log_p.exp()).clamp(1e-5, 1))
        others = torch.ones_like(log_p).scatter(1, labels[:, None], 0)
        classification = ((not_class * others).sum(1) * selected).sum() / selected.sum().clamp_min(1)

        q = F.normalize(query)
        positive = (q * key).sum(1, keepdim=True) / TEMPERATURE
        against = (q @ self.queue.T / TEMPERATURE).masked_fill(~negatives, -torch.inf)
        whole = torch.logsumexp(torch.cat([positive, against], 1), 1, keepdim=True)
        nce = (whole - positive).mean()
        drawn = torch.multinomial(negatives.float() + 1e-9, 1)
        share = (against.gather(1, drawn) - whole).exp()
        has = negatives.any(1, keepdim=True)
        nl = torch.where(has, -torch.log((1 - share).clamp(1e-5, 1)), torch.zeros_like(share)).mean()

        mean = log_p.exp().mean(0)
        diversity = (mean * mean.clamp_min(1e-12).log()).sum()
        loss = classification + nce + nl + diversity
        self.sgd.zero_grad(set_to_none=True)
        loss.backward()
        self.sgd.step()
        with torch.no_grad():
            self.features[images] = F.normalize(z_weak)
            self.probabilities[images] = p_weak
            rows = (self.queue_next + torch.arange(len(images))) % len(self.queue)
            self.queue[rows], self.queue_images[rows] = key, images
            self.queue_next = (self.queue_next + len(images)) % len(self.queue)
            self.history[images, 0] = labels
        return loss.item()


def main():
    options = argparse.ArgumentParser()
    options.add_argument("images")
    options.add_argument("backbone")
    options.add_argument("batch", type=int)
    options.add_argument("--workers", type=int, default=2)
    o = options.parse_args()
    torch.manual_seed(0)
    views = Views(o.images)
    adaptation = Adaptation(o.backbone, len(views))
    began = time.perf_counter()
    loader = torch.utils.data.DataLoader(
        views, o.batch, shuffle=True, num_workers=o.workers, prefetch_factor=2 if o.workers else None
    )
    first, seen = None, 0
    for images, *rendered in loader:
        rendered = [view.contiguous(memory_format=torch.channels_last) for view in rendered]
        adaptation.step(images, *rendered)
        seen += len(images)
        first = first or time.perf_counter() - began
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"images_per_second": seen / seconds, "first_step": first, "peak_mb": round(peak)}))


if __name__ == "__main__":
    main()

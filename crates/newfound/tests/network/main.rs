//! Every architecture against torchvision's networks: logits, pooled features, running statistics and the gradient of
//! every parameter, in evaluation and in training mode.

#[path = "../equations/fixture.rs"]
#[allow(
    dead_code,
    reason = "the equations compare in more ways than the networks"
)]
mod fixture;
mod formula;
mod model;

mod forward;
mod gradients;
mod packs;
mod frontier;
mod real_weights;
mod threads;

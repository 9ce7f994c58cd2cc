//! Stochastic gradient descent, and how fast it goes.

use burn::tensor::{Gradients, Tensor};

use crate::network::{Parameters, Part, SgdRule, Spec, on_cpu, sgd};

/// SGD with Nesterov momentum and weight decay, as PyTorch's.
///
/// ```text
/// g ← ∇ + λ p,   v ← μ v + g,   p ← p − η (g + μ v)
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sgd {
    /// μ.
    pub momentum: f64,
    /// λ.
    pub weight_decay: f64,
}

impl Sgd {
    /// One update of one parameter: gives (p, v).
    ///
    /// # Shapes
    ///
    /// all of one length
    pub fn update(
        &self,
        parameter: Tensor<1>,
        velocity: Tensor<1>,
        gradient: Tensor<1>,
        rate: f64,
    ) -> (Tensor<1>, Tensor<1>) {
        let gradient = gradient + parameter.clone() * self.weight_decay;
        let velocity = velocity * self.momentum + gradient.clone();
        let parameter = parameter - (gradient + velocity.clone() * self.momentum) * rate;
        (parameter, velocity)
    }

    /// One step on every parameter that has a gradient.
    ///
    /// `tracked` are the leaves the gradients belong to, `velocity` holds one flat tensor per parameter, `rate` gives
    /// the learning rate of a parameter. On the CPU the update is done in place, in one pass over memory.
    pub fn step(
        &self,
        parameters: &mut Parameters,
        velocity: &mut [Tensor<1>],
        tracked: Parameters,
        gradients: &mut Gradients,
        rate: impl Fn(&Spec) -> f64,
    ) {
        let specs = parameters.specs.clone();
        for ((index, spec), leaf) in specs.iter().enumerate().zip(tracked.values) {
            let Some(gradient) = leaf.grad_remove(gradients) else {
                continue;
            };
            // The leaf shares its memory with the parameter, which is not its own before that is gone.
            drop(leaf);
            let (p, v) = (
                parameters.values[index].extract(),
                velocity[index].extract(),
            );
            let (p, v) = if on_cpu(&p) {
                let rule = SgdRule {
                    rate: rate(spec),
                    momentum: self.momentum,
                    weight_decay: self.weight_decay,
                };
                sgd(p, v, gradient, rule)
            } else {
                self.update(p, v, gradient, rate(spec))
            };
            (parameters.values[index], velocity[index]) = (p, v);
        }
    }
}

/// A velocity of zero for every parameter.
pub fn at_rest(parameters: &Parameters) -> Vec<Tensor<1>> {
    parameters.values.iter().map(Tensor::zeros_like).collect()
}

/// Learning rates: a base rate for the new layers, a share of it for the body, both falling with progress.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Rate of bottleneck and classifier at the start.
    pub base: f64,
    /// The body's share of it.
    pub body: f64,
}

impl Rates {
    /// The rate of a part of the network at `progress` in [0, 1].
    ///
    /// ```text
    /// η = base · (1 + 10 · progress)^−0.75
    /// ```
    pub fn at(&self, part: Part, progress: f64) -> f64 {
        let share = if matches!(part, Part::Body(_)) {
            self.body
        } else {
            1.0
        };
        self.base * share * (1.0 + 10.0 * progress).powf(-0.75)
    }
}

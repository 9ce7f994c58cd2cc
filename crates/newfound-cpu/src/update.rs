//! In-place updates of all parameters: one pass over memory each.

use crate::isa::vectorised;
use crate::pointwise::CHUNK;
use rayon::prelude::*;

/// Stochastic gradient descent with momentum, as in PyTorch (dampening 0).
///
/// ```text
/// g ← g + weight_decay · p
/// v ← momentum · v + g
/// p ← p − learning_rate · (g + momentum · v   with Nesterov's step,   v   without)
/// ```
///
/// With v = 0 the first step sets v = g, as PyTorch does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sgd {
    /// Length of a step.
    pub learning_rate: f32,
    /// Share of the last velocity that is kept.
    pub momentum: f32,
    /// Pull towards 0.
    pub weight_decay: f32,
    /// Look ahead along the velocity.
    pub nesterov: bool,
}

/// One step of [`Sgd`] on parameters `p` with gradient `g` and velocity `v`.
pub fn sgd(rule: &Sgd, p: &mut [f32], g: &[f32], v: &mut [f32]) {
    assert_eq!((g.len(), v.len()), (p.len(), p.len()));
    vectorised! {
        fn chunk(rule: &Sgd, p: &mut [f32], g: &[f32], v: &mut [f32]) {
            let Sgd { learning_rate, momentum, weight_decay, nesterov } = *rule;
            // Nesterov's step is g + momentum · v, the plain one 0 · g + 1 · v: both are exact.
            let (ahead, along) = if nesterov { (1.0, momentum) } else { (0.0, 1.0) };
            for ((p, &g), v) in p.iter_mut().zip(g).zip(v) {
                let g = g + weight_decay * *p;
                *v = momentum * *v + g;
                *p -= learning_rate * (ahead * g + along * *v);
            }
        }
    }
    let inputs = g.par_chunks(CHUNK).zip(v.par_chunks_mut(CHUNK));
    p.par_chunks_mut(CHUNK)
        .zip(inputs)
        .for_each(|(p, (g, v))| chunk(rule, p, g, v));
}

/// The moving average `teacher ← momentum · teacher + (1 − momentum) · student`.
pub fn ema(momentum: f64, teacher: &mut [f32], student: &[f32]) {
    assert_eq!(teacher.len(), student.len());
    vectorised! {
        fn chunk(momentum: f32, rest: f32, teacher: &mut [f32], student: &[f32]) {
            for (t, &s) in teacher.iter_mut().zip(student) {
                *t = momentum * *t + rest * s;
            }
        }
    }
    let pairs = teacher.par_chunks_mut(CHUNK).zip(student.par_chunks(CHUNK));
    let (momentum, rest) = (momentum as f32, (1.0 - momentum) as f32);
    pairs.for_each(|(t, s)| chunk(momentum, rest, t, s));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive::Numbers;

    /// Two steps by hand: p = 1, g = 0.5, learning rate 0.1, momentum 0.9, decay 0.1.
    #[test]
    fn two_steps_by_hand() {
        let rule = Sgd {
            learning_rate: 0.1,
            momentum: 0.9,
            weight_decay: 0.1,
            nesterov: false,
        };
        let (mut p, mut v) = ([1.0f32], [0.0f32]);
        sgd(&rule, &mut p, &[0.5], &mut v);
        assert!((v[0] - 0.6).abs() < 1e-6 && (p[0] - 0.94).abs() < 1e-6);
        sgd(&rule, &mut p, &[0.5], &mut v);
        // g = 0.594, v = 0.54 + 0.594 = 1.134, p = 0.94 − 0.1134
        assert!((v[0] - 1.134).abs() < 1e-6 && (p[0] - 0.8266).abs() < 1e-6);
        let (mut p, mut v) = ([1.0f32], [0.0f32]);
        sgd(
            &Sgd {
                nesterov: true,
                ..rule
            },
            &mut p,
            &[0.5],
            &mut v,
        );
        // g + 0.9 · v = 0.6 + 0.54
        assert!((p[0] - (1.0 - 0.114)).abs() < 1e-6);
    }

    #[test]
    fn equals_the_scalar_loop_beyond_one_task() {
        let n = CHUNK + 37;
        let mut numbers = Numbers(10);
        let (p0, g, v0) = (numbers.real(n), numbers.real(n), numbers.real(n));
        for nesterov in [false, true] {
            let rule = Sgd {
                learning_rate: 0.05,
                momentum: 0.9,
                weight_decay: 1e-3,
                nesterov,
            };
            let (mut p, mut v) = (p0.clone(), v0.clone());
            sgd(&rule, &mut p, &g, &mut v);
            for i in 0..n {
                let gradient = g[i] + 1e-3 * p0[i];
                let velocity = 0.9 * v0[i] + gradient;
                let step = if nesterov {
                    gradient + 0.9 * velocity
                } else {
                    velocity
                };
                assert_eq!((v[i], p[i]), (velocity, p0[i] - 0.05 * step));
            }
        }
        let mut teacher = p0.clone();
        ema(0.99, &mut teacher, &g);
        assert!((0..n).all(|i| teacher[i] == 0.99 * p0[i] + 0.01 * g[i]));
    }
}

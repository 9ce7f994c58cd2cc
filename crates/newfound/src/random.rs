//! One seeded generator, split by name.
//!
//! Every random draw of a run comes from a [`Stream`] that is a function of the run's seed, the name of
//! what is drawn, and the indices it is drawn for (image, epoch, step). Nothing depends on the order in
//! which streams are made, so neither threads nor an interruption change a single draw.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A source of random numbers for one named purpose.
#[derive(Debug, Clone)]
pub struct Stream(ChaCha8Rng);

impl Stream {
    /// The stream of `name` at `indices` for the run with this `seed`.
    pub fn new(seed: u64, name: &str, indices: &[u64]) -> Self {
        let mut hash = blake3::Hasher::new();
        hash.update(&seed.to_le_bytes());
        // The length first: ("ab", [..]) and ("a", [b..]) must not collide.
        hash.update(&(name.len() as u64).to_le_bytes());
        hash.update(name.as_bytes());
        for index in indices {
            hash.update(&index.to_le_bytes());
        }
        Self(ChaCha8Rng::from_seed(*hash.finalize().as_bytes()))
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1), with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in [low, high).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// True with probability `p`: always for p ≥ 1, never for p ≤ 0.
    pub fn bernoulli(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Uniform among the integers 0 … n − 1, without modulo bias.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "nothing to draw from");
        // The largest multiple of n that fits: draws above it would favour small results.
        let zone = u64::MAX - u64::MAX % n;
        loop {
            let bits = self.bits();
            if bits < zone {
                return bits % n;
            }
        }
    }

    /// A standard normal draw (Box–Muller).
    pub fn normal(&mut self) -> f64 {
        // 1 − unit lies in (0, 1], so the logarithm is finite.
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// A uniformly random order of 0 … n − 1 (Fisher–Yates).
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below(i as u64 + 1) as usize);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_a_function_of_seed_name_and_indices() {
        let draw = |seed, name, indices: &[u64]| Stream::new(seed, name, indices).bits();
        assert_eq!(draw(7, "weak", &[3, 1]), draw(7, "weak", &[3, 1]));
        let others = [
            draw(8, "weak", &[3, 1]),
            draw(7, "strong", &[3, 1]),
            draw(7, "weak", &[1, 3]),
            draw(7, "weak", &[3]),
        ];
        assert!(others.iter().all(|&bits| bits != draw(7, "weak", &[3, 1])));
    }

    #[test]
    fn draws_are_uniform() {
        let mut stream = Stream::new(0, "uniform", &[]);
        let n = 30_000;
        let mean = (0..n).map(|_| stream.unit()).sum::<f64>() / n as f64;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
        let mut counts = [0u32; 3];
        (0..n).for_each(|_| counts[stream.below(3) as usize] += 1);
        assert!(
            counts.iter().all(|&c| c.abs_diff(n / 3) < 400),
            "{counts:?}"
        );
        let square = (0..n).map(|_| stream.normal().powi(2)).sum::<f64>() / n as f64;
        assert!((square - 1.0).abs() < 0.05, "{square}");
    }

    #[test]
    fn bernoulli_at_the_ends_is_certain() {
        let mut stream = Stream::new(0, "ends", &[]);
        assert!((0..100).all(|_| stream.bernoulli(1.0) && !stream.bernoulli(0.0)));
    }

    #[test]
    fn a_permutation_holds_each_number_once() {
        let mut order = Stream::new(5, "order", &[]).permutation(100);
        assert_ne!(order, (0..100).collect::<Vec<_>>());
        order.sort_unstable();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
        assert!(Stream::new(5, "order", &[]).permutation(0).is_empty());
    }
}

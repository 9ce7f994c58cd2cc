//! A run is a function of its inputs: no number of threads changes a bit.

use newfound::network::download;

use crate::formula;
use crate::model::{model, pass};

/// Features, logits, running statistics and all gradients of one training step.
fn step(name: &str, size: usize, threads: usize) -> Vec<u32> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let (network, mut parameters) = model(name, 0.0);
        let tracked = parameters.tracked(|_| true);
        let input = formula::tensor("input", [3, 3, size, size]).autodiff();
        let pass = pass(true);
        let features = network.features(&tracked, input, &pass);
        let logits = network.logits(&tracked, features.clone());
        let gradients = logits.clone().square().sum().backward();
        let mut all = [download(features), download(logits)].concat();
        for value in &tracked.values {
            all.extend(value.grad(&gradients).map(download).unwrap_or_default());
        }
        pass.update(&mut parameters);
        all.extend(parameters.values.into_iter().flat_map(download));
        all.into_iter().map(f32::to_bits).collect()
    })
}

#[test]
fn small() {
    assert_eq!(step("small", 32, 1), step("small", 32, 3));
}

#[test]
fn resnet18() {
    assert_eq!(step("resnet18", 64, 1), step("resnet18", 64, 3));
}

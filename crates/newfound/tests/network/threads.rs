//! A run is a function of its inputs: no number of threads changes a bit.

use newfound::network::{Engine, download};

use crate::formula;
use crate::model::{ENGINES, model, pass};

/// Features, logits, running statistics and all gradients of one training step.
fn step(name: &str, engine: Engine, size: usize, threads: usize) -> Vec<u32> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap();
    pool.install(|| {
        let (network, mut parameters) = model(name, engine, 0.0);
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

fn check(name: &str, size: usize) {
    for engine in ENGINES {
        let [one, three] = [1, 3].map(|threads| step(name, engine, size, threads));
        // Not assert_eq: a million numbers are no message.
        let differ = one.iter().zip(&three).filter(|(a, b)| a != b).count();
        assert_eq!((one.len(), differ), (three.len(), 0), "{name}, {engine:?}");
    }
}

#[test]
fn small() {
    check("small", 32);
}

#[test]
fn resnet18() {
    check("resnet18", 64);
}

#[test]
fn resnet50() {
    check("resnet50_v1", 64);
}

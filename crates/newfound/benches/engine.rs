//! Images per second of one network, alone: `cargo bench --bench engine -- train|infer [BACKBONE BATCH SIZE SECONDS]`.
//!
//! Prints one line of JSON. `benches/compare.py` runs this and PyTorch in turn and prints ratios.

use std::time::{Duration, Instant};

use burn::tensor::{Tensor, TensorData};
use newfound::device::place;
use newfound::losses::cross_entropy;
use newfound::network::{Architecture, Backbone, Network, Part, Pass};
use newfound::optimiser::{Rates, Sgd, at_rest};
use newfound::random::Stream;

const OUTPUTS: usize = 20;

fn main() {
    // Cargo adds --bench.
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let word = |at: usize, otherwise: &str| words.get(at).cloned().unwrap_or(otherwise.to_string());
    let work = word(0, "train");
    let backbone = match word(1, "resnet50").as_str() {
        "small" => Backbone::Small,
        "resnet18" => Backbone::Resnet18,
        "resnet34" => Backbone::Resnet34,
        "resnet101" => Backbone::Resnet101,
        _ => Backbone::Resnet50,
    };
    let number =
        |at: usize, otherwise: &str| word(at, otherwise).parse::<usize>().expect("a number");
    let (batch, size, seconds) = (number(2, "16"), number(3, "224"), number(4, "20"));

    let place = place("cpu").expect("there is always a CPU");
    let architecture = Architecture {
        backbone,
        stride: Default::default(),
        bottleneck: Some(256),
        outputs: OUTPUTS,
    };
    let network = Network::new(architecture, place.engine);
    let mut parameters = network.start(0, &place.device);
    let mut velocity = at_rest(&parameters);
    let mut draws = Stream::new(0, "bench", &[]);
    let values: Vec<f32> = (0..batch * 3 * size * size)
        .map(|_| draws.normal() as f32)
        .collect();
    let images = Tensor::<4>::from_data(
        TensorData::new(values, [batch, 3, size, size]),
        &place.device,
    );
    let labels: Vec<i64> = (0..batch).map(|i| (i % OUTPUTS) as i64).collect();
    let labels = Tensor::from_data(labels.as_slice(), &place.device);
    let sgd = Sgd {
        momentum: 0.9,
        weight_decay: 1e-3,
    };
    let rates = Rates {
        base: 0.01,
        body: 0.1,
    };
    let evaluation = Pass::evaluation();
    let mut step = || {
        if work == "infer" {
            let features = network.features(&parameters, images.clone(), &evaluation);
            let logits = network.logits(&parameters, features);
            return logits.sum().into_scalar::<f32>();
        }
        let tracked = parameters.tracked(|_| true);
        let pass = Pass::training_from(Part::Body(0));
        let features = network.features(&tracked, images.clone().autodiff(), &pass);
        let logits = network.logits(&tracked, features);
        let loss = cross_entropy(logits, labels.clone(), 0.0);
        let value = loss.clone().into_scalar::<f32>();
        let mut gradients = loss.backward();
        sgd.step(
            &mut parameters,
            &mut velocity,
            tracked,
            &mut gradients,
            |spec| rates.at(spec.part, 0.0),
        );
        pass.update(&mut parameters);
        value
    };
    let began = Instant::now();
    step();
    let first = began.elapsed();
    step();
    let (began, mut steps) = (Instant::now(), 0);
    while steps < 2 || began.elapsed() < Duration::from_secs(seconds as u64) {
        step();
        steps += 1;
    }
    let rate = (steps * batch) as f64 / began.elapsed().as_secs_f64();
    println!(
        "{{\"images_per_second\": {rate:.3}, \"first_step\": {:.3}, \"peak_mb\": {}}}",
        first.as_secs_f64(),
        newfound::process::peak_megabytes().unwrap_or(0)
    );
}

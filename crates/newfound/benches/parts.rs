//! Everything of a step that is not the network: `cargo bench --bench parts -- PART FILE`.
//!
//! - `k-means POINTS`: raw f32 [N, 256], 20 clusters, 10 restarts;
//! - `neighbours POINTS`: 10 neighbours of 64 of the points among all of them;
//! - `views IMAGES`: a weak and two strong views of every image of a folder or list, from file to numbers;
//! - `update -`: SGD and moving average of all parameters of a ResNet-50.
//!
//! Prints one line of JSON. `benches/compare_parts.py` runs this and Python's libraries in turn and prints ratios.

use std::path::Path;
use std::time::Instant;

use burn::tensor::{Device, Tensor, TensorData};
use newfound::clustering::{KMeans, KMeansOptions, k_means};
use newfound::geometry::normalise_rows;
use newfound::images::{decode, list};
use newfound::network::{Architecture, Backbone, Engine, Network};
use newfound::optimiser::{Sgd, at_rest};
use newfound::pseudo_labels::nearest;
use newfound::random::Stream;
use newfound::views::{Geometry, Normalisation, View, prefetch, render};

const WIDTH: usize = 256;

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let part = words.first().map_or("", String::as_str);
    let file = Path::new(words.get(1).map_or("-", String::as_str));
    let (seconds, more) = match part {
        "k-means" => cluster(points(file)),
        "neighbours" => neighbours(points(file)),
        "views" => views(file),
        "update" => update(),
        // `cargo test` runs benches too, without a part.
        _ => return,
    };
    println!("{{\"seconds\": {seconds:.6}, {more}}}");
}

fn points(file: &Path) -> Tensor<2> {
    let bytes = std::fs::read(file).expect("a file of points");
    let values: Vec<f32> = bytes
        .chunks_exact(4)
        .map(|four| f32::from_le_bytes(four.try_into().expect("four bytes")))
        .collect();
    let rows = values.len() / WIDTH;
    Tensor::from_data(TensorData::new(values, [rows, WIDTH]), &Device::flex())
}

/// The median time of several calls, after one that does not count.
fn median(mut work: impl FnMut()) -> f64 {
    work();
    let mut times: Vec<f64> = (0..9)
        .map(|_| {
            let began = Instant::now();
            work();
            began.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn cluster(points: Tensor<2>) -> (f64, String) {
    let options = KMeansOptions {
        geometry: KMeans::Euclidean,
        clusters: 20,
        restarts: 10,
        rounds: 300,
    };
    let mut inertia = 0.0;
    let seconds = median(|| inertia = k_means(points.clone(), &options, 0).inertia);
    (seconds, format!("\"inertia\": {inertia:.3}"))
}

fn neighbours(points: Tensor<2>) -> (f64, String) {
    let bank = normalise_rows(points);
    let images: Vec<usize> = (0..bank.dims()[0]).collect();
    let queries = bank.clone().slice_dim(0, 0..64);
    let mut sum = 0i64;
    let seconds = median(|| {
        let found = nearest(queries.clone(), &images[..64], bank.clone(), &images, 10);
        sum = found.sum().into_scalar::<i64>();
    });
    (seconds, format!("\"sum\": {sum}"))
}

fn views(file: &Path) -> (f64, String) {
    let images = list(file, None).expect("images");
    let all: Vec<usize> = (0..images.len()).collect();
    let batches: Vec<Vec<usize>> = all.chunks(64).map(<[usize]>::to_vec).collect();
    let (geometry, normalisation) = (Geometry::for_crop(224), Normalisation::default());
    let make = |&image: &usize| {
        let picture =
            decode::read(&images.full_path(image)).map_err(|reason| reason.to_string())?;
        let mut out = vec![0.0; 3 * geometry.values()];
        for (at, view) in [View::Weak, View::Strong, View::Strong]
            .into_iter()
            .enumerate()
        {
            let mut draws = Stream::new(0, "bench", &[image as u64, at as u64]);
            let out = &mut out[at * geometry.values()..][..geometry.values()];
            render(&picture, view, geometry, &normalisation, &mut draws, out);
        }
        Ok::<_, String>(out)
    };
    let began = Instant::now();
    prefetch(&batches, 2, make, |made| {
        made.for_each(|batch| drop(batch.expect("every image is readable")));
    });
    let seconds = began.elapsed().as_secs_f64();
    (seconds, format!("\"images\": {}", images.len()))
}

fn update() -> (f64, String) {
    let architecture = Architecture {
        backbone: Backbone::Resnet50,
        stride: Default::default(),
        bottleneck: Some(256),
        outputs: 20,
    };
    let network = Network::new(architecture, Engine::for_cpu());
    let device = Device::flex();
    let mut online = network.start(0, &device);
    let mut momentum = network.start(1, &device);
    let mut velocity = at_rest(&online);
    let sgd = Sgd {
        momentum: 0.9,
        weight_decay: 1e-3,
    };
    // Made before the clock runs: leaves and the gradient of Σ p², once for each call.
    let mut ready: Vec<_> = (0..10)
        .map(|_| {
            let tracked = online.tracked(|_| true);
            let squares = tracked
                .values
                .iter()
                .zip(&*tracked.specs)
                .filter(|(_, spec)| spec.learned)
                .map(|(value, _)| value.clone().square().sum());
            let loss = squares.reduce(|a, b| a + b).expect("some parameters");
            let gradients = loss.backward();
            (tracked, gradients)
        })
        .collect();
    // The leaves share the parameters' memory; of their own, as after a step.
    online = network.start(0, &device);
    let seconds = median(|| {
        let (tracked, mut gradients) = ready.pop().expect("one for each call");
        sgd.step(&mut online, &mut velocity, tracked, &mut gradients, |_| {
            1e-3
        });
        momentum.moving_average(&online, 0.99);
    });
    let count: usize = online.specs.iter().map(|spec| spec.size()).sum();
    (seconds, format!("\"parameters\": {count}"))
}

//! Memory that each step of a training asks the system for: `cargo bench --bench allocations [-- BATCH]`.
//!
//! Prints, for the first steps of a ResNet-50, how many bytes were allocated in it and what the largest piece was.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use burn::tensor::{Tensor, TensorData};
use newfound::device::place;
use newfound::losses::cross_entropy;
use newfound::network::{Architecture, Backbone, Network, Part, Pass};
use newfound::optimiser::{Rates, Sgd, at_rest};

/// The system's allocator, with a tally.
struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);
static PIECES: AtomicUsize = AtomicUsize::new(0);
static LARGEST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Relaxed);
        PIECES.fetch_add(1, Relaxed);
        LARGEST.fetch_max(layout.size(), Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test` runs benches too, without the flag that `cargo bench` adds.
    if !words.iter().any(|word| word == "--bench") {
        return;
    }
    let batch = words.iter().find_map(|word| word.parse().ok());
    let (batch, size, outputs) = (batch.unwrap_or(16), 224, 20);
    let place = place("cpu").expect("there is always a CPU");
    let architecture = Architecture {
        backbone: Backbone::Resnet50,
        stride: Default::default(),
        bottleneck: Some(256),
        outputs,
    };
    let network = Network::new(architecture, place.engine);
    let mut parameters = network.start(0, &place.device);
    let mut momentum = parameters.clone();
    let mut velocity = at_rest(&parameters);
    let values = vec![0.5; batch * 3 * size * size];
    let images = Tensor::<4>::from_data(
        TensorData::new(values, [batch, 3, size, size]),
        &place.device,
    );
    let labels: Vec<i64> = (0..batch).map(|i| (i % outputs) as i64).collect();
    let labels = Tensor::from_data(labels.as_slice(), &place.device);
    let sgd = Sgd {
        momentum: 0.9,
        weight_decay: 1e-3,
    };
    let rates = Rates {
        base: 0.01,
        body: 0.1,
    };
    println!("step   allocated MB    pieces   largest MB");
    for step in 1..=4 {
        for tally in [&BYTES, &PIECES, &LARGEST] {
            tally.store(0, Relaxed);
        }
        let tracked = parameters.tracked(|_| true);
        let pass = Pass::training_from(Part::Body(0));
        let features = network.features(&tracked, images.clone().autodiff(), &pass);
        let logits = network.logits(&tracked, features);
        let mut gradients = cross_entropy(logits, labels.clone(), 0.0).backward();
        let rate = |spec: &newfound::network::Spec| rates.at(spec.part, 0.0);
        sgd.step(
            &mut parameters,
            &mut velocity,
            tracked,
            &mut gradients,
            rate,
        );
        pass.update(&mut parameters);
        momentum.moving_average(&parameters, 0.99);
        let megabytes = |tally: &AtomicUsize| tally.load(Relaxed) as f64 / f64::from(1 << 20);
        let (all, largest) = (megabytes(&BYTES), megabytes(&LARGEST));
        println!(
            "{step:>4}{all:>15.1}{:>10}{largest:>13.1}",
            PIECES.load(Relaxed)
        );
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM:"));
    println!("{}", peak.unwrap_or("the system does not tell the peak"));
}

//! Speed of every kernel on the layers of a ResNet-50.
//!
//! ```text
//! cargo bench -p newfound-cpu --bench kernels -- [batch]
//! ```
//!
//! One line per distinct layer: how often it occurs, then GFLOP/s forward, backward to the input and
//! backward to the weights, and the packing of the weights in milliseconds. `share` relates the forward
//! speed to a plain product of 1024³ with the `gemm` crate, measured next to it, because the speed of a
//! shared machine changes from minute to minute. Set `RAYON_NUM_THREADS` to choose the threads.

use newfound_cpu::*;
use std::time::Instant;

/// The distinct convolutions of a ResNet-50: side, inputs, outputs, kernel, stride, how often.
const RESNET50: [[usize; 6]; 23] = [
    [224, 3, 64, 7, 2, 1],
    [56, 64, 64, 1, 1, 1],
    [56, 64, 64, 3, 1, 3],
    [56, 64, 256, 1, 1, 4],
    [56, 256, 64, 1, 1, 2],
    [56, 256, 128, 1, 1, 1],
    [56, 128, 128, 3, 2, 1],
    [28, 128, 512, 1, 1, 4],
    [56, 256, 512, 1, 2, 1],
    [28, 512, 128, 1, 1, 3],
    [28, 128, 128, 3, 1, 3],
    [28, 512, 256, 1, 1, 1],
    [28, 256, 256, 3, 2, 1],
    [14, 256, 1024, 1, 1, 6],
    [28, 512, 1024, 1, 2, 1],
    [14, 1024, 256, 1, 1, 5],
    [14, 256, 256, 3, 1, 5],
    [14, 1024, 512, 1, 1, 1],
    [14, 512, 512, 3, 2, 1],
    [7, 512, 2048, 1, 1, 3],
    [14, 1024, 2048, 1, 2, 1],
    [7, 2048, 512, 1, 1, 2],
    [7, 512, 512, 3, 1, 2],
];

fn main() {
    let batch = std::env::args()
        .filter_map(|a| a.parse().ok())
        .next()
        .unwrap_or(16);
    println!("batch {batch}, {} threads", rayon::current_num_threads());
    convolutions(batch);
    passes(batch);
}

fn convolutions(batch: usize) {
    println!("side   in  out k s  n |  forward share   input  weight | pack ms");
    let mut seconds = [0.0; 4];
    let mut operations = 0.0;
    for [side, inputs, outputs, kernel, stride, count] in RESNET50 {
        let padding = kernel / 2;
        let conv = Conv {
            batch,
            height: side,
            width: side,
            inputs,
            outputs,
            kernel,
            stride,
            padding,
        };
        let (x, w) = (numbers(conv.input_len()), numbers(conv.weight_len()));
        let (mut y, mut dx) = (numbers(conv.output_len()), numbers(conv.input_len()));
        let mut dw = numbers(conv.weight_len());
        let (mut fw, mut bw) = (ForwardWeights::default(), BackwardWeights::default());
        let pack = best(|| {
            fw.pack(&conv, &w);
            bw.pack(&conv, &w);
        });
        let flops = 2.0 * conv.multiply_adds() as f64;
        let plain = plain_product();
        let f = best(|| forward(&conv, &x, &fw, &Epilogue::default(), &mut y));
        let b = best(|| input_gradient(&conv, &y, &bw, None, &mut dx));
        let g = best(|| weight_gradient(&conv, &x, &y, &mut dw));
        let n = count as f64;
        operations += n * flops;
        for (total, time) in seconds.iter_mut().zip([f, b, g, pack]) {
            *total += n * time;
        }
        println!(
            "{side:4} {inputs:4} {outputs:4} {kernel} {stride} {count:2} | {:8.1} {:4.0}% {:7.1} {:7.1} | {:7.2}",
            flops / f / 1e9,
            100.0 * flops / f / plain,
            flops / b / 1e9,
            flops / g / 1e9,
            pack * 1e3,
        );
    }
    let [f, b, g, pack] = seconds;
    println!(
        "all: forward {:.1}, input {:.1}, weight {:.1} GFLOP/s; {:.0} + {:.0} + {:.0} ms, packing {:.0} ms",
        operations / f / 1e9,
        operations / b / 1e9,
        operations / g / 1e9,
        f * 1e3,
        b * 1e3,
        g * 1e3,
        pack * 1e3,
    );
}

fn passes(batch: usize) {
    println!("\npasses over memory, GB/s (GB = numbers read and written)");
    for (side, channels) in [
        (112, 64),
        (56, 64),
        (56, 256),
        (28, 512),
        (14, 1024),
        (7, 2048),
    ] {
        let len = batch * side * side * channels;
        let (x, dy) = (numbers(len), numbers(len));
        let (mut y, mut dx, mut dr) = (numbers(len), numbers(len), numbers(len));
        let (gamma, beta) = (vec![1.0; channels], vec![0.1; channels]);
        let (mut dgamma, mut dbeta) = (gamma.clone(), gamma.clone());
        let mut statistics = Statistics::default();
        let rate = |streams: usize, time: f64| (4 * streams * len) as f64 / time / 1e9;
        let s = best(|| batch_statistics(&x, channels, &mut statistics));
        let Statistics { mean, variance, .. } = &statistics;
        let norm = BatchNorm {
            gamma: &gamma,
            beta: &beta,
            mean,
            variance,
            epsilon: 1e-5,
        };
        let n = best(|| batch_norm(&norm, &x, None, Activation::Relu, &mut y));
        let r = best(|| batch_norm(&norm, &x, Some(&dy), Activation::Relu, &mut y));
        let b = best(|| {
            let (dgamma, dbeta) = (&mut dgamma[..], &mut dbeta[..]);
            let gradients = Gradients { dgamma, dbeta };
            batch_norm_backward(&norm, &mut dx, Gate::Relu, Incoming::Alone(&dy), gradients);
        });
        let br = best(|| {
            let (dgamma, dbeta) = (&mut dgamma[..], &mut dbeta[..]);
            let gradients = Gradients { dgamma, dbeta };
            let incoming = Incoming::WithResidual(&mut dr);
            batch_norm_backward(&norm, &mut dx, Gate::ReluOf(&y), incoming, gradients);
        });
        let a = best(|| add(&x, &dy, &mut y));
        println!(
            "{side:3}² × {channels:4}: add {:5.1}, statistics {:5.1}, normalise {:5.1}, + residual {:5.1}, \
             backward {:5.1}, + residual {:5.1}",
            rate(3, a),
            rate(1, s),
            rate(2, n),
            rate(3, r),
            rate(5, b),
            rate(7, br),
        );
    }
    let pool = MaxPool {
        batch,
        height: 112,
        width: 112,
        channels: 64,
        window: 3,
        stride: 2,
        padding: 1,
    };
    let (x, mut y) = (numbers(pool.input_len()), numbers(pool.output_len()));
    let (mut winners, mut dx) = (vec![0; y.len()], numbers(x.len()));
    let f = best(|| max_pool(&pool, &x, &mut y, &mut winners));
    let b = best(|| max_pool_backward(&pool, &winners, &y, &mut dx));
    println!("max-pool {:.2} ms, backward {:.2} ms", f * 1e3, b * 1e3);
    let (mut p, g, mut v) = (
        numbers(25_000_000),
        numbers(25_000_000),
        numbers(25_000_000),
    );
    let rule = Sgd {
        learning_rate: 0.1,
        momentum: 0.9,
        weight_decay: 1e-3,
        nesterov: true,
    };
    let s = best(|| sgd(&rule, &mut p, &g, &mut v));
    let e = best(|| ema(0.99, &mut p, &g));
    println!(
        "25 million parameters: sgd {:.1} ms, ema {:.1} ms",
        s * 1e3,
        e * 1e3
    );
}

/// Numbers that are neither zero nor denormal.
fn numbers(len: usize) -> Vec<f32> {
    (0..len)
        .map(|i| ((i * 2654435761) % 1024) as f32 / 512.0 - 0.999)
        .collect()
}

/// The shortest of several runs, in seconds.
fn best(mut work: impl FnMut()) -> f64 {
    let mut shortest = f64::MAX;
    let start = Instant::now();
    let mut runs = 0;
    while runs < 3 || (start.elapsed().as_secs_f64() < 0.3 && runs < 50) {
        let start = Instant::now();
        work();
        shortest = shortest.min(start.elapsed().as_secs_f64());
        runs += 1;
    }
    shortest
}

/// FLOP/s of a plain product of 1024 × 1024 matrices on all threads.
fn plain_product() -> f64 {
    let n = 1024;
    let (a, b, mut c) = (numbers(n * n), numbers(n * n), vec![0.0; n * n]);
    let threads = gemm::Parallelism::Rayon(rayon::current_num_threads());
    let (pointer, one) = (c.as_mut_ptr(), n as isize);
    // SAFETY: three matrices of n × n floats, row by row; the result overlaps neither factor.
    let time = best(|| unsafe {
        let (a, b) = (a.as_ptr(), b.as_ptr());
        gemm::gemm(
            n, n, n, pointer, 1, one, false, a, 1, one, b, 1, one, 0.0, 1.0, false, false, false,
            threads,
        );
    });
    2.0 * (n * n * n) as f64 / time
}

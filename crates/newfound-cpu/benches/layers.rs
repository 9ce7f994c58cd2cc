//! Each group of a ResNet-50's layers beside the machine's matrix product: `cargo bench --bench layers [-- BATCH]`.
//!
//! The matrix product is the `gemm` crate's on all cores, the best of several large sizes. A layer's figure is the
//! arithmetic of its definition over its time, so a 3×3 layer that goes through Winograd's domain can exceed it.

use std::time::Instant;

use newfound_cpu::{
    BackwardWeights, Conv, Epilogue, ForwardWeights, forward, input_gradient, weight_gradient,
};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test` runs benches too, without the flag that `cargo bench` adds.
    if !words.iter().any(|word| word == "--bench") {
        return;
    }
    let batch = words
        .iter()
        .find_map(|word| word.parse().ok())
        .unwrap_or(16);
    let sizes = [[3136, 256, 576], [3136, 512, 512], [6272, 1024, 1024]];
    let machine = sizes.map(matrix_product).into_iter().fold(0.0, f64::max);
    println!("matrix product of the machine: {machine:.0} GFLOP/s; batch {batch}, 224 px");
    println!(
        "group                 GFLOP   forward        input gradient  weight gradient   (GFLOP/s, share)"
    );
    for (name, layers) in groups(batch) {
        let mut totals = [0.0; 4];
        for (conv, count) in layers {
            let work = 2.0 * (conv.rows() * conv.weight_len()) as f64 / 1e9 * f64::from(count);
            totals[0] += work;
            for (total, seconds) in totals[1..].iter_mut().zip(passes(&conv)) {
                *total += seconds * f64::from(count);
            }
        }
        let [work, times @ ..] = totals;
        let [a, b, c] = times.map(|time| {
            let speed = work / time;
            format!("{speed:>5.0} ({:>3.0} %)", 100.0 * speed / machine)
        });
        println!("{name:<20}{work:>7.1}   {a}    {b}     {c}");
    }
}

/// GFLOP/s of [m, k] · [k, n].
fn matrix_product([m, n, k]: [usize; 3]) -> f64 {
    let (a, b, mut c) = (
        vec![0.5f32; m * k],
        vec![0.25f32; k * n],
        vec![0.0f32; m * n],
    );
    let seconds = fastest(|| {
        // SAFETY: row-major matrices of exactly these sizes.
        unsafe {
            gemm::gemm(
                m,
                n,
                k,
                c.as_mut_ptr(),
                1,
                n as isize,
                false,
                a.as_ptr(),
                1,
                k as isize,
                b.as_ptr(),
                1,
                n as isize,
                0.0,
                1.0,
                false,
                false,
                false,
                gemm::Parallelism::Rayon(0),
            );
        }
    });
    2.0 * (m * n * k) as f64 / seconds / 1e9
}

/// The least time of several calls: what the machine can do when nothing disturbs it.
fn fastest(mut work: impl FnMut()) -> f64 {
    work();
    (0..7)
        .map(|_| {
            let began = Instant::now();
            work();
            began.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

/// Seconds of forward pass, input gradient and weight gradient, weights packed beforehand.
fn passes(conv: &Conv) -> [f64; 3] {
    let numbers = |len: usize| -> Vec<f32> { (0..len).map(|i| (i % 13) as f32 - 6.0).collect() };
    let (x, w, dy) = (
        numbers(conv.input_len()),
        numbers(conv.weight_len()),
        numbers(conv.output_len()),
    );
    let (mut y, mut dx, mut dw) = (dy.clone(), x.clone(), w.clone());
    let (mut there, mut back) = (ForwardWeights::default(), BackwardWeights::default());
    there.pack(conv, &w);
    back.pack(conv, &w);
    let epilogue = Epilogue::default();
    [
        fastest(|| forward(conv, &x, &there, &epilogue, &mut y)),
        fastest(|| input_gradient(conv, &dy, &back, None, &mut dx)),
        fastest(|| weight_gradient(conv, &x, &dy, &mut dw)),
    ]
}

/// Layers of a ResNet-50 (stride in the 3×3), alike ones counted.
fn groups(batch: usize) -> Vec<(String, Vec<(Conv, u32)>)> {
    let conv = |side: usize, [inputs, outputs]: [usize; 2], kernel: usize, stride: usize| Conv {
        batch,
        height: side,
        width: side,
        inputs,
        outputs,
        kernel,
        stride,
        padding: kernel / 2,
    };
    let mut groups = vec![("stem 7×7".to_string(), vec![(conv(224, [3, 64], 7, 2), 1)])];
    let mut inputs = 64;
    for (stage, blocks) in [3u32, 4, 6, 3].into_iter().enumerate() {
        let (inner, side) = (64 << stage, 56 >> stage);
        let (stride, before) = if stage == 0 { (1, side) } else { (2, 2 * side) };
        let outer = 4 * inner;
        let ones = vec![
            (conv(before, [inputs, inner], 1, 1), 1),
            (conv(side, [outer, inner], 1, 1), blocks - 1),
            (conv(side, [inner, outer], 1, 1), blocks),
            (conv(before, [inputs, outer], 1, stride), 1),
        ];
        let threes = vec![
            (conv(before, [inner, inner], 3, stride), 1),
            (conv(side, [inner, inner], 3, 1), blocks - 1),
        ];
        groups.push((format!("stage {} 1×1", stage + 1), ones));
        groups.push((format!("stage {} 3×3", stage + 1), threes));
        inputs = outer;
    }
    groups
}

//! The layer between body and classifier: linear, then batch-norm.
//!
//! A network shows it only behind its body, so the body gets weights that let a 2 × 2 image through as it is. Its
//! last layers end in a ReLU, which nothing negative passes: every value travels twice, once with its sign turned,
//! and the layer under test takes the difference.

use burn::tensor::{Device, Tensor, TensorData};
use newfound::network::{Network, Parameters, Part, Pass, download};
use newfound::weights::Array;
use proptest::prelude::*;

use crate::fixture::{FORWARD, GRADIENT, assert_close, assert_zero, cases, numbers};
use crate::generate::{Draw, Matrix, dot, generated};
use crate::layers::{array, named, network, parameters};

/// Values that a 2 × 2 image holds.
const VALUES: usize = 12;
/// Features of the small body.
const FEATURES: usize = 128;
/// Channels of its stem.
const STEM: usize = 32;
/// Channels of its second stage.
const SECOND: usize = 64;

const WEIGHT: &str = "bottleneck.weight";
const BIAS: &str = "bottleneck.bias";
const NORM: [&str; 4] = [
    "bottleneck_norm.weight",
    "bottleneck_norm.bias",
    "bottleneck_norm.running_mean",
    "bottleneck_norm.running_var",
];

/// A convolution's weights from those that are not zero: (output, input, row, column, value).
fn sparse(
    shape: [usize; 4],
    entries: impl Iterator<Item = (usize, usize, usize, usize, f32)>,
) -> Array {
    let [_, inputs, height, width] = shape;
    let mut values = vec![0.0; shape.iter().product()];
    for (o, i, row, col, value) in entries {
        values[((o * inputs + i) * height + row) * width + col] = value;
    }
    Array::new(shape, values)
}

/// Weights of a body whose pooled features are the image: first the positive parts, then the negative ones.
///
/// The stem, of stride 2, sees the whole 2 × 2 image at once and gives each sign, colour and position a channel of its
/// own. The shortcuts of the later stages only widen. All other convolutions are zero, so that their blocks pass on what
/// the shortcut brings.
fn transparent_body() -> Vec<(&'static str, Array)> {
    // Channel s·12 + c·4 + p holds sign s, colour c, position p; the centre tap sees position 0.
    let gather = (0..2 * VALUES).map(|channel| {
        let (sign, colour, position) = (channel / VALUES, channel % VALUES / 4, channel % 4);
        let value = if sign == 0 { 1.0 } else { -1.0 };
        (channel, colour, 1 + position / 2, 1 + position % 2, value)
    });
    let pass_on = |channels: usize| (0..channels).map(|c| (c, c, 0, 0, 1.0));
    let mut given = vec![
        ("conv1.weight", sparse([STEM, 3, 3, 3], gather)),
        (
            "layer2.0.downsample.0.weight",
            sparse([SECOND, STEM, 1, 1], pass_on(STEM)),
        ),
        (
            "layer3.0.downsample.0.weight",
            sparse([FEATURES, SECOND, 1, 1], pass_on(SECOND)),
        ),
    ];
    // A normalisation that does nothing: mean 0, variance 1 − ε, gain 1.
    let norms = [
        ("bn1.weight", "bn1.running_var", STEM),
        (
            "layer2.0.downsample.1.weight",
            "layer2.0.downsample.1.running_var",
            SECOND,
        ),
        (
            "layer3.0.downsample.1.weight",
            "layer3.0.downsample.1.running_var",
            FEATURES,
        ),
    ];
    for (gain, variance, channels) in norms {
        given.push((gain, Array::new([channels], vec![1.0; channels])));
        given.push((variance, Array::new([channels], vec![1.0 - 1e-5; channels])));
    }
    given
}

/// A layer for inputs of up to 12 values, and what it was told.
struct Layer {
    network: Network,
    parameters: Parameters,
    inputs: usize,
    outputs: usize,
}

impl Layer {
    /// `norm` is gain, shift, running mean and running variance.
    fn new(weight: Tensor<2>, bias: Tensor<1>, norm: [Tensor<1>; 4]) -> Self {
        let [outputs, inputs] = weight.dims();
        let network = network(outputs, 1);
        let plain = download(weight);
        let mut doubled = vec![0.0; outputs * FEATURES];
        for (row, wide) in plain
            .chunks_exact(inputs)
            .zip(doubled.chunks_exact_mut(FEATURES))
        {
            wide[..inputs].copy_from_slice(row);
            wide[VALUES..VALUES + inputs]
                .iter_mut()
                .zip(row)
                .for_each(|(w, x)| *w = -x);
        }
        let mut given = transparent_body();
        given.push((WEIGHT, Array::new([outputs, FEATURES], doubled)));
        given.push((BIAS, array(bias)));
        given.extend(NORM.into_iter().zip(norm.map(array)));
        let parameters = parameters(&network, given);
        Self {
            network,
            parameters,
            inputs,
            outputs,
        }
    }

    /// Rows of inputs as images.
    fn images(&self, input: Tensor<2>) -> Tensor<4> {
        let [batch, inputs] = input.dims();
        let device = Device::flex();
        let rest = Tensor::zeros([batch, VALUES - inputs], &device);
        Tensor::cat(vec![input, rest], 1).reshape([batch, 3, 2, 2])
    }

    /// The gradient of the weight, from that of the doubled one.
    fn weight_gradient(&self, doubled: Tensor<1>) -> Vec<f32> {
        let doubled = download(doubled);
        let both = |wide: &[f32]| -> Vec<f32> {
            (0..self.inputs)
                .map(|i| wide[i] - wide[VALUES + i])
                .collect()
        };
        doubled.chunks_exact(FEATURES).flat_map(both).collect()
    }
}

fn pass(training: bool) -> Pass {
    if training {
        Pass::training_from(Part::Bottleneck)
    } else {
        Pass::evaluation()
    }
}

fn vector(values: &[f64]) -> Tensor<1> {
    let values: Vec<f32> = values.iter().map(|&x| x as f32).collect();
    let count = values.len();
    Tensor::from_data(TensorData::new(values, [count]), &Device::flex())
}

#[test]
fn the_body_of_these_tests_is_transparent() {
    let input = Draw::new(2).normal(3, VALUES, 2.0);
    let identity = Matrix {
        rows: VALUES,
        cols: VALUES,
        values: (0..VALUES * VALUES)
            .map(|i| f64::from(u8::from(i % (VALUES + 1) == 0)))
            .collect(),
    };
    let [zero, one] = [vector(&[0.0; VALUES]), vector(&[1.0; VALUES])];
    let unit_variance = vector(&[1.0 - 1e-5; VALUES]);
    let norm = [one, zero.clone(), zero.clone(), unit_variance];
    let layer = Layer::new(identity.tensor(), zero, norm);
    let images = layer.images(input.tensor());
    let found = download(
        layer
            .network
            .features(&layer.parameters, images, &Pass::evaluation()),
    );
    assert_close("features", &found, &input.values, FORWARD);
}

/// y = 2x + 1 of 0 and 1.
fn small() -> Layer {
    let norm = [
        vector(&[3.0]),
        vector(&[10.0]),
        vector(&[0.5]),
        vector(&[4.0]),
    ];
    Layer::new(Matrix::of([[2.0]]).tensor(), vector(&[1.0]), norm)
}

#[test]
fn by_hand() {
    let mut layer = small();
    let images = layer.images(Matrix::of([[0.0], [1.0]]).tensor());
    // Evaluation: (1 and 3, less the mean 1/2) over the deviation 2, times 3, plus 10.
    let found = layer
        .network
        .features(&layer.parameters, images.clone(), &pass(false));
    assert_close("evaluation", &download(found), &[10.75, 13.75], FORWARD);
    // Training: mean 2, biased variance 1, so that the two are at −1 and +1.
    let training = pass(true);
    let found = layer.network.features(&layer.parameters, images, &training);
    assert_close("training", &download(found), &[7.0, 13.0], FORWARD);
    // The running variance moves a tenth towards the unbiased variance, 2.
    training.update(&mut layer.parameters);
    assert_close(
        "mean",
        &download(named(&layer.parameters, NORM[2]).clone()),
        &[0.65],
        FORWARD,
    );
    assert_close(
        "variance",
        &download(named(&layer.parameters, NORM[3]).clone()),
        &[3.8],
        FORWARD,
    );
}

#[test]
fn limits() {
    let mut layer = small();
    // A single row has no variance: its output is the shift, and the running variance stays finite.
    let image = layer.images(Matrix::of([[7.0]]).tensor());
    let training = pass(true);
    let found = layer
        .network
        .features(&layer.parameters, image.clone(), &training);
    assert_close("single row", &download(found), &[10.0], FORWARD);
    training.update(&mut layer.parameters);
    assert_close(
        "variance",
        &download(named(&layer.parameters, NORM[3]).clone()),
        &[3.6],
        FORWARD,
    );
    // An evaluation pass leaves everything as it is.
    let before = layer.parameters.to_arrays();
    let evaluation = pass(false);
    layer
        .network
        .features(&layer.parameters, image, &evaluation);
    evaluation.update(&mut layer.parameters);
    assert_eq!(layer.parameters.to_arrays(), before);
}

/// The frozen parts of a pass that trains only the last layers keep their running statistics.
#[test]
fn only_parts_in_training_are_measured() {
    let mut layer = small();
    let images = layer.images(Matrix::of([[0.0], [1.0]]).tensor());
    let before = layer.parameters.to_arrays();
    let training = pass(true);
    layer.network.features(&layer.parameters, images, &training);
    training.update(&mut layer.parameters);
    let after = layer.parameters.to_arrays();
    let moved: Vec<&String> = before
        .keys()
        .filter(|name| before[*name] != after[*name])
        .collect();
    assert_eq!(moved, [NORM[2], NORM[3]]);
}

#[test]
fn twin() {
    let sizes = (2..9usize, 1..VALUES, 1..6usize);
    proptest!(generated(24), |((batch, inputs, outputs) in sizes, seed: u64)| {
        let mut draw = Draw::new(seed);
        let (x, w) = (draw.normal(batch, inputs, 1.0), draw.normal(outputs, inputs, 1.0));
        let mut row = |deviation| draw.normal(1, outputs, deviation).values;
        let (bias, gain, shift, mean) = (row(1.0), row(1.0), row(1.0), row(1.0));
        let variance: Vec<f64> = draw.uniform(outputs).iter().map(|u| u + 0.5).collect();
        let norm = [&gain, &shift, &mean, &variance].map(|values| vector(values));
        let mut layer = Layer::new(w.tensor(), vector(&bias), norm);
        let images = layer.images(x.tensor());
        let n = batch as f64;
        let y = |b: usize, o: usize| dot(x.row(b), w.row(o)) + bias[o];
        let (mut new_mean, mut new_variance) = (vec![], vec![]);
        let [mut evaluated, mut trained] = [(); 2].map(|()| vec![0.0; batch * outputs]);
        for o in 0..outputs {
            let of_batch = (0..batch).map(|b| y(b, o)).sum::<f64>() / n;
            let squares: f64 = (0..batch).map(|b| (y(b, o) - of_batch).powi(2)).sum();
            for b in 0..batch {
                let deviation = |variance: f64| (variance + 1e-5).sqrt();
                evaluated[b * outputs + o] = gain[o] * (y(b, o) - mean[o]) / deviation(variance[o]) + shift[o];
                trained[b * outputs + o] = gain[o] * (y(b, o) - of_batch) / deviation(squares / n) + shift[o];
            }
            new_mean.push(0.9 * mean[o] + 0.1 * of_batch);
            new_variance.push(0.9 * variance[o] + 0.1 * squares / (n - 1.0));
        }
        let found = layer.network.features(&layer.parameters, images.clone(), &pass(false));
        assert_close("evaluation", &download(found), &evaluated, FORWARD);
        let training = pass(true);
        let found = layer.network.features(&layer.parameters, images, &training);
        // Two nearly equal outputs of a small batch have a variance of few digits.
        assert_close("training", &download(found), &trained, GRADIENT);
        training.update(&mut layer.parameters);
        assert_close("mean", &download(named(&layer.parameters, NORM[2]).clone()), &new_mean, FORWARD);
        assert_close("variance", &download(named(&layer.parameters, NORM[3]).clone()), &new_variance, FORWARD);
    });
}

#[test]
fn golden() {
    for case in cases("equations/bottleneck") {
        let training = case.name.starts_with("training");
        assert!(
            training || case.name.starts_with("evaluation"),
            "{}",
            case.name
        );
        let norm =
            ["gamma", "beta", "running_mean", "running_var"].map(|key| case.tensor::<1>(key));
        let mut layer = Layer::new(case.tensor("weight"), case.tensor("bias"), norm);
        let tracked = layer.parameters.tracked(|_| true);
        let images = layer.images(case.tensor("input")).autodiff().require_grad();
        let pass = pass(training);
        let output = layer.network.features(&tracked, images.clone(), &pass);
        case.check("output", &output);

        let keys = ["input", "weight", "bias", "gamma", "beta"];
        assert!(case.has_gradients(&keys), "{}", case.name);
        let gradients = (output * case.tensor("probe").autodiff()).sum().backward();
        let [batch, inputs] = case.tensor::<2>("input").dims();
        let of_images = images.grad(&gradients).unwrap().reshape([batch, VALUES]);
        let found = download(of_images.slice_dim(1, 0..inputs));
        let expected = |key: &str| numbers(&case.gradients()[key]);
        let what = |key: &str| format!("{}: gradient of {key}", case.name);
        assert_close(&what("input"), &found, &expected("input"), GRADIENT);
        let of_weight = named(&tracked, WEIGHT).grad(&gradients).unwrap();
        assert_close(
            &what("weight"),
            &layer.weight_gradient(of_weight),
            &expected("weight"),
            GRADIENT,
        );
        let of_bias = named(&tracked, BIAS).grad(&gradients).unwrap();
        if training {
            // The batch mean takes any bias away again: zero on paper.
            assert_zero(&what("bias"), &download(of_bias), GRADIENT);
        } else {
            assert_close(
                &what("bias"),
                &download(of_bias),
                &expected("bias"),
                GRADIENT,
            );
        }
        case.check_gradient("gamma", named(&tracked, NORM[0]), &gradients);
        case.check_gradient("beta", named(&tracked, NORM[1]), &gradients);

        pass.update(&mut layer.parameters);
        case.check("running_mean", named(&layer.parameters, NORM[2]));
        case.check("running_var", named(&layer.parameters, NORM[3]));
        assert_eq!(layer.outputs, case.expected("running_mean").len());
    }
}

//! The classifier h and its prototypes, section III-A.

use burn::tensor::{Device, Tensor};
use newfound::network::{Head, Parameters, download, weight_normalised};
use newfound::weights::Array;
use proptest::prelude::*;

use crate::fixture::{FORWARD, GRADIENT, assert_close, cases_of};
use crate::generate::{Draw, Matrix, dot, generated, slope};
use crate::layers::{array, named, network, parameters};

const V: &str = "classifier.weight_v";
const G: &str = "classifier.weight_g";
const BIAS: &str = "classifier.bias";

fn vector(values: &[f64]) -> Tensor<1> {
    let row = Matrix {
        rows: 1,
        cols: values.len(),
        values: values.to_vec(),
    };
    row.tensor().reshape([values.len()])
}

fn prototypes(v: &Matrix, g: &[f64]) -> Vec<f32> {
    download(weight_normalised(v.tensor(), vector(g)))
}

fn plain(v: &Matrix, g: &[f64]) -> Vec<f64> {
    let row = |(v, g): (&[f64], &f64)| -> Vec<f64> {
        let length = dot(v, v).sqrt();
        v.iter().map(|x| g * x / length).collect()
    };
    v.iter().zip(g).flat_map(row).collect()
}

#[test]
fn by_hand() {
    // (3, 4) has length 5, so the row is 10 (3, 4) / 5 = (6, 8); with x = (1, 1/2): 6 + 4 + 1.
    assert_close(
        "row",
        &prototypes(&Matrix::of([[3.0, 4.0]]), &[10.0]),
        &[6.0, 8.0],
        FORWARD,
    );
    let network = network(2, 1);
    let v = array(Matrix::of([[3.0, 4.0]]).tensor());
    let (g, bias) = (array(vector(&[10.0])), array(vector(&[1.0])));
    let parameters = parameters(&network, vec![(V, v), (G, g), (BIAS, bias)]);
    let logits = network.logits(&parameters, Matrix::of([[1.0, 0.5]]).tensor());
    assert_close("logit", &download(logits), &[11.0], FORWARD);
    assert_close(
        "prototype",
        &download(network.prototypes(&parameters)),
        &[6.0, 8.0],
        FORWARD,
    );
}

#[test]
fn limits() {
    let v = Matrix::of([[3.0, 4.0]]);
    assert_eq!(prototypes(&v, &[0.0]), [0.0, 0.0], "no gain");
    assert_eq!(
        prototypes(&Matrix::of([[0.0, 0.0]]), &[5.0]),
        [0.0, 0.0],
        "no direction"
    );
    assert_close(
        "turned round",
        &prototypes(&v, &[-1.0]),
        &[-0.6, -0.8],
        FORWARD,
    );
    assert_eq!(
        prototypes(&Matrix::of([[-7.0]]), &[2.0]),
        [-2.0],
        "on a line only the sign is left"
    );
    for length in [1e-8, 1e15] {
        let found = prototypes(&Matrix::of([[3.0 * length, 4.0 * length]]), &[1.0]);
        assert_close("any length", &found, &[0.6, 0.8], FORWARD);
    }
}

/// A plain linear layer of another model is taken as it is.
#[test]
fn a_head_comes_back_as_it_went_in() {
    let mut draw = Draw::new(4);
    let weight = draw.features(6, 5);
    let head = Head {
        prototypes: array(weight.tensor()),
        bias: vec![0.5, -1.0, 2.0, 0.0, 3.0, 1.0],
    };
    let network = network(5, 6);
    let given: Vec<(String, Array)> = head.clone().into_arrays().into();
    let given = given
        .iter()
        .map(|(name, array)| (name.as_str(), array.clone()))
        .collect();
    let parameters = parameters(&network, given);
    let found = download(network.prototypes(&parameters));
    assert_close("prototypes", &found, &weight.values, FORWARD);
    let z = draw.features(3, 5);
    let expected: Vec<f64> = z
        .iter()
        .flat_map(|z| {
            let rows = weight.iter().zip(&head.bias);
            rows.map(|(w, &bias)| dot(z, w) + f64::from(bias))
                .collect::<Vec<_>>()
        })
        .collect();
    let found = download(network.logits(&parameters, z.tensor()));
    assert_close("logits", &found, &expected, FORWARD);
}

#[test]
fn twin() {
    proptest!(generated(64), |(classes in 1..8usize, width in 2..7usize, seed: u64)| {
        let mut draw = Draw::new(seed);
        let (v, probe) = (draw.features(classes, width), draw.normal(classes, width, 1.0));
        let g = draw.normal(1, classes, 1.0).values;
        assert_close("prototypes", &prototypes(&v, &g), &plain(&v, &g), FORWARD);
        let leaf = v.leaf();
        let weighted = weight_normalised(leaf.clone(), vector(&g).autodiff()) * probe.tensor().autodiff();
        let found = download(leaf.grad(&weighted.sum().backward()).unwrap());
        let expected = slope(&v, |v| dot(&plain(v, &g), &probe.values));
        assert_close("gradient", &found, &expected, GRADIENT);
    });
}

#[test]
fn golden() {
    for case in cases_of("equations/classifier", "forward/") {
        let [v, input] = ["v", "input"].map(|key| case.tensor::<2>(key));
        let [outputs, width] = v.dims();
        let network = network(width, outputs);
        let [g, bias] = ["g", "bias"].map(|key| array(case.tensor::<1>(key)));
        let parameters = parameters(&network, vec![(V, array(v)), (G, g), (BIAS, bias)]);
        let tracked: Parameters = parameters.tracked(|_| true);
        let input = Tensor::<2>::from_data(input.into_data(), &Device::flex())
            .autodiff()
            .require_grad();
        case.check("weight", &network.prototypes(&tracked));
        let logits = network.logits(&tracked, input.clone());
        case.check("logits", &logits);
        assert!(
            case.has_gradients(&["input", "v", "g", "bias"]),
            "{}",
            case.name
        );
        let gradients = (logits * case.tensor("probe").autodiff()).sum().backward();
        case.check_gradient("input", &input, &gradients);
        for (key, name) in [("v", V), ("g", G), ("bias", BIAS)] {
            case.check_gradient(key, named(&tracked, name), &gradients);
        }
    }
}

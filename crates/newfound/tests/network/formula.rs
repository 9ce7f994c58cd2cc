//! Weights and inputs from a formula, so that none need be stored: the twin of `formula.py`, which explains it.

use std::collections::BTreeMap;

use burn::tensor::{Device, Tensor, TensorData};
use newfound::network::{Head, Network, Part, Spec};
use newfound::weights::Array;

use crate::fixture::cases;

const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// FNV-1a, 64 bits.
fn fnv1a(name: &str) -> u64 {
    name.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

fn splitmix64(state: u64) -> u64 {
    let x = state.wrapping_add(GAMMA);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// u of element `index`, in [−1, 1).
fn u(name: &str, index: usize) -> f64 {
    let hash = splitmix64(fnv1a(name).wrapping_add((index as u64).wrapping_mul(GAMMA)));
    (hash >> 40) as f64 / f64::from(1 << 23) - 1.0
}

/// The first elements of a tensor, scaled in double precision and rounded once.
fn values(name: &str, count: usize, scale: impl Fn(f64) -> f64) -> Vec<f32> {
    (0..count)
        .map(|index| scale(u(name, index)) as f32)
        .collect()
}

/// A tensor without a layer, such as `input` or `probe`.
pub fn tensor<const N: usize>(name: &str, shape: [usize; N]) -> Tensor<N> {
    let values = values(name, shape.iter().product(), |u| u);
    Tensor::from_data(TensorData::new(values, shape), &Device::flex())
}

/// All weights of a network; its classifier holds what torchvision calls `fc`.
///
/// `offset` is added to the shift of even channels of every normalisation and taken from odd ones.
pub fn weights(network: &Network, offset: f32) -> BTreeMap<String, Array> {
    let body = network
        .specs()
        .iter()
        .filter(|spec| matches!(spec.part, Part::Body(_)));
    let mut arrays: BTreeMap<String, Array> = body
        .map(|spec| (spec.name.clone(), of_body(spec, offset)))
        .collect();
    let architecture = network.architecture();
    let [outputs, features] = [architecture.outputs, architecture.features()];
    let scale = |u: f64| u / (features as f64).sqrt();
    let weight = values("fc.weight", outputs * features, scale);
    let head = Head {
        prototypes: Array::new([outputs, features], weight),
        bias: values("fc.bias", outputs, scale),
    };
    arrays.extend(head.into_arrays());
    arrays
}

fn of_body(spec: &Spec, offset: f32) -> Array {
    let (_, kind) = spec.name.rsplit_once('.').expect("LAYER.KIND");
    let fan_in: usize = spec.shape.iter().skip(1).product();
    let scale = |u: f64| match (kind, spec.shape.len()) {
        ("weight", 4) => u * (6.0 / fan_in as f64).sqrt(),
        ("weight", 1) => 1.0 + 0.1 * u,
        ("bias" | "running_mean", 1) => 0.1 * u,
        ("running_var", 1) => 1.0 + 0.3 * u,
        _ => panic!("the formula knows no {}", spec.name),
    };
    let mut values = values(&spec.name, spec.size(), scale);
    if kind == "bias" {
        let signed = [offset, -offset].into_iter().cycle();
        values
            .iter_mut()
            .zip(signed)
            .for_each(|(value, offset)| *value += offset);
    }
    Array::new(spec.shape.clone(), values)
}

/// Before any network: a wrong hash shows here.
#[test]
fn the_formula_is_the_fixtures() {
    for case in cases("network/formula") {
        let name = case.text("name");
        assert_eq!(
            format!("{:016x}", fnv1a(name)),
            case.output("fnv1a").as_str().unwrap()
        );
        let hashes = case.output("splitmix64").as_array().unwrap();
        let expected = case.expected("u");
        for (position, index) in case.indices("indices").into_iter().enumerate() {
            let hash = splitmix64(fnv1a(name).wrapping_add((index as u64).wrapping_mul(GAMMA)));
            assert_eq!(
                format!("{hash:016x}"),
                hashes[position].as_str().unwrap(),
                "{name} {index}"
            );
            // The fixture holds nine digits.
            assert!(
                (u(name, index) - expected[position]).abs() < 1e-9,
                "{name} {index}"
            );
        }
    }
}

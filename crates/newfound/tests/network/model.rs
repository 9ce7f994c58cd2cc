//! The networks of the fixtures, and how far two tensors are apart.

use burn::tensor::{Device, Tensor};
use newfound::network::{
    Architecture, Backbone, Engine, Network, Parameters, Pass, StridePlacement,
};

use crate::formula;

/// A network as torchvision has it: a body and one linear layer for ten classes.
pub fn architecture(fixture: &str) -> Architecture {
    let (backbone, stride) = match fixture {
        "resnet50_v1" => (Backbone::Resnet50, StridePlacement::First),
        "resnet50_v1_5" => (Backbone::Resnet50, StridePlacement::Spatial),
        name => (name.parse().expect("a backbone"), StridePlacement::Spatial),
    };
    Architecture {
        backbone,
        stride,
        bottleneck: None,
        outputs: 10,
    }
}

/// Who may compute the layers of a body.
pub const ENGINES: [Engine; 2] = [Engine::Burn, Engine::Cpu];

/// The network of a fixture with its weights; see [`formula::weights`].
pub fn model(fixture: &str, engine: Engine, offset: f32) -> (Network, Parameters) {
    let network = Network::new(architecture(fixture), engine);
    let weights = formula::weights(&network, offset);
    let parameters = Parameters::from_arrays(network.specs().clone(), weights, &Device::flex());
    (network, parameters)
}

pub fn pass(training: bool) -> Pass {
    if training {
        Pass::training()
    } else {
        Pass::evaluation()
    }
}

/// The flat tensor of a named parameter.
pub fn named<'a>(parameters: &'a Parameters, name: &str) -> &'a Tensor<1> {
    let index = parameters
        .index(name)
        .unwrap_or_else(|| panic!("no parameter is called {name}"));
    &parameters.values[index]
}

/// ‖found − expected‖ / ‖expected‖
pub fn distance(found: &[f32], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len(), "the number of values");
    let square = |x: f64| x * x;
    let apart: f64 = found
        .iter()
        .zip(expected)
        .map(|(&f, e)| square(f64::from(f) - e))
        .sum();
    let size: f64 = expected.iter().copied().map(square).sum();
    (apart / size).sqrt()
}

//! A network around the layers after the body, with weights of our choice.

use std::collections::BTreeMap;

use burn::tensor::{Device, Tensor};
use newfound::network::{
    Architecture, Backbone, Engine, Network, Parameters, StridePlacement, download,
};
use newfound::weights::Array;

/// The small network with a bottleneck layer of this width.
pub fn network(width: usize, outputs: usize) -> Network {
    let architecture = Architecture {
        backbone: Backbone::Small,
        stride: StridePlacement::default(),
        bottleneck: Some(width),
        outputs,
    };
    Network::new(architecture, Engine::Burn)
}

/// All parameters zero but those that are given.
pub fn parameters(network: &Network, given: Vec<(&str, Array)>) -> Parameters {
    let zeros = network.specs().iter().map(|spec| {
        (
            spec.name.clone(),
            Array::new(spec.shape.clone(), vec![0.0; spec.size()]),
        )
    });
    let mut arrays: BTreeMap<String, Array> = zeros.collect();
    for (name, array) in given {
        let place = arrays
            .get_mut(name)
            .unwrap_or_else(|| panic!("no parameter is called {name}"));
        assert_eq!(place.shape, array.shape, "{name}");
        *place = array;
    }
    Parameters::from_arrays(network.specs().clone(), arrays, &Device::flex())
}

/// A tensor as a parameter's values.
pub fn array<const N: usize>(tensor: Tensor<N>) -> Array {
    Array::new(tensor.dims(), download(tensor))
}

/// The flat tensor of a named parameter.
pub fn named<'a>(parameters: &'a Parameters, name: &str) -> &'a Tensor<1> {
    let index = parameters
        .index(name)
        .unwrap_or_else(|| panic!("no parameter is called {name}"));
    &parameters.values[index]
}

//! Models in which no two layers, channels or classes are alike, so that nothing can be exchanged unnoticed.

use newfound::network::model::{Description, Model};
use newfound::network::{Architecture, Backbone, Engine, Network, Spec, StridePlacement};
use newfound::random::Stream;
use newfound::views::{Geometry, Normalisation};
use newfound::weights::Array;

/// A model with two known and `private` private classes.
pub fn model(
    backbone: Backbone,
    stride: StridePlacement,
    bottleneck: Option<usize>,
    private: usize,
    side: u32,
) -> Model {
    let known = ["cup", "plate, \"deep\""].map(String::from);
    let unknown = (1..=private).map(|j| format!("unknown-{j}"));
    let classes: Vec<String> = known.into_iter().chain(unknown).collect();
    let architecture = Architecture {
        backbone,
        stride,
        bottleneck,
        outputs: classes.len(),
    };
    let network = Network::new(architecture, Engine::Burn);
    let specs = network.specs().iter();
    Model {
        arrays: specs
            .map(|spec| (spec.name.clone(), values(spec)))
            .collect(),
        description: Description {
            architecture,
            classes,
            known: 2,
            private,
            geometry: Geometry::for_crop(side),
            normalisation: Normalisation {
                mean: [0.4, 0.5, 0.6],
                std: [0.2, 0.3, 0.4],
            },
        },
    }
}

/// Branches are weak, so that activations neither vanish nor explode and no class is certain.
fn values(spec: &Spec) -> Array {
    let mut draws = Stream::new(0, &spec.name, &[]);
    let (_, kind) = spec.name.rsplit_once('.').expect("LAYER.KIND");
    let fan_in: usize = spec.shape.iter().skip(1).product();
    let mut draw = || match (kind, spec.shape.len()) {
        ("weight", 4) => draws.normal() * (0.5 / fan_in as f64).sqrt(),
        ("weight" | "weight_v", 2) => draws.normal() / (fan_in as f64).sqrt(),
        ("weight", 1) => draws.between(0.8, 1.2),
        ("running_var", 1) => draws.between(0.5, 1.5),
        // Not the length of the row: the effective row is another than v.
        ("weight_g", 1) => draws.between(1.0, 3.0),
        ("bias" | "running_mean", 1) => draws.between(-0.2, 0.2),
        _ => panic!("{}", spec.name),
    };
    let values = (0..spec.size()).map(|_| draw() as f32).collect();
    Array::new(spec.shape.clone(), values)
}

/// Images from 0 to 1.
pub fn images(count: usize, side: u32) -> Array {
    let side = side as usize;
    let mut draws = Stream::new(0, "images", &[]);
    let values = (0..count * 3 * side * side).map(|_| draws.between(0.0, 1.0) as f32);
    Array::new([count, 3, side, side], values.collect())
}

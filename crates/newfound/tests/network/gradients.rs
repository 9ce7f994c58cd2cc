//! The gradient of every parameter and of the input.

use burn::tensor::{Device, Gradients, Tensor};
use newfound::network::{
    Architecture, Backbone, Engine, Network, Parameters, Part, Pass, StridePlacement, download,
};
use serde_json::Value;

use crate::fixture::{Case, GRADIENT, assert_close, cases, numbers};
use crate::formula;
use crate::model::{ENGINES, model, named, pass};

/// A few ReLUs of a network this deep lie within rounding of their kink; one that opens here and stays shut there
/// changes single entries, so only the norms of ResNet-50's plain training case can be compared.
const NORMS_ONLY: f64 = 1e-2;

/// Fifty layers of batch statistics over 8 values, with every ReLU far from its kink: PyTorch's own single
/// precision is off by 1e-4.
const FIFTY_LAYERS_IN_TRAINING: f64 = 5e-4;

/// How closely a gradient is compared.
#[derive(Clone, Copy)]
enum Closeness {
    /// Norm, sum and four entries.
    Entries(f64),
    /// Norm.
    Norm(f64),
}

/// Gradients of Σ logits · probe under the names of the fixture.
struct Found {
    parameters: Parameters,
    input: Tensor<4>,
    gradients: Gradients,
}

impl Found {
    fn gradient(&self, name: &str) -> Vec<f32> {
        let of = |name: &str| {
            let gradient = named(&self.parameters, name).grad(&self.gradients);
            download(gradient.unwrap_or_else(|| panic!("no gradient of {name}")))
        };
        match name {
            "input" => download(
                self.input
                    .grad(&self.gradients)
                    .expect("the input is a leaf"),
            ),
            "fc.bias" => of("classifier.bias"),
            "fc.weight" => self.of_prototypes(of("classifier.weight_v"), of("classifier.weight_g")),
            name => of(name),
        }
    }

    /// The gradient of W from those of v and g. With g = ‖v‖, as a foreign head is taken, v's is its part across
    /// the row and g's the length of its part along it.
    fn of_prototypes(&self, v: Vec<f32>, g: Vec<f32>) -> Vec<f32> {
        let direction = download(
            named(&self.parameters, "classifier.weight_v")
                .clone()
                .inner(),
        );
        let length = download(
            named(&self.parameters, "classifier.weight_g")
                .clone()
                .inner(),
        );
        let width = v.len() / g.len();
        let entry =
            |(i, across): (usize, f32)| across + g[i / width] * direction[i] / length[i / width];
        v.into_iter().enumerate().map(entry).collect()
    }
}

fn run(name: &str, engine: Engine, case: &Case) -> Found {
    let training = case.name.starts_with("training");
    let (network, parameters) = model(name, engine, case.number("batch_norm_offset") as f32);
    let parameters = parameters.tracked(|_| true);
    let shape: [usize; 4] = case
        .indices("input_shape")
        .try_into()
        .expect("four extents");
    let input = formula::tensor(case.text("input_name"), shape)
        .autodiff()
        .require_grad();
    let features = network.features(&parameters, input.clone(), &pass(training));
    let logits = network.logits(&parameters, features);
    let probe = formula::tensor("probe", logits.dims()).autodiff();
    let loss = (logits * probe).sum();
    Found {
        parameters,
        input,
        gradients: loss.backward(),
    }
}

fn check(name: &str, closeness: impl Fn(&str) -> Closeness) {
    let fixture = cases(&format!("network/{name}_gradients"));
    for (case, engine) in fixture
        .iter()
        .flat_map(|case| ENGINES.map(|engine| (case, engine)))
    {
        let found = run(name, engine, case);
        // All that is learned has a gradient in the fixture, and the other way round.
        let learned = found.parameters.specs.iter().filter(|spec| spec.learned);
        let body = learned.filter(|spec| matches!(spec.part, Part::Body(_)));
        let mut names: Vec<&str> = body.map(|spec| spec.name.as_str()).collect();
        names.extend(["input", "fc.weight", "fc.bias"]);
        names.sort_unstable();
        let mut expected: Vec<&String> = case.gradients().keys().collect();
        expected.sort_unstable();
        assert_eq!(expected, names, "{name}");
        let mut worst: (f64, &str) = (0.0, "");
        for (key, expected) in case.gradients() {
            let what = format!("{name}, {}, {engine:?}: gradient of {key}", case.name);
            let apart = compare(&what, &found.gradient(key), expected, closeness(&case.name));
            worst = if apart > worst.0 { (apart, key) } else { worst };
        }
        println!(
            "{name}, {}, {engine:?}: off by {:.1e} at {}",
            case.name, worst.0, worst.1
        );
    }
}

/// A gradient with a smaller norm than this is zero on paper (a bias in front of a batch normalisation).
const ZERO_ON_PAPER: f64 = 1e-9;
/// What rounding may leave of it.
const NOISE: f64 = 1e-5;

/// Fails if the gradient is not the one that `expected` sums up; gives the largest relative difference.
fn compare(what: &str, found: &[f32], expected: &Value, closeness: Closeness) -> f64 {
    assert!(found.iter().all(|x| x.is_finite()), "{what} is not finite");
    let number = |key: &str| expected[key].as_f64().expect("a number");
    let wide = || found.iter().map(|&x| f64::from(x));
    let norm = wide().map(|x| x * x).sum::<f64>().sqrt();
    // Zero on paper: what is left is rounding, in the fixture and here.
    if number("norm") < ZERO_ON_PAPER {
        assert!(
            norm < NOISE,
            "{what} should be zero but has the norm {norm:.1e}"
        );
        return 0.0;
    }
    let mut apart = (norm / number("norm") - 1.0).abs();
    let tolerance = match closeness {
        Closeness::Norm(tolerance) => tolerance,
        Closeness::Entries(tolerance) => {
            // The sum of n entries may be off by n roundings of their size; an entry by one of the largest.
            let sizes: f64 = wide().map(f64::abs).sum();
            let largest = wide().map(f64::abs).fold(0.0, f64::max);
            apart = apart.max((wide().sum::<f64>() - number("sum")).abs() / sizes);
            let indices = numbers(&expected["indices"]);
            for (index, value) in indices.into_iter().zip(numbers(&expected["values"])) {
                apart = apart.max((f64::from(found[index as usize]) - value).abs() / largest);
            }
            tolerance
        }
    };
    assert!(apart <= tolerance, "{what} is off by {apart:.1e}");
    apart
}

#[test]
fn small() {
    check("small", |_| Closeness::Entries(GRADIENT));
}

#[test]
fn resnet18() {
    check("resnet18", |_| Closeness::Entries(GRADIENT));
}

#[test]
fn resnet50_v1() {
    check("resnet50_v1", |case| match case {
        "evaluation" => Closeness::Entries(GRADIENT),
        "training" => Closeness::Norm(NORMS_ONLY),
        "training_clear" => Closeness::Entries(FIFTY_LAYERS_IN_TRAINING),
        other => panic!("no such case: {other}"),
    });
}

/// Training only the last stage: what lies before it neither gets a gradient nor moves.
#[test]
fn a_frozen_body_stays_as_it_is() {
    ENGINES.into_iter().for_each(train_the_last_stage);
}

fn train_the_last_stage(engine: Engine) {
    let (network, parameters) = model("small", engine, 0.0);
    let last = network.last_stage();
    assert_eq!(last, Part::Body(3));
    let tracked = parameters.tracked(|spec| spec.part >= last);
    let pass = Pass::training_from(last);
    let input = formula::tensor("input", [4, 3, 32, 32]).autodiff();
    let logits = network.logits(&tracked, network.features(&tracked, input, &pass));
    let gradients = logits.square().sum().backward();
    for (spec, value) in tracked.specs.iter().zip(&tracked.values) {
        let trains = spec.learned && spec.part >= last;
        assert_eq!(value.grad(&gradients).is_some(), trains, "{}", spec.name);
    }
    let mut after = parameters.clone();
    pass.update(&mut after);
    let (before, after) = (parameters.to_arrays(), after.to_arrays());
    for spec in parameters.specs.iter() {
        let moves = !spec.learned && spec.part >= last;
        assert_eq!(
            before[&spec.name] != after[&spec.name],
            moves,
            "{}",
            spec.name
        );
    }
}

/// A step against the gradient lowers the loss by as much as the gradient says.
#[test]
fn the_gradient_of_a_model_with_a_bottleneck_layer_is_the_slope_of_its_loss() {
    let stride = StridePlacement::Spatial;
    let architecture = Architecture {
        backbone: Backbone::Small,
        stride,
        bottleneck: Some(8),
        outputs: 5,
    };
    let network = Network::new(architecture, Engine::Burn);
    let parameters = network.start(1, &Device::flex());
    let input = formula::tensor("input", [6, 3, 16, 16]);
    let probe = formula::tensor("probe", [6, 5]);
    let loss = |parameters: &Parameters| {
        let features = network.features(parameters, input.clone(), &Pass::training());
        download((network.logits(parameters, features) * probe.clone()).sum())[0]
    };
    let tracked = parameters.tracked(|spec| spec.part >= Part::Bottleneck);
    let features = network.features(&tracked, input.clone().autodiff(), &Pass::training());
    let weighted = (network.logits(&tracked, features) * probe.clone().autodiff()).sum();
    let gradients = weighted.backward();
    for name in [
        "bottleneck.weight",
        "bottleneck_norm.weight",
        "classifier.weight_v",
        "classifier.bias",
    ] {
        let index = parameters.index(name).unwrap();
        let gradient = tracked.values[index].grad(&gradients).unwrap();
        let square = download(gradient.clone().square().sum())[0];
        let moved = |by: f32| {
            let mut parameters = parameters.clone();
            let step = gradient.clone() * (by / square.sqrt());
            parameters.values[index] = parameters.values[index].clone() + step;
            loss(&parameters)
        };
        // Along the gradient the slope is its norm. Central differences in single precision are good to about 1e-2.
        let step = 1e-2;
        let slope = (moved(step) - moved(-step)) / (2.0 * step);
        assert_close(name, &[slope], &[f64::from(square.sqrt())], 1e-2);
    }
}

//! The ResNet-50 that everybody has: only where its file is.

use std::path::PathBuf;

use burn::tensor::Device;
use newfound::network::model::{Foreign, Model};
use newfound::network::{Engine, StridePlacement, download};

use crate::fixture::{assert_close, cases};
use crate::formula;
use crate::model::{ENGINES, named, pass};

/// The fixture itself was computed in single precision, in another order.
const SINGLE_PRECISION: f64 = 1e-4;

/// As above, through fifty layers of batch statistics.
const SINGLE_PRECISION_IN_TRAINING: f64 = 1e-2;

/// `$NEWFOUND_DATA/weights/resnet50-imagenet-v1.safetensors`.
fn file() -> Option<PathBuf> {
    let folder = std::env::var_os("NEWFOUND_DATA")?;
    Some(PathBuf::from(folder).join("weights/resnet50-imagenet-v1.safetensors"))
}

#[test]
fn resnet50_v1() {
    let Some(path) = file() else {
        println!(
            "skipped: NEWFOUND_DATA does not say where weights/resnet50-imagenet-v1.safetensors is"
        );
        return;
    };
    let foreign = Foreign {
        stride: Some(StridePlacement::First),
        ..Foreign::default()
    };
    let model = Model::read(&path, &foreign).expect("a file of weights");
    for engine in ENGINES {
        check(&model, engine);
    }
}

fn check(model: &Model, engine: Engine) {
    let (network, parameters) = model.load(engine, &Device::flex());
    for case in cases("network/real_resnet50") {
        let training = case.name == "training";
        let tolerance = if training {
            SINGLE_PRECISION_IN_TRAINING
        } else {
            SINGLE_PRECISION
        };
        let shape: [usize; 4] = case
            .indices("input_shape")
            .try_into()
            .expect("four extents");
        let input = formula::tensor(case.text("input_name"), shape) * case.number("input_scale");
        let tracked = parameters.tracked(|_| true);
        let features = network.features(&tracked, input.autodiff(), &pass(training));
        let logits = network.logits(&tracked, features);
        let found = download(logits.clone());
        let [batch, outputs] = logits.dims();
        let rows: Vec<&[f32]> = found.chunks_exact(outputs).collect();
        let first: Vec<f32> = rows.iter().flat_map(|row| row[..20].to_vec()).collect();
        assert_close(
            &case.name,
            &first,
            &case.expected("logits_first_20"),
            tolerance,
        );
        let norm = |row: &&[f32]| row.iter().map(|x| x * x).sum::<f32>().sqrt();
        let norms: Vec<f32> = rows.iter().map(norm).collect();
        assert_close(&case.name, &norms, &case.expected("logits_norm"), tolerance);
        let largest = logits.clone().argmax(1).try_into_vec_as::<i64>().unwrap();
        assert_eq!(largest, case.expected_ints("argmax"), "{}", case.name);

        if training {
            let probe = formula::tensor("probe", [batch, outputs]).autodiff();
            let gradients = (logits * probe).sum().backward();
            for (name, expected) in case.gradients() {
                // W is split into direction and gain; their gradients are the two legs of its own.
                let parts: &[&str] = match name.as_str() {
                    "fc.weight" => &["classifier.weight_v", "classifier.weight_g"],
                    name => &[name],
                };
                let gradients = parts.iter().flat_map(|part| {
                    download(named(&tracked, part).grad(&gradients).expect("a gradient"))
                });
                let norm = gradients.map(|x| f64::from(x).powi(2)).sum::<f64>().sqrt();
                let expected = expected["norm"].as_f64().unwrap();
                assert_close(name, &[norm as f32], &[expected], tolerance);
            }
        }
    }
}

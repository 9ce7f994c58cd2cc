//! Reading the golden fixtures, and comparing with them.
//!
//! A fixture is made in double precision from single-precision inputs by an independent transcription of the
//! paper, kept beside it. What is compared is each whole tensor: the largest difference of any entry, relative to
//! the largest entry. An entry that is small because larger ones cancelled has no digits of its own to compare.

use burn::tensor::{Bool, Device, Gradients, Int, Tensor, TensorData};
use newfound::network::download;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Relative tolerance of a value: about a hundred roundings of single precision.
pub const FORWARD: f64 = 1e-5;

/// Relative tolerance of a gradient, which passes through about twice as many operations as its value.
pub const GRADIENT: f64 = 1e-4;

/// A tensor whose largest entry is below this is zero on paper, and is compared absolutely.
const ZERO: f64 = 1e-12;

/// One case of a fixture file.
#[derive(Debug, Deserialize)]
pub struct Case {
    pub name: String,
    inputs: Map<String, Value>,
    outputs: Map<String, Value>,
    gradients: Map<String, Value>,
}

/// All cases of `fixtures/NAME.json`.
pub fn cases(name: &str) -> Vec<Case> {
    #[derive(Deserialize)]
    struct File {
        cases: Vec<Case>,
    }
    let path = format!("{}/tests/fixtures/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let file: File = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert!(!file.cases.is_empty(), "no cases: {path}");
    file.cases
}

/// Those of the cases whose name starts with `prefix`.
pub fn cases_of(name: &str, prefix: &str) -> Vec<Case> {
    let found: Vec<Case> = cases(name)
        .into_iter()
        .filter(|case| case.name.starts_with(prefix))
        .collect();
    assert!(!found.is_empty(), "no case of {name} starts with {prefix}");
    found
}

impl Case {
    /// A constant input.
    pub fn tensor<const N: usize>(&self, key: &str) -> Tensor<N> {
        let value = self.input(key);
        let shape: Vec<usize> = value["shape"].as_array().map_or_else(
            || vec![numbers(value).len()],
            |extents| {
                extents
                    .iter()
                    .map(|extent| extent.as_u64().unwrap() as usize)
                    .collect()
            },
        );
        let values: Vec<f32> = numbers(value).into_iter().map(|x| x as f32).collect();
        Tensor::from_data(TensorData::new(values, shape), &Device::flex())
    }

    /// An input that gradients are taken for.
    pub fn leaf<const N: usize>(&self, key: &str) -> Tensor<N> {
        self.tensor(key).autodiff().require_grad()
    }

    /// An input of whole numbers.
    pub fn ints(&self, key: &str) -> Vec<i64> {
        numbers(self.input(key))
            .into_iter()
            .map(|x| x as i64)
            .collect()
    }

    /// An input of indices.
    pub fn indices(&self, key: &str) -> Vec<usize> {
        self.ints(key)
            .into_iter()
            .map(|x| usize::try_from(x).expect("an index"))
            .collect()
    }

    /// An input of whole numbers with rows.
    pub fn int_matrix(&self, key: &str) -> Tensor<2, Int> {
        self.tensor::<2>(key).int()
    }

    /// An input that is one number.
    pub fn number(&self, key: &str) -> f64 {
        self.input(key)
            .as_f64()
            .unwrap_or_else(|| panic!("{}: {key} is no number", self.name))
    }

    /// An input that is text.
    pub fn text(&self, key: &str) -> &str {
        self.input(key)
            .as_str()
            .unwrap_or_else(|| panic!("{}: {key} is no text", self.name))
    }

    fn input(&self, key: &str) -> &Value {
        self.inputs
            .get(key)
            .unwrap_or_else(|| panic!("{}: no input {key}", self.name))
    }

    /// An expected output as it stands in the file.
    pub fn output(&self, key: &str) -> &Value {
        self.outputs
            .get(key)
            .unwrap_or_else(|| panic!("{}: no output {key}", self.name))
    }

    /// The numbers of an expected output, row by row.
    pub fn expected(&self, key: &str) -> Vec<f64> {
        numbers(self.output(key))
    }

    /// Expected whole numbers.
    pub fn expected_ints(&self, key: &str) -> Vec<i64> {
        self.expected(key).into_iter().map(|x| x as i64).collect()
    }

    /// The expected gradients as they stand in the file.
    pub fn gradients(&self) -> &Map<String, Value> {
        &self.gradients
    }

    /// Holds a tensor against the output of this name.
    pub fn check<const N: usize>(&self, key: &str, found: &Tensor<N>) {
        let what = format!("{}: {key}", self.name);
        assert_close(
            &what,
            &download(found.clone()),
            &self.expected(key),
            FORWARD,
        );
    }

    /// Holds the gradient of a leaf against the expected one. Not every case has gradients; see
    /// [`Case::has_gradients`].
    pub fn check_gradient<const N: usize>(&self, key: &str, leaf: &Tensor<N>, found: &Gradients) {
        let what = format!("{}: gradient of {key}", self.name);
        let expected = self
            .gradients
            .get(key)
            .unwrap_or_else(|| panic!("{}: no gradient of {key}", self.name));
        let found = leaf
            .grad(found)
            .unwrap_or_else(|| panic!("{what}: there is none"));
        assert_close(&what, &download(found), &numbers(expected), GRADIENT);
    }

    /// Whether the case has gradients, which must then be those of `keys`: none goes unchecked.
    pub fn has_gradients(&self, keys: &[&str]) -> bool {
        let named: Vec<&str> = self.gradients.keys().map(String::as_str).collect();
        assert!(
            named.is_empty()
                || (named.len() == keys.len() && named.iter().all(|n| keys.contains(n))),
            "{}: gradients of {named:?}",
            self.name
        );
        !named.is_empty()
    }
}

/// The numbers in a JSON value: a tensor's data, a list of any depth, a single one.
pub fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Number(number) => vec![number.as_f64().expect("a finite number")],
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        Value::Object(tensor) => numbers(&tensor["data"]),
        other => panic!("not numbers: {other}"),
    }
}

/// Fails unless the largest difference is at most `tolerance` times the largest expected entry.
#[track_caller]
pub fn assert_close(what: &str, found: &[f32], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}: the number of values");
    let largest = expected
        .iter()
        .fold(0.0, |largest: f64, x| largest.max(x.abs()));
    let scale = if largest > ZERO { largest } else { 1.0 };
    for (position, (&found, &expected)) in found.iter().zip(expected).enumerate() {
        let difference = (f64::from(found) - expected).abs() / scale;
        // A NaN must fail, so not `difference > tolerance`.
        assert!(
            difference <= tolerance,
            "{what}: {found} instead of {expected} at {position}, off by {difference:.1e} of the largest entry"
        );
    }
}

/// Fails unless every value is zero up to `tolerance`: for what is zero on paper, where no relative error exists.
#[track_caller]
pub fn assert_zero(what: &str, found: &[f32], tolerance: f64) {
    assert_close(what, found, &vec![0.0; found.len()], tolerance);
}

/// The values of an integer tensor, row by row.
pub fn ints<const N: usize>(tensor: Tensor<N, Int>) -> Vec<i64> {
    tensor
        .try_into_vec_as::<i64>()
        .expect("the device gives its values back")
}

/// The values of a mask as 0 and 1, row by row.
pub fn bits<const N: usize>(mask: Tensor<N, Bool>) -> Vec<i64> {
    ints(mask.int())
}

/// A vector of indices on the device.
pub fn index_tensor(values: &[usize]) -> Tensor<1, Int> {
    let values: Vec<i64> = values.iter().map(|&value| value as i64).collect();
    let count = values.len();
    Tensor::from_data(TensorData::new(values, [count]), &Device::flex())
}

/// The value of a loss.
pub fn scalar(loss: &Tensor<1>) -> f64 {
    f64::from(loss.clone().into_scalar::<f32>())
}

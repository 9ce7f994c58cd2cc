//! The numbers of a network: a flat list of named tensors.
//!
//! The network itself ([`Network`](super::Network)) holds none, so the online model and the momentum
//! model are two lists for one network, and everything that treats all weights alike (files,
//! checkpoints, SGD, the moving average) is a loop over a list.

use std::collections::BTreeMap;
use std::sync::Arc;

use burn::tensor::{Device, Tensor, TensorData};

use super::cpu::ema;
use crate::random::Stream;
use crate::weights::Array;

/// Which part of the network a parameter belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The stem (0) or a stage (1, 2, …) of the body.
    Body(usize),
    /// The layer between body and classifier.
    Bottleneck,
    /// The classifier.
    Classifier,
}

/// How a parameter starts in a new network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Start {
    /// Normal with this standard deviation.
    Normal(f64),
    /// Uniform in ± this bound.
    Uniform(f64),
    /// All this value.
    Constant(f32),
}

/// Name, shape and role of one parameter.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Its name in files; torchvision's for the body.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Where it belongs.
    pub part: Part,
    /// False for running statistics: they are measured, not learned.
    pub learned: bool,
    /// Its first values in a new network.
    pub start: Start,
}

impl Spec {
    /// Number of values.
    pub fn size(&self) -> usize {
        self.shape.iter().product()
    }
}

/// The values of all parameters of a network, in the order of its specs, each as a flat tensor.
#[derive(Debug, Clone)]
pub struct Parameters {
    /// What each value is.
    pub specs: Arc<Vec<Spec>>,
    /// The values.
    pub values: Vec<Tensor<1>>,
}

impl Parameters {
    /// A new network's values: a function of the seed and of each parameter's name.
    pub fn new(specs: Arc<Vec<Spec>>, seed: u64, device: &Device) -> Self {
        let values = specs.iter().map(|spec| {
            let mut draws = Stream::new(seed, &spec.name, &[]);
            let mut draw = || match spec.start {
                Start::Normal(deviation) => (deviation * draws.normal()) as f32,
                Start::Uniform(bound) => draws.between(-bound, bound) as f32,
                Start::Constant(value) => value,
            };
            upload((0..spec.size()).map(|_| draw()).collect(), device)
        });
        Self {
            values: values.collect(),
            specs,
        }
    }

    /// From named arrays that are known to have the right shapes.
    ///
    /// # Panics
    ///
    /// If one is missing: reconcile a file's tensors with [`shapes`] first.
    pub fn from_arrays(
        specs: Arc<Vec<Spec>>,
        mut arrays: BTreeMap<String, Array>,
        device: &Device,
    ) -> Self {
        let values = specs.iter().map(|spec| {
            let array = arrays
                .remove(&spec.name)
                .expect("reconciled with the specs before");
            assert_eq!(array.shape, spec.shape, "{}", spec.name);
            upload(array.values, device)
        });
        Self {
            values: values.collect(),
            specs,
        }
    }

    /// The same, but for these.
    pub fn with(&self, mut arrays: BTreeMap<String, Array>) -> Self {
        let values = self.specs.iter().zip(&self.values).map(|(spec, value)| {
            match arrays.remove(&spec.name) {
                None => value.clone(),
                Some(array) => {
                    assert_eq!(array.shape, spec.shape, "{}", spec.name);
                    upload(array.values, &value.device())
                }
            }
        });
        Self {
            values: values.collect(),
            specs: self.specs.clone(),
        }
    }

    /// As named arrays, for a file.
    pub fn to_arrays(&self) -> BTreeMap<String, Array> {
        self.to_arrays_from(Part::Body(0))
    }

    /// Those of the parts from this one on.
    pub fn to_arrays_from(&self, part: Part) -> BTreeMap<String, Array> {
        let array = |(spec, value): (&Spec, &Tensor<1>)| {
            let array = Array {
                shape: spec.shape.clone(),
                values: download(value.clone()),
            };
            (spec.name.clone(), array)
        };
        let all = self.specs.iter().zip(&self.values);
        all.filter(|(spec, _)| spec.part >= part)
            .map(array)
            .collect()
    }

    /// The same values as leaves of a new autodiff graph; those that `trains` refuses stay constants.
    pub fn tracked(&self, trains: impl Fn(&Spec) -> bool) -> Self {
        let track = |(spec, value): (&Spec, &Tensor<1>)| {
            let value = value.clone().autodiff();
            if spec.learned && trains(spec) {
                value.require_grad()
            } else {
                value
            }
        };
        Self {
            specs: self.specs.clone(),
            values: self.specs.iter().zip(&self.values).map(track).collect(),
        }
    }

    /// Parameter number `index` in its shape.
    pub(super) fn get<const N: usize>(&self, index: usize) -> Tensor<N> {
        let shape: [usize; N] = self.specs[index]
            .shape
            .as_slice()
            .try_into()
            .expect("the layer knows its rank");
        self.values[index].clone().reshape(shape)
    }

    /// Position of the parameter with this name.
    pub fn index(&self, name: &str) -> Option<usize> {
        self.specs.iter().position(|spec| spec.name == name)
    }

    /// The momentum model's update: θ' ← m θ' + (1 − m) θ, for learned parameters and for running
    /// statistics alike ([`TeacherNorm`](crate::config::TeacherNorm) says whether those are used).
    #[doc(alias = "EMA")]
    pub fn moving_average(&mut self, online: &Self, m: f64) {
        self.moving_average_from(Part::Body(0), online, m);
    }

    /// The same for the parts from this one on: those before it are frozen, and equal in both.
    pub fn moving_average_from(&mut self, part: Part, online: &Self, m: f64) {
        let pairs = self.values.iter_mut().zip(&online.values);
        let learning = pairs
            .zip(self.specs.iter())
            .filter(|(_, spec)| spec.part >= part);
        for ((slow, fast), _) in learning {
            slow.inplace(|slow| {
                if on_cpu(&slow) {
                    ema(slow, fast.clone(), m)
                } else {
                    slow.mul_scalar(m) + fast.clone().mul_scalar(1.0 - m)
                }
            });
        }
    }
}

/// Whether a tensor is where the kernels of `newfound-cpu` can reach it.
pub(crate) fn on_cpu<const N: usize>(tensor: &Tensor<N>) -> bool {
    tensor.device() == Device::flex()
}

/// Names and shapes, to compare a file with.
pub fn shapes(specs: &[Spec]) -> BTreeMap<String, Vec<usize>> {
    specs
        .iter()
        .map(|spec| (spec.name.clone(), spec.shape.clone()))
        .collect()
}

/// A flat tensor with these values.
pub fn upload(values: Vec<f32>, device: &Device) -> Tensor<1> {
    let length = values.len();
    Tensor::from_data(TensorData::new(values, [length]), device)
}

/// The values of a tensor, row by row.
///
/// # Panics
///
/// If the device fails: there is nothing to go on with then.
pub fn download<const N: usize>(tensor: Tensor<N>) -> Vec<f32> {
    tensor
        .try_into_vec_as::<f32>()
        .expect("the device gives its values back")
}

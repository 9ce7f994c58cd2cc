//! The model g = h ∘ φ: a residual network, an optional bottleneck layer, a classifier.

mod architecture;
mod bottleneck;
mod classifier;
mod cpu;
mod engine;
mod layers;
mod parameters;
mod resnet;

pub mod model;
pub(crate) mod plain;

use std::sync::Arc;

use burn::tensor::{Device, Tensor};

pub use architecture::{Architecture, Backbone, BlockKind, StridePlacement};
pub use classifier::{Classifier, Head, norm, weight_normalised};
pub(crate) use cpu::{Search, SgdRule, nearest, release_memory, sgd};
pub use engine::{Engine, Pass};
pub(crate) use layers::{EPSILON, Norm, Unit};
pub(crate) use parameters::on_cpu;
pub use parameters::{Parameters, Part, Spec, Start, download, shapes, upload};
pub(crate) use resnet::{Block, Body};

use bottleneck::Bottleneck;
use layers::Builder;

/// The layers of a model, without any weights: those are [`Parameters`].
#[derive(Debug, Clone)]
pub struct Network {
    architecture: Architecture,
    engine: Engine,
    specs: Arc<Vec<Spec>>,
    body: Body,
    bottleneck: Option<Bottleneck>,
    classifier: Classifier,
    /// Where its input enters: none for images.
    frontier: Option<Part>,
}

impl Network {
    /// Declares the layers of an architecture.
    pub fn new(architecture: Architecture, engine: Engine) -> Self {
        let mut build = Builder::default();
        let body = Body::declare(&architecture, &mut build);
        let pooled = architecture.backbone.features();
        let bottleneck = architecture
            .bottleneck
            .map(|width| Bottleneck::declare(&mut build, [pooled, width]));
        let sizes = [architecture.features(), architecture.outputs];
        let classifier = Classifier::declare(&mut build, sizes);
        let specs = Arc::new(build.specs);
        Self {
            architecture,
            engine,
            specs,
            body,
            bottleneck,
            classifier,
            frontier: None,
        }
    }

    /// The same network from this part on: its input is what [`frozen`](Self::frozen) gives instead of images.
    pub fn beyond(self, frontier: Part) -> Self {
        Self {
            frontier: Some(frontier),
            ..self
        }
    }

    /// What it is.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// Who computes its body.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// Names, shapes and roles of its parameters.
    pub fn specs(&self) -> &Arc<Vec<Spec>> {
        &self.specs
    }

    /// New values for all parameters.
    pub fn start(&self, seed: u64, device: &Device) -> Parameters {
        Parameters::new(self.specs.clone(), seed, device)
    }

    /// Its body, layer by layer.
    pub(crate) fn body(&self) -> &Body {
        &self.body
    }

    /// Its layer between body and classifier, if it has one.
    pub(crate) fn bottleneck(&self) -> Option<&Bottleneck> {
        self.bottleneck.as_ref()
    }

    /// The last stage of the body.
    pub fn last_stage(&self) -> Part {
        Part::Body(self.body.parts() - 1)
    }

    /// Features z = φ(x).
    ///
    /// # Shapes
    ///
    /// `images` [B, 3, H, W], or activations for a network [beyond](Self::beyond) a frontier → [B, D]
    #[doc(alias = "phi")]
    pub fn features(&self, parameters: &Parameters, images: Tensor<4>, pass: &Pass) -> Tensor<2> {
        let pooled = self.pooled(parameters, images, pass);
        self.of_pooled(parameters, pooled, pass)
    }

    /// What the body makes of images, averaged over the picture: the features before the bottleneck.
    ///
    /// # Shapes
    ///
    /// As for [`features`](Self::features) → [B, features of the body]
    pub fn pooled(&self, parameters: &Parameters, images: Tensor<4>, pass: &Pass) -> Tensor<2> {
        let from = self.frontier;
        self.body
            .forward(self.engine, parameters, images, from, pass)
    }

    /// Features z out of what [`pooled`](Self::pooled) gives.
    ///
    /// # Shapes
    ///
    /// [B, features of the body] → [B, D]
    pub fn of_pooled(&self, parameters: &Parameters, pooled: Tensor<2>, pass: &Pass) -> Tensor<2> {
        match &self.bottleneck {
            Some(bottleneck) => bottleneck.forward(parameters, pooled, pass),
            None => pooled,
        }
    }

    /// Activations of a batch of images where part `frontier` begins.
    ///
    /// # Shapes
    ///
    /// `images` [B, 3, H, W] → [B, [`frozen_shape`](Self::frozen_shape)]
    pub fn frozen(
        &self,
        parameters: &Parameters,
        images: Tensor<4>,
        frontier: Part,
        pass: &Pass,
    ) -> Tensor<4> {
        self.body
            .frozen(self.engine, parameters, images, frontier, pass)
    }

    /// Shape of one image's activations at a frontier, for square images of this side: in the layout of the engine, and
    /// pooled in front of the bottleneck and the classifier.
    pub fn frozen_shape(&self, frontier: Part, side: usize) -> [usize; 3] {
        let [channels, side] = self.body.sizes(&self.architecture, frontier, side);
        match (frontier, self.engine) {
            (Part::Body(_), Engine::Burn) => [channels, side, side],
            (Part::Body(_), Engine::Cpu) => [side, side, channels],
            _ => [1, 1, channels],
        }
    }

    /// Logits h(z).
    ///
    /// # Shapes
    ///
    /// `features` [B, D] → [B, K]
    #[doc(alias = "h")]
    pub fn logits(&self, parameters: &Parameters, features: Tensor<2>) -> Tensor<2> {
        self.classifier.forward(parameters, features)
    }

    /// Prototypes W.
    ///
    /// # Shapes
    ///
    /// → [K, D]
    pub fn prototypes(&self, parameters: &Parameters) -> Tensor<2> {
        self.classifier.prototypes(parameters)
    }
}

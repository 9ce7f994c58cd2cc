//! The body: a residual network up to its pooled features.

use burn::tensor::Tensor;

use super::architecture::{Architecture, BlockKind, StridePlacement};
use super::engine::{Engine, Pass};
use super::layers::{Builder, Unit};
use super::parameters::{Parameters, Part};

/// One residual block: units in a row, and what the input takes beside them.
#[derive(Debug, Clone)]
pub struct Block {
    pub(crate) units: Vec<Unit>,
    /// 1×1 convolution where resolution or channels change; otherwise the input is added as it is.
    pub(crate) downsample: Option<Unit>,
}

/// Stem and stages.
#[derive(Debug, Clone)]
pub struct Body {
    pub(crate) stem: Unit,
    /// Whether the stem ends with a 3×3 maximum.
    pub(crate) pools: bool,
    pub(crate) stages: Vec<Vec<Block>>,
}

impl Body {
    /// Declares all layers under torchvision's names.
    pub(super) fn declare(architecture: &Architecture, build: &mut Builder) -> Self {
        let backbone = architecture.backbone;
        let width = backbone.width();
        let small_images = backbone == super::Backbone::Small;
        let kernel = if small_images { 3 } else { 7 };
        let stem = build.unit(Part::Body(0), "conv1", "bn1", [3, width], kernel, 2);
        let mut channels = width;
        let mut stages = Vec::new();
        for (s, &count) in backbone.blocks().iter().enumerate() {
            let inner = width << s;
            let mut stage = Vec::new();
            for b in 0..count {
                let stride = if s > 0 && b == 0 { 2 } else { 1 };
                let name = format!("layer{}.{b}", s + 1);
                let block =
                    declare_block(architecture, build, s + 1, &name, channels, inner, stride);
                stage.push(block);
                channels = match backbone.kind() {
                    BlockKind::Basic => inner,
                    BlockKind::Bottleneck => 4 * inner,
                };
            }
            stages.push(stage);
        }
        Self {
            stem,
            pools: !small_images,
            stages,
        }
    }

    /// Number of parts: the stem and each stage.
    pub fn parts(&self) -> usize {
        1 + self.stages.len()
    }

    /// Pooled features of a batch of images.
    ///
    /// # Shapes
    ///
    /// `images` [B, 3, H, W], or activations where part `from` begins → [B, [`Backbone::features`](super::Backbone::features)]
    pub(super) fn forward(
        &self,
        engine: Engine,
        parameters: &Parameters,
        images: Tensor<4>,
        from: Option<Part>,
        pass: &Pass,
    ) -> Tensor<2> {
        match from {
            Some(Part::Bottleneck | Part::Classifier) => {
                let [batch, .., channels] = images.dims();
                return images.reshape([batch, channels]);
            }
            Some(Part::Body(stage)) if stage > 0 => {
                let x = self.through(engine, parameters, images, stage..self.parts(), pass);
                return engine.global_average(x);
            }
            _ => {}
        }
        let x = self.through(engine, parameters, images, 0..self.parts(), pass);
        engine.global_average(x)
    }

    /// Activations where part `frontier` begins; pooled, as [B, 1, 1, C], behind the body.
    pub(super) fn frozen(
        &self,
        engine: Engine,
        parameters: &Parameters,
        images: Tensor<4>,
        frontier: Part,
        pass: &Pass,
    ) -> Tensor<4> {
        if let Part::Body(stage) = frontier {
            return self.through(engine, parameters, images, 0..stage, pass);
        }
        let pooled = self.forward(engine, parameters, images, None, pass);
        let [batch, channels] = pooled.dims();
        pooled.reshape([batch, 1, 1, channels])
    }

    /// Channels and side of the activations where part `frontier` begins, for images of this side.
    pub(super) fn sizes(
        &self,
        architecture: &Architecture,
        frontier: Part,
        side: usize,
    ) -> [usize; 2] {
        let backbone = architecture.backbone;
        let Part::Body(stage) = frontier else {
            return [backbone.features(), 1];
        };
        let pooled = side.div_ceil(2).div_ceil(if self.pools { 2 } else { 1 });
        match stage {
            0 => [3, side],
            1 => [backbone.width(), pooled],
            _ => {
                let widening = match backbone.kind() {
                    BlockKind::Basic => 1,
                    BlockKind::Bottleneck => 4,
                };
                let side = (2..stage).fold(pooled, |side, _| side.div_ceil(2));
                [widening * (backbone.width() << (stage - 2)), side]
            }
        }
    }

    /// Some parts of the body, one after the other; part 0 is the stem.
    fn through(
        &self,
        engine: Engine,
        parameters: &Parameters,
        mut x: Tensor<4>,
        parts: std::ops::Range<usize>,
        pass: &Pass,
    ) -> Tensor<4> {
        for part in parts {
            if part == 0 {
                x = engine.input(x);
                x = self.stem.forward(engine, parameters, x, None, true, pass);
                if self.pools {
                    x = engine.max_pool(x);
                }
                continue;
            }
            for block in &self.stages[part - 1] {
                x = block.forward(engine, parameters, x, pass);
            }
        }
        x
    }
}

fn declare_block(
    architecture: &Architecture,
    build: &mut Builder,
    stage: usize,
    name: &str,
    channels: usize,
    inner: usize,
    stride: usize,
) -> Block {
    let part = Part::Body(stage);
    let mut unit = |i: usize, sizes, kernel, stride| {
        build.unit(
            part,
            &format!("{name}.conv{i}"),
            &format!("{name}.bn{i}"),
            sizes,
            kernel,
            stride,
        )
    };
    let (units, outer) = match architecture.backbone.kind() {
        BlockKind::Basic => (
            vec![
                unit(1, [channels, inner], 3, stride),
                unit(2, [inner, inner], 3, 1),
            ],
            inner,
        ),
        BlockKind::Bottleneck => {
            let (first, spatial) = match architecture.stride {
                StridePlacement::First => (stride, 1),
                StridePlacement::Spatial => (1, stride),
            };
            let units = vec![
                unit(1, [channels, inner], 1, first),
                unit(2, [inner, inner], 3, spatial),
                unit(3, [inner, 4 * inner], 1, 1),
            ];
            (units, 4 * inner)
        }
    };
    let downsample = (stride != 1 || channels != outer).then(|| {
        let (conv, norm) = (
            format!("{name}.downsample.0"),
            format!("{name}.downsample.1"),
        );
        build.unit(part, &conv, &norm, [channels, outer], 1, stride)
    });
    Block { units, downsample }
}

impl Block {
    fn forward(
        &self,
        engine: Engine,
        parameters: &Parameters,
        x: Tensor<4>,
        pass: &Pass,
    ) -> Tensor<4> {
        let shortcut = match &self.downsample {
            Some(unit) => unit.forward(engine, parameters, x.clone(), None, false, pass),
            None => x.clone(),
        };
        let (last, first) = self.units.split_last().expect("a block has units");
        let inner = first.iter().fold(x, |x, unit| {
            unit.forward(engine, parameters, x, None, true, pass)
        });
        last.forward(engine, parameters, inner, Some(shortcut), true, pass)
    }
}

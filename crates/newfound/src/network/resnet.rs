//! The body: a residual network up to its pooled features.

use burn::tensor::Tensor;

use super::architecture::{Architecture, BlockKind, StridePlacement};
use super::engine::{Engine, Pass};
use super::layers::{Builder, Unit};
use super::parameters::{Parameters, Part};

/// One residual block: units in a row, and what the input takes beside them.
#[derive(Debug, Clone)]
struct Block {
    units: Vec<Unit>,
    /// 1×1 convolution where resolution or channels change; otherwise the input is added as it is.
    downsample: Option<Unit>,
}

/// Stem and stages.
#[derive(Debug, Clone)]
pub struct Body {
    stem: Unit,
    pools: bool,
    stages: Vec<Vec<Block>>,
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
    /// `images` [B, 3, H, W] → [B, [`Backbone::features`](super::Backbone::features)]
    pub(super) fn forward(
        &self,
        engine: Engine,
        parameters: &Parameters,
        images: Tensor<4>,
        pass: &Pass,
    ) -> Tensor<2> {
        let mut x = engine.input(images);
        x = self.stem.forward(engine, parameters, x, None, true, pass);
        if self.pools {
            x = engine.max_pool(x);
        }
        for block in self.stages.iter().flatten() {
            x = block.forward(engine, parameters, x, pass);
        }
        engine.global_average(x)
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

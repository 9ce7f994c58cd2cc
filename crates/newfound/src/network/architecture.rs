//! Which network it is: everything that must be known before weights can be read.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The residual networks newfound knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backbone {
    /// Ours, for images of about 32 to 64 pixels: a 3×3 stem of stride 2 without pooling and three stages of two
    /// basic blocks with 32, 64 and 128 channels.
    Small,
    /// ResNet-18: basic blocks 2-2-2-2.
    Resnet18,
    /// ResNet-34: basic blocks 3-4-6-3.
    Resnet34,
    /// ResNet-50: bottleneck blocks 3-4-6-3.
    Resnet50,
    /// ResNet-101: bottleneck blocks 3-4-23-3.
    Resnet101,
}

/// The two kinds of residual block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// Two 3×3 convolutions.
    Basic,
    /// 1×1, 3×3, 1×1, the last with four times the channels.
    Bottleneck,
}

impl Backbone {
    /// All of them, smallest first.
    pub const ALL: [Backbone; 5] = [
        Self::Small,
        Self::Resnet18,
        Self::Resnet34,
        Self::Resnet50,
        Self::Resnet101,
    ];

    /// Number of blocks of each stage.
    pub fn blocks(self) -> &'static [usize] {
        match self {
            Self::Small => &[2, 2, 2],
            Self::Resnet18 => &[2, 2, 2, 2],
            Self::Resnet34 | Self::Resnet50 => &[3, 4, 6, 3],
            Self::Resnet101 => &[3, 4, 23, 3],
        }
    }

    /// The kind of its blocks.
    pub fn kind(self) -> BlockKind {
        match self {
            Self::Small | Self::Resnet18 | Self::Resnet34 => BlockKind::Basic,
            Self::Resnet50 | Self::Resnet101 => BlockKind::Bottleneck,
        }
    }

    /// Channels of the stem, and of the first stage's 3×3 convolutions.
    pub fn width(self) -> usize {
        if self == Self::Small { 32 } else { 64 }
    }

    /// Size of the pooled features, before any bottleneck layer.
    pub fn features(self) -> usize {
        let last = self.width() << (self.blocks().len() - 1);
        match self.kind() {
            BlockKind::Basic => last,
            BlockKind::Bottleneck => 4 * last,
        }
    }

    /// The side of the square images it is usually trained on.
    pub fn usual_crop(self) -> u32 {
        if self == Self::Small { 48 } else { 224 }
    }
}

impl fmt::Display for Backbone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Small => "small",
            Self::Resnet18 => "resnet18",
            Self::Resnet34 => "resnet34",
            Self::Resnet50 => "resnet50",
            Self::Resnet101 => "resnet101",
        })
    }
}

impl FromStr for Backbone {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|b| b.to_string() == text)
            .ok_or_else(|| {
                let known: Vec<_> = Self::ALL.iter().map(Self::to_string).collect();
                format!(
                    "no backbone is called {text:?}: it is one of {}",
                    known.join(", ")
                )
            })
    }
}

/// Where a bottleneck block that halves the resolution has its stride.
///
/// Weights of one kind run in the other without any error, only less sure of themselves, so this is
/// part of a model's description and never guessed silently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StridePlacement {
    /// In the 3×3 convolution (torchvision, "v1.5").
    #[default]
    #[serde(rename = "v1.5")]
    Spatial,
    /// In the first 1×1 convolution ("v1": the original Caffe and Keras weights).
    #[serde(rename = "v1")]
    First,
}

impl fmt::Display for StridePlacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Spatial => "v1.5",
            Self::First => "v1",
        })
    }
}

impl FromStr for StridePlacement {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "v1.5" => Ok(Self::Spatial),
            "v1" => Ok(Self::First),
            _ => Err(format!(
                "no stride placement is called {text:?}: it is v1.5 (in the 3×3, as torchvision has it) or v1 (in the first 1×1)"
            )),
        }
    }
}

/// A network, up to its weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Architecture {
    /// The body.
    pub backbone: Backbone,
    /// Where its blocks have their stride.
    pub stride: StridePlacement,
    /// Width of the layer between body and classifier; none in a model that was trained elsewhere.
    pub bottleneck: Option<usize>,
    /// Number of classifier outputs, K.
    pub outputs: usize,
}

impl Architecture {
    /// Size of the features the classifier sees, D.
    pub fn features(&self) -> usize {
        self.bottleneck.unwrap_or(self.backbone.features())
    }
}

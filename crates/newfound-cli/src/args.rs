//! What can be asked for on the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use newfound::bench::Benchmark;
use newfound::images::Split;
use newfound::network::{Backbone, StridePlacement};
use toml::Value;

/// Takes an image classifier to a new place: adapts it to unlabelled images from there, tells unknown images from known
/// ones, and sorts the unknown into new classes of their own.
#[derive(Debug, Parser)]
#[command(
    name = "newfound",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Say nothing but warnings and errors.
    #[arg(long, global = true)]
    pub quiet: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show everything on a built-in two-domain image set, in about two minutes.
    Demo(DemoArgs),
    /// Train a source classifier on labelled images (cross-entropy only).
    Train(TrainArgs),
    /// Adapt a classifier to a folder of unlabelled images: the main job.
    Adapt(AdaptArgs),
    /// Predict the class of images: one line each, to standard output.
    Predict(PredictArgs),
    /// Score a run against labels: OS*, UNK, HOS and the rest.
    Evaluate(EvaluateArgs),
    /// Write RUN/report.html again.
    Report(ReportArgs),
    /// Write a model for use elsewhere: an ONNX graph, or weights under torchvision's names.
    Export(ExportArgs),
    /// Say what a model, a run or a folder of images is.
    Inspect(InspectArgs),
    /// Run the paper's experiments on a benchmark.
    Bench(BenchArgs),
}

/// `newfound demo`
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Where images, model and run are written.
    #[arg(long, value_name = "DIR", default_value = "newfound-demo")]
    pub out: PathBuf,
    /// Everything random follows from it.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
}

/// Options that select images.
#[derive(Debug, Args)]
pub struct ImagesArgs {
    /// A folder (read with all folders below it), a list file of `path` or `path label` lines, or one image.
    #[arg(value_name = "IMAGES")]
    pub images: PathBuf,
    /// Use only the class folders of a benchmark: office31-paper, office31-caltech, office-home, or another split of these
    /// (docs/RESULTS.md has them).
    #[arg(long, value_name = "NAME")]
    pub split: Option<Split>,
}

/// Options about a model that was made elsewhere.
#[derive(Debug, Args)]
pub struct ForeignArgs {
    /// Names of its classes in the order of its outputs: a file with one name per line, or names with commas between.
    #[arg(long, value_name = "FILE|A,B,C")]
    pub classes: Option<String>,
    /// Where its bottleneck blocks have their stride: v1.5 (in the 3×3, as torchvision) or v1 (in the first 1×1).
    #[arg(long, value_name = "KIND")]
    pub stride: Option<StridePlacement>,
    /// Side of the square images it expects.
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(8..=4096))]
    pub size: Option<u32>,
}

/// Options that every long work has.
#[derive(Debug, Args)]
pub struct WorkArgs {
    /// Where to compute: cpu, or a GPU the program was built for (cuda:0, rocm:0, wgpu, metal, vulkan).
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: String,
    /// Go on with an interrupted work.
    #[arg(long)]
    pub resume: bool,
    /// A TOML file with choices; flags win over it.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Any choice by its name in the configuration; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Everything random follows from it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: Option<u64>,
    /// Passes over the images.
    #[arg(long, value_name = "N")]
    pub epochs: Option<usize>,
    /// Images per step.
    #[arg(long, value_name = "N")]
    pub batch: Option<usize>,
    /// Learning rate of the new layers.
    #[arg(long, value_name = "RATE")]
    pub learning_rate: Option<f64>,
    /// What is trained: all, last-stage or head; auto is head on a CPU, all elsewhere.
    #[arg(long, value_name = "PART")]
    pub train: Option<String>,
    /// Where activations of frozen layers are kept, for --train head and last-stage [default: the user's cache folder].
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Largest share of unreadable images that is still accepted.
    #[arg(long, value_name = "PERCENT")]
    pub max_bad: Option<f64>,
}

/// `newfound train`
#[derive(Debug, Args)]
pub struct TrainArgs {
    /// The images: a folder of class folders, or a list of `path label` lines.
    #[command(flatten)]
    pub images: ImagesArgs,
    /// The model to write.
    #[arg(long, value_name = "MODEL")]
    pub out: PathBuf,
    /// The body: small, resnet18, resnet34, resnet50 or resnet101 [default: that of the weights, or resnet50].
    #[arg(long, value_name = "NAME")]
    pub backbone: Option<Backbone>,
    /// Weights of the body to start from: safetensors or PyTorch, with torchvision's names.
    #[arg(long, value_name = "FILE")]
    pub weights: Option<PathBuf>,
    /// About the images and the weights.
    #[command(flatten)]
    pub foreign: ForeignArgs,
    /// Write the figures as event files for TensorBoard into this folder.
    #[arg(long, value_name = "DIR")]
    pub tensorboard: Option<PathBuf>,
    /// How to train.
    #[command(flatten)]
    pub work: WorkArgs,
}

/// `newfound adapt`
#[derive(Debug, Args)]
pub struct AdaptArgs {
    /// The target's images.
    #[command(flatten)]
    pub images: ImagesArgs,
    /// The source model: one of newfound train, or a torchvision-style file.
    #[arg(long, value_name = "MODEL")]
    pub model: PathBuf,
    /// The run folder to write.
    #[arg(long, value_name = "RUN")]
    pub out: PathBuf,
    /// Number of private classes to allow for: a number, same (as many as known ones), or auto, an estimate [default: auto].
    #[arg(long, value_name = "N", value_parser = private)]
    pub private: Option<Value>,
    /// A named set of choices: paper.
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// About a model made elsewhere.
    #[command(flatten)]
    pub foreign: ForeignArgs,
    /// Write the figures as event files for TensorBoard into this folder.
    #[arg(long, value_name = "DIR")]
    pub tensorboard: Option<PathBuf>,
    /// How to adapt.
    #[command(flatten)]
    pub work: WorkArgs,
}

/// How predictions are written.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Format {
    /// Comma-separated values with a header.
    Csv,
    /// One JSON object per line.
    Jsonl,
}

/// `newfound predict`
#[derive(Debug, Args)]
pub struct PredictArgs {
    /// The images.
    #[command(flatten)]
    pub images: ImagesArgs,
    /// A run folder, or a model file.
    #[arg(long, value_name = "RUN|MODEL")]
    pub model: PathBuf,
    /// How to write.
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    pub format: Format,
    /// Where to compute.
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: String,
    /// Largest share of unreadable images that is still accepted; the others are predicted all the same.
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    pub max_bad: f64,
    /// Give no label to images as doubtful as this share of the run's own images, the most doubtful of them.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    pub abstain: f64,
    /// About a model made elsewhere.
    #[command(flatten)]
    pub foreign: ForeignArgs,
}

/// `newfound evaluate`
#[derive(Debug, Args)]
pub struct EvaluateArgs {
    /// The run folder.
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// The labels: the folder of class folders the images are in, or a list of `path label` lines.
    #[arg(long, value_name = "DIR|LIST")]
    pub labels: PathBuf,
    /// Use only the class folders of a benchmark.
    #[arg(long, value_name = "NAME")]
    pub split: Option<Split>,
    /// Write JSON to standard output.
    #[arg(long)]
    pub json: bool,
    /// Which predictions the JSON is about.
    #[arg(long, value_enum, default_value_t = Way::Adapted)]
    pub of: Way,
    /// Leave out this share of the images, those with the most doubtful labels; the run keeps its scores of all images.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    pub abstain: f64,
}

/// The ways to predict that a run can be scored for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Way {
    /// The source model, unknown by entropy.
    SourceOnly,
    /// The initial clustering.
    Clustering,
    /// The adapted classifier.
    Adapted,
    /// Neighbour-refined.
    Refined,
    /// All four, each under its name.
    All,
}

/// `newfound report`
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The run folder; several are compared.
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// Where to write the page [default: report.html in the run; of several runs, comparison.html here].
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// `newfound export`
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// A run folder, or a model file.
    #[arg(value_name = "RUN|MODEL")]
    pub model: PathBuf,
    /// The file to write; its ending, .onnx or .safetensors, says as what.
    ///
    /// An ONNX graph takes `images` [N, 3, side, side], RGB from 0 to 1 (mean and deviation are taken care of inside), and
    /// gives `probabilities`, `logits`, `features` and `unknown`, the probability of all private classes. A safetensors file
    /// holds the weights for PyTorch. Both hold class names and preprocessing; docs/EXPORT.md has examples.
    #[arg(long, value_name = "FILE.onnx|FILE.safetensors")]
    pub out: PathBuf,
    /// About a model made elsewhere.
    #[command(flatten)]
    pub foreign: ForeignArgs,
}

/// `newfound inspect`
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// A model file, a run folder, or a folder, list or file of images.
    #[arg(value_name = "MODEL|RUN|IMAGES")]
    pub path: PathBuf,
}

/// `newfound bench`
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// The benchmark: office31 or office-home.
    #[arg(value_name = "BENCHMARK")]
    pub benchmark: Benchmark,
    /// The folder that holds its domains.
    #[arg(long, value_name = "DIR")]
    pub root: PathBuf,
    /// Weights of the body that the source models start from.
    #[arg(long, value_name = "FILE")]
    pub weights: PathBuf,
    /// Some of the tasks, such as a2w,d2w [default: all].
    #[arg(long, value_name = "LIST")]
    pub tasks: Option<String>,
    /// Its division into known and private classes; office31-draw1-10-11 is one by lot: draw 1, 10 known classes, 11 private [default: the paper's].
    #[arg(long, value_name = "NAME")]
    pub split: Option<Split>,
    /// Number of seeds, of source training and adaptation, counted up from --seed.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seeds: u64,
    /// A study instead of the defaults: of the paper's choices, ablation, private, uncertainty, selection, contrast, complementary,
    /// diversity, shared-prototypes, batch-norm, matching, k-means, bank-temperature, ema or neighbours; of the verdict, broken (set-ups
    /// broken on purpose).
    #[arg(long, value_name = "NAME")]
    pub study: Option<String>,
    /// Write all figures to this file.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Number of private classes to allow for, as for adapt.
    #[arg(long, value_name = "N", value_parser = private)]
    pub private: Option<Value>,
    /// Draw them into this file, as SVG.
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Draw how true the probabilities of being new are into this file, as SVG: a curve for each task, and one for all.
    #[arg(long, value_name = "FILE", conflicts_with = "study")]
    pub calibration: Option<PathBuf>,
    /// Where models and records are kept; finished tasks are not run again [default: newfound-bench].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// A named set of choices: paper.
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// How to adapt; --train holds for the source models too.
    #[command(flatten)]
    pub work: WorkArgs,
}

/// A number, or a rule for one.
fn private(text: &str) -> Result<Value, String> {
    match text {
        "auto" | "same" => Ok(Value::String(text.to_string())),
        _ => text
            .parse::<u32>()
            .map(|count| Value::Integer(i64::from(count)))
            .map_err(|_| "give a number, or auto, or same".to_string()),
    }
}

/// A share of 1.
fn share(text: &str) -> Result<f64, String> {
    let share: Option<f64> = text.parse().ok();
    share
        .filter(|share| (0.0..1.0).contains(share))
        .ok_or_else(|| "give a share from 0 to less than 1, such as 0.1".to_string())
}

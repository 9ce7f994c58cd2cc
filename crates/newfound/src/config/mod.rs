//! Every choice of a run by name: defaults < preset < file < flags.

mod adapt;
mod layers;
mod train;

pub use adapt::{AdaptConfig, ClassShares, Ema, Private, Search, StartNorm, TeacherNorm, Trained};
pub use layers::{Configuration, Problem, Problems, parse_value, resolve};
pub use train::TrainConfig;

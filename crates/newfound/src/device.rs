//! Where tensors live, by name.

use burn::tensor::Device;

use crate::error::{Error, Result};
use crate::network::Engine;

/// A device the program was built for.
#[derive(Debug, Clone)]
pub struct Place {
    /// The device.
    pub device: Device,
    /// What computes the network on it.
    pub engine: Engine,
    /// Its name, for the manifest.
    pub name: String,
}

impl Place {
    /// Whether it is the processor itself.
    pub fn is_cpu(&self) -> bool {
        self.name == "cpu"
    }
}

/// `cpu`, or `cuda:0`, `rocm:0`, `wgpu`, `metal`, `vulkan` where the program was built with that feature.
pub fn place(name: &str) -> Result<Place> {
    let (kind, index) = match name.split_once(':') {
        Some((kind, index)) => (kind, index.parse::<usize>().ok()),
        None => (name, Some(0)),
    };
    let device = match (kind, index) {
        ("cpu", _) if name == "cpu" => Some(Device::flex()),
        #[cfg(feature = "cuda")]
        ("cuda", Some(index)) => Some(Device::cuda(index)),
        #[cfg(feature = "rocm")]
        ("rocm", Some(index)) => Some(Device::rocm(index)),
        #[cfg(feature = "wgpu")]
        ("wgpu", Some(_)) if name == "wgpu" => Some(Device::wgpu(Default::default())),
        #[cfg(feature = "metal")]
        ("metal", Some(_)) if name == "metal" => Some(Device::metal(Default::default())),
        #[cfg(feature = "vulkan")]
        ("vulkan", Some(_)) if name == "vulkan" => Some(Device::vulkan(Default::default())),
        _ => None,
    };
    let Some(device) = device else {
        let known = ["cpu", "cuda:N", "rocm:N", "wgpu", "metal", "vulkan"];
        let built: Vec<&str> = known
            .into_iter()
            .zip([
                true,
                cfg!(feature = "cuda"),
                cfg!(feature = "rocm"),
                cfg!(feature = "wgpu"),
                cfg!(feature = "metal"),
                cfg!(feature = "vulkan"),
            ])
            .filter_map(|(name, built)| built.then_some(name))
            .collect();
        let message = format!(
            "no device is called {name:?} here; this program has {}",
            built.join(", ")
        );
        return Err(Error::request(
            message,
            "other devices need a build with their feature, such as cargo build --release --features cuda",
        ));
    };
    let engine = if name == "cpu" {
        Engine::for_cpu()
    } else {
        Engine::Burn
    };
    Ok(Place {
        device,
        engine,
        name: name.to_string(),
    })
}

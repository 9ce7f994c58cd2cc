//! The paper's studies: the same tasks with one choice changed at a time.

use toml::{Table, Value};

use crate::config::{AdaptConfig, Problem, Problems, resolve};

/// A configuration with a name.
#[derive(Debug, Clone)]
pub struct Variant {
    /// What differs, such as `private=5`; `defaults` where nothing does.
    pub name: String,
    /// All choices.
    pub config: AdaptConfig,
}

/// A set of variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Study {
    /// Its name on the command line.
    pub name: &'static str,
    /// What is changed, `key=value` with `;` between several of them.
    variants: &'static [&'static str],
}

/// All studies.
const STUDIES: [Study; 11] = [
    // Clustering alone is in every table; then both uncertainties one after the other, and the contrastive loss.
    Study {
        name: "ablation",
        variants: &[
            "consensus-weight=none;separation-weight=none;gamma-contrastive=0.0",
            "separation-weight=none;gamma-contrastive=0.0",
            "gamma-contrastive=0.0",
            "contrast=literal",
            "contrast=combined",
        ],
    },
    Study {
        name: "private",
        variants: &[
            "private=1",
            "private=3",
            "private=5",
            "private=8",
            "private=11",
            "private=15",
            "private=20",
            "private=30",
        ],
    },
    Study {
        name: "uncertainty",
        variants: &[
            "consensus-weight=linear;separation-weight=linear",
            "consensus-weight=linear;separation-weight=exponential",
            "consensus-weight=exponential;separation-weight=linear",
            "consensus-weight=exponential;separation-weight=exponential",
        ],
    },
    Study {
        name: "selection",
        variants: &["selection=and", "selection=or"],
    },
    Study {
        name: "contrast",
        variants: &[
            "contrast=literal",
            "contrast=positive",
            "contrast=combined",
            "contrast=info-nce",
        ],
    },
    Study {
        name: "complementary",
        variants: &["complementary=one", "complementary=all"],
    },
    Study {
        name: "matching",
        variants: &["matching=hungarian", "matching=greedy"],
    },
    Study {
        name: "k-means",
        variants: &["k-means=spherical", "k-means=euclidean"],
    },
    Study {
        name: "bank-temperature",
        variants: &[
            "bank-temperature=0.02",
            "bank-temperature=0.05",
            "bank-temperature=0.1",
            "bank-temperature=0.3",
        ],
    },
    Study {
        name: "ema",
        variants: &["ema=0.9", "ema=0.99", "ema=0.999"],
    },
    Study {
        name: "neighbours",
        variants: &[
            "neighbours=3",
            "neighbours=5",
            "neighbours=10",
            "neighbours=20",
        ],
    },
];

impl Study {
    /// The names of all studies.
    pub fn names() -> Vec<&'static str> {
        STUDIES.iter().map(|study| study.name).collect()
    }

    /// The study with this name.
    pub fn find(name: &str) -> Option<Self> {
        STUDIES.into_iter().find(|study| study.name == name)
    }

    /// Its variants of a configuration.
    pub fn variants(self, base: &AdaptConfig) -> Vec<Variant> {
        let make = |changes: &&str| {
            let config = changed(base, changes).expect("the studies' own keys are right");
            Variant {
                name: changes.replace(';', ", "),
                config,
            }
        };
        self.variants.iter().map(make).collect()
    }
}

/// A configuration with some keys changed, given as `key=value;key=value`.
fn changed(base: &AdaptConfig, changes: &str) -> Result<AdaptConfig, Problems> {
    let base = Table::try_from(base).expect("a flat struct of numbers and words");
    let pairs = changes.split(';').filter_map(|pair| pair.split_once('='));
    let value = |text: &str| {
        let parsed = format!("v = {text}").parse::<Table>().ok();
        let value = parsed.and_then(|mut table| table.remove("v"));
        value.unwrap_or_else(|| Value::String(text.to_string()))
    };
    let table = pairs
        .map(|(key, text)| (key.to_string(), value(text)))
        .collect();
    resolve(None, Some(base), table, Vec::<Problem>::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_is_a_configuration_that_differs() {
        let base = AdaptConfig::default();
        for name in Study::names() {
            let variants = Study::find(name).unwrap().variants(&base);
            for (i, variant) in variants.iter().enumerate() {
                let same = variants[..i]
                    .iter()
                    .any(|other| other.config == variant.config);
                assert!(!same, "{name}: {} is there twice", variant.name);
            }
            let differing = variants.iter().filter(|variant| variant.config != base);
            assert!(differing.count() + 1 >= variants.len(), "{name}");
        }
        assert!(Study::find("colour").is_none());
    }
}

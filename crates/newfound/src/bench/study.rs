//! The paper's studies: the same tasks with one choice changed at a time.

use toml::Table;

use super::damage::Damage;
use crate::config::{AdaptConfig, Problem, Problems, parse_value, resolve};

/// A configuration with a name.
#[derive(Debug, Clone)]
pub struct Variant {
    /// What differs, such as `private=5`; `defaults` where nothing does.
    pub name: String,
    /// All choices.
    pub config: AdaptConfig,
    /// What is broken on purpose.
    pub damage: Option<Damage>,
}

/// A set of variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Study {
    /// Its name on the command line.
    pub name: &'static str,
    /// What is changed, `key=value` with `;` between several of them, and a name before it where that says more. `damage` is no choice of the configuration but
    /// what is [broken](Damage) on purpose.
    variants: &'static [&'static str],
}

/// All studies.
const STUDIES: [Study; 15] = [
    // Clustering alone is in every table; then both uncertainties one after the other, and the contrastive loss.
    Study {
        name: "ablation",
        variants: &[
            "all images, no contrast: consensus-weight=none;separation-weight=none;gamma-contrastive=0.0",
            "+ u_nc: separation-weight=none;gamma-contrastive=0.0",
            "+ u_cs: gamma-contrastive=0.0",
            "+ NL-InfoNCE as printed: contrast=literal",
            "+ NL-InfoNCE combined: contrast=combined",
        ],
    },
    // In shares of C, the number of known classes: from a single private class to three for each known one.
    Study {
        name: "private",
        variants: &[
            "private=0C",
            "private=0.3C",
            "private=0.5C",
            "private=0.8C",
            "private=1C",
            "private=1.1C",
            "private=1.5C",
            "private=2C",
            "private=3C",
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
        name: "diversity",
        variants: &[
            "gamma-diversity=0.0",
            "gamma-diversity=1.0",
            "gamma-diversity=3.0",
            "class-shares=equal",
        ],
    },
    Study {
        name: "shared-prototypes",
        variants: &[
            "shared-prototypes=source",
            "shared-prototypes=blend",
            "shared-prototypes=centroid",
        ],
    },
    Study {
        name: "batch-norm",
        variants: &[
            "teacher-norm=eval",
            "teacher-norm=train",
            "start-norm=target;teacher-norm=eval",
            "start-norm=target;teacher-norm=train",
        ],
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
        variants: &["ema=0.9", "ema=0.99", "ema=0.999", "ema=auto"],
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
    // Not the paper's: whether the verdict tells good from harmful.
    Study {
        name: "broken",
        variants: &[
            "as it should be: ",
            "learning rate × 100: learning-rate=100x",
            "pixels 0–255: damage=raw-pixels",
            "mean and deviation forgotten: damage=forgotten-colours",
            "labels shuffled: damage=shuffled-labels",
            "target of noise: damage=noise",
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

    /// Its variants of a configuration, for C known classes.
    pub fn variants(self, base: &AdaptConfig, known: usize) -> Vec<Variant> {
        let make = |changes: &&str| {
            let (name, changes) = match changes.split_once(": ") {
                Some((name, changes)) => (name.to_string(), changes.to_string()),
                None => {
                    let changes = in_numbers(changes, known);
                    (changes.replace(';', ", "), changes)
                }
            };
            let damage = changes.strip_prefix("damage=");
            let damage = damage.map(|name| Damage::named(name).expect("a damage of ours"));
            let changes = match damage {
                Some(_) => String::new(),
                None => changes.replace("100x", &(100.0 * base.learning_rate).to_string()),
            };
            let config = changed(base, &changes).expect("the studies' own keys are right");
            Variant {
                name,
                config,
                damage,
            }
        };
        self.variants.iter().map(make).collect()
    }
}

/// A value in shares of C, such as `private=1.5C`, as a number: at least 1.
fn in_numbers(changes: &str, known: usize) -> String {
    let share = changes.strip_suffix('C').and_then(|c| c.split_once('='));
    let Some((key, share)) = share.and_then(|(key, share)| Some((key, share.parse::<f64>().ok()?)))
    else {
        return changes.to_string();
    };
    format!("{key}={}", ((share * known as f64).round() as usize).max(1))
}

/// A configuration with some keys changed, given as `key=value;key=value`.
fn changed(base: &AdaptConfig, changes: &str) -> Result<AdaptConfig, Problems> {
    let base = Table::try_from(base).expect("a flat struct of numbers and words");
    let pairs = changes.split(';').filter_map(|pair| pair.split_once('='));
    let table = pairs
        .map(|(key, text)| (key.to_string(), parse_value(text)))
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
            let variants = Study::find(name).unwrap().variants(&base, 10);
            for (i, variant) in variants.iter().enumerate() {
                let same = variants[..i].iter().any(|other| {
                    (&other.config, other.damage) == (&variant.config, variant.damage)
                });
                assert!(!same, "{name}: {} is there twice", variant.name);
            }
            let differs = |v: &&Variant| v.config != base || v.damage.is_some();
            let differing = variants.iter().filter(differs);
            assert!(differing.count() + 1 >= variants.len(), "{name}");
        }
        assert!(Study::find("colour").is_none());
        let broken = Study::find("broken").unwrap().variants(&base, 10);
        assert_eq!((&broken[0].config, broken[0].damage), (&base, None));
        let rate = broken[1].config.learning_rate;
        assert!((rate / base.learning_rate - 100.0).abs() < 1e-9, "{rate}");
        assert_eq!(broken[4].damage, Some(Damage::ShuffledLabels));
    }

    #[test]
    fn private_classes_go_from_one_to_three_for_each_known_one() {
        let numbers = |known: usize| -> Vec<usize> {
            let variants = Study::find("private")
                .unwrap()
                .variants(&AdaptConfig::default(), known);
            variants
                .iter()
                .filter_map(|variant| variant.config.private.count(known))
                .collect()
        };
        assert_eq!(numbers(10), [1, 3, 5, 8, 10, 11, 15, 20, 30]);
        assert_eq!(numbers(25), [1, 8, 13, 20, 25, 28, 38, 50, 75]);
    }
}

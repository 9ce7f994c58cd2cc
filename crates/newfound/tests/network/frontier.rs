//! A network in two parts is the whole network.

use newfound::network::{Part, download};

use crate::formula;
use crate::model::{ENGINES, model, pass};

#[test]
fn what_is_frozen_and_what_follows_are_the_whole() {
    for name in ["small", "resnet18", "resnet50_v1"] {
        for engine in ENGINES {
            let (network, parameters) = model(name, engine, 0.0);
            let input = || formula::tensor("input", [2, 3, 64, 64]);
            let whole = download(network.features(&parameters, input(), &pass(false)));
            for frontier in [Part::Body(1), network.last_stage(), Part::Bottleneck] {
                let frozen = network.frozen(&parameters, input(), frontier, &pass(false));
                let [batch, sizes @ ..] = frozen.dims();
                assert_eq!(batch, 2);
                assert_eq!(
                    sizes,
                    network.frozen_shape(frontier, 64),
                    "{name} {frontier:?}"
                );
                let rest = network.clone().beyond(frontier);
                let found = download(rest.features(&parameters, frozen, &pass(false)));
                assert_eq!(found, whole, "{name} {engine:?} {frontier:?}");
            }
        }
    }
}

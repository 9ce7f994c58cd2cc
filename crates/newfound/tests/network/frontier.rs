//! A network in two parts is the whole network.

use newfound::network::{Engine, Part, download};

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

/// What is kept of an image serves any list with it, so it must not depend on what is beside it.
#[test]
fn an_image_gives_the_same_bits_in_any_batch() {
    for (name, side) in [("small", 32), ("resnet18", 64), ("resnet50_v1", 96)] {
        let (network, parameters) = model(name, Engine::Cpu, 0.0);
        let input = formula::tensor("input", [9, 3, side, side]);
        for frontier in [Part::Body(1), network.last_stage(), Part::Bottleneck] {
            let bits = |from: usize, to: usize| -> Vec<u32> {
                let some = input.clone().narrow(0, from, to - from);
                let frozen = network.frozen(&parameters, some, frontier, &pass(false));
                download(frozen).into_iter().map(f32::to_bits).collect()
            };
            let all = bits(0, 9);
            let apart = [bits(0, 1), bits(1, 3), bits(3, 4), bits(4, 9)].concat();
            let differ = all.iter().zip(&apart).filter(|(a, b)| a != b).count();
            assert_eq!((all.len(), differ), (apart.len(), 0), "{name} {frontier:?}");
        }
    }
}

//! Images and classes of a run, as the page wants them.

use newfound::insight::{ImageInsight, Insight};
use newfound::run::Probabilities;
use newfound_report as page;

use super::Finished;

/// Guesses of an image that are shown.
const GUESSES: usize = 3;

/// Two images may resemble each other by chance; a third makes a class.
const FEWEST: usize = 3;

/// Every image, in the order of `predictions.csv`.
pub fn images(
    run: &Finished,
    insight: &Insight,
    probabilities: &Probabilities,
) -> Vec<page::Image> {
    let outputs = run.description.classes.len();
    let of = |table: &newfound::weights::Array, row: usize| {
        table.values[row * outputs..][..outputs].to_vec()
    };
    let image = |(row, about): (usize, &ImageInsight)| {
        let guesses = best(&of(&probabilities.adapted, row), GUESSES);
        let refined = best(&of(&probabilities.refined, row), 1);
        let prediction = &run.rows[row];
        page::Image {
            path: prediction.path.clone(),
            picture: run.picture(row),
            class: guesses[0].class,
            confidence: f64::from(prediction.confidence),
            unknown: f64::from(prediction.unknown),
            refined: refined[0].class,
            u_nc: prediction.u_nc.map(f64::from),
            u_cs: prediction.u_cs.map(f64::from),
            guesses,
            neighbours: about.neighbours.clone(),
            typicality: Some(f64::from(about.typicality)),
            changed: Some(about.changes > 0),
            before: Some(about.before.map(f64::from)),
            after: Some(about.after.map(f64::from)),
            truth: run.truth(row),
        }
    };
    insight.images.iter().enumerate().map(image).collect()
}

/// The most probable classes, equal ones by their number.
fn best(probabilities: &[f32], count: usize) -> Vec<page::Guess> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|&a, &b| {
        probabilities[b]
            .total_cmp(&probabilities[a])
            .then(a.cmp(&b))
    });
    let guess = |&class: &usize| page::Guess {
        class,
        probability: f64::from(probabilities[class]),
    };
    order.iter().take(count).map(guess).collect()
}

/// Every class of the adapted model.
pub fn classes(run: &Finished, insight: &Insight, images: &[page::Image]) -> Vec<page::Class> {
    let names = run.description.classes.iter().enumerate();
    let class = |(index, name): (usize, &String)| {
        let members: Vec<&page::Image> =
            images.iter().filter(|image| image.class == index).collect();
        let mean = |of: &dyn Fn(&page::Image) -> Option<f64>| {
            let values: Vec<f64> = members.iter().filter_map(|image| of(image)).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        let about = insight.classes[index];
        // A single image is its own centre: it resembles itself, and that says nothing.
        let compared = |_: &f32| members.len() > 1;
        page::Class {
            name: name.clone(),
            kind: kind(index, run.description.known),
            count: members.len(),
            confidence: mean(&|image| Some(image.confidence)),
            u_nc: mean(&|image| image.u_nc),
            u_cs: mean(&|image| image.u_cs),
            nearest: about.nearest_known.map(|(class, distance)| page::Nearest {
                class,
                distance: f64::from(distance),
            }),
            consistency: about.consistency.filter(compared).map(f64::from),
            separation: about.separation.filter(compared).map(f64::from),
            doubts: Vec::new(),
        }
    };
    let mut classes: Vec<page::Class> = names.map(class).collect();
    let within = within_known(&classes);
    let doubts: Vec<Vec<String>> = classes
        .iter()
        .map(|class| doubts(class, &classes, within))
        .collect();
    classes
        .iter_mut()
        .zip(doubts)
        .for_each(|(class, doubts)| class.doubts = doubts);
    classes
}

pub fn kind(index: usize, known: usize) -> page::ClassKind {
    if index < known {
        page::ClassKind::Known
    } else {
        page::ClassKind::Discovered
    }
}

/// Half the distance between the two known classes that are closest to each other; none with fewer
/// than two that have images.
///
/// The run's own measure of *inside*: known classes that do not overlap reach that far from their
/// centres at most, so that a centre nearer than this to one of them lies within it.
fn within_known(classes: &[page::Class]) -> Option<f64> {
    let known = classes
        .iter()
        .filter(|class| class.kind == page::ClassKind::Known);
    let distances = known.filter_map(|class| Some(class.nearest?.distance));
    Some(distances.min_by(f64::total_cmp)? / 2.0)
}

/// What speaks against a discovered class.
///
/// Its images should stand apart from other classes more than their neighbours disagree about them.
/// Both figures are between 0 and 1, and where they cross there is as much against the class as for it:
/// a limit that needs no constant.
fn doubts(class: &page::Class, classes: &[page::Class], within: Option<f64>) -> Vec<String> {
    let mut doubts = Vec::new();
    if class.kind == page::ClassKind::Known || class.count == 0 {
        return doubts;
    }
    if class.count < FEWEST {
        doubts.push("It has hardly any images.".to_string());
    }
    if let (Some(separation), Some(disagreement)) = (class.separation, class.u_nc)
        && separation < disagreement
    {
        let doubt = "It is a mixture: the images most like its own often have other labels.";
        doubts.push(doubt.to_string());
    }
    if let (Some(nearest), Some(within)) = (class.nearest, within)
        && nearest.distance < within
    {
        let name = &classes[nearest.class].name;
        doubts.push(format!(
            "It lies so close to the known class {name} that it may be a part of it."
        ));
    }
    doubts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(kind: page::ClassKind, nearest: usize, distance: f64) -> page::Class {
        page::Class {
            name: "cat".into(),
            kind,
            count: 9,
            confidence: None,
            u_nc: Some(0.2),
            u_cs: None,
            nearest: Some(page::Nearest {
                class: nearest,
                distance,
            }),
            consistency: None,
            separation: Some(0.5),
            doubts: Vec::new(),
        }
    }

    #[test]
    fn a_discovered_class_is_measured_by_the_known_ones() {
        use page::ClassKind::{Discovered, Known};
        let known = [class(Known, 1, 0.8), class(Known, 0, 0.8)];
        let within = within_known(&known);
        assert_eq!(within, Some(0.4));
        assert_eq!(within_known(&[class(Discovered, 0, 0.1)]), None);

        let about = |change: &dyn Fn(&mut page::Class)| {
            let mut new = class(Discovered, 0, 0.5);
            change(&mut new);
            doubts(&new, &known, within).concat()
        };
        assert_eq!(about(&|_| ()), "");
        assert!(about(&|new| new.count = 2).contains("hardly any"));
        assert!(about(&|new| new.u_nc = Some(0.6)).contains("a mixture"));
        let near = |new: &mut page::Class| new.nearest.as_mut().unwrap().distance = 0.39;
        assert!(about(&near).contains("known class cat"));
        assert_eq!(about(&|new| new.count = 0), "");
        assert_eq!(doubts(&known[0], &known, Some(9.0)), [""; 0]);
    }
}

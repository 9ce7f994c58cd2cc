//! Images and classes of a run, as the page wants them.

use newfound::insight::{ImageInsight, Insight};
use newfound::run::Probabilities;
use newfound_report as page;

use super::Finished;

/// Guesses of an image that are shown.
const GUESSES: usize = 3;

/// A discovered class is doubtful where its images are hardly more like each other than like those of another class …
const SEPARATED: f32 = 0.1;

/// … or where its centre is as near to a known class as this.
const NEAR_KNOWN: f32 = 0.3;

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
            consistency: about.consistency.map(f64::from),
            separation: about.separation.map(f64::from),
            doubts: doubts(run, insight, index, members.len()),
        }
    };
    names.map(class).collect()
}

pub fn kind(index: usize, known: usize) -> page::ClassKind {
    if index < known {
        page::ClassKind::Known
    } else {
        page::ClassKind::Discovered
    }
}

/// What speaks against a discovered class.
fn doubts(run: &Finished, insight: &Insight, index: usize, count: usize) -> Vec<String> {
    let about = insight.classes[index];
    let mut doubts = Vec::new();
    if index < run.description.known || count == 0 {
        return doubts;
    }
    if count < 3 {
        doubts.push("It has hardly any images.".to_string());
    }
    if about
        .separation
        .is_some_and(|separation| separation < SEPARATED)
    {
        doubts.push(
            "Its images are hardly more like each other than like those of another class."
                .to_string(),
        );
    }
    if let Some((nearest, distance)) = about.nearest_known
        && distance < NEAR_KNOWN
    {
        let name = &run.description.classes[nearest];
        doubts.push(format!(
            "It lies close to the known class {name} and may be a part of it."
        ));
    }
    doubts
}

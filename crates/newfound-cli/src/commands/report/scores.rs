//! How good a run is, where it was evaluated.

use newfound::evaluate::Evaluation;
use newfound::metrics;
use newfound_report as page;

use super::found::kind;

/// The four ways to predict, scored.
pub fn scores(evaluation: &Evaluation, known: usize) -> page::Evaluation {
    let adapted = &evaluation.adapted;
    let per_class = adapted
        .per_class
        .iter()
        .zip(&evaluation.source_only.per_class)
        .enumerate();
    page::Evaluation {
        source: short(&evaluation.source_only),
        clustering: short(&evaluation.clustering),
        adapted: short(adapted),
        refined: short(&evaluation.refined),
        per_class: per_class
            .map(|(index, (class, source))| page::ClassScore {
                name: class.name.clone(),
                kind: kind(index, known),
                images: class.images as usize,
                accuracy: class.accuracy,
                source_accuracy: source.accuracy,
            })
            .collect(),
        confusion: page::Confusion {
            rows: adapted.confusion.rows.clone(),
            columns: adapted.confusion.columns.clone(),
            known,
            counts: adapted
                .confusion
                .counts
                .iter()
                .map(|row| row.iter().map(|&n| n as usize).collect())
                .collect(),
        },
        calibration: adapted
            .calibration
            .iter()
            .flat_map(|calibration| &calibration.bins)
            .map(|bin| page::Stated {
                images: bin.images as usize,
                stated: bin.stated,
                new: bin.new,
            })
            .collect(),
        abstention: adapted
            .coverage
            .iter()
            .map(|step| page::Abstained {
                left_out: step.abstained,
                scores: page::Scores {
                    os_star: step.os_star,
                    unk: step.unk,
                    hos: step.hos,
                },
            })
            .collect(),
    }
}

/// The three figures of the headline.
pub fn short(scores: &metrics::Scores) -> page::Scores {
    page::Scores {
        os_star: scores.os_star,
        unk: scores.unk,
        hos: scores.hos,
    }
}

//! `newfound evaluate`

use newfound::Result;
use newfound::evaluate::{Evaluation, evaluate};
use newfound::events::{Event, Observer};
use newfound::images::{Side, labelled};
use newfound::metrics::Scores;
use newfound::run::RunFolder;

use crate::args::{EvaluateArgs, Way};
use crate::terminal::Terminal;

pub fn run(args: &EvaluateArgs, terminal: &Terminal) -> Result<()> {
    let folder = RunFolder::finished(&args.run)?;
    let labels = labelled(&args.labels, args.split, Side::Both, None)?;
    let evaluation = evaluate(&folder, &labels, args.abstain)?;
    if evaluation.unlabelled > 0 {
        let message = format!(
            "{} images of the run have no label and are not scored",
            evaluation.unlabelled
        );
        terminal.on(&Event::Warning { message });
    }
    if evaluation.adapted.os_star.is_none() {
        let message = "no label is one of the model's known classes, so every image counts as unknown: \
                       are these the names of the model's classes? (newfound inspect RUN/model.safetensors lists them)";
        terminal.on(&Event::Warning {
            message: message.into(),
        });
    }
    if args.json {
        let text = match args.of {
            Way::SourceOnly => json(&evaluation.source_only),
            Way::Clustering => json(&evaluation.clustering),
            Way::Adapted => json(&evaluation.adapted),
            Way::Refined => json(&evaluation.refined),
            Way::All => json(&evaluation),
        };
        terminal.data(&text);
    } else {
        terminal.data(&table(&evaluation));
        terminal.data(&details(&evaluation.adapted));
        terminal.data(&trust(&evaluation.adapted));
    }
    if args.abstain > 0.0 {
        return Ok(());
    }
    // The scores are there, whatever becomes of the page.
    let kept = evaluation.write(&folder);
    if let Err(error) = kept.and_then(|()| super::report::write(&folder, terminal)) {
        let message = format!("the report was not written: {error}");
        terminal.on(&Event::Warning { message });
    }
    Ok(())
}

fn json(value: &impl serde::Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("scores are plain data");
    text.push('\n');
    text
}

/// A figure with one digit, or a dash where there is none.
fn figure(value: Option<f64>) -> String {
    value.map_or("–".to_string(), |value| format!("{value:.1}"))
}

/// The four ways to predict side by side.
pub fn table(evaluation: &Evaluation) -> String {
    let ways = [
        ("source model, entropy threshold", &evaluation.source_only),
        ("clustering alone", &evaluation.clustering),
        ("adapted", &evaluation.adapted),
        ("adapted, neighbour-refined", &evaluation.refined),
    ];
    let mut text = format!(
        "{:<33}{:>7}{:>7}{:>7}{:>8}{:>7}\n",
        "", "OS*", "UNK", "HOS", "AUROC", "novel"
    );
    for (name, scores) in ways {
        let Scores {
            os_star,
            unk,
            hos,
            auroc,
            novel,
            ..
        } = scores;
        text += &format!(
            "{name:<33}{:>7}{:>7}{:>7}{:>8}{:>7}\n",
            figure(*os_star),
            figure(*unk),
            figure(*hos),
            figure(*auroc),
            figure(novel.accuracy)
        );
    }
    text
}

/// The adapted classifier's other figures and its classes.
fn details(scores: &Scores) -> String {
    let true_p = scores.novel.true_p.as_ref().map_or(String::new(), |novel| {
        format!(
            "; with the true number of new classes: novel {}, NMI {}, ARI {}",
            figure(novel.accuracy),
            figure(novel.nmi),
            figure(novel.ari)
        )
    });
    let mut text = format!(
        "\nadapted: OS {}, UNK by class {}, HOS by class {}, FPR95 {}, OSCR {}, novel NMI {}, ARI {}{}\n\n{:<33}{:>7}{:>10}\n",
        figure(scores.os),
        figure(scores.unk_macro),
        figure(scores.hos_macro),
        figure(scores.fpr95),
        figure(scores.oscr),
        figure(scores.novel.nmi),
        figure(scores.novel.ari),
        true_p,
        "class",
        "images",
        "accuracy"
    );
    for class in &scores.per_class {
        text += &format!(
            "{:<33}{:>7}{:>10}\n",
            class.name,
            class.images,
            figure(class.accuracy)
        );
    }
    text
}

/// Whether the probability of being new means what it says, and what is gained by leaving out doubtful images.
fn trust(scores: &Scores) -> String {
    let mut text = String::new();
    if let Some(calibration) = &scores.calibration {
        text += &format!(
            "\n`unknown` against the truth: calibration error {:.1}\n{:>8}{:>8}{:>8}\n",
            calibration.ece, "stated", "new", "images"
        );
        for bin in &calibration.bins {
            text += &format!("{:>8.0}{:>8.0}{:>8}\n", bin.stated, bin.new, bin.images);
        }
    }
    if scores.coverage.is_empty() {
        return text;
    }
    text += &format!(
        "\n{:>8}{:>8}{:>7}{:>7}{:>7}\n",
        "left out", "images", "OS*", "UNK", "HOS"
    );
    for step in &scores.coverage {
        text += &format!(
            "{:>6.0} %{:>8}{:>7}{:>7}{:>7}\n",
            step.abstained,
            step.images,
            figure(step.os_star),
            figure(step.unk),
            figure(step.hos)
        );
    }
    text
}

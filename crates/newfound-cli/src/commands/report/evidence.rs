//! What speaks for and against a run.

use newfound::Result;
use newfound::initialise::ClusteringReport;
use newfound::run::RunFolder;
use newfound_report as page;

use super::{Finished, read_text};

/// What the run logged and found at its beginning.
pub fn evidence(folder: &RunFolder, run: &Finished) -> Result<page::Evidence> {
    let epochs = epochs(folder)?;
    let clustering = ClusteringReport::read(folder)?;
    let absent: Vec<&String> = clustering.absent().map(|found| &found.class).collect();
    let matches = clustering
        .matches
        .iter()
        .zip(&clustering.sizes)
        .map(|(found, &images)| page::Match {
            class: found.class.clone(),
            images,
            similarity: found.similarity,
            margin: found.margin,
            doubtful: found.doubtful,
            absent: absent.contains(&&found.class),
        });
    let unreadable = run.manifest.bad.iter().map(|bad| page::Unreadable {
        path: bad.path.clone(),
        reason: bad.reason.clone(),
    });
    Ok(page::Evidence {
        // The page itself warns of what its figures show.
        warnings: Vec::new(),
        epochs,
        matches: matches.collect(),
        unreadable: unreadable.collect(),
    })
}

/// The figures of each epoch, from the run's log.
pub fn epochs(folder: &RunFolder) -> Result<Vec<page::Epoch>> {
    let of_epochs = events(folder)?
        .into_iter()
        .filter(|event| event["event"] == "epoch");
    let epochs = of_epochs.map(|event| {
        let figure = |name: &str| event[name].as_f64().unwrap_or(f64::NAN);
        page::Epoch {
            epoch: figure("epoch") as usize,
            loss: figure("loss"),
            classification: figure("classification"),
            contrastive: figure("contrastive"),
            diversity: figure("diversity"),
            selected: figure("selected"),
            label_changes: figure("label_changes") as usize,
        }
    });
    Ok(epochs.collect())
}

/// All events of the run's log that can be understood.
pub fn events(folder: &RunFolder) -> Result<Vec<serde_json::Value>> {
    let text = read_text(&folder.events())?;
    Ok(text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect())
}

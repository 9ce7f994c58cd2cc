//! `newfound bench`

use std::path::PathBuf;

use newfound::bench::{
    Benchmark, Damage, Record, Request, Results, Study, Task, Variant, published, run as run_task,
};
use newfound::config::{AdaptConfig, TrainConfig};
use newfound::discovery::{Estimate, Kind};
use newfound::events::{Event, Observer};
use newfound::health::Predictions;
use newfound::images::Split;
use newfound::metrics::Summary;
use newfound::metrics::calibration::pooled;
use newfound::{Error, Result, atomic, device};
use newfound_report::{DotChart, DotRow, ReliabilityChart, ReliabilityCurve};
use toml::Table;

use super::configuration;
use crate::args::{BenchArgs, WorkArgs};
use crate::terminal::Terminal;

/// Progress without the epochs and warnings of dozens of runs.
struct Calm<'a>(&'a Terminal);

impl Observer for Calm<'_> {
    fn on(&self, event: &Event) {
        if !matches!(
            event,
            Event::Warning { .. }
                | Event::Epoch(_)
                | Event::TrainingEpoch { .. }
                | Event::Estimated(_)
                | Event::Judged(_)
        ) {
            self.0.on(event);
        }
    }

    fn stop_requested(&self) -> bool {
        self.0.stop_requested()
    }
}

pub fn run(args: &BenchArgs, terminal: &Terminal) -> Result<()> {
    let place = device::place(&args.work.device)?;
    let tasks = match &args.tasks {
        Some(list) => args.benchmark.parse_tasks(list)?,
        None => args.benchmark.tasks(),
    };
    let split = chosen_split(args)?;
    let base: AdaptConfig = configuration(
        &args.work,
        args.preset.as_deref(),
        super::private(args.private.as_ref()),
    )?;
    let train: TrainConfig = configuration(&only_train(&args.work), None, Table::new())?;
    let variants = match &args.study {
        None => vec![Variant {
            name: "defaults".to_string(),
            config: base,
            damage: None,
        }],
        Some(name) => study(name)?.variants(&base, known(args, split)?),
    };
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from("newfound-bench"));
    let request = Request {
        benchmark: args.benchmark,
        split,
        root: &args.root,
        weights: &args.weights,
        out: &out,
        cache: args.work.cache.as_deref(),
        train,
    };
    let (calm, mut all) = (Calm(terminal), Vec::new());
    for variant in &variants {
        let mut records = Vec::new();
        let first = args.work.seed.unwrap_or(0);
        for seed in first..first + args.seeds {
            for &task in &tasks {
                let record = run_task(&request, task, seed, variant, &place, &calm)?;
                terminal.say(&line(&record, &variant.name));
                records.push(record);
            }
        }
        all.push((variant.name.clone(), Results::of(records)));
    }
    let text = match &args.study {
        None => table(&all[0].1, &tasks, args.benchmark, split),
        Some(name) if name == "broken" => verdict_table(&variants, &all, &tasks),
        Some(name) => study_table(name, &all, &tasks),
    };
    terminal.data(&text);
    if let Some(path) = &args.plot {
        let svg = match &args.study {
            None => task_plot(&all[0].1, &tasks, split).render(),
            Some(name) => study_plot(name, &all, &tasks, split).render(),
        };
        atomic::write(path, svg.as_bytes())
            .map_err(|source| Error::io("draw the plot", path, source))?;
    }
    if let Some(path) = &args.calibration {
        let svg = calibration_plot(&all[0].1, &tasks, split).render();
        atomic::write(path, svg.as_bytes())
            .map_err(|source| Error::io("draw the curves", path, source))?;
    }
    if let Some(path) = &args.json {
        let bytes = match &args.study {
            None => serde_json::to_vec_pretty(&all[0].1),
            Some(_) => {
                let named: std::collections::BTreeMap<_, _> = all.iter().cloned().collect();
                serde_json::to_vec_pretty(&named)
            }
        };
        let bytes = bytes.expect("scores are plain data");
        atomic::write(path, &bytes)
            .map_err(|source| Error::io("write the results", path, source))?;
    }
    Ok(())
}

fn chosen_split(args: &BenchArgs) -> Result<Split> {
    let named = args.benchmark.splits();
    match args.split {
        None => Ok(named[0]),
        Some(split) if args.benchmark.has(split) => Ok(split),
        Some(split) => {
            let names: Vec<String> = named.iter().map(|split| split.name()).collect();
            Err(Error::request(
                format!("{split} is not a split of this benchmark"),
                format!("it has {}, and divisions by lot", names.join(", ")),
            ))
        }
    }
}

/// Number of known classes of the benchmark's first domain; they are the same in all.
fn known(args: &BenchArgs, split: Split) -> Result<usize> {
    let first = args.benchmark.tasks()[0].source;
    let folder = args.benchmark.folder(&args.root, first)?;
    Ok(split.known(&folder)?.len())
}

fn study(name: &str) -> Result<Study> {
    Study::find(name).ok_or_else(|| {
        Error::request(
            format!("there is no study called {name:?}"),
            format!("the studies are {}", Study::names().join(", ")),
        )
    })
}

/// What the source models' training takes from the flags: what is trained, and how much is accepted.
fn only_train(work: &WorkArgs) -> WorkArgs {
    WorkArgs {
        device: work.device.clone(),
        resume: false,
        config: None,
        set: Vec::new(),
        seed: None,
        epochs: None,
        batch: None,
        learning_rate: None,
        train: work.train.clone(),
        cache: work.cache.clone(),
        max_bad: work.max_bad,
    }
}

fn line(record: &Record, variant: &str) -> String {
    let hos = |scores: &newfound::metrics::Scores| match scores.hos {
        Some(hos) => format!("{hos:.1}"),
        None => "–".to_string(),
    };
    let ways = &record.ways;
    format!(
        "{} seed {} ({variant}): HOS source {}, clustering {}, adapted {}, refined {}; {:.0} s",
        record.task,
        record.seed,
        hos(&ways.source_only),
        hos(&ways.clustering),
        hos(&ways.adapted),
        hos(&ways.refined),
        record.seconds
    )
}

/// `85.1 ± 0.4`, or `85.1` for one seed.
fn shown(summary: Option<Summary>) -> String {
    match summary {
        None => "–".to_string(),
        Some(Summary { mean, sd: None }) => format!("{mean:.1}"),
        Some(Summary { mean, sd: Some(sd) }) => format!("{mean:.1} ± {sd:.1}"),
    }
}

/// `+1.5 ± 0.4`, or `+1.5` for one seed.
fn gained(summary: Option<Summary>) -> String {
    match summary {
        None => "–".to_string(),
        Some(Summary { mean, sd: None }) => format!("{mean:+.1}"),
        Some(Summary { mean, sd: Some(sd) }) => format!("{mean:+.1} ± {sd:.1}"),
    }
}

const WAYS: [(&str, &str); 4] = [
    ("source_only", "source model, unknown by entropy"),
    ("clustering", "clustering alone"),
    ("adapted", "**adapted**"),
    ("refined", "adapted, neighbour-refined"),
];

/// The figures of a way to predict, the first one above all.
const FIGURES: [(&str, &str); 3] = [("hos", "HOS"), ("os_star", "OS*"), ("unk", "UNK")];

/// The first figure that there is: without known or without new images there is no HOS.
fn plotted(results: &Results) -> (&'static str, &'static str) {
    let adapted = results.mean.get("adapted");
    let there = |(figure, _): &&(&str, &str)| adapted.is_some_and(|of| of.contains_key(*figure));
    *FIGURES.iter().find(there).unwrap_or(&FIGURES[0])
}

/// All tasks as a page of Markdown.
fn table(results: &Results, tasks: &[Task], benchmark: Benchmark, split: Split) -> String {
    let names: Vec<String> = tasks.iter().map(Task::to_string).collect();
    let upper = |name: &String| name.to_uppercase().replace('2', "→");
    let heads: Vec<String> = names.iter().map(upper).collect();
    let all = benchmark.tasks();
    let mut text = String::new();
    for (figure, title) in FIGURES {
        text += &format!("\n| {title} | {} | mean |\n", heads.join(" | "));
        text += &format!("|---|{}\n", "---|".repeat(names.len() + 1));
        for (way, name) in WAYS {
            let cells: Vec<String> = names
                .iter()
                .map(|task| shown(results.summary(task, way, figure)))
                .collect();
            let mean = results.mean.get(way).and_then(|of| of.get(figure)).copied();
            text += &format!("| {name} | {} | {} |\n", cells.join(" | "), shown(mean));
        }
        if figure == "hos" {
            let gains = names.iter().map(|task| gained(results.gain(task)));
            let gains: Vec<String> = gains.collect();
            text += &format!(
                "| adapted − clustering | {} | {} |\n",
                gains.join(" | "),
                gained(results.mean_gain())
            );
            for other in published(split) {
                let cells: Vec<String> = tasks
                    .iter()
                    .map(|task| {
                        let at = all.iter().position(|other| other == task);
                        let value = at.and_then(|at| other.tasks.get(at));
                        value.map_or("–".to_string(), |value| format!("{value:.1}"))
                    })
                    .collect();
                text += &format!(
                    "| {}, published | {} | {:.1} |\n",
                    other.name,
                    cells.join(" | "),
                    other.average
                );
            }
        }
    }
    text += &format!(
        "\n| novel classes (adapted) | {} | mean |\n",
        heads.join(" | ")
    );
    text += &format!("|---|{}\n", "---|".repeat(names.len() + 1));
    for (figure, title) in [
        ("novel", "as found"),
        ("novel_true_p", "true number of classes"),
    ] {
        let cells: Vec<String> = names
            .iter()
            .map(|task| shown(results.summary(task, "adapted", figure)))
            .collect();
        let mean = results
            .mean
            .get("adapted")
            .and_then(|of| of.get(figure))
            .copied();
        text += &format!("| {title} | {} | {} |\n", cells.join(" | "), shown(mean));
    }
    text += &trust(results, &names, &heads);
    let seconds: f64 = results.tasks.iter().map(|record| record.seconds).sum();
    let peak = results
        .tasks
        .iter()
        .filter_map(|record| record.peak_mb)
        .max();
    text += &format!(
        "\n{split}; {} runs, {seconds:.0} s of adaptation{}\n",
        results.tasks.len(),
        peak.map_or(String::new(), |peak| format!(", peak {peak} MB"))
    );
    text
}

/// What a run says of itself without labels, and how true that was.
fn trust(results: &Results, names: &[String], heads: &[String]) -> String {
    let of_task = |task: &String| {
        let task = task.clone();
        results
            .tasks
            .iter()
            .filter(move |record| record.task == task)
    };
    let counted = |task: &String| {
        let each = of_task(task).filter_map(|record| record.estimate.as_ref());
        each.map(estimated).collect::<Vec<_>>().join(", ")
    };
    let judged = |task: &String| {
        let each = of_task(task).filter_map(|record| record.health.as_ref());
        each.map(|health| health.verdict.name())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let figure = |way: &str, name: &str| {
        let cells: Vec<String> = names
            .iter()
            .map(|task| shown(results.summary(task, way, name)))
            .collect();
        let mean = results.mean.get(way).and_then(|of| of.get(name)).copied();
        format!("{} | {}", cells.join(" | "), shown(mean))
    };
    let words = |cell: &dyn Fn(&String) -> String| {
        let cells: Vec<String> = names.iter().map(cell).collect();
        format!("{} | ", cells.join(" | "))
    };
    let mut text = format!("\n| without labels | {} | mean |\n", heads.join(" | "));
    text += &format!("|---|{}\n", "---|".repeat(names.len() + 1));
    for (name, cells) in [
        ("new classes, as estimated", words(&counted)),
        ("verdict", words(&judged)),
        ("AUROC of `unknown`", figure("adapted", "auroc")),
        (
            "AUROC of the source model's entropy",
            figure("source_only", "auroc"),
        ),
        ("calibration error of `unknown`", figure("adapted", "ece")),
    ] {
        text += &format!("| {name} | {cells} |\n");
    }
    text
}

/// `12`, or what kind of target it is if not one with known and new classes.
fn estimated(estimate: &Estimate) -> String {
    match estimate.kind {
        Kind::Open => estimate.private.to_string(),
        Kind::NoNew => "no new".to_string(),
        Kind::NoKnown => format!("no known, {}", estimate.private),
    }
}

/// The ways that a plot shows.
const PLOTTED: [(&str, &str); 3] = [
    ("source_only", "source model"),
    ("clustering", "clustering"),
    ("adapted", "adapted"),
];

fn dot(summary: Option<Summary>) -> Option<(f64, Option<f64>)> {
    summary.map(|summary| (summary.mean, summary.sd))
}

/// `A→D`.
fn arrow(task: &Task) -> String {
    task.to_string().to_uppercase().replace('2', "→")
}

/// A row for each task.
fn task_plot(results: &Results, tasks: &[Task], split: Split) -> DotChart {
    let (figure, title) = plotted(results);
    let row = |task: &Task| DotRow {
        name: arrow(task),
        values: PLOTTED
            .iter()
            .map(|(way, _)| dot(results.summary(&task.to_string(), way, figure)))
            .collect(),
    };
    DotChart {
        title: format!("{title}, {split}"),
        unit: "mean and standard deviation over seeds".into(),
        series: PLOTTED.iter().map(|(_, name)| name.to_string()).collect(),
        rows: tasks.iter().map(row).collect(),
    }
}

/// A row for each variant; the source model, which none of them changes, is left out.
fn study_plot(name: &str, all: &[(String, Results)], tasks: &[Task], split: Split) -> DotChart {
    let (figure, title) = plotted(&all[0].1);
    let row = |(variant, results): &(String, Results)| DotRow {
        name: variant.clone(),
        values: PLOTTED[1..]
            .iter()
            .map(|(way, _)| dot(results.mean.get(way).and_then(|of| of.get(figure)).copied()))
            .collect(),
    };
    DotChart {
        title: format!("{name}: mean {title} of {} tasks, {split}", tasks.len()),
        unit: "mean and standard deviation over seeds".into(),
        series: PLOTTED[1..]
            .iter()
            .map(|(_, name)| name.to_string())
            .collect(),
        rows: all.iter().map(row).collect(),
    }
}

/// A curve for each task, its seeds together, and one for all of them.
fn calibration_plot(results: &Results, tasks: &[Task], split: Split) -> ReliabilityChart {
    let of = |name: &str, chosen: &dyn Fn(&Record) -> bool| {
        let runs = results.tasks.iter().filter(|record| chosen(record));
        let curves = runs.filter_map(|record| record.ways.adapted.calibration.as_ref());
        let pooled = pooled(curves).into_iter();
        ReliabilityCurve {
            name: name.to_string(),
            bins: pooled
                .map(|bin| (bin.stated, bin.new, bin.images))
                .collect(),
        }
    };
    let each = tasks.iter().map(|task| {
        let id = task.to_string();
        of(&arrow(task), &|record| record.task == id)
    });
    ReliabilityChart {
        title: format!("How true is the probability of being new? {split}"),
        curves: each.chain([of("all", &|_| true)]).collect(),
    }
}

/// One line for each variant: the mean over the tasks.
fn study_table(name: &str, all: &[(String, Results)], tasks: &[Task]) -> String {
    let mut text = format!(
        "\n| {name} (mean HOS of {} tasks) | clustering | adapted | refined | adapted − clustering | novel |\n|---|---|---|---|---|---|\n",
        tasks.len()
    );
    for (variant, results) in all {
        let mean =
            |way: &str, figure: &str| results.mean.get(way).and_then(|of| of.get(figure)).copied();
        let gain = gained(results.mean_gain());
        text += &format!(
            "| {variant} | {} | {} | {} | {gain} | {} |\n",
            shown(mean("clustering", "hos")),
            shown(mean("adapted", "hos")),
            shown(mean("refined", "hos")),
            shown(mean("adapted", "novel")),
        );
    }
    text
}

/// A line for each set-up: what the runs said of themselves, and what they kept.
fn verdict_table(variants: &[Variant], all: &[(String, Results)], tasks: &[Task]) -> String {
    let heads: Vec<String> = tasks.iter().map(arrow).collect();
    let mut text = format!("\n| set-up | {} |\n", heads.join(" | "));
    text += &format!("|---|{}\n", "---|".repeat(heads.len()));
    for (name, results) in all {
        // No class is right for an image of noise.
        let of_noise = |variant: &&Variant| variant.damage == Some(Damage::Noise);
        let noise = variants
            .iter()
            .find(of_noise)
            .is_some_and(|variant| variant.name == *name);
        let cells = tasks
            .iter()
            .map(|task| verdicts(results, &task.to_string(), noise));
        let cells: Vec<String> = cells.collect();
        text += &format!("| {name} | {} |\n", cells.join(" | "));
    }
    text + "\nThe verdict of each seed; in brackets whose predictions are kept, if not the adapted model's. Then the mean HOS of what is kept, and that of the source \
            model, unknown by entropy.\n"
}

/// `harmful (clustering), good: 92.1, 70.2`
fn verdicts(results: &Results, task: &str, noise: bool) -> String {
    let of_task = results.tasks.iter().filter(|record| record.task == task);
    let said = of_task.filter_map(|record| record.health.as_ref());
    let said = said.map(|health| match health.predictions {
        Predictions::Adapted => health.verdict.name().to_string(),
        Predictions::Clustering => format!("{} (clustering)", health.verdict.name()),
        Predictions::Source => format!("{} (source)", health.verdict.name()),
    });
    let said: Vec<String> = said.collect();
    if noise {
        return said.join(", ");
    }
    let hos = ["adapted", "source_only"].map(|way| shown(results.summary(task, way, "hos")));
    format!("{}: {}", said.join(", "), hos.join(", "))
}

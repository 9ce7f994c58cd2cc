//! L_ctr, Eq. (9) and section III-F, in its four forms.

use burn::tensor::{Bool, Device, Tensor, TensorData};
use newfound::losses::{Contrast, contrastive};
use newfound::network::download;
use proptest::prelude::*;

use crate::fixture::{FORWARD, GRADIENT, assert_close, cases, index_tensor, scalar};
use crate::generate::{Draw, Matrix, dot, generated, slope};

const FORMS: [Contrast; 4] = [
    Contrast::Literal,
    Contrast::Positive,
    Contrast::Combined,
    Contrast::InfoNce,
];

/// Everything but the query.
#[derive(Debug, Clone)]
struct Keys {
    key: Matrix,
    queue: Matrix,
    /// One row per query.
    negatives: Vec<bool>,
    drawn: Vec<usize>,
    temperature: f64,
}

impl Keys {
    fn mask(&self) -> Tensor<2, Bool> {
        let shape = [self.key.rows, self.queue.rows];
        Tensor::from_data(
            TensorData::new(self.negatives.clone(), shape),
            &Device::flex(),
        )
    }

    fn loss(&self, form: Contrast, query: Tensor<2>) -> Tensor<1> {
        let [key, queue] = [&self.key, &self.queue].map(|matrix| match query.is_autodiff() {
            true => matrix.tensor().autodiff(),
            false => matrix.tensor(),
        });
        contrastive(
            form,
            query,
            key,
            queue,
            self.mask(),
            index_tensor(&self.drawn),
            self.temperature,
        )
    }

    fn value(&self, form: Contrast, query: &Matrix) -> f64 {
        scalar(&self.loss(form, query.tensor()))
    }

    fn gradient(&self, form: Contrast, query: &Matrix) -> Vec<f32> {
        let leaf = query.leaf();
        download(
            leaf.grad(&self.loss(form, leaf.clone()).backward())
                .unwrap(),
        )
    }

    /// The formulas, query by query and key by key.
    fn plain(&self, form: Contrast, query: &Matrix) -> f64 {
        let mut sum = 0.0;
        for (b, q) in query.iter().enumerate() {
            let length = dot(q, q).sqrt();
            let weight = |key: &[f64]| (dot(q, key) / length / self.temperature).exp();
            let positive = weight(self.key.row(b));
            let mask = &self.negatives[b * self.queue.rows..][..self.queue.rows];
            let negatives: Vec<usize> = (0..self.queue.rows).filter(|&j| mask[j]).collect();
            if negatives.is_empty() {
                continue;
            }
            let s: f64 = negatives.iter().map(|&j| weight(self.queue.row(j))).sum();
            let drawn = weight(self.queue.row(self.drawn[b]));
            let away = |s: f64| -(1.0 - drawn / s).clamp(1e-5, 1.0).ln();
            let info_nce = -(positive / (positive + s)).ln();
            sum += match form {
                Contrast::Literal => away(s),
                Contrast::Positive => away(s + positive),
                Contrast::InfoNce => info_nce,
                Contrast::Combined => away(s + positive) + info_nce,
            };
        }
        sum / query.rows as f64
    }
}

/// The query along the first axis; at τ = 1 / log 2 the keys weigh 2 (along), 1 (across) and 1/2 (against).
fn by_axes(negatives: [bool; 3], drawn: usize) -> (Matrix, Keys) {
    let keys = Keys {
        key: Matrix::of([[0.0, -1.0]]),
        queue: Matrix::of([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]),
        negatives: negatives.to_vec(),
        drawn: vec![drawn],
        temperature: 1.0 / 2f64.ln(),
    };
    (Matrix::of([[2.0, 0.0]]), keys)
}

#[test]
fn by_hand() {
    // The negatives weigh 2, 1 and 1/2 and sum to 7/2; the positive weighs 1; the first negative is drawn.
    let (query, keys) = by_axes([true, true, true], 0);
    let away = |rest: f64, s: f64| -(rest / s).ln();
    let expected = [
        away(1.5, 3.5),
        away(2.5, 4.5),
        away(2.5, 4.5) + 4.5f64.ln(),
        4.5f64.ln(),
    ];
    for (form, expected) in FORMS.into_iter().zip(expected) {
        let found = keys.value(form, &query) as f32;
        assert_close(&format!("{form:?}"), &[found], &[expected], FORWARD);
    }
    // The direction of the query turns only across itself. Literal: −d log(1.5 / 3.5), in which only the negative
    // across moves, its weight 1 by log 2 for each unit of the query's turn, half of it for a query of length 2.
    let turn = 2f64.ln() / 2.0;
    let found = keys.gradient(Contrast::Literal, &query);
    assert_close(
        "gradient",
        &found,
        &[0.0, turn * (1.0 / 3.5 - 1.0 / 1.5)],
        GRADIENT,
    );
    // InfoNCE: the positive against the axis pulls, the negative along it pushes.
    let found = keys.gradient(Contrast::InfoNce, &query);
    assert_close(
        "gradient",
        &found,
        &[0.0, turn * (1.0 + (1.0 - 1.0) / 4.5)],
        GRADIENT,
    );
}

#[test]
fn limits() {
    for form in FORMS {
        let (query, keys) = by_axes([false, false, false], 0);
        assert_eq!(keys.value(form, &query), 0.0, "{form:?} without negatives");
        assert_eq!(
            keys.gradient(form, &query),
            [0.0, 0.0],
            "{form:?} without negatives"
        );
    }
    // A single negative is all of the printed denominator: log 0, were it not for the clamp.
    let (query, keys) = by_axes([false, true, false], 1);
    let found = keys.value(Contrast::Literal, &query) as f32;
    assert_close("single negative", &[found], &[-(1e-5f64.ln())], FORWARD);
    assert_eq!(
        keys.gradient(Contrast::Literal, &query),
        [0.0, 0.0],
        "at the clamp"
    );
    // With the positive, which weighs as much here, it is half.
    let found = keys.value(Contrast::Positive, &query) as f32;
    assert_close("single negative", &[found], &[2f64.ln()], FORWARD);
}

/// n equal negatives share the denominator equally.
#[test]
fn equal_negatives() {
    for n in [2, 5, 100] {
        let mut draw = Draw::new(n);
        let n = n as usize;
        let one = draw.unit(1, 4).values;
        let queue = Matrix {
            rows: n,
            cols: 4,
            values: one.repeat(n),
        };
        let key = Matrix {
            rows: 1,
            cols: 4,
            values: one,
        };
        let keys = Keys {
            key,
            queue,
            negatives: vec![true; n],
            drawn: vec![n - 1],
            temperature: 0.07,
        };
        let query = draw.features(1, 4);
        let n = n as f64;
        let away = |s: f64| (s / (s - 1.0)).ln();
        let expected = [
            away(n),
            away(n + 1.0),
            away(n + 1.0) + (n + 1.0).ln(),
            (n + 1.0).ln(),
        ];
        for (form, expected) in FORMS.into_iter().zip(expected) {
            let found = keys.value(form, &query) as f32;
            assert_close(&format!("{form:?} of {n}"), &[found], &[expected], FORWARD);
        }
    }
}

#[test]
fn huge_logits_stay_finite() {
    let (query, keys) = by_axes([true, true, true], 0);
    for temperature in [1e-3, 1e-6] {
        let keys = Keys {
            temperature,
            ..keys.clone()
        };
        for form in FORMS {
            let all = [
                vec![keys.value(form, &query) as f32],
                keys.gradient(form, &query),
            ]
            .concat();
            assert!(
                all.iter().all(|x| x.is_finite()),
                "{form:?} at {temperature}: {all:?}"
            );
        }
        // The drawn negative is all there is, to within e^−1000: clamped.
        let found = keys.value(Contrast::Literal, &query) as f32;
        assert_close("dominated", &[found], &[-(1e-5f64.ln())], FORWARD);
    }
}

/// The length of a query carries no meaning, and the gradient must not change it.
#[test]
fn only_the_direction_of_a_query_counts() {
    let mut draw = Draw::new(11);
    let (query, keys) = generated_keys(&mut draw, 6, 9, 5, 0.2);
    let longer = Matrix {
        values: query.values.iter().map(|x| 4.0 * x).collect(),
        ..query.clone()
    };
    for form in FORMS {
        let (value, gradient) = (keys.value(form, &query), keys.gradient(form, &query));
        assert_close(
            &format!("{form:?}"),
            &[keys.value(form, &longer) as f32],
            &[value],
            FORWARD,
        );
        for (q, g) in query.iter().zip(gradient.chunks_exact(query.cols)) {
            let g: Vec<f64> = g.iter().map(|&x| f64::from(x)).collect();
            let along = dot(q, &g).abs() / dot(q, q).sqrt();
            assert!(
                along <= GRADIENT * dot(&g, &g).sqrt().max(1e-3),
                "{form:?}: {along}"
            );
        }
    }
}

fn generated_keys(
    draw: &mut Draw,
    batch: usize,
    rows: usize,
    width: usize,
    temperature: f64,
) -> (Matrix, Keys) {
    let (query, key, queue) = (
        draw.features(batch, width),
        draw.unit(batch, width),
        draw.unit(rows, width),
    );
    let negatives = draw.mask(batch * rows, 0.7);
    let drawn = negatives
        .chunks_exact(rows)
        .map(|mask| {
            let allowed: Vec<usize> = (0..rows).filter(|&j| mask[j]).collect();
            if allowed.is_empty() {
                0
            } else {
                allowed[draw.below(allowed.len(), 1)[0]]
            }
        })
        .collect();
    (
        query,
        Keys {
            key,
            queue,
            negatives,
            drawn,
            temperature,
        },
    )
}

#[test]
fn twin() {
    let sizes = (1..6usize, 1..9usize, 2..7usize, 0.2..1.0);
    proptest!(generated(128), |((batch, rows, width, temperature) in sizes, seed: u64)| {
        let (query, keys) = generated_keys(&mut Draw::new(seed), batch, rows, width, temperature);
        for form in FORMS {
            let what = format!("{form:?}");
            let expected = keys.plain(form, &query);
            // A drawn negative that hardly weighs anything leaves a loss of that size: compared with 1.
            let found = keys.value(form, &query) as f32;
            assert_close(&what, &[found + 1.0], &[expected + 1.0], FORWARD);
            let expected = slope(&query, |query| keys.plain(form, query));
            assert_close(&what, &keys.gradient(form, &query), &expected, GRADIENT);
        }
    });
}

/// With thousands of negatives the drawn one is a tiny share of them: the loss is that share, and no cancellation
/// may eat its digits.
#[test]
fn many_negatives() {
    let (batch, rows, width) = (2, 4096, 16);
    let (query, keys) = generated_keys(&mut Draw::new(12), batch, rows, width, 0.07);
    for form in FORMS {
        let what = format!("{form:?}");
        let expected = keys.plain(form, &query);
        assert_close(
            &what,
            &[keys.value(form, &query) as f32],
            &[expected],
            FORWARD,
        );
        let expected = slope(&query, |query| keys.plain(form, query));
        assert_close(&what, &keys.gradient(form, &query), &expected, GRADIENT);
    }
}

#[test]
fn golden() {
    for case in cases("equations/contrastive") {
        let (form, _) = case.name.split_once('/').expect("named FORM/CASE");
        let form: Contrast = serde_json::from_value(form.into()).expect("a form's name");
        let query = case.leaf("query");
        let mask = case.int_matrix("negatives").bool();
        // Where there is no negative the fixture says −1; the loop gives row 0.
        let drawn: Vec<usize> = case
            .ints("drawn")
            .iter()
            .map(|&row| row.max(0) as usize)
            .collect();
        let [key, queue] = ["key", "queue"].map(|name| case.tensor::<2>(name).autodiff());
        let temperature = case.number("temperature");
        let drawn = index_tensor(&drawn);
        let loss = contrastive(form, query.clone(), key, queue, mask, drawn, temperature);
        case.check("loss", &loss);
        assert!(case.has_gradients(&["query"]), "{}", case.name);
        case.check_gradient("query", &query, &loss.backward());
    }
}

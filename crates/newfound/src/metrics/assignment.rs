//! One-to-one matching of rows with columns: the best in total, or the best pair first.
//!
//! Two places need it: prototypes with centroids by cosine (**Clustering-based Target Model
//! Initialisation, section III-B**) and true with predicted private classes by counts. The paper
//! takes the highest similarity per prototype, which can give two prototypes the same centroid; a
//! matching cannot.
//!
//! # Shapes
//! `similarity` is a matrix of `rows` × `cols` values, row by row, with `rows` ≤ `cols`. The result
//! names the column of each row, all different.

/// Potentials are sums of a few values per row; this bound keeps them far from overflow.
const LARGEST: f64 = 1e100;

/// Why a matrix cannot be matched.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AssignmentError {
    /// The number of values is not rows × cols.
    #[error("{values} similarities do not fill a matrix of {rows} × {cols}")]
    Shape {
        /// The number of values.
        values: usize,
        /// The rows asked for.
        rows: usize,
        /// The columns asked for.
        cols: usize,
    },
    /// Some row would stay without a column.
    #[error("{rows} rows cannot each have a column of their own among {cols}")]
    TooManyRows {
        /// The number of rows.
        rows: usize,
        /// The number of columns.
        cols: usize,
    },
    /// NaN, infinite, or beyond 1e100 in magnitude.
    #[error("the similarity of row {row} and column {col} is {value}, which cannot be summed")]
    Value {
        /// The row.
        row: usize,
        /// The column.
        col: usize,
        /// The similarity.
        value: f64,
    },
}

/// The one-to-one assignment of highest total similarity (Kuhn, 1955; Munkres, 1957).
///
/// ```text
/// max_t Σ_r S[r, t(r)]     t: rows → columns, one-to-one
/// ```
///
/// Rows enter one by one, each along the cheapest chain of reassignments (a shortest augmenting
/// path under row and column potentials): O(rows² · cols), and exact up to the rounding of sums of
/// the entries. For integers, such as counts, it is exact.
///
/// Ties: the result is a function of the matrix alone. Rows enter in order, and of equally cheap
/// columns the lowest is tried first, so a matrix of equal values gives the identity. Which of
/// several assignments with the same best total comes out is always the same, but not, for example,
/// the first in some order.
pub fn hungarian(
    similarity: &[f64],
    rows: usize,
    cols: usize,
) -> Result<Vec<usize>, AssignmentError> {
    check(similarity, rows, cols)?;
    let mut solver = Solver {
        similarity,
        row_potential: vec![0.0; rows],
        col_potential: vec![0.0; cols],
        row_of: vec![None; cols],
    };
    (0..rows).for_each(|row| solver.place(row));
    let mut col_of = vec![0; rows];
    for (col, row) in solver.row_of.iter().enumerate() {
        if let Some(row) = *row {
            col_of[row] = col;
        }
    }
    Ok(col_of)
}

/// The state between two rows. With cost = −similarity, these hold:
/// - `cost ≥ row_potential + col_potential` everywhere, with equality on the pairs placed so far;
/// - `col_potential` is 0 on free columns and ≤ 0 on the others.
///
/// Together they prove that no other placement of the same rows costs less.
struct Solver<'a> {
    similarity: &'a [f64],
    row_potential: Vec<f64>,
    col_potential: Vec<f64>,
    row_of: Vec<Option<usize>>,
}

impl Solver<'_> {
    /// Places one more row, moving placed ones where that is cheaper in total.
    fn place(&mut self, new: usize) {
        let cols = self.row_of.len();
        // Per column: what reaching it still costs, and the column before it on the way (none: the
        // new row).
        let mut slack = vec![f64::INFINITY; cols];
        let mut before = vec![None; cols];
        let mut visited = vec![false; cols];
        let (mut row, mut at) = (new, None);
        let mut free = loop {
            let mut next = None;
            for col in (0..cols).filter(|&col| !visited[col]) {
                let cost = -self.similarity[row * cols + col];
                let reduced = cost - self.row_potential[row] - self.col_potential[col];
                if reduced < slack[col] {
                    slack[col] = reduced;
                    before[col] = at;
                }
                if next.is_none_or(|best: usize| slack[col] < slack[best]) {
                    next = Some(col);
                }
            }
            let next = next.expect("fewer rows than columns are placed, so one is not visited");
            self.shift(new, &visited, slack[next], &mut slack);
            visited[next] = true;
            at = Some(next);
            match self.row_of[next] {
                Some(placed) => row = placed,
                None => break next,
            }
        };
        // Walk back: each column on the way takes over the row of the one before it.
        while let Some(earlier) = before[free] {
            self.row_of[free] = self.row_of[earlier];
            free = earlier;
        }
        self.row_of[free] = Some(new);
    }

    /// Moves the potentials of everything reached so far by `step`: placed pairs stay tight, and
    /// the next column becomes tight.
    fn shift(&mut self, new: usize, visited: &[bool], step: f64, slack: &mut [f64]) {
        self.row_potential[new] += step;
        for (col, slack) in slack.iter_mut().enumerate() {
            if visited[col] {
                let row = self.row_of[col].expect("only columns with a row are passed through");
                self.row_potential[row] += step;
                self.col_potential[col] -= step;
            } else {
                *slack -= step;
            }
        }
    }
}

/// Best pair first: the pair of highest similarity is taken, its row and column leave, and so on.
///
/// Close to the paper's "highest similarity" while still one-to-one. The total can be as low as
/// half of the best one (for similarities ≥ 0), never higher. Ties: the lowest row, then the lowest
/// column.
pub fn greedy(similarity: &[f64], rows: usize, cols: usize) -> Result<Vec<usize>, AssignmentError> {
    check(similarity, rows, cols)?;
    let mut pairs: Vec<usize> = (0..similarity.len()).collect();
    // Stable, and the pairs start in the order of rows, then columns. Not `total_cmp`: −0 and 0 are
    // a tie.
    pairs.sort_by(|&a, &b| {
        similarity[b]
            .partial_cmp(&similarity[a])
            .expect("NaN was refused by the check")
    });
    let mut col_of: Vec<Option<usize>> = vec![None; rows];
    let mut taken = vec![false; cols];
    for (row, col) in pairs.into_iter().map(|pair| (pair / cols, pair % cols)) {
        if col_of[row].is_none() && !taken[col] {
            col_of[row] = Some(col);
            taken[col] = true;
        }
    }
    let placed = |col: Option<usize>| col.expect("with rows ≤ cols a free column is always left");
    Ok(col_of.into_iter().map(placed).collect())
}

fn check(similarity: &[f64], rows: usize, cols: usize) -> Result<(), AssignmentError> {
    let values = similarity.len();
    if rows.checked_mul(cols) != Some(values) {
        return Err(AssignmentError::Shape { values, rows, cols });
    }
    if rows > cols {
        return Err(AssignmentError::TooManyRows { rows, cols });
    }
    match similarity
        .iter()
        .position(|value| value.is_nan() || value.abs() > LARGEST)
    {
        None => Ok(()),
        Some(cell) => {
            let (row, col, value) = (cell / cols, cell % cols, similarity[cell]);
            Err(AssignmentError::Value { row, col, value })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TOLERANCE, assert_close, fixture};
    use super::*;
    use proptest::prelude::*;

    fn total(similarity: &[f64], cols: usize, col_of: &[usize]) -> f64 {
        col_of
            .iter()
            .enumerate()
            .map(|(row, col)| similarity[row * cols + col])
            .sum()
    }

    fn is_one_to_one(col_of: &[usize], rows: usize, cols: usize) -> bool {
        let mut sorted = col_of.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        sorted.len() == rows && col_of.len() == rows && sorted.iter().all(|&col| col < cols)
    }

    #[test]
    fn by_hand() {
        // Best pair first takes 0.9 and is left with 0.1; the best total is 0.8 + 0.8.
        let similarity = [0.9, 0.8, 0.8, 0.1];
        assert_eq!(hungarian(&similarity, 2, 2).unwrap(), [1, 0]);
        assert_eq!(greedy(&similarity, 2, 2).unwrap(), [0, 1]);
        // Three rows among four columns: 7 + 9 + 8.
        #[rustfmt::skip]
        let similarity = [
            7.0, 5.0, 1.0, 6.0,
            8.0, 9.0, 2.0, 7.0,
            6.0, 9.0, 3.0, 8.0,
        ];
        assert_eq!(hungarian(&similarity, 3, 4).unwrap(), [0, 1, 3]);
        // 9 in row 1 and row 2 tie: the lower row gets it.
        assert_eq!(greedy(&similarity, 3, 4).unwrap(), [0, 1, 3]);
    }

    #[test]
    fn negative_similarities_are_similarities() {
        // Rows must be placed even where every similarity is negative.
        assert_eq!(hungarian(&[-0.5, -0.1, -0.2, -0.9], 2, 2).unwrap(), [1, 0]);
        assert_eq!(greedy(&[-0.5, -0.1, -0.2, -0.9], 2, 2).unwrap(), [1, 0]);
    }

    #[test]
    fn ties_go_to_the_lowest() {
        for value in [0.0, 0.7, -3.0] {
            let equal = vec![value; 4 * 6];
            assert_eq!(hungarian(&equal, 4, 6).unwrap(), [0, 1, 2, 3]);
            assert_eq!(greedy(&equal, 4, 6).unwrap(), [0, 1, 2, 3]);
        }
        assert_eq!(greedy(&[-0.0, 0.0, 0.0, -0.0], 2, 2).unwrap(), [0, 1]);
    }

    #[test]
    fn empty_and_single() {
        for solve in [hungarian, greedy] {
            assert_eq!(solve(&[], 0, 0).unwrap(), Vec::<usize>::new());
            assert_eq!(solve(&[], 0, 5).unwrap(), Vec::<usize>::new());
            assert_eq!(solve(&[-1.0], 1, 1).unwrap(), [0]);
            assert_eq!(solve(&[-1.0, 2.0, 1.0], 1, 3).unwrap(), [1]);
        }
    }

    #[test]
    fn large_values_do_not_overflow() {
        let similarity = [LARGEST, -LARGEST, -LARGEST, -LARGEST, LARGEST, -LARGEST];
        assert_eq!(hungarian(&similarity, 2, 3).unwrap(), [0, 1]);
    }

    #[test]
    fn what_cannot_be_matched_is_refused() {
        for solve in [hungarian, greedy] {
            let shape = AssignmentError::Shape {
                values: 3,
                rows: 2,
                cols: 2,
            };
            assert_eq!(solve(&[1.0; 3], 2, 2), Err(shape));
            assert!(matches!(
                solve(&[], usize::MAX, 2),
                Err(AssignmentError::Shape { .. })
            ));
            let rows = AssignmentError::TooManyRows { rows: 2, cols: 1 };
            assert_eq!(solve(&[1.0; 2], 2, 1), Err(rows));
            assert!(matches!(
                solve(&[], 1, 0),
                Err(AssignmentError::TooManyRows { .. })
            ));
            for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 2e100] {
                let error = solve(&[1.0, 1.0, 1.0, bad], 2, 2).unwrap_err();
                assert!(
                    matches!(error, AssignmentError::Value { row: 1, col: 1, .. }),
                    "{error}"
                );
            }
        }
    }

    /// The best total over every one-to-one choice of columns for the rows from `row` on.
    fn brute_force(similarity: &[f64], rows: usize, cols: usize, row: usize, taken: u32) -> f64 {
        if row == rows {
            return 0.0;
        }
        (0..cols)
            .filter(|col| taken >> col & 1 == 0)
            .map(|col| {
                let rest = brute_force(similarity, rows, cols, row + 1, taken | 1 << col);
                similarity[row * cols + col] + rest
            })
            .fold(f64::NEG_INFINITY, f64::max)
    }

    /// A matrix of up to 7 × 7 with rows ≤ cols.
    fn matrix<S: Strategy<Value = f64> + Clone>(
        value: S,
    ) -> impl Strategy<Value = (usize, usize, Vec<f64>)> {
        (1usize..=7).prop_flat_map(move |cols| {
            let value = value.clone();
            (1..=cols).prop_flat_map(move |rows| {
                let values = prop::collection::vec(value.clone(), rows * cols);
                (Just(rows), Just(cols), values)
            })
        })
    }

    proptest! {
        #[test]
        fn hungarian_is_the_best_of_all((rows, cols, similarity) in matrix(-1.0..1.0)) {
            let found = hungarian(&similarity, rows, cols).unwrap();
            prop_assert!(is_one_to_one(&found, rows, cols));
            let best = brute_force(&similarity, rows, cols, 0, 0);
            prop_assert!((total(&similarity, cols, &found) - best).abs() <= TOLERANCE);
        }

        #[test]
        fn hungarian_is_exact_on_counts(
            (rows, cols, similarity) in matrix((0i32..6).prop_map(f64::from)),
        ) {
            let found = hungarian(&similarity, rows, cols).unwrap();
            prop_assert!(is_one_to_one(&found, rows, cols));
            let best = brute_force(&similarity, rows, cols, 0, 0);
            prop_assert_eq!(total(&similarity, cols, &found), best);
        }

        #[test]
        fn greedy_twin_searches_the_best_pair_each_time(
            (rows, cols, similarity) in matrix((0i32..6).prop_map(f64::from)),
        ) {
            let mut expected = vec![None; rows];
            for _ in 0..rows {
                let mut best: Option<(usize, usize)> = None;
                for row in (0..rows).filter(|&row| expected[row].is_none()) {
                    for col in (0..cols).filter(|&col| !expected.contains(&Some(col))) {
                        let value = similarity[row * cols + col];
                        if best.is_none_or(|(r, c)| value > similarity[r * cols + c]) {
                            best = Some((row, col));
                        }
                    }
                }
                let (row, col) = best.unwrap();
                expected[row] = Some(col);
            }
            let found = greedy(&similarity, rows, cols).unwrap();
            prop_assert_eq!(found.iter().copied().map(Some).collect::<Vec<_>>(), expected);
            let best = hungarian(&similarity, rows, cols).unwrap();
            prop_assert!(
                total(&similarity, cols, &found) <= total(&similarity, cols, &best)
                    && 2.0 * total(&similarity, cols, &found) >= total(&similarity, cols, &best)
            );
        }
    }

    #[test]
    fn fixture_assignment() {
        #[derive(serde::Deserialize)]
        struct Case {
            rows: usize,
            cols: usize,
            similarity: Vec<f64>,
            unique: bool,
            columns: Vec<usize>,
            total: f64,
        }
        let text = include_str!("../../tests/fixtures/metrics/assignment.json");
        for case in fixture::<Case>(text) {
            let found = hungarian(&case.similarity, case.rows, case.cols).unwrap();
            assert!(is_one_to_one(&found, case.rows, case.cols));
            assert_close(
                Some(total(&case.similarity, case.cols, &found)),
                Some(case.total),
            );
            if case.unique {
                assert_eq!(found, case.columns);
            }
        }
    }
}

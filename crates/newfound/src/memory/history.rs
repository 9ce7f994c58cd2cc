//! The pseudo-labels each image had in the last T epochs. Section III-F of the paper.

use burn::tensor::{Device, Int, Tensor, TensorData};

/// T labels per image, one slot per epoch.
///
/// Labels of the running epoch are kept aside until it ends, so that every pair of images is compared on the
/// same epochs {e − T, …, e − 1}, whatever their order within the epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// N rows of T labels.
    pub labels: Vec<u32>,
    /// The running epoch's label of each image.
    pub pending: Vec<u32>,
    /// T.
    pub epochs: usize,
    /// The slot that the running epoch will take: the oldest one.
    pub slot: usize,
}

impl History {
    /// Every past epoch holds the initial labels. (Random ones would exclude pairs at random for T epochs.)
    pub fn new(initial: &[usize], epochs: usize) -> Self {
        let pending: Vec<u32> = initial.iter().map(|&label| label as u32).collect();
        let labels = pending
            .iter()
            .flat_map(|&label| vec![label; epochs])
            .collect();
        Self {
            labels,
            pending,
            epochs,
            slot: 0,
        }
    }

    /// Notes the label that an image has in the running epoch.
    pub fn record(&mut self, image: usize, label: usize) {
        self.pending[image] = label as u32;
    }

    /// Ends the epoch: its labels replace those of T epochs ago. Gives the number of images whose label
    /// differs from the epoch before.
    pub fn advance(&mut self) -> usize {
        let previous = (self.slot + self.epochs - 1) % self.epochs;
        let mut changed = 0;
        for (row, &label) in self.labels.chunks_exact_mut(self.epochs).zip(&self.pending) {
            changed += usize::from(row[previous] != label);
            row[self.slot] = label;
        }
        self.slot = (self.slot + 1) % self.epochs;
        changed
    }

    /// How often the label of each image changed from one of the last T epochs to the next.
    pub fn changes(&self) -> Vec<usize> {
        let changed = |row: &[u32]| {
            let in_order = |epoch: usize| row[(self.slot + epoch) % self.epochs];
            let pairs = 1..self.epochs;
            pairs.filter(|&e| in_order(e) != in_order(e - 1)).count()
        };
        self.labels.chunks_exact(self.epochs).map(changed).collect()
    }

    /// Share of the images whose label changed from the last epoch but one to the last.
    pub fn restless(&self) -> f64 {
        let [last, before] = [1, 2].map(|ago| (self.slot + 2 * self.epochs - ago) % self.epochs);
        let rows = self.labels.chunks_exact(self.epochs);
        let images = rows.len().max(1);
        rows.filter(|row| row[last] != row[before]).count() as f64 / images as f64
    }

    /// The histories of some images.
    ///
    /// # Shapes
    ///
    /// `images` \[B\] → [B, T]
    pub fn rows(&self, images: &[usize], device: &Device) -> Tensor<2, Int> {
        let labels: Vec<i64> = images
            .iter()
            .flat_map(|&image| &self.labels[image * self.epochs..][..self.epochs])
            .map(|&label| i64::from(label))
            .collect();
        Tensor::from_data(TensorData::new(labels, [images.len(), self.epochs]), device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_shows_only_after_it_has_ended() {
        let mut history = History::new(&[0, 1], 2);
        history.record(1, 5);
        assert_eq!(history.labels, [0, 0, 1, 1]);
        assert_eq!(history.advance(), 1);
        assert_eq!(history.labels, [0, 0, 5, 1]);
        assert_eq!(history.advance(), 0, "the same label again is no change");
        assert_eq!(history.labels, [0, 0, 5, 5]);
    }

    #[test]
    fn changes_are_counted_in_the_order_of_the_epochs() {
        let mut history = History::new(&[0, 7], 3);
        // The ring is 1 2 0 after two epochs and 1 2 2 after three: never "2 then 1".
        for (label, changes) in [(1, 1), (2, 2), (2, 1), (2, 0)] {
            history.record(0, label);
            history.advance();
            assert_eq!(history.changes(), [changes, 0]);
        }
    }

    #[test]
    fn restless_are_those_that_changed_last() {
        let mut history = History::new(&[0, 7], 3);
        for (label, restless) in [(1, 0.5), (2, 0.5), (2, 0.0)] {
            history.record(0, label);
            history.advance();
            assert_eq!(history.restless(), restless);
        }
    }

    #[test]
    fn the_oldest_epoch_is_forgotten() {
        let mut history = History::new(&[0], 2);
        for label in [1, 2, 3] {
            history.record(0, label);
            history.advance();
        }
        let mut labels = history.labels.clone();
        labels.sort_unstable();
        assert_eq!(labels, [2, 3]);
    }
}

//! The queue Q_e of keys. Section III-F of the paper.

use burn::tensor::{IndexingUpdateOp, Tensor};

use super::bank::indices;
use crate::geometry::normalise_rows;

/// A ring of the last Q keys (unit length) with the image each one came from.
#[derive(Debug, Clone)]
pub struct Queue {
    /// The image of each row.
    pub images: Vec<usize>,
    /// Unit-length keys: [Q, D].
    pub keys: Tensor<2>,
    /// The oldest row: the next one to be replaced.
    pub next: usize,
}

impl Queue {
    /// A queue that starts filled with real features, one row for each of `images`.
    pub fn new(images: Vec<usize>, features: Tensor<2>) -> Self {
        Self {
            images,
            keys: normalise_rows(features),
            next: 0,
        }
    }

    /// Replaces the oldest rows by a batch of keys.
    ///
    /// # Shapes
    ///
    /// `keys` [B, D] of any length
    pub fn push(&mut self, images: &[usize], keys: Tensor<2>) {
        let rows = self.images.len();
        // Of a batch longer than the whole queue only the last keys would survive.
        let skipped = images.len().saturating_sub(rows);
        let kept = &images[skipped..];
        let keys = normalise_rows(keys).slice_dim(0, skipped..images.len());
        let places: Vec<usize> = (0..kept.len()).map(|i| (self.next + i) % rows).collect();
        for (&place, &image) in places.iter().zip(kept) {
            self.images[place] = image;
        }
        self.next = (self.next + kept.len()) % rows;
        let places = indices(places.into_iter(), &keys);
        self.keys
            .inplace(|ring| ring.select_assign(0, places, keys, IndexingUpdateOp::Assign));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;

    fn queue(rows: usize) -> Queue {
        Queue::new(
            (0..rows).collect(),
            Tensor::ones([rows, 2], &Device::flex()),
        )
    }

    #[test]
    fn the_oldest_keys_go_first_and_the_ring_closes() {
        let mut queue = queue(3);
        queue.push(
            &[7, 8],
            Tensor::from_data([[3.0, 0.0], [0.0, 2.0]], &Device::flex()),
        );
        assert_eq!((queue.images.as_slice(), queue.next), (&[7, 8, 2][..], 2));
        queue.push(
            &[9, 10],
            Tensor::from_data([[-1.0, 0.0], [0.0, -1.0]], &Device::flex()),
        );
        assert_eq!((queue.images.as_slice(), queue.next), (&[10, 8, 9][..], 1));
        let keys: Vec<f32> = crate::network::download(queue.keys);
        assert_eq!(keys, [0.0, -1.0, 0.0, 1.0, -1.0, 0.0]);
    }

    #[test]
    fn a_batch_longer_than_the_queue_leaves_its_last_keys() {
        let mut queue = queue(2);
        queue.push(
            &[5, 6, 7],
            Tensor::from_data([[1.0, 0.0], [0.0, 1.0], [0.0, -5.0]], &Device::flex()),
        );
        assert_eq!(queue.images, [6, 7]);
        assert_eq!(crate::network::download(queue.keys), [0.0, 1.0, 0.0, -1.0]);
    }
}

//! Which class, as a row of yes and no.

use burn::tensor::{Bool, Int, Tensor};

/// Row b is true at column `indices[b]` only. Unlike Burn's `one_hot` it also takes a single class.
///
/// # Shapes
///
/// `indices` \[B\] → [B, `classes`]
pub fn indicator(indices: Tensor<1, Int>, classes: usize) -> Tensor<2, Bool> {
    let [rows] = indices.dims();
    let columns = Tensor::<1, Int>::arange(0..classes as i64, &indices.device());
    let columns = columns.unsqueeze_dim::<2>(0).expand([rows, classes]);
    indices
        .unsqueeze_dim::<2>(1)
        .expand([rows, classes])
        .equal(columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;

    #[test]
    fn one_true_in_every_row() {
        let device = Device::flex();
        let rows = |indices: &[i64], classes| {
            let data = indicator(Tensor::from_data(indices, &device), classes)
                .into_data()
                .convert::<u8>();
            data.as_slice::<u8>().unwrap().to_vec()
        };
        assert_eq!(rows(&[1, 0], 3), [0, 1, 0, 1, 0, 0]);
        assert_eq!(rows(&[0, 0], 1), [1, 1]);
    }
}

//! Deleted positions, and the rows that they leave.

use std::ops::Range;

use datafusion::error::Result;
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};

use crate::failure::failure;
use crate::wire::Class;

/// Decodes ascending positions from the varints of their distances.
pub fn positions(bytes: &[u8]) -> Result<Vec<u64>> {
    let bad = || failure(Class::Data, "deleted positions cannot be read");
    let mut out: Vec<u64> = Vec::new();
    let mut at = 0;
    let (mut value, mut shift) = (0u64, 0u32);
    for (i, b) in bytes.iter().enumerate() {
        if shift > 56 {
            return Err(bad());
        }
        value |= u64::from(b & 0x7f) << shift;
        shift += 7;
        if b & 0x80 != 0 {
            if i + 1 == bytes.len() {
                return Err(bad());
            }
            continue;
        }
        if value == 0 && !out.is_empty() {
            return Err(bad()); // a position twice
        }
        at = u64::checked_add(at, value).ok_or_else(bad)?;
        out.push(at);
        (value, shift) = (0, 0);
    }
    Ok(out)
}

/// The rows that are left of some row groups, given as ranges of the file's rows, without the deleted positions.
pub fn selection(groups: &[Range<u64>], deleted: &[u64]) -> RowSelection {
    let mut selectors = Vec::new();
    for g in groups {
        let mut next = g.start;
        let from = deleted.partition_point(|p| *p < g.start);
        let to = deleted.partition_point(|p| *p < g.end);
        for p in &deleted[from..to] {
            if *p > next {
                selectors.push(RowSelector::select((*p - next) as usize));
            }
            selectors.push(RowSelector::skip(1));
            next = p + 1;
        }
        if g.end > next {
            selectors.push(RowSelector::select((g.end - next) as usize));
        }
    }
    selectors.into()
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "lists of ranges are meant")]
mod tests {
    use super::*;

    #[test]
    fn varints() {
        assert_eq!(positions(&[]).unwrap(), Vec::<u64>::new());
        assert_eq!(positions(&[0, 1, 0x80, 1]).unwrap(), [0, 1, 129]);
        for bad in [&[0x80u8][..], &[3, 0], &[0xff; 11]] {
            assert!(positions(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn rows_that_are_left() {
        for (groups, deleted, want) in [
            (vec![0..10], vec![], vec![(false, 10)]),
            (vec![0..10], vec![0, 9], vec![(true, 1), (false, 8), (true, 1)]),
            (vec![5..10], vec![4, 6, 20], vec![(false, 1), (true, 1), (false, 3)]),
            (vec![0..2, 4..6], vec![1, 2, 4], vec![(false, 1), (true, 2), (false, 1)]),
        ] {
            let got: Vec<_> = selection(&groups, &deleted).iter().map(|s| (s.skip, s.row_count)).collect();
            assert_eq!(got, want, "{groups:?} without {deleted:?}");
        }
    }
}

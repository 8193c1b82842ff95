//! The order of values.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray, StringArray, make_comparator};
use arrow::compute::{SortOptions, cast, interleave};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int32Type, Int64Type, Time32SecondType, Time64NanosecondType, TimeUnit};
use datafusion::error::Result;

use super::{DIGITS, Entry, GROUPED, NUMBER_OF, ORDERED, TRUTH_OF, UUID, hex, is_int};
use crate::failure::failure;
use crate::wire::Class;

pub const LIST: &[Entry] = &[
    Entry(ORDERED, float, |a, _| ordered(&a[0])),
    Entry(GROUPED, float, |a, _| grouped(&a[0])),
    Entry("gw_sortable", sortable_type, |a, _| sortable(&a[0])),
    Entry("gw_sorted", sorted_type, |a, _| sorted(&a[0])),
    Entry("gw_greatest", same, |a, _| extreme(a, Ordering::Greater)),
    Entry("gw_least", same, |a, _| extreme(a, Ordering::Less)),
    Entry(DIGITS, bytes, digits),
    Entry(NUMBER_OF, number_type, |a, to| Ok(cast(&a[0], to)?)),
    Entry(TRUTH_OF, truth_type, |a, to| Ok(cast(&a[0], to)?)),
];

fn bytes(t: &[DataType]) -> Option<DataType> {
    matches!(t, [t] if *t == UUID || *t == DataType::Binary).then_some(DataType::Utf8)
}

/// Bytes as digits, which have the same order.
fn digits(a: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let text = |v: Option<&[u8]>| v.map(hex);
    Ok(Arc::new(match a[0].as_binary_opt::<i32>() {
        Some(a) => a.iter().map(text).collect::<StringArray>(),
        None => a[0].as_fixed_size_binary().iter().map(text).collect(),
    }))
}

fn number_type(t: &[DataType]) -> Option<DataType> {
    (t == [DataType::Boolean]).then_some(DataType::Int8)
}

fn truth_type(t: &[DataType]) -> Option<DataType> {
    (t == [DataType::Int8]).then_some(DataType::Boolean)
}

fn float(t: &[DataType]) -> Option<DataType> {
    match t {
        [t @ (DataType::Float32 | DataType::Float64)] => Some(t.clone()),
        _ => None,
    }
}

/// A NaN is a NaN, and above all others; zeros have no sign.
fn ordered(a: &ArrayRef) -> Result<ArrayRef> {
    Ok(match a.data_type() {
        DataType::Float32 => Arc::new(a.as_primitive::<Float32Type>().unary::<_, Float32Type>(|v| if v.is_nan() { f32::NAN } else { v + 0.0 })),
        _ => Arc::new(a.as_primitive::<Float64Type>().unary::<_, Float64Type>(|v| if v.is_nan() { f64::NAN } else { v + 0.0 })),
    })
}

/// A NaN is a NaN. A group of zeros of both signs would show one of them, the other executor its first: a negative one is refused.
fn grouped(a: &ArrayRef) -> Result<ArrayRef> {
    let negative = match a.data_type() {
        DataType::Float32 => a.as_primitive::<Float32Type>().iter().flatten().any(|v| v == 0.0 && v.is_sign_negative()),
        _ => a.as_primitive::<Float64Type>().iter().flatten().any(|v| v == 0.0 && v.is_sign_negative()),
    };
    if negative { Err(failure(Class::Unsupported, "grouping by a negative zero")) } else { ordered(a) }
}

/// For `min` and `max`: floating point becomes times of the day, which have the right order, and everything else stays.
fn sortable_type(t: &[DataType]) -> Option<DataType> {
    match t {
        [DataType::Float32] => Some(DataType::Time32(TimeUnit::Second)),
        [DataType::Float64] => Some(DataType::Time64(TimeUnit::Nanosecond)),
        [t] => Some(t.clone()),
        _ => None,
    }
}

fn sorted_type(t: &[DataType]) -> Option<DataType> {
    match t {
        [DataType::Time32(TimeUnit::Second)] => Some(DataType::Float32),
        [DataType::Time64(TimeUnit::Nanosecond)] => Some(DataType::Float64),
        [t] => Some(t.clone()),
        _ => None,
    }
}

fn sortable(a: &ArrayRef) -> Result<ArrayRef> {
    Ok(match a.data_type() {
        DataType::Float32 => {
            let key = |v: f32| flip32(if v.is_nan() { f32::NAN } else { v }.to_bits() as i32);
            Arc::new(a.as_primitive::<Float32Type>().unary::<_, Int32Type>(key).reinterpret_cast::<Time32SecondType>())
        }
        DataType::Float64 => {
            let key = |v: f64| flip64(if v.is_nan() { f64::NAN } else { v }.to_bits() as i64);
            Arc::new(a.as_primitive::<Float64Type>().unary::<_, Int64Type>(key).reinterpret_cast::<Time64NanosecondType>())
        }
        _ => Arc::clone(a),
    })
}

fn sorted(a: &ArrayRef) -> Result<ArrayRef> {
    Ok(match a.data_type() {
        DataType::Time32(_) => {
            let out: PrimitiveArray<Float32Type> = a.as_primitive::<Time32SecondType>().unary(|v| f32::from_bits(flip32(v) as u32));
            Arc::new(out)
        }
        DataType::Time64(TimeUnit::Nanosecond) => {
            let out: PrimitiveArray<Float64Type> = a.as_primitive::<Time64NanosecondType>().unary(|v| f64::from_bits(flip64(v) as u64));
            Arc::new(out)
        }
        _ => Arc::clone(a),
    })
}

/// Turns the order of negative numbers around; twice is nothing.
fn flip64(v: i64) -> i64 {
    v ^ (((v >> 63) as u64) >> 1) as i64
}

fn flip32(v: i32) -> i32 {
    v ^ (((v >> 31) as u32) >> 1) as i32
}

fn same(t: &[DataType]) -> Option<DataType> {
    let first = t.first()?;
    let known = is_int(first)
        || matches!(
            first,
            DataType::Float64 | DataType::Utf8 | DataType::Date32 | DataType::Timestamp(TimeUnit::Microsecond, None) | DataType::Decimal128(..)
        )
        || matches!(first, DataType::Binary | DataType::Time64(TimeUnit::Microsecond))
        || *first == UUID;
    (known && t.iter().all(|t| t == first)).then(|| first.clone())
}

/// The greatest or the least of the values that are not NULL, the first one of equal ones.
fn extreme(a: &[ArrayRef], wanted: Ordering) -> Result<ArrayRef> {
    let keys =
        a.iter().map(|a| if float(&[a.data_type().clone()]).is_some() { ordered(a) } else { Ok(Arc::clone(a)) }).collect::<Result<Vec<_>>>()?;
    let mut best: Vec<(usize, usize)> = (0..a[0].len()).map(|row| (0, row)).collect();
    for next in 1..a.len() {
        let compare =
            (0..next).map(|i| make_comparator(&keys[next], &keys[i], SortOptions::default())).collect::<std::result::Result<Vec<_>, _>>()?;
        for (row, b) in best.iter_mut().enumerate() {
            if keys[next].is_valid(row) && (keys[b.0].is_null(row) || compare[b.0](row, row) == wanted) {
                *b = (next, row);
            }
        }
    }
    Ok(interleave(&a.iter().map(|a| a.as_ref()).collect::<Vec<_>>(), &best)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::Float64Array;

    #[test]
    fn keys_have_the_order_of_their_values() {
        let values = [f64::NEG_INFINITY, -1.5, -0.0, 0.0, f64::MIN_POSITIVE, 1.5, f64::INFINITY, f64::NAN];
        let a: ArrayRef = Arc::new(Float64Array::from(values.to_vec()));
        let key = sortable(&a).unwrap();
        let keys = key.as_primitive::<Time64NanosecondType>().values().to_vec();
        assert!(keys.is_sorted(), "{keys:?}");
        let back = sorted(&key).unwrap();
        for (v, w) in values.iter().zip(back.as_primitive::<Float64Type>().values()) {
            assert_eq!(v.to_bits(), w.to_bits());
        }
    }
}

//! Casts, as the other executor makes them. The second argument is a NULL of the type.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float64Array,
    PrimitiveArray, StringArray, Time64MicrosecondArray, TimestampMicrosecondArray, new_null_array,
};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time64MicrosecondType, TimeUnit,
    TimestampMicrosecondType,
};
use datafusion::error::{DataFusionError, Result};

use super::time::{DAY, Moment};
use super::{Entry, is_int, read};
use crate::failure::failure;
use crate::wire::Class;

pub const LIST: &[Entry] = &[
    Entry("gw_cast", known, run),
    // SQL here has no names for these types.
    Entry("gw_to_uuid", |t| to(t, UUID), run),
    Entry("gw_to_time", |t| to(t, TIME), run),
    Entry("gw_to_blob", |t| to(t, DataType::Binary), run),
];

/// A UUID: its bytes, which have the order of its text.
pub const UUID: DataType = DataType::FixedSizeBinary(16);

const TIME: DataType = DataType::Time64(TimeUnit::Microsecond);

fn to(t: &[DataType], to: DataType) -> Option<DataType> {
    match t {
        [DataType::Null] => Some(to),
        [from] => known(&[from.clone(), to]),
        _ => None,
    }
}

const TIMESTAMP: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

/// Whether DataFusion's own cast means the same.
pub fn native(from: &DataType, to: &DataType) -> bool {
    use DataType::*;
    match (from, to) {
        (a, b) if a == b => true,
        (Null, _) | (UInt64, Int64) => true,
        (Int8, Int16 | Int32 | Int64) | (Int16, Int32 | Int64) | (Int32, Int64) => true,
        (Int8 | Int16 | Int32 | Int64 | Float32, Float64) => true,
        (Int8 | Int16 | Int32, Decimal128(p, s)) => i16::from(*p) - i16::from(*s) >= 10,
        (Int64, Decimal128(p, s)) => i16::from(*p) - i16::from(*s) >= 19,
        (Decimal128(p, s), Decimal128(q, t)) => t >= s && i16::from(*q) - i16::from(*t) >= i16::from(*p) - i16::from(*s),
        (Int8 | Int16 | Int32 | Int64, Utf8) => true,
        _ => false,
    }
}

fn known(t: &[DataType]) -> Option<DataType> {
    use DataType::*;
    let [from, to] = t else { return None };
    let ok = match (from, to) {
        (a, b) if a == b => true,
        (Utf8, b) => is_int(b) || matches!(b, Float64 | Date32 | Binary) || [TIMESTAMP, TIME, UUID].contains(b),
        (a, Float64) => is_int(a) || matches!(a, Decimal128(..) | Float32),
        (Float64 | Decimal128(..), b) if is_int(b) => true,
        (a, b) if is_int(a) && is_int(b) => true,
        (a, Decimal128(..)) => is_int(a) || matches!(a, Decimal128(..)),
        (Boolean, b) | (b, Boolean) if is_int(b) => true,
        (Boolean | Date32 | Decimal128(..) | Binary, Utf8) => true,
        (a, Utf8) => [TIMESTAMP, TIME, UUID].contains(a),
        (Date32, b) => *b == TIMESTAMP,
        (a, Date32) => *a == TIMESTAMP,
        _ => false,
    };
    ok.then(|| to.clone())
}

fn run(a: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    let a = &a[0];
    match (a.data_type(), to) {
        (from, to) if from == to => Ok(Arc::clone(a)),
        (from, to) if native(from, to) => Ok(arrow::compute::cast(a, to)?),
        (DataType::Null, _) => Ok(new_null_array(to, a.len())),
        (DataType::Decimal128(_, s), DataType::Float64) => {
            let s = *s as usize;
            Ok(Arc::new(a.as_primitive::<Decimal128Type>().unary::<_, Float64Type>(|v| double(v, s))))
        }
        (DataType::Utf8, DataType::Float64) => {
            let values = a.as_string::<i32>().iter().map(|s| s.map(read::double).transpose());
            Ok(Arc::new(values.collect::<Result<Float64Array>>()?))
        }
        (DataType::Utf8, DataType::Date32) => {
            let values = a.as_string::<i32>().iter().map(|s| s.map(read::date).transpose());
            Ok(Arc::new(values.collect::<Result<Date32Array>>()?))
        }
        (DataType::Utf8, DataType::Timestamp(..)) => {
            let values = a.as_string::<i32>().iter().map(|s| s.map(read::timestamp).transpose());
            Ok(Arc::new(values.collect::<Result<TimestampMicrosecondArray>>()?))
        }
        (DataType::Utf8, DataType::Time64(_)) => {
            let values = a.as_string::<i32>().iter().map(|s| s.map(read::time).transpose());
            Ok(Arc::new(values.collect::<Result<Time64MicrosecondArray>>()?))
        }
        (DataType::Utf8, DataType::Binary) => {
            let values = a.as_string::<i32>().iter().map(|s| s.map(read::blob).transpose());
            Ok(Arc::new(values.collect::<Result<BinaryArray>>()?))
        }
        (DataType::Utf8, DataType::FixedSizeBinary(_)) => {
            let values = a.as_string::<i32>().iter().map(|s| s.map(read::uuid).transpose()).collect::<Result<Vec<_>>>()?;
            Ok(Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(values.into_iter(), 16)?))
        }
        (_, to) if is_int(to) => integers(a, to),
        (_, DataType::Decimal128(p, s)) => decimals(a, *p, *s),
        (_, DataType::Boolean) => {
            let zero = |v: i64| v != 0;
            Ok(Arc::new(arrow::compute::cast(a, &DataType::Int64)?.as_primitive::<Int64Type>().iter().map(|v| v.map(zero)).collect::<BooleanArray>()))
        }
        (_, DataType::Utf8) => text(a),
        (DataType::Date32, _) => midnights(a),
        (_, DataType::Date32) => dates(a),
        (from, to) => Err(failure(Class::Internal, format!("a cast of {from} to {to}"))),
    }
}

fn unfit(what: &str) -> DataFusionError {
    failure(Class::Conversion, format!("{what} does not fit its type"))
}

/// A decimal as floating point: divided once if that is exact, and else its whole part and the rest apart.
pub fn double(v: i128, scale: usize) -> f64 {
    let power = 10f64.powi(scale as i32);
    if v.unsigned_abs() <= 1 << 53 || scale == 0 {
        return wide(v) / power;
    }
    let whole = v / 10i128.pow(scale as u32);
    wide(whole) + wide(v - whole * 10i128.pow(scale as u32)) / power
}

/// Both halves of a number of 128 bits are rounded on their own.
fn wide(v: i128) -> f64 {
    if i64::try_from(v).is_ok() {
        return v as i64 as f64;
    }
    let (high, low) = ((v >> 64) as i64, v as u64);
    if high == -1 { -((u64::MAX - low) as f64) - 1.0 } else { low as f64 + high as f64 * u64::MAX as f64 }
}

fn integers(a: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    fn narrow<T: ArrowPrimitiveType>(a: &ArrayRef) -> Result<ArrayRef>
    where
        T::Native: TryFrom<i128>,
    {
        // Floating point that is less than one too large is taken there before it is rounded, and is another number then.
        let near = |v: i128| *a.data_type() == DataType::Float64 && T::Native::try_from(v - 1).is_ok() && v > 0;
        let error = |v: i128| if near(v) { failure(Class::Unsupported, "a number at the end of its type") } else { unfit("a number") };
        let fit = |v: Option<i128>| v.map(|v| T::Native::try_from(v).map_err(|_| error(v))).transpose();
        Ok(Arc::new(whole(a)?.into_iter().map(fit).collect::<Result<PrimitiveArray<T>>>()?))
    }
    match to {
        DataType::Int8 => narrow::<Int8Type>(a),
        DataType::Int16 => narrow::<Int16Type>(a),
        DataType::Int32 => narrow::<Int32Type>(a),
        _ => narrow::<Int64Type>(a),
    }
}

/// The values as whole numbers: floating point is rounded to even, decimals away from zero.
fn whole(a: &ArrayRef) -> Result<Vec<Option<i128>>> {
    Ok(match a.data_type() {
        DataType::Float64 => {
            let one = |v: f64| {
                if v.is_finite() && v.abs() < 1e38 { Ok(v.round_ties_even() as i128) } else { Err(unfit("a number")) }
            };
            a.as_primitive::<Float64Type>().iter().map(|v| v.map(one).transpose()).collect::<Result<_>>()?
        }
        DataType::Decimal128(_, s) => {
            let power = 10i128.pow(*s as u32);
            a.as_primitive::<Decimal128Type>().iter().map(|v| v.map(|v| away(v, power))).collect()
        }
        DataType::Boolean => a.as_boolean().iter().map(|v| v.map(i128::from)).collect(),
        DataType::Utf8 => a.as_string::<i32>().iter().map(|s| s.map(read::integer).transpose()).collect::<Result<_>>()?,
        _ => arrow::compute::cast(a, &DataType::Int64)?.as_primitive::<Int64Type>().iter().map(|v| v.map(i128::from)).collect(),
    })
}

/// v by a power of ten, halves away from zero.
fn away(v: i128, power: i128) -> i128 {
    let (q, rest) = (v / power, v % power);
    if rest.abs() >= power - rest.abs() && rest != 0 { q + rest.signum() } else { q }
}

fn decimals(a: &ArrayRef, precision: u8, scale: i8) -> Result<ArrayRef> {
    let bound = 10i128.pow(u32::from(precision));
    let (values, have): (Vec<Option<i128>>, i8) = match a.data_type() {
        DataType::Decimal128(_, s) => (a.as_primitive::<Decimal128Type>().iter().collect(), *s),
        _ => (whole(a)?, 0),
    };
    let one = |v: i128| {
        let v = match scale - have {
            up @ 0.. => v.checked_mul(10i128.pow(up as u32)),
            down => Some(away(v, 10i128.pow(-down as u32))),
        };
        v.filter(|v| v.abs() < bound).ok_or_else(|| unfit("a decimal"))
    };
    let values = values.into_iter().map(|v| v.map(one).transpose()).collect::<Result<Decimal128Array>>()?;
    Ok(Arc::new(values.with_precision_and_scale(precision, scale)?))
}

fn text(a: &ArrayRef) -> Result<ArrayRef> {
    Ok(Arc::new(match a.data_type() {
        DataType::Boolean => a.as_boolean().iter().map(|v| v.map(|v| if v { "true" } else { "false" })).collect::<StringArray>(),
        DataType::Date32 => a.as_primitive::<Date32Type>().iter().map(|v| v.map(date_text)).collect(),
        DataType::Decimal128(_, s) => {
            let s = *s as usize;
            a.as_primitive::<Decimal128Type>().iter().map(|v| v.map(|v| decimal_text(v, s))).collect()
        }
        DataType::Time64(_) => a.as_primitive::<Time64MicrosecondType>().iter().map(|v| v.map(time_text)).collect(),
        DataType::Binary => a.as_binary::<i32>().iter().map(|v| v.map(blob_text)).collect(),
        DataType::FixedSizeBinary(_) => a.as_fixed_size_binary().iter().map(|v| v.map(uuid_text)).collect(),
        _ => a.as_primitive::<TimestampMicrosecondType>().iter().map(|v| v.map(timestamp_text)).collect(),
    }))
}

/// Printable characters of ASCII as they are, but for quotes and backslashes, and other bytes as `\xHH`.
fn blob_text(v: &[u8]) -> String {
    let mut out = String::with_capacity(v.len());
    for b in v {
        match b {
            b' '..=b'~' if !b"\\'\"".contains(b) => out.push(char::from(*b)),
            _ => out.push_str(&format!("\\x{b:02X}")),
        }
    }
    out
}

fn uuid_text(v: &[u8]) -> String {
    let digits = super::hex(v);
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

fn decimal_text(v: i128, scale: usize) -> String {
    let sign = if v < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", v.unsigned_abs(), width = scale + 1);
    let (whole, rest) = digits.split_at(digits.len() - scale);
    if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{rest}") }
}

fn date_text(v: i32) -> String {
    match Moment::date(v) {
        Some(m) => format!("{}{}", day_text(&m), era(&m)),
        None => if v > 0 { "infinity" } else { "-infinity" }.to_owned(),
    }
}

fn day_text(m: &Moment) -> String {
    let year = if m.year > 0 { m.year } else { 1 - m.year };
    format!("{year:04}-{:02}-{:02}", m.month, m.day)
}

fn era(m: &Moment) -> &'static str {
    if m.year > 0 { "" } else { " (BC)" }
}

fn timestamp_text(v: i64) -> String {
    let Some(m) = Moment::timestamp(v) else { return if v > 0 { "infinity" } else { "-infinity" }.to_owned() };
    format!("{}{} {}", day_text(&m), era(&m), time_text(m.micros))
}

/// A time of the day, without zeros at the end of the fraction of its second.
fn time_text(micros: i64) -> String {
    let seconds = micros / 1_000_000;
    let fraction = match micros % 1_000_000 {
        0 => String::new(),
        micros => format!(".{micros:06}").trim_end_matches('0').to_owned(),
    };
    format!("{:02}:{:02}:{:02}{fraction}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

fn midnights(a: &ArrayRef) -> Result<ArrayRef> {
    let one = |v: i32| match v {
        i32::MAX => Ok(i64::MAX),
        v if v == -i32::MAX => Ok(-i64::MAX),
        v => i64::from(v).checked_mul(DAY).ok_or_else(|| unfit("a date")),
    };
    Ok(Arc::new(a.as_primitive::<Date32Type>().iter().map(|v| v.map(one).transpose()).collect::<Result<TimestampMicrosecondArray>>()?))
}

fn dates(a: &ArrayRef) -> Result<ArrayRef> {
    let one = |v: i64| match v {
        i64::MAX => i32::MAX,
        v if v == -i64::MAX => -i32::MAX,
        v => v.div_euclid(DAY) as i32,
    };
    Ok(Arc::new(a.as_primitive::<TimestampMicrosecondType>().unary::<_, Date32Type>(one)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        assert_eq!(date_text(super::super::time::days(12_345, 6, 7) as i32), "12345-06-07");
        assert_eq!(date_text(super::super::time::days(0, 1, 2) as i32), "0001-01-02 (BC)");
        assert_eq!(timestamp_text(1_500_000), "1970-01-01 00:00:01.5");
        assert_eq!(decimal_text(-5, 2), "-0.05");
        assert_eq!(decimal_text(7, 0), "7");
        assert_eq!(time_text(86_399_999_990), "23:59:59.99999");
        assert_eq!(blob_text(b"a'\\ \x00\xff~"), "a\\x27\\x5C \\x00\\xFF~");
        let id = "00112233-4455-6677-8899-aabbccddeeff";
        assert_eq!(uuid_text(&read::uuid(&id.to_uppercase()).unwrap()), id);
    }

    #[test]
    fn rounding() {
        assert_eq!([away(15, 10), away(-15, 10), away(14, 10), away(-14, 10)], [2, -2, 1, -1]);
        let a: ArrayRef = Arc::new(Float64Array::from(vec![2.5, 3.5, -2.5]));
        assert_eq!(whole(&a).unwrap(), [Some(2), Some(4), Some(-2)]);
        assert_eq!(double(12345, 2), 123.45);
    }
}

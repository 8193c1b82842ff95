//! Functions of numbers.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, Decimal128Array, Float64Array, Int8Array, PrimitiveArray};
use arrow::compute::cast;
use arrow::datatypes::{ArrowNativeTypeOp, DataType, Decimal128Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type};
use arrow::error::ArrowError;
use datafusion::error::Result;

use super::{Entry, is_int, range};
use crate::failure::failure;
use crate::wire::Class;

pub const LIST: &[Entry] = &[
    Entry("gw_abs", one_number, abs),
    Entry("gw_sign", sign_type, sign),
    Entry("gw_ceil", rounded_type::<0>, |a, t| round_to(&a[0], t, 0, Mode::Up)),
    Entry("gw_floor", rounded_type::<0>, |a, t| round_to(&a[0], t, 0, Mode::Down)),
    Entry("gw_round_0", rounded_type::<0>, |a, t| round_to(&a[0], t, 0, Mode::Nearest)),
    Entry("gw_round_1", rounded_type::<1>, |a, t| round_to(&a[0], t, 1, Mode::Nearest)),
    Entry("gw_round_2", rounded_type::<2>, |a, t| round_to(&a[0], t, 2, Mode::Nearest)),
    Entry("gw_round_3", rounded_type::<3>, |a, t| round_to(&a[0], t, 3, Mode::Nearest)),
    Entry("gw_round_4", rounded_type::<4>, |a, t| round_to(&a[0], t, 4, Mode::Nearest)),
    Entry("gw_sqrt", double, |a, _| checked(&a[0], |v| if v < 0.0 { Err(range("the square root")) } else { Ok(v.sqrt()) })),
    Entry("gw_exp", double, |a, _| checked(&a[0], |v| Ok(v.exp()))),
    Entry("gw_ln", double, |a, _| logarithm(&a[0], f64::ln)),
    Entry("gw_log10", double, |a, _| logarithm(&a[0], f64::log10)),
    Entry("gw_log2", double, |a, _| logarithm(&a[0], f64::log2)),
    Entry("gw_pow", two_doubles, |a, _| pairs(a, |x, y| Some(x.powf(y)))),
    Entry("gw_mod", modulo_type, modulo),
    Entry("gw_div", quotient_type, quotient),
    Entry("gw_finite", one_double, |a, _| checked(&a[0], |v| if v.is_finite() { Ok(v) } else { Err(range("the result")) })),
    Entry("gw_fit", fit_type, fit),
    Entry("gw_quotient", average_type, average),
];

fn one_number(t: &[DataType]) -> Option<DataType> {
    match t {
        [t] if is_int(t) || matches!(t, DataType::Float64 | DataType::Decimal128(..)) => Some(t.clone()),
        _ => None,
    }
}

fn one_double(t: &[DataType]) -> Option<DataType> {
    (t == [DataType::Float64]).then_some(DataType::Float64)
}

/// Numbers that become DOUBLE first. Of decimals, only those that do so without loss.
fn double(t: &[DataType]) -> Option<DataType> {
    match t {
        [t] if is_int(t) || matches!(t, DataType::Float64) => Some(DataType::Float64),
        [DataType::Decimal128(p, _)] if *p <= 15 => Some(DataType::Float64),
        _ => None,
    }
}

fn two_doubles(t: &[DataType]) -> Option<DataType> {
    match t {
        [a, b] => double(std::slice::from_ref(a)).and_then(|_| double(std::slice::from_ref(b))),
        _ => None,
    }
}

fn doubles(a: &ArrayRef) -> Result<Float64Array> {
    Ok(cast(a, &DataType::Float64)?.as_primitive::<Float64Type>().clone())
}

/// A value of each value. What lies under a NULL is not looked at.
fn checked(a: &ArrayRef, f: impl Fn(f64) -> Result<f64>) -> Result<ArrayRef> {
    let a = doubles(a)?;
    Ok(Arc::new(a.iter().map(|v| v.map(&f).transpose()).collect::<Result<Float64Array>>()?))
}

fn pairs(a: &[ArrayRef], f: impl Fn(f64, f64) -> Option<f64>) -> Result<ArrayRef> {
    let (x, y) = (doubles(&a[0])?, doubles(&a[1])?);
    Ok(Arc::new(x.iter().zip(y.iter()).map(|(x, y)| f(x?, y?)).collect::<Float64Array>()))
}

fn logarithm(a: &ArrayRef, f: fn(f64) -> f64) -> Result<ArrayRef> {
    checked(a, |v| if v <= 0.0 { Err(range("the logarithm")) } else { Ok(f(v)) })
}

fn abs(a: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    fn whole<T: ArrowPrimitiveType>(a: &ArrayRef, f: fn(T::Native) -> Option<T::Native>) -> Result<ArrayRef> {
        let a = a.as_primitive::<T>();
        let values = a.iter().map(|v| v.map(|v| f(v).ok_or_else(|| range("the absolute value"))).transpose());
        Ok(Arc::new(values.collect::<Result<PrimitiveArray<T>>>()?.with_data_type(a.data_type().clone())))
    }
    match a[0].data_type() {
        DataType::Int8 => whole::<Int8Type>(&a[0], i8::checked_abs),
        DataType::Int16 => whole::<Int16Type>(&a[0], i16::checked_abs),
        DataType::Int32 => whole::<Int32Type>(&a[0], i32::checked_abs),
        DataType::Int64 => whole::<Int64Type>(&a[0], i64::checked_abs),
        DataType::Decimal128(..) => whole::<Decimal128Type>(&a[0], i128::checked_abs),
        _ => checked(&a[0], |v| Ok(v.abs())),
    }
}

fn sign_type(t: &[DataType]) -> Option<DataType> {
    one_number(t).map(|_| DataType::Int8)
}

fn sign(a: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let of = |v: f64| if v > 0.0 { 1 } else { -i8::from(v < 0.0) };
    Ok(Arc::new(match a[0].data_type() {
        DataType::Decimal128(..) => a[0].as_primitive::<Decimal128Type>().iter().map(|v| v.map(|v| v.signum() as i8)).collect::<Int8Array>(),
        _ => doubles(&a[0])?.iter().map(|v| v.map(of)).collect(),
    }))
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Up,
    Down,
    Nearest,
}

/// Decimals keep as many digits after the point as are asked for, and as they have.
fn rounded_type<const DIGITS: i8>(t: &[DataType]) -> Option<DataType> {
    match t {
        [DataType::Float64] => Some(DataType::Float64),
        [DataType::Decimal128(p, s)] => Some(DataType::Decimal128(*p, (*s).min(DIGITS))),
        _ => None,
    }
}

fn round_to(a: &ArrayRef, to: &DataType, digits: i32, mode: Mode) -> Result<ArrayRef> {
    let DataType::Decimal128(from, have) = a.data_type() else {
        return checked(a, |v| Ok(round_double(v, digits, mode)));
    };
    let DataType::Decimal128(_, keep) = to else { unreachable!("a decimal stays one") };
    let power = 10i128.pow((have - keep) as u32);
    let round = |v: i128| {
        let (q, rest) = (v.div_euclid(power), v.rem_euclid(power));
        match mode {
            _ if rest == 0 => q,
            Mode::Up => q + 1,
            Mode::Down => q,
            // Halves go away from zero.
            Mode::Nearest => q + i128::from(if v < 0 { rest > power - rest } else { rest >= power - rest }),
        }
    };
    let values: Decimal128Array = a.as_primitive::<Decimal128Type>().unary(round);
    Ok(Arc::new(values.with_precision_and_scale(*from, *keep)?))
}

fn round_double(v: f64, digits: i32, mode: Mode) -> f64 {
    match mode {
        Mode::Up => v.ceil(),
        Mode::Down => v.floor(),
        Mode::Nearest if digits == 0 => v.round(),
        Mode::Nearest => {
            let power = 10f64.powi(digits);
            let out = (v * power).round() / power;
            if out.is_finite() { out } else { v }
        }
    }
}

/// The wider one of two integers, or DOUBLE.
fn wider(t: &[DataType]) -> Option<DataType> {
    match t {
        [a, b] if is_int(a) && is_int(b) => Some(if a.primitive_width() >= b.primitive_width() { a.clone() } else { b.clone() }),
        _ => None,
    }
}

fn modulo_type(t: &[DataType]) -> Option<DataType> {
    if t == [DataType::Float64, DataType::Float64] { Some(DataType::Float64) } else { wider(t) }
}

fn quotient_type(t: &[DataType]) -> Option<DataType> {
    wider(t)
}

/// Division of integers by zero is NULL.
fn modulo(a: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    if *to == DataType::Float64 {
        return pairs(a, |x, y| Some(x % y));
    }
    whole(a, to, |x, y| x.mod_checked(y), |x, y| x.mod_checked(y), |x, y| x.mod_checked(y), |x, y| x.mod_checked(y))
}

fn quotient(a: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    whole(a, to, |x, y| x.div_checked(y), |x, y| x.div_checked(y), |x, y| x.div_checked(y), |x, y| x.div_checked(y))
}

type Step<T> = fn(T, T) -> std::result::Result<T, ArrowError>;

fn whole(a: &[ArrayRef], to: &DataType, b: Step<i8>, s: Step<i16>, i: Step<i32>, l: Step<i64>) -> Result<ArrayRef> {
    fn run<T: ArrowPrimitiveType>(a: &[ArrayRef], to: &DataType, f: Step<T::Native>) -> Result<ArrayRef> {
        let (x, y) = (cast(&a[0], to)?, cast(&a[1], to)?);
        let step = |(x, y): (Option<T::Native>, Option<T::Native>)| match (x, y) {
            (Some(x), Some(y)) if !y.is_zero() => {
                let out = f(x, y);
                // The lowest number by minus one, also where only the rest is asked for.
                let low = x == T::Native::MIN_TOTAL_ORDER && y.add_wrapping(T::Native::ONE).is_zero();
                if low { Err(range("a division")) } else { out.map(Some).map_err(|_| range("a division")) }
            }
            _ => Ok(None),
        };
        let (x, y) = (x.as_primitive::<T>(), y.as_primitive::<T>());
        Ok(Arc::new(x.iter().zip(y.iter()).map(step).collect::<Result<PrimitiveArray<T>>>()?))
    }
    match to {
        DataType::Int8 => run::<Int8Type>(a, to, b),
        DataType::Int16 => run::<Int16Type>(a, to, s),
        DataType::Int32 => run::<Int32Type>(a, to, i),
        DataType::Int64 => run::<Int64Type>(a, to, l),
        _ => Err(failure(Class::Internal, "integers of another width")),
    }
}

/// A decimal, and a NULL of the type that it is to have.
fn fit_type(t: &[DataType]) -> Option<DataType> {
    match t {
        [DataType::Decimal128(_, s), to @ DataType::Decimal128(_, t)] if s == t => Some(to.clone()),
        _ => None,
    }
}

/// Gives decimals fewer digits before the point. One with more is out of range.
fn fit(a: &[ArrayRef], to: &DataType) -> Result<ArrayRef> {
    let DataType::Decimal128(p, s) = to else { unreachable!("a decimal stays one") };
    let a = a[0].as_primitive::<Decimal128Type>();
    let bound = 10i128.pow(u32::from(*p));
    if a.iter().flatten().any(|v| v >= bound || v <= -bound) {
        return Err(range("a decimal"));
    }
    Ok(Arc::new(a.clone().with_precision_and_scale(*p, *s)?))
}

/// A sum, of integers, decimals or DOUBLE, and a count.
fn average_type(t: &[DataType]) -> Option<DataType> {
    match t {
        [DataType::Decimal128(..) | DataType::Float64, DataType::Int64] => Some(DataType::Float64),
        _ => None,
    }
}

/// The quotient of a sum and a count, rounded once, as a processor with 80 bits does: that is how the other executor averages.
fn average(a: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let counts = a[1].as_primitive::<Int64Type>();
    if let DataType::Decimal128(_, scale) = a[0].data_type() {
        let power = 10i128.pow(*scale as u32);
        let sums = a[0].as_primitive::<Decimal128Type>();
        let quotient = |(sum, n): (Option<i128>, Option<i64>)| {
            let (sum, n) = (sum?, n.filter(|n| *n > 0)?);
            // Beyond 128 bits nobody has counted.
            let out = ratio(sum.unsigned_abs(), u128::try_from(power).ok()?.checked_mul(n as u128)?);
            Some(if sum < 0 { -out } else { out })
        };
        return Ok(Arc::new(sums.iter().zip(counts.iter()).map(quotient).collect::<Float64Array>()));
    }
    let sums = a[0].as_primitive::<Float64Type>();
    Ok(Arc::new(sums.iter().zip(counts.iter()).map(|(s, n)| Some(s? / n.filter(|n| *n > 0)? as f64)).collect::<Float64Array>()))
}

/// The quotient of two whole numbers: both and the result with 64 significant bits, the result then with 53.
fn ratio(n: u128, d: u128) -> f64 {
    let ((n, up), (d, down)) = (bits64(n, false), bits64(d, false));
    if n == 0 {
        return 0.0;
    }
    // Both have their highest bit set, so that the quotient has 64 or 65 bits.
    let wide = u128::from(n) << 64;
    let (q, rest) = (wide / u128::from(d), wide % u128::from(d));
    let (q, more) = match u64::try_from(q) {
        Ok(q) => {
            let (twice, d) = (2 * rest, u128::from(d));
            let up = twice > d || twice == d && q & 1 == 1;
            q.checked_add(u64::from(up)).map_or((1 << 63, 1), |q| (q, 0))
        }
        Err(_) => bits64(q, rest != 0),
    };
    let (high, low) = (q >> 11, q & 0x7ff);
    let even = low > 0x400 || low == 0x400 && high & 1 == 1;
    (high + u64::from(even)) as f64 * 2f64.powi(11 + more + up - down - 64)
}

/// The highest 64 bits of a number, rounded to the nearest, halves to even, and what power of two they are to be taken by.
/// `sticky` says that the number goes on below.
fn bits64(v: u128, sticky: bool) -> (u64, i32) {
    if v == 0 {
        return (0, 0);
    }
    let shift = 64 - v.leading_zeros() as i32;
    if shift <= 0 {
        return ((v << -shift) as u64, shift);
    }
    let (high, low, half) = ((v >> shift) as u64, v & ((1 << shift) - 1), 1u128 << (shift - 1));
    let up = low > half || low == half && (sticky || high & 1 == 1);
    match high.checked_add(u64::from(up)) {
        Some(high) => (high, shift),
        None => (1 << 63, shift + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios() {
        for (n, d, want) in [(0, 3, 0.0), (1, 3, 1.0 / 3.0), (10, 4, 2.5), (u128::from(u64::MAX), 1, 18446744073709551615.0), (7, 10, 0.7)] {
            assert_eq!(ratio(n, d), want, "{n} by {d}");
        }
    }

    #[test]
    fn rounding() {
        assert_eq!(round_double(2.5, 0, Mode::Nearest), 3.0);
        assert_eq!(round_double(-1.005, 2, Mode::Nearest), -1.0);
        assert_eq!(round_double(1e308, 4, Mode::Nearest), 1e308);
    }
}

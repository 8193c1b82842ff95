//! Functions of dates and timestamps without zone. The calendar is Gregorian in all years; the two infinite values have no parts.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Date32Array, Int64Array, StringArray, TimestampMicrosecondArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Date32Type, Int64Type, TimeUnit, TimestampMicrosecondType};
use datafusion::error::Result;

use super::{Entry, is_int, range};
use crate::failure::failure;
use crate::wire::Class;

pub const LIST: &[Entry] = &[
    Entry("gw_part_year", part_type, |a, _| part(&a[0], |d| d.year)),
    Entry("gw_part_month", part_type, |a, _| part(&a[0], |d| d.month)),
    Entry("gw_part_day", part_type, |a, _| part(&a[0], |d| d.day)),
    Entry("gw_part_quarter", part_type, |a, _| part(&a[0], |d| (d.month - 1) / 3 + 1)),
    Entry("gw_part_dow", part_type, |a, _| part(&a[0], |d| (d.days + 4).rem_euclid(7))),
    Entry("gw_part_isodow", part_type, |a, _| part(&a[0], |d| (d.days + 3).rem_euclid(7) + 1)),
    Entry("gw_part_doy", part_type, |a, _| part(&a[0], |d| d.days - days(d.year, 1, 1) + 1)),
    Entry("gw_part_week", part_type, |a, _| part(&a[0], |d| week(d.days).1)),
    Entry("gw_part_hour", time_type, |a, _| part(&a[0], |d| d.micros / HOUR)),
    Entry("gw_part_minute", time_type, |a, _| part(&a[0], |d| d.micros / MINUTE % 60)),
    Entry("gw_part_second", time_type, |a, _| part(&a[0], |d| d.micros / SECOND % 60)),
    Entry("gw_trunc_year", trunc_type, |a, t| trunc(&a[0], t, |d| (days(d.year, 1, 1), 0))),
    Entry("gw_trunc_quarter", trunc_type, |a, t| trunc(&a[0], t, |d| (days(d.year, (d.month - 1) / 3 * 3 + 1, 1), 0))),
    Entry("gw_trunc_month", trunc_type, |a, t| trunc(&a[0], t, |d| (days(d.year, d.month, 1), 0))),
    Entry("gw_trunc_week", trunc_type, |a, t| trunc(&a[0], t, |d| (d.days - (d.days + 3).rem_euclid(7), 0))),
    Entry("gw_trunc_day", trunc_type, |a, t| trunc(&a[0], t, |d| (d.days, 0))),
    Entry("gw_trunc_hour", trunc_time, |a, t| trunc(&a[0], t, |d| (d.days, d.micros / HOUR * HOUR))),
    Entry("gw_trunc_minute", trunc_time, |a, t| trunc(&a[0], t, |d| (d.days, d.micros / MINUTE * MINUTE))),
    Entry("gw_trunc_second", trunc_time, |a, t| trunc(&a[0], t, |d| (d.days, d.micros / SECOND * SECOND))),
    Entry("gw_diff_year", diff_type, |a, _| diff(a, |d| d.year)),
    Entry("gw_diff_quarter", diff_type, |a, _| diff(a, |d| (d.year * 12 + d.month - 1) / 3)),
    Entry("gw_diff_month", diff_type, |a, _| diff(a, |d| d.year * 12 + d.month)),
    Entry("gw_diff_day", diff_type, |a, _| diff(a, |d| d.days)),
    Entry("gw_last_day", part_date, last_day),
    Entry("gw_dayname", name_type, |a, _| names(&a[0], |d| DAYS[(d.days + 4).rem_euclid(7) as usize])),
    Entry("gw_monthname", name_type, |a, _| names(&a[0], |d| MONTHS[d.month as usize - 1])),
    Entry("gw_days", between, days_between),
    Entry("gw_add_days", shifted, |a, _| add_days(a, 1)),
    Entry("gw_sub_days", shifted, |a, _| add_days(a, -1)),
];

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
pub const DAY: i64 = 24 * HOUR;
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];

/// A moment, taken apart.
pub struct Moment {
    pub days: i64,
    pub year: i64,
    pub month: i64,
    pub day: i64,
    /// Of the day.
    pub micros: i64,
}

impl Moment {
    /// The moment so many days and microseconds after 1970-01-01.
    pub fn new(days: i64, micros: i64) -> Self {
        // The algorithm of H. Hinnant, "chrono-compatible low-level date algorithms", civil_from_days.
        let z = days + 719_468;
        let era = z.div_euclid(146_097);
        let of_era = z.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * of_year + 2) / 153;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Self { days, year, month, day: of_year - (153 * shifted + 2) / 5 + 1, micros }
    }

    /// A date; none if it is infinite.
    pub fn date(v: i32) -> Option<Self> {
        (v != i32::MAX && v != -i32::MAX).then(|| Self::new(i64::from(v), 0))
    }

    /// A timestamp; none if it is infinite.
    pub fn timestamp(v: i64) -> Option<Self> {
        (v != i64::MAX && v != -i64::MAX).then(|| Self::new(v.div_euclid(DAY), v.rem_euclid(DAY)))
    }
}

/// The days from 1970-01-01 to a date.
pub fn days(year: i64, month: i64, day: i64) -> i64 {
    let y = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (y.div_euclid(400), y.rem_euclid(400));
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The year and the week of ISO 8601.
fn week(day: i64) -> (i64, i64) {
    let thursday = day - (day + 3).rem_euclid(7) + 3;
    let year = Moment::new(thursday, 0).year;
    (year, (thursday - days(year, 1, 1)) / 7 + 1)
}

fn is_time(t: &DataType) -> bool {
    matches!(t, DataType::Timestamp(TimeUnit::Microsecond, None))
}

fn part_type(t: &[DataType]) -> Option<DataType> {
    matches!(t, [t] if *t == DataType::Date32 || is_time(t)).then_some(DataType::Int64)
}

fn time_type(t: &[DataType]) -> Option<DataType> {
    matches!(t, [t] if is_time(t)).then_some(DataType::Int64)
}

fn name_type(t: &[DataType]) -> Option<DataType> {
    part_type(t).map(|_| DataType::Utf8)
}

fn part_date(t: &[DataType]) -> Option<DataType> {
    part_type(t).map(|_| DataType::Date32)
}

fn trunc_type(t: &[DataType]) -> Option<DataType> {
    part_type(t).map(|_| DataType::Timestamp(TimeUnit::Microsecond, None))
}

fn trunc_time(t: &[DataType]) -> Option<DataType> {
    time_type(t).and_then(|_| trunc_type(t))
}

fn diff_type(t: &[DataType]) -> Option<DataType> {
    matches!(t, [a, b] if a == b && part_type(std::slice::from_ref(a)).is_some()).then_some(DataType::Int64)
}

fn between(t: &[DataType]) -> Option<DataType> {
    (t == [DataType::Date32, DataType::Date32]).then_some(DataType::Int64)
}

fn shifted(t: &[DataType]) -> Option<DataType> {
    matches!(t, [DataType::Date32, n] if is_int(n) && *n != DataType::Int64).then_some(DataType::Date32)
}

/// The moments of a column.
fn moments(a: &ArrayRef) -> Vec<Option<Option<Moment>>> {
    match a.data_type() {
        DataType::Date32 => a.as_primitive::<Date32Type>().iter().map(|v| v.map(Moment::date)).collect(),
        _ => a.as_primitive::<TimestampMicrosecondType>().iter().map(|v| v.map(Moment::timestamp)).collect(),
    }
}

fn part(a: &ArrayRef, f: impl Fn(&Moment) -> i64) -> Result<ArrayRef> {
    Ok(Arc::new(moments(a).into_iter().map(|m| m.flatten().map(|m| f(&m))).collect::<Int64Array>()))
}

fn names(a: &ArrayRef, f: impl Fn(&Moment) -> &'static str) -> Result<ArrayRef> {
    Ok(Arc::new(moments(a).into_iter().map(|m| m.flatten().map(|m| f(&m))).collect::<StringArray>()))
}

fn infinite() -> datafusion::error::DataFusionError {
    failure(Class::Unsupported, "an infinite date")
}

fn trunc(a: &ArrayRef, _: &DataType, f: impl Fn(&Moment) -> (i64, i64)) -> Result<ArrayRef> {
    let one = |m: Option<Option<Moment>>| -> Result<Option<i64>> {
        let Some(m) = m else { return Ok(None) };
        let (day, micros) = f(&m.ok_or_else(infinite)?);
        let out = day.checked_mul(DAY).and_then(|v| v.checked_add(micros));
        out.map(Some).ok_or_else(|| failure(Class::Conversion, "a timestamp is out of range"))
    };
    Ok(Arc::new(moments(a).into_iter().map(one).collect::<Result<TimestampMicrosecondArray>>()?))
}

fn diff(a: &[ArrayRef], f: impl Fn(&Moment) -> i64) -> Result<ArrayRef> {
    let one = |(from, to): (Option<Option<Moment>>, Option<Option<Moment>>)| Some(f(&to??) - f(&from??));
    Ok(Arc::new(moments(&a[0]).into_iter().zip(moments(&a[1])).map(one).collect::<Int64Array>()))
}

fn last_day(a: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let last = |m: Moment| days(m.year + m.month / 12, m.month % 12 + 1, 1) - 1;
    let one = |m: Option<Option<Moment>>| -> Result<Option<i32>> {
        let Some(m) = m else { return Ok(None) };
        i32::try_from(last(m.ok_or_else(infinite)?)).map(Some).map_err(|_| range("a date"))
    };
    Ok(Arc::new(moments(&a[0]).into_iter().map(one).collect::<Result<Date32Array>>()?))
}

fn days_between(a: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let (x, y) = (a[0].as_primitive::<Date32Type>(), a[1].as_primitive::<Date32Type>());
    let finite = |v: Option<i32>| v.is_none_or(|v| Moment::date(v).is_some());
    if !x.iter().chain(y.iter()).all(finite) {
        return Err(infinite());
    }
    Ok(Arc::new(x.iter().zip(y.iter()).map(|(x, y)| Some(i64::from(x?) - i64::from(y?))).collect::<Int64Array>()))
}

fn add_days(a: &[ArrayRef], sign: i64) -> Result<ArrayRef> {
    let n = cast(&a[1], &DataType::Int64)?;
    let one = |(d, n): (Option<i32>, Option<i64>)| -> Result<Option<i32>> {
        let (Some(d), Some(n)) = (d, n) else { return Ok(None) };
        Moment::date(d).ok_or_else(infinite)?;
        // Near the ends of the type the other executor takes some sums for infinite dates and some for errors.
        let out = i64::from(d) + sign * n;
        if out.abs() > 2_000_000_000 {
            return Err(failure(Class::Unsupported, "a date at the end of its type"));
        }
        Ok(Some(out as i32))
    };
    let dates = a[0].as_primitive::<Date32Type>().iter().zip(n.as_primitive::<Int64Type>().iter());
    Ok(Arc::new(dates.map(one).collect::<Result<Date32Array>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calendar() {
        for (day, want) in [(0, (1970, 1, 1)), (-1, (1969, 12, 31)), (19_782, (2024, 2, 29)), (-719_468, (0, 3, 1)), (2_932_897, (10_000, 1, 1))] {
            let m = Moment::new(day, 0);
            assert_eq!((m.year, m.month, m.day), want);
            assert_eq!(days(m.year, m.month, m.day), day);
        }
        assert_eq!(week(days(2021, 1, 3)), (2020, 53));
        assert_eq!(week(days(2024, 12, 30)), (2025, 1));
    }
}

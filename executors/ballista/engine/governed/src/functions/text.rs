//! Functions of texts. Places and lengths are counted in characters, that is code points.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int32Array, Int64Array, StringArray, StringBuilder};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::error::Result;
use ring::digest::{SHA256, digest};

use super::{Entry, case, is_int};
use crate::failure::failure;
use crate::wire::Class;

pub const LIST: &[Entry] = &[
    Entry("gw_upper", text::<1>, |a, _| map(&a[0], |s| s.chars().map(case::upper).collect())),
    Entry("gw_lower", text::<1>, |a, _| map(&a[0], |s| s.chars().map(case::lower).collect())),
    Entry("gw_trim", text::<1>, |a, _| part(&a[0], |s| s.trim_matches(is_space))),
    Entry("gw_ltrim", text::<1>, |a, _| part(&a[0], |s| s.trim_start_matches(is_space))),
    Entry("gw_rtrim", text::<1>, |a, _| part(&a[0], |s| s.trim_end_matches(is_space))),
    Entry("gw_trim_of", text::<2>, |a, _| part2(a, |s, of| s.trim_matches(|c| of.contains(c)))),
    Entry("gw_ltrim_of", text::<2>, |a, _| part2(a, |s, of| s.trim_start_matches(|c| of.contains(c)))),
    Entry("gw_rtrim_of", text::<2>, |a, _| part2(a, |s, of| s.trim_end_matches(|c| of.contains(c)))),
    Entry("gw_length", whole::<1>, |a, _| number(&a[0], |s| s.chars().count())),
    Entry("gw_strlen", whole::<1>, |a, _| number(&a[0], str::len)),
    Entry("gw_ascii", code, |a, _| Ok(Arc::new(texts(&a[0]).iter().map(|s| s.map(first)).collect::<Int32Array>()))),
    Entry("gw_strpos", whole::<2>, strpos),
    Entry("gw_contains", truth, |a, _| test(a, |s, t| s.contains(t))),
    Entry("gw_starts_with", truth, |a, _| test(a, |s, t| s.starts_with(t))),
    Entry("gw_ends_with", truth, |a, _| test(a, |s, t| s.ends_with(t))),
    Entry("gw_replace", text::<3>, replace),
    Entry("gw_concat", some_texts, |a, _| Ok(concat(a, None))),
    Entry("gw_concat_ws", some_texts, |a, _| Ok(concat(&a[1..], Some(texts(&a[0]))))),
    Entry("gw_substr_2", text_and_1, |a, _| cut(a, |n, [from]| span(n, from, i64::MAX >> 1))),
    Entry("gw_substr_3", text_and_2, |a, _| cut(a, |n, [from, length]| span(n, from, length))),
    Entry("gw_left", text_and_1, |a, _| cut(a, |n, [k]| (0, if k >= 0 { k.min(n) } else { (n + k).max(0) }))),
    Entry("gw_right", text_and_1, |a, _| cut(a, |n, [k]| (if k >= 0 { (n - k).max(0) } else { (-k).min(n) }, n))),
    Entry("gw_split_part", text_text_1, split_part),
    Entry("gw_lpad", text_1_text, |a, _| pad(a, true)),
    Entry("gw_rpad", text_1_text, |a, _| pad(a, false)),
    Entry("gw_sha256", text::<1>, |a, _| map(&a[0], |s| super::hex(digest(&SHA256, s.as_bytes()).as_ref()))),
];

/// The longest text that a function makes.
const LONGEST: usize = 16 << 20;

fn all_text(t: &[DataType], n: usize) -> bool {
    t.len() == n && t.iter().all(|t| *t == DataType::Utf8)
}

fn text<const N: usize>(t: &[DataType]) -> Option<DataType> {
    all_text(t, N).then_some(DataType::Utf8)
}

fn whole<const N: usize>(t: &[DataType]) -> Option<DataType> {
    all_text(t, N).then_some(DataType::Int64)
}

fn code(t: &[DataType]) -> Option<DataType> {
    all_text(t, 1).then_some(DataType::Int32)
}

fn truth(t: &[DataType]) -> Option<DataType> {
    all_text(t, 2).then_some(DataType::Boolean)
}

fn some_texts(t: &[DataType]) -> Option<DataType> {
    (t.len() > 1 && all_text(t, t.len())).then_some(DataType::Utf8)
}

fn text_and_1(t: &[DataType]) -> Option<DataType> {
    matches!(t, [DataType::Utf8, n] if is_int(n)).then_some(DataType::Utf8)
}

fn text_and_2(t: &[DataType]) -> Option<DataType> {
    matches!(t, [DataType::Utf8, n, m] if is_int(n) && is_int(m)).then_some(DataType::Utf8)
}

fn text_text_1(t: &[DataType]) -> Option<DataType> {
    matches!(t, [DataType::Utf8, DataType::Utf8, n] if is_int(n)).then_some(DataType::Utf8)
}

fn text_1_text(t: &[DataType]) -> Option<DataType> {
    matches!(t, [DataType::Utf8, n, DataType::Utf8] if is_int(n) && *n != DataType::Int64).then_some(DataType::Utf8)
}

fn texts(a: &ArrayRef) -> &StringArray {
    a.as_string::<i32>()
}

fn map(a: &ArrayRef, f: impl Fn(&str) -> String) -> Result<ArrayRef> {
    Ok(Arc::new(texts(a).iter().map(|s| s.map(&f)).collect::<StringArray>()))
}

/// A part of each text.
fn part(a: &ArrayRef, f: impl Fn(&str) -> &str) -> Result<ArrayRef> {
    Ok(Arc::new(texts(a).iter().map(|s| s.map(&f)).collect::<StringArray>()))
}

fn part2(a: &[ArrayRef], f: impl for<'s> Fn(&'s str, &str) -> &'s str) -> Result<ArrayRef> {
    let (s, t) = (texts(&a[0]), texts(&a[1]));
    Ok(Arc::new(s.iter().zip(t.iter()).map(|(s, t)| Some(f(s?, t?))).collect::<StringArray>()))
}

fn number(a: &ArrayRef, f: impl Fn(&str) -> usize) -> Result<ArrayRef> {
    Ok(Arc::new(texts(a).iter().map(|s| s.map(|s| f(s) as i64)).collect::<Int64Array>()))
}

fn test(a: &[ArrayRef], f: impl Fn(&str, &str) -> bool) -> Result<ArrayRef> {
    let (s, t) = (texts(&a[0]), texts(&a[1]));
    Ok(Arc::new(s.iter().zip(t.iter()).map(|(s, t)| Some(f(s?, t?))).collect::<BooleanArray>()))
}

/// The characters of Unicode's category of space separators.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

fn first(s: &str) -> i32 {
    s.chars().next().map_or(0, |c| c as i32)
}

fn strpos(a: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let at = |s: &str, t: &str| s.find(t).map_or(0, |at| s[..at].chars().count() as i64 + 1);
    let (s, t) = (texts(&a[0]), texts(&a[1]));
    Ok(Arc::new(s.iter().zip(t.iter()).map(|(s, t)| Some(at(s?, t?))).collect::<Int64Array>()))
}

fn replace(a: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let (s, from, to) = (texts(&a[0]), texts(&a[1]), texts(&a[2]));
    let one = |i: usize| -> Option<String> {
        let (s, from, to) = (s.is_valid(i).then(|| s.value(i))?, from.is_valid(i).then(|| from.value(i))?, to.is_valid(i).then(|| to.value(i))?);
        Some(if from.is_empty() { s.to_owned() } else { s.replace(from, to) })
    };
    Ok(Arc::new((0..s.len()).map(one).collect::<StringArray>()))
}

/// Texts one after the other, without those that are NULL. A separator that is NULL makes NULL.
fn concat(a: &[ArrayRef], between: Option<&StringArray>) -> ArrayRef {
    let parts: Vec<&StringArray> = a.iter().map(texts).collect();
    let mut out = StringBuilder::with_capacity(a[0].len(), parts.iter().map(|p| p.value_data().len()).sum());
    let mut text = String::new();
    for i in 0..a[0].len() {
        let between = match between {
            Some(b) if b.is_null(i) => {
                out.append_null();
                continue;
            }
            Some(b) => b.value(i),
            None => "",
        };
        text.clear();
        for (n, p) in parts.iter().filter(|p| p.is_valid(i)).enumerate() {
            text.push_str(if n > 0 { between } else { "" });
            text.push_str(p.value(i));
        }
        out.append_value(&text);
    }
    Arc::new(out.finish())
}

fn numbers(a: &ArrayRef) -> Result<Int64Array> {
    Ok(cast(a, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
}

/// The characters of texts between two places, which their lengths and the other arguments tell.
fn cut<const N: usize>(a: &[ArrayRef], f: impl Fn(i64, [i64; N]) -> (i64, i64)) -> Result<ArrayRef> {
    let s = texts(&a[0]);
    let by = a[1..].iter().map(numbers).collect::<Result<Vec<_>>>()?;
    let one = |i: usize| -> Result<Option<&str>> {
        if s.is_null(i) || by.iter().any(|b| b.is_null(i)) {
            return Ok(None);
        }
        let args: [i64; N] = std::array::from_fn(|n| by[n].value(i));
        if args.iter().any(|n| u32::try_from(n.unsigned_abs()).is_err()) {
            return Err(failure(Class::Unsupported, "a place in a text that is so far away"));
        }
        Ok(Some(characters(s.value(i), |n| f(n, args))))
    };
    Ok(Arc::new((0..s.len()).map(one).collect::<Result<StringArray>>()?))
}

/// The characters of a text between two places, which their number tells.
fn characters(s: &str, places: impl Fn(i64) -> (i64, i64)) -> &str {
    let bytes = s.is_ascii(); // and each a character
    let n = if bytes { s.len() } else { s.chars().count() };
    let (from, to) = places(n as i64);
    let from = from.clamp(0, n as i64) as usize;
    let to = (to.clamp(0, n as i64) as usize).max(from);
    let at = |place: usize| if bytes { place } else { s.char_indices().nth(place).map_or(s.len(), |(at, _)| at) };
    &s[at(from)..at(to)]
}

/// Where a substring starts and ends: counted from one, negative places from the end, negative lengths to the left.
fn span(n: i64, from: i64, mut length: i64) -> (i64, i64) {
    let start = match from {
        1.. => from - 1,
        0 => {
            length -= 1;
            if length <= 0 {
                return (0, 0);
            }
            0
        }
        _ => n + from,
    };
    let (start, end) = if length >= 0 { (start, start + length) } else { (start + length, start) };
    (start.clamp(0, n), end.clamp(0, n))
}

fn split_part(a: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let (s, by, n) = (texts(&a[0]), texts(&a[1]), numbers(&a[2])?);
    let one = |i: usize| -> Result<Option<String>> {
        if s.is_null(i) || by.is_null(i) || n.is_null(i) {
            return Ok(None);
        }
        if by.value(i).is_empty() {
            return Err(failure(Class::Unsupported, "parts of a text without a separator"));
        }
        let parts: Vec<&str> = s.value(i).split(by.value(i)).collect();
        let at = match n.value(i) {
            n @ 1.. => usize::try_from(n - 1).ok(),
            n => usize::try_from(n.unsigned_abs()).ok().and_then(|n| parts.len().checked_sub(n)),
        };
        Ok(Some(at.and_then(|at| parts.get(at)).copied().unwrap_or_default().to_owned()))
    };
    Ok(Arc::new((0..s.len()).map(one).collect::<Result<StringArray>>()?))
}

fn pad(a: &[ArrayRef], left: bool) -> Result<ArrayRef> {
    let (s, n, with) = (texts(&a[0]), numbers(&a[1])?, texts(&a[2]));
    let one = |i: usize| -> Result<Option<String>> {
        if s.is_null(i) || n.is_null(i) || with.is_null(i) {
            return Ok(None);
        }
        let (s, n, with) = (s.value(i), n.value(i).max(0) as usize, with.value(i));
        let have = s.chars().count();
        if have >= n {
            return Ok(Some(s.chars().take(n).collect()));
        }
        if with.is_empty() {
            return Err(failure(Class::Argument, "nothing to fill with"));
        }
        if n > LONGEST {
            return Err(failure(Class::Unsupported, "texts of this length"));
        }
        let fill: String = with.chars().cycle().take(n - have).collect();
        Ok(Some(if left { fill + s } else { s.to_owned() + &fill }))
    };
    Ok(Arc::new((0..s.len()).map(one).collect::<Result<StringArray>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_between_places() {
        for (s, from, to, want) in
            [("abc", 0, 2, "ab"), ("abc", 1, 9, "bc"), ("abc", 2, 1, ""), ("", 0, 1, ""), ("äöüx", 1, 3, "öü"), ("äb", -4, 1, "ä"), ("ä", 5, 9, "")]
        {
            assert_eq!(characters(s, |_| (from, to)), want, "{s}, {from}, {to}");
        }
        assert_eq!(characters("äöü", |n| (n - 1, n)), "ü");
    }

    #[test]
    fn spans() {
        for (n, from, length, want) in
            [(5, 1, 2, (0, 2)), (5, 0, 2, (0, 1)), (5, -2, 9, (3, 5)), (5, 9, 1, (5, 5)), (5, 3, -2, (0, 2)), (5, 0, 0, (0, 0)), (1, -8, 1, (0, 0))]
        {
            assert_eq!(span(n, from, length), want, "{from}, {length}");
        }
    }
}

//! Values from texts. The other executor reads many forms of each; here the plain ones are read, what is surely none is the same error, and
//! what could be a rarer form is refused when it is met.

use datafusion::error::{DataFusionError, Result};

use super::time::{DAY, Moment, days};
use crate::failure::failure;
use crate::wire::Class;

/// What is wrong with a text that is not of a plain form. `may` are the characters, beside digits, that rarer forms have.
fn unread(text: &str, what: &str, may: &str) -> DataFusionError {
    let rare =
        !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c.is_whitespace() || c.is_control() || may.contains(c.to_ascii_lowercase()));
    if rare {
        failure(Class::Unsupported, format!("the text of {what} in a rare form"))
    } else {
        failure(Class::Conversion, format!("a text is not {what}"))
    }
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// A whole number.
pub fn integer(text: &str) -> Result<i128> {
    let plain = digits(text.strip_prefix('-').unwrap_or(text)) && text.len() < 38;
    let value = if plain { text.parse().ok() } else { None };
    value.ok_or_else(|| unread(text, "a number", "+-._abcdefox"))
}

/// A number.
pub fn double(text: &str) -> Result<f64> {
    let (number, exponent) = text.split_once(['e', 'E']).map_or((text, None), |(n, e)| (n, Some(e)));
    let (whole, fraction) = number.split_once('.').map_or((number, None), |(w, f)| (w, Some(f)));
    let plain = digits(whole.strip_prefix('-').unwrap_or(whole))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|e| digits(e.strip_prefix(['-', '+']).unwrap_or(e)));
    let value = if plain { text.parse().ok().filter(|v: &f64| v.is_finite()) } else { None };
    value.ok_or_else(|| unread(text, "a number", "+-._einfatyx"))
}

/// Year, month and day with four, two and two digits.
fn day(text: &str) -> Option<std::result::Result<i64, ()>> {
    let b = text.as_bytes();
    let form = b.len() == 10 && b.iter().enumerate().all(|(i, c)| if i == 4 || i == 7 { *c == b'-' } else { c.is_ascii_digit() });
    if !form {
        return None;
    }
    let (y, m, d): (i64, i64, i64) = (text[..4].parse().ok()?, text[5..7].parse().ok()?, text[8..].parse().ok()?);
    let at = days(y, m.clamp(1, 12), d);
    let back = Moment::new(at, 0);
    // The year 0 is one before Christ there.
    Some(if y >= 1 && (back.year, back.month, back.day) == (y, m, d) { Ok(at) } else { Err(()) })
}

/// The letters of eras, zones and infinity, and the signs of dates.
const RARE: &str = "-/.:+()bcinftyepohdaszgmuw";

/// A date.
pub fn date(text: &str) -> Result<i32> {
    match day(text) {
        Some(Ok(v)) => Ok(v as i32),
        Some(Err(())) if !text.starts_with("0000") => Err(failure(Class::Conversion, "a text is no date of the calendar")),
        _ => Err(unread(text, "a date", RARE)),
    }
}

/// A date, or a date and a time with seconds and up to six digits of their fraction.
pub fn timestamp(text: &str) -> Result<i64> {
    plain_timestamp(text).ok_or_else(|| unread(text, "a timestamp", RARE))
}

/// A time of the day.
pub fn time(text: &str) -> Result<i64> {
    clock(text).ok_or_else(|| unread(text, "a time", RARE))
}

/// A UUID with its hyphens.
pub fn uuid(text: &str) -> Result<[u8; 16]> {
    plain_uuid(text).ok_or_else(|| unread(text, "a UUID", "-{}abcdef"))
}

fn plain_uuid(text: &str) -> Option<[u8; 16]> {
    let b = text.as_bytes();
    let form = b.len() == 36 && b.iter().enumerate().all(|(i, c)| if [8, 13, 18, 23].contains(&i) { *c == b'-' } else { c.is_ascii_hexdigit() });
    form.then(|| u128::from_str_radix(&text.replace('-', ""), 16).ok())?.map(u128::to_be_bytes)
}

/// Bytes: characters of ASCII as they are, others as `\xHH`.
pub fn blob(text: &str) -> Result<Vec<u8>> {
    plain_blob(text.as_bytes()).ok_or_else(|| failure(Class::Conversion, "a text is no bytes"))
}

fn plain_blob(mut text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    while let Some((b, rest)) = text.split_first() {
        text = rest;
        match (b, rest) {
            (b'\\', [b'x', high, low, rest @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                out.push(u8::from_str_radix(std::str::from_utf8(&[*high, *low]).ok()?, 16).ok()?);
                text = rest;
            }
            (b'\\' | 128.., _) => return None,
            (b, _) => out.push(*b),
        }
    }
    Some(out)
}

/// Hours, minutes and seconds with two digits each, and up to six digits of a fraction.
fn clock(text: &str) -> Option<i64> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let b = clock.as_bytes();
    let form = b.len() == 8 && b.iter().enumerate().all(|(i, c)| if i == 2 || i == 5 { *c == b':' } else { c.is_ascii_digit() });
    if !form || !digits(fraction) || fraction.len() > 6 {
        return None;
    }
    let (h, m, s): (i64, i64, i64) = (clock[..2].parse().ok()?, clock[3..5].parse().ok()?, clock[6..].parse().ok()?);
    let micros: i64 = format!("{fraction:0<6}").parse().ok()?;
    (h < 24 && m < 60 && s < 60).then_some(((h * 60 + m) * 60 + s) * 1_000_000 + micros)
}

fn plain_timestamp(text: &str) -> Option<i64> {
    let (date, time) = text.split_once(' ').unwrap_or((text, "00:00:00"));
    Some(day(date)?.ok()? * DAY + clock(time)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::class_of;

    fn class<T: std::fmt::Debug>(r: Result<T>) -> Class {
        class_of(&r.unwrap_err().to_string())
    }

    #[test]
    fn numbers() {
        assert_eq!(integer("-012").unwrap(), -12);
        assert_eq!(double("1.5e3").unwrap(), 1500.0);
        for text in ["", "abc!", "日"] {
            assert_eq!((class(integer(text)), class(double(text))), (Class::Conversion, Class::Conversion), "{text}");
        }
        for text in [" 1", "+1", "0x1f", "1_000"] {
            assert_eq!((class(integer(text)), class(double(text))), (Class::Unsupported, Class::Unsupported), "{text}");
        }
    }

    #[test]
    fn moments() {
        assert_eq!(date("1970-01-02").unwrap(), 1);
        assert_eq!(timestamp("1970-01-01 00:00:01.5").unwrap(), 1_500_000);
        assert_eq!(class(date("2021-02-30")), Class::Conversion);
        assert_eq!(class(date("hello")), Class::Conversion);
        assert_eq!(class(date("1970-1-2")), Class::Unsupported);
        assert_eq!(class(timestamp("1970-01-01T00:00:00Z")), Class::Unsupported);
        assert_eq!(class(timestamp("x")), Class::Conversion);
        assert_eq!(time("00:00:01.5").unwrap(), 1_500_000);
        assert_eq!((class(time("24:00:00")), class(time("noon!"))), (Class::Unsupported, Class::Conversion));
    }

    #[test]
    fn ids_and_bytes() {
        assert_eq!(uuid("00000000-0000-0000-0000-0000000000fF").unwrap()[15], 255);
        for text in ["{00000000-0000-0000-0000-0000000000ff}", "000000000000000000000000000000ff", "0"] {
            assert_eq!(class(uuid(text)), Class::Unsupported, "{text}");
        }
        assert_eq!(class(uuid("00000000-0000-0000-0000-00000000000g")), Class::Conversion);
        assert_eq!(blob("a\\x00\\xfF").unwrap(), [97, 0, 255]);
        for text in ["\\", "\\x0", "\\xzz", "ä", "\\X00"] {
            assert_eq!(class(blob(text)), Class::Conversion, "{text}");
        }
    }
}

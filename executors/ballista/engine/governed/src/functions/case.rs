//! Upper and lower case, one character for one character, from the tables of the other executor (`executors/ballista TestCase`).

use std::collections::HashMap;
use std::sync::LazyLock;

/// The upper case of a character.
pub fn upper(c: char) -> char {
    if c.is_ascii() { c.to_ascii_uppercase() } else { UPPER.get(&c).copied().unwrap_or(c) }
}

/// The lower case of a character.
pub fn lower(c: char) -> char {
    if c.is_ascii() { c.to_ascii_lowercase() } else { LOWER.get(&c).copied().unwrap_or(c) }
}

static UPPER: LazyLock<HashMap<char, char>> = LazyLock::new(|| table("u"));

static LOWER: LazyLock<HashMap<char, char>> = LazyLock::new(|| table("l"));

/// The characters of one kind of `case.txt`: kind, character and its other case, as decimal numbers.
fn table(kind: &str) -> HashMap<char, char> {
    let character = |n: &str| n.parse().ok().and_then(char::from_u32);
    let pair = |line: &str| {
        let mut parts = line.split(' ');
        let of = parts.next()? == kind;
        let pair = (character(parts.next()?)?, character(parts.next()?)?);
        of.then_some(pair)
    };
    include_str!("case.txt").lines().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters() {
        assert_eq!("aß日é".chars().map(upper).collect::<String>(), "Aẞ日É");
        assert_eq!("İÀ".chars().map(lower).collect::<String>(), "ià");
    }
}

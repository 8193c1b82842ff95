//! Regular expressions. The other executor's are RE2's; here the ones run that mean the same in both, spelled so that they do.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, StringArray};
use arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::functions::regex::compile_regex;
use datafusion::logical_expr::Expr;
use datafusion::scalar::ScalarValue;

use super::Entry;
use crate::failure::failure;
use crate::wire::Class;

pub const LIST: &[Entry] = &[
    Entry("gw_regexp_matches", truth, |a, _| matches(a, |p| p)),
    Entry("gw_regexp_full", truth, |a, _| matches(a, |p| format!("^(?:{p})$"))),
    Entry("gw_regexp_replace", replaced, |a, _| replace(a, 1)),
    Entry("gw_regexp_replace_all", replaced, |a, _| replace(a, 0)),
    Entry("gw_regexp_extract_0", extracted, |a, _| extract(a, 0)),
    Entry("gw_regexp_extract_1", extracted, |a, _| extract(a, 1)),
    Entry("gw_regexp_extract_2", extracted, |a, _| extract(a, 2)),
    Entry("gw_regexp_extract_3", extracted, |a, _| extract(a, 3)),
];

fn truth(t: &[DataType]) -> Option<DataType> {
    (t == [DataType::Utf8, DataType::Utf8]).then_some(DataType::Boolean)
}

fn extracted(t: &[DataType]) -> Option<DataType> {
    (t == [DataType::Utf8, DataType::Utf8]).then_some(DataType::Utf8)
}

fn replaced(t: &[DataType]) -> Option<DataType> {
    (t == [DataType::Utf8, DataType::Utf8, DataType::Utf8]).then_some(DataType::Utf8)
}

/// The pattern in all rows of an argument: it is a constant, as the wall has seen to.
fn constant(a: &ArrayRef) -> Result<(String, usize)> {
    translated(a.as_string::<i32>().value(0)).ok_or_else(|| failure(Class::Unsupported, "a regular expression of this kind"))
}

fn matches(a: &[ArrayRef], whole: impl Fn(String) -> String) -> Result<ArrayRef> {
    if a[0].is_empty() {
        return Ok(Arc::new(BooleanArray::from(Vec::<bool>::new())));
    }
    let pattern = compile_regex(&whole(constant(&a[1])?.0), None)?;
    Ok(Arc::new(a[0].as_string::<i32>().iter().map(|s| s.map(|s| pattern.is_match(s))).collect::<BooleanArray>()))
}

/// The text with another one in the place of the first matches; 0: of all.
fn replace(a: &[ArrayRef], most: usize) -> Result<ArrayRef> {
    if a[0].is_empty() {
        return Ok(Arc::new(StringArray::new_null(0)));
    }
    let (pattern, groups) = constant(&a[1])?;
    let (pattern, with) = (compile_regex(&pattern, None)?, rewritten(a[2].as_string::<i32>().value(0), groups));
    let with = with.ok_or_else(|| failure(Class::Unsupported, "a replacement of this kind"))?;
    Ok(Arc::new(a[0].as_string::<i32>().iter().map(|s| s.map(|s| pattern.replacen(s, most, with.as_str()))).collect::<StringArray>()))
}

/// A group of the first match; nothing if there is none.
fn extract(a: &[ArrayRef], group: usize) -> Result<ArrayRef> {
    if a[0].is_empty() {
        return Ok(Arc::new(StringArray::new_null(0)));
    }
    let pattern = compile_regex(&constant(&a[1])?.0, None)?;
    let one = |s: &str| pattern.captures(s).and_then(|c| c.get(group).map(|m| m.as_str().to_owned())).unwrap_or_default();
    Ok(Arc::new(a[0].as_string::<i32>().iter().map(|s| s.map(one)).collect::<StringArray>()))
}

/// Whether a call of a function of this list means the same in both executors: what it has beside the text are constants of plain kinds.
pub fn is_plain(name: &str, args: &[Expr]) -> bool {
    let text = |e: &Expr| match e {
        Expr::Literal(ScalarValue::Utf8(Some(text)), _) => Some(text.clone()),
        _ => None,
    };
    let pattern = args.get(1).and_then(text).and_then(|p| translated(&p));
    let Some((pattern, groups)) = pattern.filter(|(p, _)| compile_regex(p, None).is_ok()) else { return false };
    let group = name.strip_prefix("gw_regexp_extract_").and_then(|n| n.parse::<usize>().ok());
    !pattern.is_empty() && group.is_none_or(|g| g <= groups) && args.get(2).is_none_or(|r| text(r).is_some_and(|r| rewritten(&r, groups).is_some()))
}

/// A replacement as it is spelled here: groups are numbers behind backslashes.
fn rewritten(text: &str, groups: usize) -> Option<String> {
    let mut out = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '$' => out.push_str("$$"),
            '\\' => match rest.next()? {
                '\\' => out.push('\\'),
                n => {
                    let n = n.to_digit(10).filter(|n| *n as usize <= groups)?;
                    out.push_str(&format!("${{{n}}}"));
                }
            },
            c => out.push(c),
        }
    }
    Some(out)
}

/// A pattern of plain parts, as it is spelled here, and how many groups it has: characters, dots, classes of ASCII, groups, alternatives, ends of the
/// text, and repetitions.
fn translated(pattern: &str) -> Option<(String, usize)> {
    let mut p = Parser { rest: pattern, out: String::new(), depth: 0, groups: 0 };
    (pattern.len() <= LONGEST).then_some(())?;
    p.alternatives()?;
    p.rest.is_empty().then_some((p.out, p.groups))
}

/// The longest pattern, how deep its groups are, and how often a part is repeated: far from the bounds of both.
const LONGEST: usize = 200;
const DEEPEST: usize = 8;
const MOST: u32 = 50;

struct Parser<'a> {
    rest: &'a str,
    out: String,
    depth: usize,
    groups: usize,
}

impl Parser<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    /// Takes a text if it comes next, into what is put out.
    fn take(&mut self, text: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(text) else { return false };
        self.rest = rest;
        self.out.push_str(text);
        true
    }

    fn alternatives(&mut self) -> Option<()> {
        loop {
            let mut parts = 0;
            while !self.rest.is_empty() && !self.rest.starts_with(['|', ')']) {
                self.part()?;
                parts += 1;
            }
            if parts == 0 {
                return None;
            }
            if !self.take("|") {
                return Some(());
            }
        }
    }

    fn part(&mut self) -> Option<()> {
        if self.take("^") || self.take("$") {
            return (!self.rest.starts_with(['*', '+', '?', '{'])).then_some(());
        }
        let group = self.take("(");
        if group {
            self.groups += usize::from(!self.take("?:"));
            self.depth += 1;
            if self.depth > DEEPEST {
                return None;
            }
            self.alternatives()?;
            self.depth -= 1;
            self.take(")").then_some(())?;
        } else if self.take("[") {
            self.class()?;
        } else if !self.take(".") {
            match self.next()? {
                '\\' => self.escaped(false)?,
                c => self.literal(c)?,
            }
        }
        self.repetition(group)
    }

    fn literal(&mut self, c: char) -> Option<()> {
        match c {
            c if c.is_ascii_alphanumeric() || " _@#%&-=,;:!~'\"<>/`".contains(c) => self.out.push(c),
            c if !c.is_ascii() => self.out.push(c),
            _ => return None,
        }
        Some(())
    }

    /// What follows a backslash. Classes are those of ASCII in RE2.
    fn escaped(&mut self, inside: bool) -> Option<()> {
        let c = self.next()?;
        let (set, of) = match c {
            '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | '^' | '$' | '\\' | '-' => {
                self.out.push('\\');
                self.out.push(c);
                return Some(());
            }
            'd' | 'D' => (c == 'D', "0-9"),
            'w' | 'W' => (c == 'W', "0-9A-Za-z_"),
            's' | 'S' => (c == 'S', "\\t\\n\\x0c\\r "),
            _ => return None,
        };
        match (inside, set) {
            (true, true) => return None,
            (true, false) => self.out.push_str(of),
            (false, not) => self.out.push_str(&format!("[{}{of}]", if not { "^" } else { "" })),
        }
        Some(())
    }

    fn class(&mut self) -> Option<()> {
        self.take("^");
        let mut items = 0;
        while !self.take("]") {
            items += 1;
            match self.next()? {
                '\\' => {
                    self.escaped(true)?;
                    if self.rest.starts_with('-') && !self.rest.starts_with("-]") {
                        return None;
                    }
                }
                c if c.is_ascii_alphanumeric() => {
                    self.out.push(c);
                    if self.rest.starts_with('-') && !self.rest.starts_with("-]") {
                        self.take("-");
                        let to = self.next()?;
                        let same = |f: fn(&char) -> bool| f(&c) && f(&to);
                        if c > to || !(same(char::is_ascii_digit) || same(char::is_ascii_lowercase) || same(char::is_ascii_uppercase)) {
                            return None;
                        }
                        self.out.push(to);
                    }
                }
                c if " _@#%=,;:!'\"<>/.*+?(){}|$".contains(c) => {
                    self.out.push_str(&if ".*+?(){}|$".contains(c) { format!("\\{c}") } else { c.to_string() });
                }
                c if !c.is_ascii() => self.out.push(c),
                '-' if self.rest.starts_with(']') => self.out.push_str("\\-"),
                _ => return None,
            }
        }
        (items > 0).then_some(())
    }

    fn repetition(&mut self, group: bool) -> Option<()> {
        if self.take("{") {
            let (least, most) = (self.number()?, if self.take(",") { self.number() } else { None });
            let ok = self.take("}") && !group && least <= MOST && most.is_none_or(|m| m <= MOST && least <= m);
            ok.then_some(())?;
        } else if !(self.take("*") || self.take("+") || self.take("?")) {
            return Some(());
        }
        self.take("?");
        (!self.rest.starts_with(['*', '+', '?', '{'])).then_some(())
    }

    fn number(&mut self) -> Option<u32> {
        let digits = self.rest.len() - self.rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, rest) = self.rest.split_at(digits.min(4));
        self.out.push_str(number);
        self.rest = rest;
        number.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (text, want) in [
            ("^a.*b$", "^a.*b$"),
            (r"\d{2,4}-\w+?", "[0-9]{2,4}-[0-9A-Za-z_]+?"),
            (r"[^a-f\d.]|(?:x|y)*", r"[^a-f0-9\.]|(?:x|y)*"),
            (r"ä\.\[", r"ä\.\["),
            (r"\S[+-]", "[^\\t\\n\\x0c\\r ][\\+\\-]"),
        ] {
            let (pattern, _) = translated(text).expect(text);
            assert_eq!(pattern, want, "{text}");
            assert!(compile_regex(&pattern, None).is_ok(), "{text}");
        }
        for text in [
            "",
            "a**",
            "a{51}",
            "(a{2}){3}",
            "(a){2}",
            "[",
            "[]",
            "[]a]",
            "[a&&b]",
            "[[:alpha:]]",
            r"\b",
            r"\pL",
            r"\1",
            "(?i)a",
            "(?P<x>a)",
            "a|",
            "()",
            ")",
            "a)",
            "^*",
            "{",
            "a{2",
            "a{3,2}",
            "x{,2}",
            "[z-a]",
            "[a-Z]",
            r"[\D]",
            r"\<",
            "a\nb",
            r"\",
            "a++",
            "a???",
            "((((((((((a))))))))))",
            &"a".repeat(201),
        ] {
            assert_eq!(translated(text), None, "{text}");
        }
    }

    #[test]
    fn replacements() {
        assert_eq!(rewritten(r"$1\1\0\\", 1).as_deref(), Some(r"$$1${1}${0}\"));
        for bad in [r"\2", r"\", r"\x"] {
            assert_eq!(rewritten(bad, 1), None, "{bad}");
        }
        assert_eq!(translated("(a)(?:b)((c))").map(|(_, groups)| groups), Some(3));
    }
}

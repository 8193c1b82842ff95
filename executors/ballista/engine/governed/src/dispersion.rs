//! Variances without rounding: of exact sums of values and of their squares, rounded once at the end.

use datafusion::common::internal_datafusion_err;
use datafusion::error::Result;

use crate::exact::{Exact, TERM, Tally, UNIT, nearest, parts};

/// How many values there were, their sum, and the sum of their squares.
#[derive(Debug, Default)]
pub struct Dispersion {
    n: u64,
    sum: Exact<3, 35>,
    squares: Exact<5, 68>,
}

impl Dispersion {
    /// The variance of a population, or of what a sample is of; none if there are too few values.
    pub fn variance(&self, sample: bool) -> Option<f64> {
        match self.n {
            0 => return None,
            1 => return (!sample).then_some(0.0),
            _ if self.sum.not_finite().is_some() => return Some(f64::NAN),
            _ => (),
        }
        // n * squares - sum^2, divided by n and by n or n - 1.
        let ((sum, at, _), (squares, from, _)) = (self.sum.magnitude(), self.squares.magnitude());
        let (square, times) = (product(&sum, &sum), product(&squares, &[self.n]));
        let low = if sum.is_empty() { from } else { from.min(2 * at) };
        let mut out = vec![0; (from - low + times.len()).max(if sum.is_empty() { 0 } else { 2 * at - low + square.len() }) + 1];
        out[from - low..][..times.len()].copy_from_slice(&times);
        if !sum.is_empty() {
            subtract(&mut out[2 * at - low..], &square);
        }
        let Some(top) = out.iter().rposition(|l| *l != 0) else { return Some(0.0) };
        out.truncate(top + 1);
        // So many more limbs that the quotient has the bits of a double, and more.
        let more = 4usize.saturating_sub(top);
        out.splice(..0, std::iter::repeat_n(0, more));
        let rest = divide(&mut out, self.n) | divide(&mut out, if sample { self.n - 1 } else { self.n });
        out[0] |= u64::from(rest);
        Some(nearest(&out, 2 * UNIT + 64 * (low as i32 - more as i32)))
    }
}

impl Tally for Dispersion {
    fn add(&mut self, x: f64, away: bool) -> usize {
        self.n = if away { self.n.wrapping_sub(1) } else { self.n.wrapping_add(1) };
        let grown = self.sum.add(x, away);
        if !x.is_finite() {
            return grown;
        }
        let (m, exponent) = parts(x);
        let square = u128::from(m) * u128::from(m);
        let (low, high) = (square as u64 & ((1 << TERM) - 1), (square >> TERM) as u64);
        grown + self.squares.put(away, low, 2 * exponent) + self.squares.put(away, high, 2 * exponent + TERM)
    }

    fn merge<'a>(&mut self, bytes: &'a [u8]) -> Result<(usize, &'a [u8])> {
        let (n, rest) = bytes.split_first_chunk().ok_or_else(|| internal_datafusion_err!("no variance"))?;
        let (grown, rest) = self.sum.merge(rest)?;
        let (more, rest) = self.squares.merge(rest)?;
        self.n = self.n.wrapping_add(u64::from_le_bytes(*n));
        Ok((grown + more, rest))
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.n.to_le_bytes());
        self.sum.write(out);
        self.squares.write(out);
    }

    fn is_nothing(&self) -> bool {
        self.n == 0
    }

    fn heap(&self) -> usize {
        self.sum.heap() + self.squares.heap()
    }
}

/// The product of two magnitudes.
fn product(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut out = vec![0; a.len() + b.len()];
    for (i, x) in a.iter().enumerate() {
        let mut carry = 0;
        for (j, y) in b.iter().enumerate() {
            (out[i + j], carry) = x.carrying_mul_add(*y, out[i + j], carry);
        }
        out[i + b.len()] = carry;
    }
    out
}

/// Takes a magnitude from one that is not less.
fn subtract(a: &mut [u64], b: &[u64]) {
    let mut borrow = false;
    for (i, x) in a.iter_mut().enumerate() {
        (*x, borrow) = x.borrowing_sub(b.get(i).copied().unwrap_or(0), borrow);
    }
}

/// Divides a magnitude, and says whether something is left.
fn divide(a: &mut [u64], by: u64) -> bool {
    let mut rest = 0u64;
    for x in a.iter_mut().rev() {
        let wide = u128::from(rest) << 64 | u128::from(*x);
        (*x, rest) = ((wide / u128::from(by)) as u64, (wide % u128::from(by)) as u64);
    }
    rest != 0
}

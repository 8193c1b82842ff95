//! Sums without rounding: integers in units of the smallest double, so wide that nothing is lost. The order of the values is of no account.
//!
//! Most sums have few bits that matter: those are `NEAR` limbs of 64 bits wherever the values are. A sum that needs more has all `FAR` of them.

use datafusion::common::internal_datafusion_err;
use datafusion::error::Result;

/// The exponent of the unit in which sums of doubles are counted.
pub const UNIT: i32 = -1074;

/// The bits that a term may have at most.
pub const TERM: usize = 53;

/// What `at` is of a sum of nothing.
const NOTHING: u8 = u8::MAX;

/// What is known of some values, in whatever order they came.
pub trait Tally: Default + std::fmt::Debug + Send + Sync + 'static {
    /// Adds a value, or takes it away again. Like all that add it returns the bytes of memory that it took.
    fn add(&mut self, x: f64, away: bool) -> usize;

    /// Adds values.
    fn add_all(&mut self, values: &[f64]) -> usize {
        values.iter().map(|x| self.add(*x, false)).sum()
    }

    /// Writes what is known, for `merge`.
    fn write(&self, out: &mut Vec<u8>);

    /// Adds what another one wrote, and returns what comes after it, too.
    fn merge<'a>(&mut self, bytes: &'a [u8]) -> Result<(usize, &'a [u8])>;

    /// Whether nothing was added.
    fn is_nothing(&self) -> bool;

    /// The bytes of memory beside the value itself.
    fn heap(&self) -> usize;
}

/// The sum of some terms: integers of two's complement, the lowest limb first. Of the far limbs the highest one stays free.
#[derive(Debug, Clone)]
pub struct Exact<const NEAR: usize, const FAR: usize> {
    /// Limbs from `at` on, whose highest two bits are the same; not used once there are far ones.
    near: [u64; NEAR],
    at: u8,
    far: Option<Box<Far<FAR>>>,
}

/// All limbs, and how many values were no finite numbers.
#[derive(Debug, Clone)]
struct Far<const FAR: usize> {
    limbs: [u64; FAR],
    nan: u64,
    above: u64,
    below: u64,
}

impl<const NEAR: usize, const FAR: usize> Default for Exact<NEAR, FAR> {
    fn default() -> Self {
        Self { near: [0; NEAR], at: NOTHING, far: None }
    }
}

impl<const NEAR: usize, const FAR: usize> Exact<NEAR, FAR> {
    /// Adds or subtracts `m * 2^shift` units.
    #[inline]
    pub fn put(&mut self, negative: bool, m: u64, shift: usize) -> usize {
        debug_assert!(m >> TERM == 0, "a term of too many bits");
        let limb = shift / 64;
        let term = i128::from(m) << (shift % 64);
        let term = if negative { -term } else { term };
        let at = limb.wrapping_sub(usize::from(self.at));
        if at >= NEAR - 1 || self.far.is_some() {
            return self.elsewhere(limb, term);
        }
        add(&mut self.near, at, term);
        if self.fits() { 0 } else { self.spread() }
    }

    fn put_wide(&mut self, negative: bool, m: u64, shift: usize) -> usize {
        let halves = [(m & 0xffff_ffff, shift), (m >> 32, shift + 32)];
        halves.into_iter().filter(|(m, _)| *m != 0).map(|(m, shift)| self.put(negative, m, shift)).sum()
    }

    #[cold]
    fn special(&mut self, x: f64, away: bool) -> usize {
        let grown = self.spread();
        let far = self.far.as_mut().expect("far limbs");
        let count = match x {
            _ if x.is_nan() => &mut far.nan,
            _ if x > 0.0 => &mut far.above,
            _ => &mut far.below,
        };
        *count = if away { count.wrapping_sub(1) } else { count.wrapping_add(1) };
        grown
    }

    /// Adds what is not where the near limbs are.
    #[cold]
    fn elsewhere(&mut self, limb: usize, term: i128) -> usize {
        if term == 0 && !self.is_nothing() {
            return 0;
        }
        if self.far.is_none() && self.slide(limb) {
            add(&mut self.near, limb - usize::from(self.at), term);
            return if self.fits() { 0 } else { self.spread() };
        }
        let grown = self.spread();
        add(&mut self.far.as_mut().expect("far limbs").limbs, limb, term);
        grown
    }

    /// Whether the highest two bits are the same, so that no term overflows.
    #[inline]
    fn fits(&self) -> bool {
        let top = self.near[NEAR - 1];
        (top ^ (top << 1)) >> 63 == 0
    }

    /// Moves the near limbs to where the limb has place, if none is lost that matters.
    fn slide(&mut self, limb: usize) -> bool {
        let at = usize::from(self.at);
        let sign = extension(&self.near);
        if self.near == [0; NEAR] {
            self.at = limb as u8;
            return true;
        }
        if limb < at {
            let by = at - limb;
            let free = by < NEAR && self.near[NEAR - by..].iter().all(|l| *l == sign);
            let top = if free { self.near[NEAR - by - 1] } else { return false };
            if (top ^ sign) >> 62 != 0 {
                return false;
            }
            self.near.copy_within(..NEAR - by, by);
            self.near[..by].fill(0);
        } else {
            let by = limb - (at + NEAR - 2);
            if by >= NEAR || self.near[..by].iter().any(|l| *l != 0) {
                return false;
            }
            self.near.copy_within(by.., 0);
            self.near[NEAR - by..].fill(sign);
        }
        self.at = if limb < at { limb as u8 } else { (limb + 2 - NEAR) as u8 };
        true
    }

    /// Goes on with all limbs.
    #[cold]
    fn spread(&mut self) -> usize {
        if self.far.is_some() {
            return 0;
        }
        let mut far = Box::new(Far { limbs: [0; FAR], nan: 0, above: 0, below: 0 });
        if self.at != NOTHING {
            let (at, sign) = (usize::from(self.at), extension(&self.near));
            let known = NEAR.min(FAR - at);
            far.limbs[at..at + known].copy_from_slice(&self.near[..known]);
            far.limbs[at + known..].fill(sign);
        }
        (self.near, self.at, self.far) = ([0; NEAR], 0, Some(far));
        self.heap()
    }

    /// What stands for the sum if values were added that are no finite numbers.
    pub fn not_finite(&self) -> Option<f64> {
        let far = self.far.as_ref()?;
        match (far.nan, far.above, far.below) {
            (0, 0, 0) => None,
            (0, _, 0) => Some(f64::INFINITY),
            (0, 0, _) => Some(f64::NEG_INFINITY),
            _ => Some(f64::NAN),
        }
    }

    fn limbs(&self) -> (&[u64], usize) {
        match &self.far {
            Some(far) => (&far.limbs, 0),
            None => (&self.near, usize::from(self.at)),
        }
    }

    /// The sum's magnitude, the number of its lowest limb, and whether it is negative.
    pub fn magnitude(&self) -> (Vec<u64>, usize, bool) {
        let (limbs, at) = self.limbs();
        let mut limbs = limbs.to_vec();
        let negative = negate(&mut limbs);
        let (top, low) = (limbs.iter().rposition(|l| *l != 0).map_or(0, |i| i + 1), limbs.iter().position(|l| *l != 0).unwrap_or(0));
        (limbs[low..top].to_vec(), at + low, negative)
    }

    /// The double that is nearest to a sum of doubles; none of nothing.
    pub fn nearest(&self) -> Option<f64> {
        if self.is_nothing() {
            return None;
        }
        if let special @ Some(_) = self.not_finite() {
            return special;
        }
        if let Some(far) = &self.far {
            let mut limbs = far.limbs;
            let negative = negate(&mut limbs);
            return Some(signed(negative, nearest(&limbs, UNIT)));
        }
        let mut limbs = self.near;
        let negative = negate(&mut limbs);
        Some(signed(negative, nearest(&limbs, UNIT + 64 * i32::from(self.at))))
    }
}

impl<const NEAR: usize, const FAR: usize> Tally for Exact<NEAR, FAR> {
    #[inline]
    fn add(&mut self, x: f64, away: bool) -> usize {
        let (m, exponent) = parts(x);
        if exponent == SPECIAL { self.special(x, away) } else { self.put(x.is_sign_negative() != away, m, exponent) }
    }

    fn add_all(&mut self, values: &[f64]) -> usize {
        // Each goes to two of many slots, which take so many of them before one could run over.
        let mut grown = 0;
        for part in values.chunks(1024) {
            let mut slots = [0i64; 66];
            for &x in part {
                let (m, exponent) = parts(x);
                if exponent == SPECIAL {
                    grown += self.special(x, false);
                    continue;
                }
                let (slot, shift) = (exponent / 32, exponent % 32);
                let sign = x.to_bits() as i64 >> 63;
                let (low, high) = ((m << shift) & 0xffff_ffff, m >> (32 - shift));
                slots[slot] += (low as i64 ^ sign) - sign;
                slots[slot + 1] += (high as i64 ^ sign) - sign;
            }
            for (i, v) in slots.into_iter().enumerate().filter(|(_, v)| *v != 0) {
                grown += self.put_wide(v < 0, v.unsigned_abs(), i * 32);
            }
            if self.at == NOTHING {
                grown += self.put(false, 0, 0);
            }
        }
        grown
    }

    // What is not finite, the number of the lowest limb, how many there are, and they.
    fn write(&self, out: &mut Vec<u8>) {
        let special = self.far.as_ref().map_or(0, |f| u8::from(f.nan > 0) | u8::from(f.above > 0) << 1 | u8::from(f.below > 0) << 2);
        let (limbs, at) = self.limbs();
        let sign = extension(limbs);
        let mut n = limbs.len();
        while n > 0 && limbs[n - 1] == sign && (n == 1 && sign == 0 || n > 1 && extension(&limbs[..n - 1]) == sign) {
            n -= 1;
        }
        // The lowest ones of near limbs stay: they say where the next values are likely to be.
        let low = if self.far.is_some() { limbs[..n].iter().position(|l| *l != 0).unwrap_or(0) } else { 0 };
        out.extend([special, (at + low) as u8, (n - low) as u8]);
        limbs[low..n].iter().for_each(|l| out.extend(l.to_le_bytes()));
    }

    fn merge<'a>(&mut self, bytes: &'a [u8]) -> Result<(usize, &'a [u8])> {
        let bad = || internal_datafusion_err!("no sum");
        let ([special, at, n], rest) = bytes.split_first_chunk().ok_or_else(bad)?;
        let (at, n) = (usize::from(*at), usize::from(*n));
        if at + n >= FAR {
            return Err(bad());
        }
        let (limbs, rest) = rest.split_at_checked(8 * n).ok_or_else(bad)?;
        let mut grown = if self.is_nothing() { self.put(false, 0, 64 * at) } else { 0 };
        for (i, l) in limbs.as_chunks().0.iter().enumerate() {
            let l = u64::from_le_bytes(*l);
            let negative = i + 1 == n && l >> 63 == 1;
            grown += self.put_wide(negative, if negative { l.wrapping_neg() } else { l }, 64 * (at + i));
        }
        for (bit, x) in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].into_iter().enumerate() {
            if special >> bit & 1 == 1 {
                grown += self.special(x, false);
            }
        }
        Ok((grown, rest))
    }

    fn is_nothing(&self) -> bool {
        self.at == NOTHING
    }

    fn heap(&self) -> usize {
        self.far.as_ref().map_or(0, |_| size_of::<Far<FAR>>())
    }
}

/// The exponent of what is no finite number.
const SPECIAL: usize = 0x7fe;

/// A double's magnitude in units of the smallest one: `m * 2^exponent`.
#[inline]
pub fn parts(x: f64) -> (u64, usize) {
    let bits = x.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as usize, bits & ((1 << 52) - 1));
    let normal = usize::from(exponent != 0);
    (fraction | (normal as u64) << 52, exponent - normal)
}

/// Adds a term, whose lowest limb is the one at a place, to an integer.
#[inline]
fn add(limbs: &mut [u64], at: usize, term: i128) {
    let sign = (term >> 127) as u64;
    let mut carry;
    (limbs[at], carry) = limbs[at].overflowing_add(term as u64);
    (limbs[at + 1], carry) = limbs[at + 1].carrying_add((term >> 64) as u64, carry);
    for l in &mut limbs[at + 2..] {
        if (sign != 0) == carry {
            break;
        }
        (*l, carry) = l.carrying_add(sign, carry);
    }
}

/// The limbs that would come above.
fn extension(limbs: &[u64]) -> u64 {
    limbs.last().map_or(0, |l| (*l as i64 >> 63) as u64)
}

/// Makes an integer its magnitude, and says whether it was negative.
fn negate(limbs: &mut [u64]) -> bool {
    let negative = extension(limbs) != 0;
    let mut carry = negative;
    for l in limbs.iter_mut().take_while(|_| negative) {
        (*l, carry) = (!*l).overflowing_add(u64::from(carry));
    }
    negative
}

fn signed(negative: bool, x: f64) -> f64 {
    if negative { -x } else { x }
}

/// The double nearest to a magnitude in units of a power of two, of two that are as near the even one.
pub fn nearest(limbs: &[u64], unit: i32) -> f64 {
    let Some(top) = limbs.iter().rposition(|l| *l != 0) else { return 0.0 };
    let zeros = limbs[top].leading_zeros();
    let below = if top > 0 { limbs[top - 1] } else { 0 };
    let pair = (u128::from(limbs[top]) << 64 | u128::from(below)) << zeros;
    // The highest 64 bits, and whether others are set.
    let (high, mut more) = ((pair >> 64) as u64, pair as u64 != 0);
    more |= top > 1 && limbs[..top - 1].iter().any(|l| *l != 0);
    let exponent = unit + 64 * top as i32 + 63 - zeros as i32;
    if exponent > 1023 {
        return f64::INFINITY;
    }
    let drop = 11 + (-1022 - exponent).max(0);
    if drop > 64 {
        return 0.0;
    }
    let kept = (u128::from(high) >> drop) as u64;
    let rest = u128::from(high) - (u128::from(kept) << drop);
    let half = 1u128 << (drop - 1);
    let up = rest > half || rest == half && (more || kept & 1 == 1);
    // What is carried out of the fraction goes into the exponent, where it belongs.
    f64::from_bits((((exponent + 1022).max(0) as u64) << 52) + kept + u64::from(up))
}

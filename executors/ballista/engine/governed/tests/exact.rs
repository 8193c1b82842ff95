//! Laws of exact sums and variances: the order of values and how they are shared out are of no account, and no double is nearer.

use governed::dispersion::Dispersion;
use governed::exact::{Exact, Tally, parts};

type Total = Exact<3, 35>;

/// An integer for comparisons: digits of 32 bits, the lowest first.
#[derive(Clone, Debug)]
struct Big(bool, Vec<u32>);

impl Big {
    fn of(x: f64) -> Self {
        let (m, exponent) = parts(x);
        let mut out = Big(x < 0.0, vec![0; exponent / 32]);
        let wide = u128::from(m) << (exponent % 32);
        out.1.extend((0..3).map(|i| (wide >> (32 * i)) as u32));
        out
    }

    fn number(n: u64) -> Self {
        Big(false, vec![n as u32, (n >> 32) as u32])
    }

    fn digit(&self, i: usize) -> i64 {
        i64::from(self.1.get(i).copied().unwrap_or(0))
    }

    fn above(&self, o: &Self) -> std::cmp::Ordering {
        let n = self.1.len().max(o.1.len());
        (0..n).rev().map(|i| self.digit(i).cmp(&o.digit(i))).find(|c| c.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    }

    fn plus(&self, o: &Self) -> Self {
        let n = self.1.len().max(o.1.len()) + 1;
        let (big, small) = if self.above(o).is_ge() { (self, o) } else { (o, self) };
        let sign = if self.0 == o.0 { 1 } else { -1 };
        let mut carry = 0;
        let digits = (0..n).map(|i| {
            let v = big.digit(i) + sign * small.digit(i) + carry;
            carry = v >> 32;
            v as u32
        });
        Big(big.0, digits.collect())
    }

    fn minus(&self, o: &Self) -> Self {
        self.plus(&Big(!o.0, o.1.clone()))
    }

    fn times(&self, o: &Self) -> Self {
        let mut out = vec![0u32; self.1.len() + o.1.len()];
        for (i, x) in self.1.iter().enumerate() {
            let mut carry = 0;
            for (j, y) in o.1.iter().enumerate() {
                let v = u64::from(*x) * u64::from(*y) + u64::from(out[i + j]) + carry;
                (out[i + j], carry) = (v as u32, v >> 32);
            }
            out[i + o.1.len()] = carry as u32;
        }
        Big(self.0 != o.0, out)
    }

    /// Whether a double is the nearest to `self / by`, both in the unit of doubles; of two that are as near, the even one.
    fn rounds_to(&self, by: &Self, x: f64) -> bool {
        let distance = |x: f64| self.minus(&by.times(&Big::of(x)));
        let own = distance(x);
        [x.next_up(), x.next_down()].into_iter().filter(|y| y.is_finite()).all(|y| match own.above(&distance(y)) {
            std::cmp::Ordering::Equal => x.to_bits() & 1 == 0,
            c => c.is_lt(),
        })
    }
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// Values of one of several kinds: alike, of all sizes, of few bits, whole, with others' opposites, zeros.
    fn values(&mut self) -> Vec<f64> {
        let (kind, n) = (self.below(6), 1 + self.below(40));
        let mut out: Vec<f64> = (0..n)
            .map(|_| {
                let bits = self.next();
                let sign = if bits & 1 == 0 { 1.0 } else { -1.0 };
                match kind {
                    0 => (bits >> 11) as f64 / 9007199254740992.0 * sign,
                    1 => f64::from_bits(bits & !(0x7ff << 52) | (1 + (bits >> 52) % 2040) << 52),
                    2 => sign * 2f64.powi(self.below(2000) as i32 - 1000),
                    3 => (bits % 1000) as f64 * sign,
                    4 => [1e16, 1.0, -1e16, 0.1, 1e-300, 5e-324, 1e300, -0.0, 1e22, 3.0][self.below(10)],
                    _ => f64::from_bits(bits % (1 << 54)) * sign,
                }
            })
            .collect();
        if self.below(3) == 0 {
            let opposite: Vec<f64> = out.iter().map(|x| -x).collect();
            out.extend(opposite.iter().take(self.below(n + 1)));
            out.push(self.below(3) as f64);
        }
        out
    }

    fn shuffled(&mut self, values: &[f64]) -> Vec<f64> {
        let mut out = values.to_vec();
        for i in (1..out.len()).rev() {
            out.swap(i, self.below(i + 1));
        }
        out
    }

    /// A tally of values in any order, by several tasks, each by itself or many at once, with others that are taken away again.
    fn tally<T: Tally>(&mut self, values: &[f64]) -> T {
        let values = self.shuffled(values);
        let mut tasks: Vec<T> = (0..1 + self.below(4)).map(|_| T::default()).collect();
        let mut rest = &values[..];
        while !rest.is_empty() {
            let (part, after) = rest.split_at(1 + self.below(rest.len()));
            let at = self.below(tasks.len());
            if self.below(2) == 0 {
                tasks[at].add_all(part);
            } else {
                let others = if self.below(4) == 0 { self.values() } else { Vec::new() };
                others.iter().for_each(|x| _ = tasks[at].add(*x, false));
                part.iter().for_each(|x| _ = tasks[at].add(*x, false));
                others.iter().for_each(|x| _ = tasks[at].add(*x, true));
            }
            rest = after;
        }
        let mut out = T::default();
        for task in tasks.iter().filter(|t| !t.is_nothing()) {
            let mut bytes = Vec::new();
            task.write(&mut bytes);
            assert!(out.merge(&bytes).unwrap().1.is_empty());
        }
        out
    }
}

#[test]
fn sums_are_the_nearest_doubles() {
    let mut random = Random(88172645463325252);
    for _ in 0..3000 {
        let values = random.values();
        let want: Total = {
            let mut all = Total::default();
            values.iter().for_each(|x| _ = all.add(*x, false));
            all
        };
        let want = want.nearest().unwrap();
        let exact = values.iter().fold(Big(false, vec![0]), |sum, x| sum.plus(&Big::of(*x)));
        assert!(want.is_infinite() || exact.rounds_to(&Big::number(1), want), "{values:?}: {want}");
        for _ in 0..3 {
            let got = random.tally::<Total>(&values).nearest().unwrap();
            assert_eq!(got.to_bits(), want.to_bits(), "{values:?}: {got}, {want}");
        }
    }
}

#[test]
fn variances_are_the_nearest_doubles() {
    let mut random = Random(2463534242);
    for _ in 0..1500 {
        let values = random.values();
        let (n, mut sum, mut squares) = (Big::number(values.len() as u64), Big(false, vec![0]), Big(false, vec![0]));
        for x in values.iter().map(|x| Big::of(*x)) {
            (squares, sum) = (squares.plus(&x.times(&x)), sum.plus(&x));
        }
        let over = n.times(&squares).minus(&sum.times(&sum));
        for sample in [true, false] {
            let Some(want) = random.tally::<Dispersion>(&values).variance(sample) else {
                assert!(sample && values.len() == 1);
                continue;
            };
            // Squares are in the unit of the smallest double twice.
            let unit = Big::of(1.0);
            let by = n.times(&Big::number(values.len() as u64 - u64::from(sample && values.len() > 1))).times(&unit);
            assert!(want.is_infinite() || over.rounds_to(&by, want), "{values:?}: {want}");
            let again = random.tally::<Dispersion>(&values).variance(sample).unwrap();
            assert_eq!(again.to_bits(), want.to_bits(), "{values:?}: {again}, {want}");
        }
    }
}

#[test]
fn sums() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    for (values, want) in [
        (vec![], None),
        (vec![-0.0], Some(0.0)),
        (vec![1e16, 1.0, -1e16], Some(1.0)),
        (vec![1e308, 1e308, -1e308], Some(1e308)),
        (vec![1e308, 1e308], Some(inf)),
        (vec![f64::MAX, 2f64.powi(970)], Some(inf)),
        (vec![f64::MAX, 2f64.powi(970).next_down()], Some(f64::MAX)),
        (vec![1.0, 2f64.powi(-53)], Some(1.0)),
        (vec![1.0, 2f64.powi(-53), 5e-324], Some(1.0 + f64::EPSILON)),
        (vec![5e-324, 5e-324], Some(1e-323)),
        (vec![inf, 1.0], Some(inf)),
        (vec![-inf, 1.0, f64::MAX], Some(-inf)),
        (vec![-inf, inf], Some(nan)),
        (vec![nan, 1.0], Some(nan)),
        (vec![0.1; 10], Some(1.0)),
        (vec![f64::MAX; 30_000], Some(inf)),
        ([vec![f64::MAX; 30_000], vec![f64::MIN; 30_000], vec![7.0]].concat(), Some(7.0)),
    ] {
        for split in [0, values.len() / 2] {
            let mut sums = [Total::default(), Total::default()];
            sums[0].add_all(&values[..split]);
            values[split..].iter().for_each(|x| _ = sums[1].add(*x, false));
            let mut bytes = Vec::new();
            let [first, second] = &mut sums;
            if !second.is_nothing() {
                second.write(&mut bytes);
                first.merge(&bytes).unwrap();
            }
            assert_eq!(first.nearest().map(f64::to_bits), want.map(f64::to_bits), "{:?}", &values[..values.len().min(5)]);
        }
    }
}

#[test]
fn variances() {
    for (values, sample, want) in [
        (vec![], Some(()), None),
        (vec![3.0], Some(()), None),
        (vec![f64::NAN], None, Some(0.0)),
        (vec![1.0, 3.0], Some(()), Some(2.0)),
        (vec![1.0, 3.0], None, Some(1.0)),
        (vec![1e16, 1e16 + 2.0], None, Some(1.0)),
        (vec![1e200, 1e200], None, Some(0.0)),
        (vec![1e200, -1e200], None, Some(f64::INFINITY)),
        (vec![1e-200, -1e-200], None, Some(0.0)),
        (vec![0.1; 3], Some(()), Some(0.0)),
        (vec![f64::INFINITY, 1.0], None, Some(f64::NAN)),
    ] {
        let mut d = Dispersion::default();
        d.add_all(&values);
        assert_eq!(d.variance(sample.is_some()).map(f64::to_bits), want.map(f64::to_bits), "{values:?}");
    }
}

/// What two values have in bits may be anywhere, as near or as far from each other as doubles are.
#[test]
fn nothing_is_lost_between_two_values() {
    for low in [0, 1, 63, 64, 500, 1022] {
        for distance in 0..400 {
            let (x, y) = (1.5 * 2f64.powi(low - 600), -1.25 * 2f64.powi(low - 600 + distance));
            for (values, want) in [([x, y, -y], x), ([y, x, -y], x), ([x, y, -x], y), ([y, -y, x], x)] {
                let mut sum = Total::default();
                values.iter().for_each(|v| _ = sum.add(*v, false));
                assert_eq!(sum.nearest(), Some(want), "{values:?}");
            }
        }
    }
}

/// So many values that the highest limb is not enough.
#[test]
fn sums_grow() {
    for sign in [1.0, -1.0] {
        let (low, high) = (sign * 2f64.powi(52 + 640 - 1074), sign * 9007199254740991.0 * 2f64.powi(767 - 1074));
        let mut sum = Total::default();
        sum.add(low, false);
        (0..10_000).for_each(|_| _ = sum.add(high, false));
        assert_eq!(sum.nearest(), Some(high * 10_000.0));
        (0..10_000).for_each(|_| _ = sum.add(high, true));
        assert_eq!(sum.nearest(), Some(low));
    }
}

#[test]
fn what_is_taken_away_leaves_nothing() {
    let mut sum = Total::default();
    for (x, want) in [(1.0, 1.0), (f64::INFINITY, f64::INFINITY), (f64::NAN, f64::NAN), (f64::NEG_INFINITY, f64::NAN), (1e300, f64::NAN)] {
        sum.add(x, false);
        assert_eq!(sum.nearest().map(f64::to_bits), Some(want.to_bits()));
    }
    for (x, want) in [(f64::NAN, f64::NAN), (f64::INFINITY, f64::NEG_INFINITY), (f64::NEG_INFINITY, 1e300), (1e300, 1.0), (1.0, 0.0)] {
        sum.add(x, true);
        assert_eq!(sum.nearest().map(f64::to_bits), Some(want.to_bits()));
    }
}

/// What comes from elsewhere may be anything.
#[test]
fn bytes_that_are_no_tally() {
    let mut random = Random(123456789);
    for _ in 0..20_000 {
        let mut bytes: Vec<u8> = (0..random.below(60)).map(|_| random.next() as u8).collect();
        if let Some(n) = bytes.get_mut(2) {
            *n %= 8;
        }
        let (mut sum, mut dispersion) = (Total::default(), Dispersion::default());
        if sum.merge(&bytes).is_ok() {
            sum.nearest();
        }
        if dispersion.merge(&bytes).is_ok() {
            dispersion.variance(true);
        }
    }
}

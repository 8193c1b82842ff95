//! Sums of decimals, and so of integers, that have room for every number on the way: only the end has to fit. DataFusion's own wrap around, and
//! would be wrong without a word.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, Decimal128Builder, Int64Array};
use arrow::datatypes::{DataType, Decimal128Type, Field, FieldRef, Int64Type};
use datafusion::common::{ScalarValue, internal_datafusion_err};
use datafusion::error::Result;
use datafusion::logical_expr::function::StateFieldsArgs;
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};

use crate::failure::failure;
use crate::measures::{self, Total, passes};
use crate::wire::Class;

/// The digits of a sum.
const DIGITS: u8 = 38;

/// The first number that has more.
const BOUND: i128 = 10i128.pow(DIGITS as u32);

/// A sum of 192 bits, of which the low 128 have a sign of their own.
#[derive(Debug, Clone, Copy, Default)]
struct Wide {
    low: i128,
    high: i64,
    rows: i64,
}

impl Wide {
    #[inline]
    fn add(&mut self, x: i128) {
        let (low, over) = self.low.overflowing_add(x);
        self.low = low;
        if over {
            self.high += if x < 0 { -1 } else { 1 };
        }
    }

    fn take(&mut self, x: i128) {
        let (low, over) = self.low.overflowing_sub(x);
        self.low = low;
        if over {
            self.high += if x < 0 { 1 } else { -1 };
        }
    }

    fn merge(&mut self, low: i128, high: i64, rows: i64) {
        self.add(low);
        self.high += high;
        self.rows += rows;
    }

    /// The sum, none of no rows.
    fn value(&self) -> Result<Option<i128>> {
        if self.rows == 0 {
            return Ok(None);
        }
        if self.high != 0 || self.low <= -BOUND || self.low >= BOUND {
            return Err(failure(Class::Range, "a sum has more than 38 digits"));
        }
        Ok(Some(self.low))
    }
}

/// The columns of what tasks know of groups.
pub fn state_fields(args: &StateFieldsArgs, scale: i8) -> Vec<FieldRef> {
    let field = |part: &str, t| Arc::new(Field::new(format!("{}[{part}]", args.name), t, false));
    vec![field("low", DataType::Decimal128(DIGITS, scale)), field("high", DataType::Int64), field("rows", DataType::Int64)]
}

/// The states of some groups, taken apart.
struct States<'a> {
    low: &'a [i128],
    high: &'a [i64],
    rows: &'a [i64],
}

impl<'a> States<'a> {
    fn of(columns: &'a [ArrayRef]) -> Self {
        Self {
            low: columns[0].as_primitive::<Decimal128Type>().values(),
            high: columns[1].as_primitive::<Int64Type>().values(),
            rows: columns[2].as_primitive::<Int64Type>().values(),
        }
    }

    fn iter(&self) -> impl Iterator<Item = (i128, i64, i64)> + '_ {
        self.low.iter().zip(self.high).zip(self.rows).map(|((low, high), rows)| (*low, *high, *rows))
    }
}

fn written(states: &[Wide], scale: i8) -> Result<Vec<ArrayRef>> {
    let low = Decimal128Array::from_iter_values(states.iter().map(|s| s.low)).with_data_type(DataType::Decimal128(DIGITS, scale));
    let high = Int64Array::from_iter_values(states.iter().map(|s| s.high));
    let rows = Int64Array::from_iter_values(states.iter().map(|s| s.rows));
    Ok(vec![Arc::new(low), Arc::new(high), Arc::new(rows)])
}

/// The sum of one group, or of one frame of a window.
#[derive(Debug)]
pub struct One {
    state: Wide,
    scale: i8,
}

impl One {
    /// Of no rows yet.
    pub fn new(scale: i8) -> Self {
        Self { state: Wide::default(), scale }
    }
}

impl Accumulator for One {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = values[0].as_primitive::<Decimal128Type>();
        self.state.rows += (values.len() - values.null_count()) as i64;
        if values.null_count() == 0 {
            values.values().iter().for_each(|x| self.state.add(*x));
        } else {
            values.iter().flatten().for_each(|x| self.state.add(x));
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        States::of(states).iter().for_each(|(low, high, rows)| self.state.merge(low, high, rows));
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = values[0].as_primitive::<Decimal128Type>();
        self.state.rows -= (values.len() - values.null_count()) as i64;
        values.iter().flatten().for_each(|x| self.state.take(x));
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let s = self.state;
        Ok(vec![ScalarValue::Decimal128(Some(s.low), DIGITS, self.scale), ScalarValue::Int64(Some(s.high)), ScalarValue::Int64(Some(s.rows))])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Decimal128(self.state.value()?, DIGITS, self.scale))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// The sum of the different values of one group, which DataFusion's own sum keeps.
#[derive(Debug)]
pub struct Distinct {
    values: Box<dyn Accumulator>,
    scale: Option<i8>,
}

impl Distinct {
    /// Of what `values` keeps: decimals of a scale, or doubles.
    pub fn new(values: Box<dyn Accumulator>, scale: Option<i8>) -> Self {
        Self { values, scale }
    }
}

impl Accumulator for Distinct {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.values.update_batch(values)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.values.merge_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.values.state()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let state = self.values.state()?;
        let Some(ScalarValue::List(list)) = state.first() else {
            return Err(internal_datafusion_err!("different values are not kept as a list"));
        };
        let mut sum: Box<dyn Accumulator> = match self.scale {
            Some(scale) => Box::new(One::new(scale)),
            None => Box::new(measures::One::new(Total::nearest)),
        };
        sum.update_batch(&[Arc::clone(list.values())])?;
        sum.evaluate()
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.size()
    }
}

/// The sums of many groups.
#[derive(Debug)]
pub struct Groups {
    states: Vec<Wide>,
    scale: i8,
}

impl Groups {
    /// Of no groups yet.
    pub fn new(scale: i8) -> Self {
        Self { states: Vec::new(), scale }
    }
}

impl GroupsAccumulator for Groups {
    fn update_batch(&mut self, values: &[ArrayRef], groups: &[usize], filter: Option<&BooleanArray>, total: usize) -> Result<()> {
        self.states.resize_with(total, Wide::default);
        let values = values[0].as_primitive::<Decimal128Type>();
        let mut add = |group: usize, x: i128| {
            self.states[group].add(x);
            self.states[group].rows += 1;
        };
        if filter.is_none() && values.null_count() == 0 {
            groups.iter().zip(values.values()).for_each(|(g, x)| add(*g, *x));
            return Ok(());
        }
        for (row, (g, x)) in groups.iter().zip(values).enumerate() {
            if let Some(x) = x.filter(|_| passes(filter, row)) {
                add(*g, x);
            }
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.states.resize_with(total, Wide::default);
        groups.iter().zip(States::of(states).iter()).for_each(|(g, (low, high, rows))| self.states[*g].merge(low, high, rows));
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let states = emit.take_needed(&mut self.states);
        let mut out = Decimal128Builder::with_capacity(states.len()).with_data_type(DataType::Decimal128(DIGITS, self.scale));
        for s in &states {
            out.append_option(s.value()?);
        }
        Ok(Arc::new(out.finish()))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        written(&emit.take_needed(&mut self.states), self.scale)
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let values = values[0].as_primitive::<Decimal128Type>();
        let one =
            |(row, x): (usize, Option<i128>)| x.filter(|_| passes(filter, row)).map_or_else(Wide::default, |low| Wide { low, high: 0, rows: 1 });
        written(&values.iter().enumerate().map(one).collect::<Vec<_>>(), self.scale)
    }

    fn size(&self) -> usize {
        self.states.capacity() * size_of::<Wide>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(of: &[i128]) -> Wide {
        let mut s = Wide::default();
        of.iter().for_each(|x| {
            s.add(*x);
            s.rows += 1;
        });
        s
    }

    #[test]
    fn only_the_end_has_to_fit() {
        let most = BOUND - 1;
        assert_eq!(sum(&[]).value().unwrap(), None);
        assert_eq!(sum(&[most]).value().unwrap(), Some(most));
        assert_eq!(sum(&[-most]).value().unwrap(), Some(-most));
        for there_and_back in [[most, most, -most, -most, 7], [-most, -most, 7, most, most], [most, -most, most, -most, 7]] {
            assert_eq!(sum(&there_and_back).value().unwrap(), Some(7));
        }
        // Two of them pass 38 digits and fit 128 bits, four pass both, and so many that the low bits are small again.
        for n in [2, 4, 340, 341, 1000] {
            assert!(sum(&vec![most; n]).value().is_err(), "{n}");
            assert!(sum(&vec![-most; n]).value().is_err(), "{n}");
        }
        assert!(sum(&[i128::MAX, i128::MAX, 2]).value().is_err(), "the low bits are 0");
    }

    #[test]
    fn parts_and_what_is_taken_away() {
        let most = BOUND - 1;
        let (mut a, b) = (sum(&[most, most, most]), sum(&[-most, -most, -5]));
        a.merge(b.low, b.high, b.rows);
        assert_eq!(a.value().unwrap(), Some(most - 5));
        let mut s = sum(&[most, most, 3]);
        s.take(most);
        assert_eq!(s.value().unwrap_err().to_string(), sum(&[most, 3]).value().unwrap_err().to_string());
        s.take(most);
        assert_eq!(s.value().unwrap(), Some(3));
        let mut s = sum(&[-most, -most, 3]);
        s.take(-most);
        s.take(-most);
        assert_eq!(s.value().unwrap(), Some(3));
    }
}

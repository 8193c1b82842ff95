//! Aggregate functions over floating point whose values do not depend on the order of rows, or on how tasks share them: what each says is the
//! exact result, rounded once; a deviation is the root of such a variance.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryBuilder, BooleanArray, Float64Array};
use arrow::datatypes::{DataType, Field, FieldRef, Float64Type};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, Signature, Volatility};

use crate::dispersion::Dispersion;
use crate::exact::{Exact, Tally};

/// A sum of doubles.
pub type Total = Exact<3, 35>;

/// The functions of dispersion, by their names.
const DISPERSIONS: [(&str, Value<Dispersion>); 4] = [
    ("gw_var", |d| d.variance(true)),
    ("gw_var_pop", |d| d.variance(false)),
    ("gw_stddev", |d| d.variance(true).map(f64::sqrt)),
    ("gw_stddev_pop", |d| d.variance(false).map(f64::sqrt)),
];

/// Whether a function is one of dispersion.
pub fn is_dispersion(name: &str) -> bool {
    DISPERSIONS.iter().any(|(n, _)| *n == name)
}

/// The functions of dispersion, for registries.
pub fn dispersions() -> impl Iterator<Item = Arc<AggregateUDF>> {
    let signature = || Signature::exact(vec![DataType::Float64], Volatility::Immutable);
    (0..DISPERSIONS.len()).map(move |which| Arc::new(AggregateUDF::from(Measure { which, signature: signature() })))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Measure {
    which: usize,
    signature: Signature,
}

impl AggregateUDFImpl for Measure {
    fn name(&self) -> &str {
        DISPERSIONS[self.which].0
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(One::new(DISPERSIONS[self.which].1)))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        Ok(state_fields(&args))
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        !args.is_distinct
    }

    fn create_groups_accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(Groups::new(DISPERSIONS[self.which].1)))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

/// The column of what tasks know of groups.
pub fn state_fields(args: &StateFieldsArgs) -> Vec<FieldRef> {
    vec![Arc::new(Field::new(format!("{}[tally]", args.name), DataType::Binary, true))]
}

/// What a tally is asked for.
type Value<S> = fn(&S) -> Option<f64>;

/// The values of one group, or of one frame of a window.
#[derive(Debug)]
pub struct One<S> {
    state: S,
    rows: usize,
    value: Value<S>,
}

impl<S: Tally> One<S> {
    /// Of no values yet.
    pub fn new(value: Value<S>) -> Self {
        Self { state: S::default(), rows: 0, value }
    }
}

impl<S: Tally> Accumulator for One<S> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = values[0].as_primitive::<Float64Type>();
        self.rows += values.len() - values.null_count();
        match values.nulls() {
            None => self.state.add_all(values.values()),
            Some(nulls) => nulls.valid_slices().map(|(from, to)| self.state.add_all(&values.values()[from..to])).sum(),
        };
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for bytes in states[0].as_binary::<i32>().iter().flatten() {
            self.state.merge(bytes)?;
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for x in values[0].as_primitive::<Float64Type>().iter().flatten() {
            self.state.add(x, true);
            self.rows -= 1;
        }
        if self.rows == 0 {
            self.state = S::default();
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::Binary((!self.state.is_nothing()).then(|| {
            let mut out = Vec::new();
            self.state.write(&mut out);
            out
        }))])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Float64((self.value)(&self.state)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.state.heap()
    }
}

/// The values of many groups.
#[derive(Debug)]
pub struct Groups<S> {
    states: Vec<S>,
    heap: usize,
    value: Value<S>,
}

impl<S: Tally> Groups<S> {
    /// Of no groups yet.
    pub fn new(value: Value<S>) -> Self {
        Self { states: Vec::new(), heap: 0, value }
    }

    fn take(&mut self, emit: EmitTo) -> Vec<S> {
        let out = emit.take_needed(&mut self.states);
        self.heap -= out.iter().map(S::heap).sum::<usize>();
        out
    }
}

impl<S: Tally> GroupsAccumulator for Groups<S> {
    fn update_batch(&mut self, values: &[ArrayRef], groups: &[usize], filter: Option<&BooleanArray>, total: usize) -> Result<()> {
        self.states.resize_with(total, S::default);
        let values = values[0].as_primitive::<Float64Type>();
        if filter.is_none() && values.null_count() == 0 {
            for (g, x) in groups.iter().zip(values.values()) {
                self.heap += self.states[*g].add(*x, false);
            }
            return Ok(());
        }
        for (row, (g, x)) in groups.iter().zip(values).enumerate() {
            if let Some(x) = x.filter(|_| passes(filter, row)) {
                self.heap += self.states[*g].add(x, false);
            }
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.states.resize_with(total, S::default);
        for (g, bytes) in groups.iter().zip(states[0].as_binary::<i32>()) {
            self.heap += bytes.map_or(Ok(0), |bytes| self.states[*g].merge(bytes).map(|(grown, _)| grown))?;
        }
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let states = self.take(emit);
        Ok(Arc::new(states.iter().map(self.value).collect::<Float64Array>()))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![written(self.take(emit).into_iter())])
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let values = values[0].as_primitive::<Float64Type>();
        let states = values.iter().enumerate().map(|(row, x)| {
            let mut state = S::default();
            x.filter(|_| passes(filter, row)).map(|x| state.add(x, false));
            state
        });
        Ok(vec![written(states)])
    }

    fn size(&self) -> usize {
        self.states.capacity() * size_of::<S>() + self.heap
    }
}

/// Whether a row is one that an aggregate's FILTER lets through.
pub fn passes(filter: Option<&BooleanArray>, row: usize) -> bool {
    filter.is_none_or(|f| f.is_valid(row) && f.value(row))
}

fn written<S: Tally>(states: impl ExactSizeIterator<Item = S>) -> ArrayRef {
    let mut out = BinaryBuilder::with_capacity(states.len(), states.len() * 24);
    let mut bytes = Vec::new();
    for state in states {
        bytes.clear();
        state.write(&mut bytes);
        out.append_option((!state.is_nothing()).then_some(&bytes));
    }
    Arc::new(out.finish())
}

//! Scalar functions of ours, which mean exactly what those of the other executor mean. Each names the types that it takes; for others
//! the statement is refused. `executors/ballista/functions.tsv` says which of them agree on all probes.
//!
//! To read them in order: `number`, `text`, `pattern`, `time`, `cast`, `order`, and with the state of a group: `single`.

mod case;
mod cast;
mod number;
mod order;
mod pattern;
mod read;
mod single;
mod text;
mod time;

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use crate::failure::{failure, unsupported};
use crate::wire::Class;

pub use cast::{UUID, native};
pub use pattern::is_plain;
pub use read::{blob, time, uuid};
pub use single::single;
pub use time::days;

/// The type of a function's values for the types of its arguments; none if it does not take them.
type Types = fn(&[DataType]) -> Option<DataType>;

/// A function's work: arguments of one length, and the type of its values.
type Run = fn(&[ArrayRef], &DataType) -> Result<ArrayRef>;

/// A function of ours.
#[derive(Debug)]
struct Function {
    name: &'static str,
    types: Types,
    run: Run,
    signature: Signature,
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, args: &[DataType]) -> Result<Vec<DataType>> {
        self.return_type(args)?;
        Ok(args.to_vec())
    }

    fn return_type(&self, args: &[DataType]) -> Result<DataType> {
        (self.types)(args).ok_or_else(|| unsupported(format!("the function {} on these types", self.name.trim_start_matches("gw_"))))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = args.args.iter().all(|a| matches!(a, ColumnarValue::Scalar(_)));
        let rows = if constant { 1 } else { args.number_rows };
        let columns = args.args.iter().map(|a| a.to_array(rows)).collect::<Result<Vec<_>>>()?;
        let out = (self.run)(&columns, args.return_field.data_type())?;
        Ok(if constant { ColumnarValue::Scalar(ScalarValue::try_from_array(&out, 0)?) } else { ColumnarValue::Array(out) })
    }
}

/// An entry of a module's list of functions.
struct Entry(&'static str, Types, Run);

/// All of them, for registries.
pub fn all() -> Vec<Arc<ScalarUDF>> {
    let lists = [number::LIST, text::LIST, time::LIST, cast::LIST, order::LIST, pattern::LIST];
    lists.into_iter().flatten().map(udf).collect()
}

fn udf(e: &Entry) -> Arc<ScalarUDF> {
    let signature = Signature::user_defined(Volatility::Immutable);
    Arc::new(ScalarUDF::from(Function { name: e.0, types: e.1, run: e.2, signature }))
}

fn call(list: &[Entry], name: &str, args: Vec<Expr>) -> Expr {
    let e = list.iter().find(|e| e.0 == name).expect("a function of ours");
    udf(e).call(args)
}

/// A cast as the other executor makes it.
pub fn cast(e: Expr, to: &DataType) -> Result<Expr> {
    Ok(call(cast::LIST, "gw_cast", vec![e, Expr::Literal(ScalarValue::try_from(to)?, None)]))
}

/// A decimal with as many digits as it is to have; more are an error.
pub fn fit(e: Expr, to: &DataType) -> Result<Expr> {
    Ok(call(number::LIST, "gw_fit", vec![e, Expr::Literal(ScalarValue::try_from(to)?, None)]))
}

/// The type of such a cast; none if there is no such cast.
pub fn cast_type(from: &DataType, to: &DataType) -> Option<DataType> {
    (cast::LIST[0].1)(&[from.clone(), to.clone()])
}

/// Year, month and day of a day after 1970-01-01.
pub fn civil(days: i64) -> (i64, i64, i64) {
    let m = time::Moment::new(days, 0);
    (m.year, m.month, m.day)
}

/// The days from a date to another one, as a number.
pub fn days_between(l: Expr, r: Expr) -> Expr {
    call(time::LIST, "gw_days", vec![l, r])
}

/// The date so many days later, or earlier.
pub fn shifted(date: Expr, days: Expr, earlier: bool) -> Expr {
    call(time::LIST, if earlier { "gw_sub_days" } else { "gw_add_days" }, vec![date, days])
}

/// A floating point value that compares as in the other executor, with DataFusion's order: its zeros and its NaN have one form each.
pub fn ordered(e: Expr) -> Expr {
    call(order::LIST, ORDERED, vec![e])
}

/// A floating point value as the key of a group.
pub fn grouped(e: Expr) -> Expr {
    call(order::LIST, GROUPED, vec![e])
}

/// Bytes, or a UUID, as a text of the same order.
pub fn digits(e: Expr) -> Expr {
    call(order::LIST, DIGITS, vec![e])
}

/// A truth value as a number, and such a number as a truth value. The optimiser sees through neither.
pub fn number_of(e: Expr) -> Expr {
    call(order::LIST, NUMBER_OF, vec![e])
}

/// See `number_of`.
pub fn truth_of(e: Expr) -> Expr {
    call(order::LIST, TRUTH_OF, vec![e])
}

const DIGITS: &str = "gw_digits";
const NUMBER_OF: &str = "gw_number_of";
const TRUTH_OF: &str = "gw_truth_of";

/// The name of the function of `grouped`.
pub const GROUPED: &str = "gw_grouped";

/// The name of the function of `ordered`.
pub const ORDERED: &str = "gw_ordered";

/// Bytes as digits.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, b| {
        let _ = write!(text, "{b:02x}");
        text
    })
}

fn range(what: &str) -> DataFusionError {
    failure(Class::Range, format!("{what} is out of range"))
}

fn is_int(t: &DataType) -> bool {
    matches!(t, DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64)
}

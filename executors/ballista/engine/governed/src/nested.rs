//! Structs, lists and maps of a data file as the table has them today: the fields of structs by field id, entries by their place.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, MapArray, StructArray, UInt32Array};
use arrow::compute::{cast_with_options, is_null, nullif, take};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use datafusion::error::Result;

use crate::columns::{Finder, STRICT, widens};
use crate::failure::failure;
use crate::wire::Class;

/// How a value becomes one of the table's type.
pub enum Shape {
    /// A value with nothing inside, cast if need be.
    Leaf(DataType),
    /// A struct.
    Struct(Fields, Vec<Part>),
    /// A list.
    List(FieldRef, Box<Shape>),
    /// A map, with its entries' field.
    Map(FieldRef, Fields, Box<[Shape; 2]>),
}

/// Where a field of a struct comes from.
pub enum Part {
    /// A field of the file's struct, by place.
    From(usize, Shape),
    /// The same value in every struct.
    Value(ArrayRef),
}

impl Shape {
    /// Finds what `want` has inside in what a file has. `path` is the name of what is around, for files that are read by names.
    pub fn new(have: &Field, want: &Field, path: &str, find: &Finder<'_>) -> Result<Self> {
        let name = |part: &str| format!("{path}.{part}");
        Ok(match (have.data_type(), want.data_type()) {
            (DataType::Struct(has), DataType::Struct(wants)) => {
                let mut parts = Vec::new();
                for w in wants {
                    parts.push(match find.among(has, w, &format!("{path}."))? {
                        Some(i) => Part::From(i, Shape::new(&has[i], w, &name(has[i].name()), find)?),
                        None => Part::Value(find.inside(w)?),
                    });
                }
                if parts.iter().all(|p| matches!(p, Part::Value(_))) {
                    return Err(failure(Class::Unsupported, "a data file has none of the fields of a struct column"));
                }
                Shape::Struct(plain_fields(wants), parts)
            }
            (DataType::List(h), DataType::List(w)) => Shape::List(plain_field(w), Box::new(Shape::new(h, w, &name("element"), find)?)),
            (DataType::Map(h, _), DataType::Map(w, _)) => {
                let (DataType::Struct(has), DataType::Struct(wants)) = (h.data_type(), w.data_type()) else { return Err(other()) };
                let ([hk, hv], [wk, wv]) = (&has[..], &wants[..]) else { return Err(other()) };
                let shapes = [Shape::new(hk, wk, &name("key"), find)?, Shape::new(hv, wv, &name("value"), find)?];
                Shape::Map(plain_field(w), plain_fields(wants), Box::new(shapes))
            }
            (h, w) if h.is_nested() || w.is_nested() => return Err(other()),
            (_, w) => {
                widens(have, want)?;
                Shape::Leaf(w.clone())
            }
        })
    }

    /// The values of a file as those of the table.
    pub fn apply(&self, a: &ArrayRef) -> Result<ArrayRef> {
        Ok(match self {
            Shape::Leaf(t) => cast_with_options(a, t, &STRICT)?,
            Shape::Struct(fields, parts) => {
                let s = a.as_struct();
                let none = is_null(a)?;
                // What is inside of a struct that is NULL is NULL: a file may have anything there.
                let columns = parts.iter().map(|p| match p {
                    Part::From(i, shape) if none.true_count() > 0 => shape.apply(&nullif(s.column(*i), &none)?),
                    Part::From(i, shape) => shape.apply(s.column(*i)),
                    Part::Value(v) => {
                        let rows = none.iter().map(|gone| (gone == Some(false)).then_some(0)).collect::<UInt32Array>();
                        Ok(take(v, &rows, None)?)
                    }
                });
                Arc::new(StructArray::try_new(fields.clone(), columns.collect::<Result<_>>()?, s.nulls().cloned())?)
            }
            Shape::List(field, shape) => {
                let l = a.as_list::<i32>();
                Arc::new(ListArray::try_new(Arc::clone(field), l.offsets().clone(), shape.apply(l.values())?, l.nulls().cloned())?)
            }
            Shape::Map(field, fields, shapes) => {
                let m = a.as_map();
                let entries = StructArray::try_new(fields.clone(), vec![shapes[0].apply(m.keys())?, shapes[1].apply(m.values())?], None)?;
                Arc::new(MapArray::try_new(Arc::clone(field), m.offsets().clone(), entries, m.nulls().cloned(), false)?)
            }
        })
    }
}

fn other() -> datafusion::error::DataFusionError {
    failure(Class::Data, "a data file stores a column with another shape")
}

/// The columns without the field ids of what is inside of them: with those, types that are the same would differ.
pub fn plain(s: &SchemaRef) -> SchemaRef {
    let fields = s.fields().iter().map(|f| f.as_ref().clone().with_data_type(plain_type(f.data_type())));
    Arc::new(Schema::new(fields.collect::<Fields>()))
}

/// A type without field ids inside.
pub fn plain_type(t: &DataType) -> DataType {
    match t {
        DataType::Struct(fields) => DataType::Struct(plain_fields(fields)),
        DataType::List(f) => DataType::List(plain_field(f)),
        DataType::Map(f, sorted) => DataType::Map(plain_field(f), *sorted),
        t => t.clone(),
    }
}

fn plain_field(f: &FieldRef) -> FieldRef {
    Arc::new(Field::new(f.name(), plain_type(f.data_type()), f.is_nullable()))
}

fn plain_fields(fields: &Fields) -> Fields {
    fields.iter().map(plain_field).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::finder;
    use arrow::array::Int32Array;
    use arrow::buffer::NullBuffer;
    use arrow::datatypes::Int32Type;
    use std::collections::HashMap;

    fn field(name: &str, id: i32, t: DataType) -> Field {
        Field::new(name, t, true).with_metadata(HashMap::from([("PARQUET:field_id".to_owned(), id.to_string())]))
    }

    #[test]
    fn nothing_is_left_in_a_struct_that_is_null() {
        let has = DataType::Struct(vec![field("old", 2, DataType::Int32).with_nullable(false)].into());
        let want = DataType::Struct(vec![field("new", 2, DataType::Int64), field("added", 3, DataType::Int32)].into());
        let (file, defaults) = (Default::default(), [crate::wire::Constant { field: 3, null: false, text: "7".to_owned() }]);
        let shape = Shape::new(&field("s", 1, has.clone()), &field("s", 1, want), "s", &finder(&file, &defaults)).expect("a shape");
        let DataType::Struct(fields) = has else { unreachable!() };
        let values: ArrayRef = Arc::new(Int32Array::from(vec![5, 6]));
        let a: ArrayRef = Arc::new(StructArray::new(fields, vec![values], Some(NullBuffer::from(vec![true, false]))));
        let out = shape.apply(&a).expect("values");
        let out = out.as_struct();
        assert_eq!((out.column(0).null_count(), out.column(1).null_count()), (1, 1));
        assert_eq!(out.column(1).as_primitive::<Int32Type>().value(0), 7);
        assert_eq!(plain(&Arc::new(Schema::new(vec![Field::new("s", out.data_type().clone(), true)]))).field(0).data_type(), out.data_type());
    }
}

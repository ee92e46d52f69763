//! Values of statements with their types, and the columns of rows in their order.

use loci_core::{MemoryId, Space, Timestamp};
use loci_index::records::{ReadColumns, StoredRecord};
use tokio_postgres::Row;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::failure::{Failure, Result};

/// The value of a parameter. It knows its type, so that a statement needs no round trip in which
/// the server tells the types.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Text(Option<String>),
    Number(Option<i64>),
    Bytes(Option<Vec<u8>>),
    Real(Option<f32>),
    Double(f64),
    Bool(bool),
    Texts(Vec<String>),
    Numbers(Vec<i64>),
    ByteStrings(Vec<Vec<u8>>),
}

impl Value {
    /// Returns the type of the parameter.
    pub(crate) fn kind(&self) -> Type {
        match self {
            Value::Text(_) => Type::TEXT,
            Value::Number(_) => Type::INT8,
            Value::Bytes(_) => Type::BYTEA,
            Value::Real(_) => Type::FLOAT4,
            Value::Double(_) => Type::FLOAT8,
            Value::Bool(_) => Type::BOOL,
            Value::Texts(_) => Type::TEXT_ARRAY,
            Value::Numbers(_) => Type::INT8_ARRAY,
            Value::ByteStrings(_) => Type::BYTEA_ARRAY,
        }
    }
}

impl ToSql for Value {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> std::result::Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Value::Text(value) => value.to_sql(kind, out),
            Value::Number(value) => value.to_sql(kind, out),
            Value::Bytes(value) => value.to_sql(kind, out),
            Value::Real(value) => value.to_sql(kind, out),
            Value::Double(value) => value.to_sql(kind, out),
            Value::Bool(value) => value.to_sql(kind, out),
            Value::Texts(value) => value.to_sql(kind, out),
            Value::Numbers(value) => value.to_sql(kind, out),
            Value::ByteStrings(value) => value.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

macro_rules! from {
    ($($type:ty => |$value:ident| $into:expr,)+) => {
        $(impl From<$type> for Value {
            fn from($value: $type) -> Self {
                $into
            }
        })+
    };
}

from! {
    &str => |value| Value::Text(Some(value.to_owned())),
    String => |value| Value::Text(Some(value)),
    &String => |value| Value::Text(Some(value.clone())),
    Option<&str> => |value| Value::Text(value.map(str::to_owned)),
    Option<String> => |value| Value::Text(value),
    &Option<String> => |value| Value::Text(value.clone()),
    &Space => |value| Value::Text(Some(value.as_str().to_owned())),
    &MemoryId => |value| Value::Text(Some(value.as_str().to_owned())),
    Option<&MemoryId> => |value| Value::Text(value.map(|id| id.as_str().to_owned())),
    i64 => |value| Value::Number(Some(value)),
    Option<i64> => |value| Value::Number(value),
    u64 => |value| Value::Number(Some(i64::try_from(value).unwrap_or(i64::MAX))),
    usize => |value| Value::Number(Some(i64::try_from(value).unwrap_or(i64::MAX))),
    Timestamp => |value| Value::Number(Some(value.microseconds())),
    Option<Timestamp> => |value| Value::Number(value.map(Timestamp::microseconds)),
    Vec<u8> => |value| Value::Bytes(Some(value)),
    Option<Vec<u8>> => |value| Value::Bytes(value),
    [u8; 32] => |value| Value::Bytes(Some(value.to_vec())),
    Option<f32> => |value| Value::Real(value),
    f32 => |value| Value::Real(Some(value)),
    f64 => |value| Value::Double(value),
    bool => |value| Value::Bool(value),
    Vec<String> => |value| Value::Texts(value),
    &[MemoryId] => |value| Value::Texts(value.iter().map(|id| id.as_str().to_owned()).collect()),
    &[String] => |value| Value::Texts(value.to_vec()),
    Vec<i64> => |value| Value::Numbers(value),
    Vec<Vec<u8>> => |value| Value::ByteStrings(value),
}

/// Makes a list of parameters.
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        Vec::<$crate::value::Value>::from([$($crate::value::Value::from($value)),*])
    };
}
pub(crate) use values;

/// Reads the columns of a row one after the other.
pub(crate) struct Columns<'a> {
    row: &'a Row,
    next: usize,
}

impl<'a> Columns<'a> {
    pub(crate) fn of(row: &'a Row) -> Self {
        Columns { row, next: 0 }
    }

    /// Returns the next column.
    pub(crate) fn take<T: FromSql<'a>>(&mut self) -> Result<T> {
        let value = self.row.try_get(self.next)?;
        self.next += 1;
        Ok(value)
    }
}

impl<'a> ReadColumns<'a> for Columns<'a> {
    type Error = Failure;

    fn text_or_null(&mut self) -> Result<Option<&'a str>> {
        self.take()
    }

    fn integer_or_null(&mut self) -> Result<Option<i64>> {
        self.take()
    }

    fn bytes_or_null(&mut self) -> Result<Option<&'a [u8]>> {
        self.take()
    }

    fn single_or_null(&mut self) -> Result<Option<f32>> {
        self.take()
    }

    fn double(&mut self) -> Result<f64> {
        self.take()
    }

    fn flag(&mut self) -> Result<bool> {
        self.take()
    }

    fn texts(&mut self) -> Result<Vec<String>> {
        self.take()
    }
}

/// Returns the record in a row.
pub(crate) fn read_record<T: StoredRecord>(row: &Row) -> Result<T> {
    T::read(&mut Columns::of(row))
}

/// Returns a digest of names, to stand for them in a key. A name that is missing differs from an
/// empty one.
pub(crate) fn digest(names: &[Option<&str>]) -> Vec<u8> {
    use sha2::{Digest, Sha256};
    /// Bytes: two of the names of a store are never the same in as many.
    const LENGTH: usize = 16;
    let mut hash = Sha256::new();
    for name in names {
        let length = name.map_or(u64::MAX, |name| name.len() as u64);
        hash.update(length.to_le_bytes());
        hash.update(name.unwrap_or_default());
    }
    hash.finalize()[..LENGTH].to_vec()
}

/// Returns a text as a literal that means the same whatever `standard_conforming_strings` is.
pub(crate) fn literal(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('\'', "''");
    format!("E'{escaped}'")
}

//! Runs parsed statements with the functions under test.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use pelorus_error::{Code, Error, Result};
use pelorus_functions::{
    Arg, CastTarget, EvalContext, Value, aggregate, array_of, cast, convert, literal, resolve,
    settle, value_at,
};
use pelorus_types::{Collation, ColumnType, Flags, WireType, collation, number};

use super::parser::{Expr, Select, parse, unhex};

/// What came of a statement.
pub(crate) enum Answer {
    /// Pelorus lacks something (error 1235).
    Refused(String),
    /// The fields of a recorded line.
    Given(Vec<String>),
}

/// The table of the tests, and the context.
pub(crate) struct Session {
    columns: HashMap<String, (Arg, ArrayRef)>,
    rows: usize,
}

struct Found {
    arg: Arg,
    array: ArrayRef,
}

fn context() -> Arc<EvalContext> {
    let mut ctx = EvalContext::default();
    ctx.now_micros = 1_700_000_000_250_000;
    ctx.database = Some("fn_expressions".into());
    Arc::new(ctx)
}

impl Session {
    pub(crate) fn new() -> Self {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/expected/table.tsv");
        let text = std::fs::read_to_string(path).expect("the table is recorded");
        let mut fields = text.trim_end_matches('\n').split('\t');
        let names: Vec<&str> = fields.next().unwrap_or_default().split(',').collect();
        let fields: Vec<&str> = fields.collect();
        let mut columns = HashMap::new();
        let mut rows = 0;
        for (name, pair) in names.iter().zip(fields.chunks(2)) {
            let ty = column_type(name, pair[0]);
            let values: Vec<Option<Vec<u8>>> = pair[1].split('|').map(read_value).collect();
            rows = values.len();
            let array = column_array(&values, &ty);
            let arg = Arg::column(ty, format!("`fn_expressions`.`t`.`{name}`"));
            columns.insert((*name).to_owned(), (arg, array));
        }
        Self { columns, rows }
    }

    pub(crate) fn run(&self, statement: &str) -> Answer {
        let select = match parse(statement) {
            Ok(select) => select,
            Err(why) => return Answer::Refused(format!("not parsed: {why}")),
        };
        let ctx = context();
        match self.select(&select, &ctx) {
            Ok(fields) => Answer::Given(fields),
            Err(error) if error.code() == Code::NotSupportedYet => {
                Answer::Refused(error.message().to_owned())
            }
            Err(error) => Answer::Given(vec![format!("ERROR {}", error.errno())]),
        }
    }

    fn select(&self, select: &Select, ctx: &Arc<EvalContext>) -> Result<Vec<String>> {
        let rows = if select.from_table { self.rows } else { 1 };
        let aggregated = select.items.iter().any(has_aggregate);
        let mut fields = Vec::new();
        for item in &select.items {
            let found = self.evaluate(item, ctx, rows)?;
            let shown = if aggregated { 1 } else { rows };
            let array = settle(&found.array, &found.arg.ty)?;
            let ty = found.arg.ty;
            fields.push(describe(&ty));
            let values: Result<Vec<String>> = (0..shown)
                .map(|row| show(&array, &ty, if array.len() == 1 { 0 } else { row }, ctx))
                .collect();
            fields.push(values?.join("|"));
        }
        let warnings = ctx.take_warnings();
        fields
            .push(warnings.iter().map(|(code, _)| code.to_string()).collect::<Vec<_>>().join(","));
        Ok(fields)
    }

    fn evaluate(&self, expr: &Expr, ctx: &Arc<EvalContext>, rows: usize) -> Result<Found> {
        let constant = |arg: Arg| -> Result<Found> {
            let value = arg.constant.clone().unwrap_or(Value::Null);
            Ok(Found { array: array_of(&value, &arg.ty)?, arg })
        };
        match expr {
            Expr::Null => constant(literal::null()),
            Expr::Bool(value) => constant(literal::boolean(*value)),
            Expr::Number(text) => constant(literal::number(text)?),
            Expr::Text(text) => constant(literal::text(text.as_str(), ctx)),
            Expr::Introduced(charset, bytes) => constant(introduced(charset, bytes)?),
            Expr::Hex(bytes) => constant(literal::hex(bytes.clone())),
            Expr::Bits(bytes) => constant(literal::bits(bytes.clone())),
            Expr::Temporal("DATE", text) => constant(literal::date(text, ctx)?),
            Expr::Temporal("TIME", text) => constant(literal::time(text)?),
            Expr::Temporal(_, text) => constant(literal::timestamp(text, ctx)?),
            Expr::Column(name) => {
                let (arg, array) = self.columns.get(name).ok_or_else(|| {
                    Error::new(Code::UnknownColumn, format!("Unknown column '{name}'"))
                })?;
                Ok(Found { arg: arg.clone(), array: Arc::clone(array) })
            }
            Expr::Call(name, args) => {
                let found = self.all(args, ctx, rows)?;
                let args: Vec<Arg> = found.iter().map(|found| found.arg.clone()).collect();
                let call = resolve(name, &args, ctx)?;
                finish(&call, &found, rows)
            }
            Expr::Cast(inner, words) => {
                let found = self.evaluate(inner, ctx, rows)?;
                let call = cast(target(words)?, &found.arg, ctx)?;
                finish(&call, &[found], rows)
            }
            Expr::Using(inner, charset) => {
                let found = self.evaluate(inner, ctx, rows)?;
                let collation = Collation::default_of(charset).ok_or_else(|| {
                    Error::new(Code::UnknownCharset, format!("Unknown character set: '{charset}'"))
                })?;
                let call = cast(CastTarget::Char(None, collation), &found.arg, ctx)?;
                finish(&call, &[found], rows)
            }
            Expr::Aggregate { name, distinct, args, separator } => {
                let found = self.all(args, ctx, rows)?;
                let mut bound: Vec<Arg> = found.iter().map(|found| found.arg.clone()).collect();
                if name == "GROUP_CONCAT" {
                    // What the binder of queries adds to the values; nothing is sorted here.
                    let separator = separator.as_deref().unwrap_or(",");
                    bound.push(literal::text_of("", collation::BINARY));
                    bound.push(literal::text(separator, ctx));
                }
                let call = aggregate::resolve(name, *distinct, &bound, ctx)?;
                let mut states = call.accumulator();
                let mut arrays: Vec<ArrayRef> =
                    found.iter().map(|found| spread(&found.array, rows)).collect();
                for constant in &bound[found.len()..] {
                    let value = constant.constant.clone().unwrap_or(Value::Null);
                    arrays.push(spread(&array_of(&value, &constant.ty)?, rows));
                }
                // Through partial states, so that merging is tested too.
                let half = rows / 2;
                let mut first = call.accumulator();
                let slice = |from: usize, len: usize| -> Vec<ArrayRef> {
                    arrays
                        .iter()
                        .map(|array| {
                            if array.len() == 1 {
                                Arc::clone(array)
                            } else {
                                array.slice(from, len)
                            }
                        })
                        .collect()
                };
                if arrays.is_empty() || rows < 2 {
                    states.update(&arrays, &vec![0; rows], None, 1)?;
                } else {
                    first.update(&slice(0, half), &vec![0; half], None, 1)?;
                    let partial = first.state(aggregate::Take::All)?;
                    states.merge(&partial, &[0], 1)?;
                    states.update(&slice(half, rows - half), &vec![0; rows - half], None, 1)?;
                }
                let array = states.evaluate(aggregate::Take::All)?;
                assert_eq!(array.data_type(), &call.arrow_type(), "storage of {name}");
                Ok(Found { arg: call.as_arg(), array })
            }
        }
    }

    fn all(&self, args: &[Expr], ctx: &Arc<EvalContext>, rows: usize) -> Result<Vec<Found>> {
        args.iter().map(|arg| self.evaluate(arg, ctx, rows)).collect()
    }
}

fn finish(call: &pelorus_functions::Call, found: &[Found], rows: usize) -> Result<Found> {
    let folded = call.is_deterministic() && found.iter().all(|found| found.arg.constant.is_some());
    let rows = if folded || found.iter().all(|found| found.array.len() == 1) { 1 } else { rows };
    let arrays: Vec<ArrayRef> = found.iter().map(|found| Arc::clone(&found.array)).collect();
    let array = call.evaluate(&arrays, rows)?;
    assert_eq!(array.data_type(), &call.arrow_type(), "storage of {}", call.name());
    assert_eq!(array.len(), rows, "rows of {}", call.name());
    if !call.return_type().is_nullable() {
        assert_eq!(array.logical_null_count(), 0, "{} is not NULL", call.name());
    }
    let value = if folded { Some(value_at(&array, &call.return_type(), 0)?) } else { None };
    Ok(Found { arg: Arg::of(call, value), array })
}

fn spread(array: &ArrayRef, rows: usize) -> ArrayRef {
    if array.len() == rows {
        return Arc::clone(array);
    }
    let indices = arrow::array::UInt64Array::from(vec![0; rows]);
    arrow::compute::take(array, &indices, None).expect("one value is there")
}

fn has_aggregate(expr: &Expr) -> bool {
    match expr {
        Expr::Aggregate { .. } => true,
        Expr::Call(_, args) => args.iter().any(has_aggregate),
        Expr::Cast(inner, _) | Expr::Using(inner, _) => has_aggregate(inner),
        _ => false,
    }
}

fn introduced(charset: &str, bytes: &[u8]) -> Result<Arg> {
    let collation = Collation::default_of(charset).ok_or_else(|| {
        Error::new(Code::UnknownCharset, format!("Unknown character set: '{charset}'"))
    })?;
    if collation == collation::BINARY {
        let mut ty = ColumnType::varchar(u32::try_from(bytes.len()).unwrap_or(0), collation);
        ty.flags = Flags::BINARY;
        return Ok(Arg::literal(Value::Bytes(bytes.to_vec()), ty.not_null(), "?"));
    }
    let text = if charset == "latin1" {
        bytes.iter().map(|byte| char::from(*byte)).collect()
    } else {
        String::from_utf8_lossy(bytes).into_owned()
    };
    Ok(literal::text_of(text, collation))
}

fn target(words: &[String]) -> Result<CastTarget> {
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<u32>().ok());
    let small = |at: usize| number(at).and_then(|number| u8::try_from(number).ok());
    Ok(match words[0].as_str() {
        "SIGNED" => CastTarget::Signed,
        "UNSIGNED" => CastTarget::Unsigned,
        "CHAR" => {
            let charset = words
                .iter()
                .position(|word| word == "SET")
                .or_else(|| words.iter().position(|word| word == "CHARSET"));
            let name = charset.and_then(|at| words.get(at + 1));
            let collation = match name {
                Some(name) => Collation::default_of(name).ok_or_else(|| {
                    Error::new(Code::UnknownCharset, format!("Unknown character set: '{name}'"))
                })?,
                None => context().collation,
            };
            CastTarget::Char(number(1), collation)
        }
        "BINARY" => CastTarget::Binary(number(1)),
        "DATE" => CastTarget::Date,
        "DATETIME" => CastTarget::DateTime(small(1).unwrap_or(0)),
        "TIME" => CastTarget::Time(small(1).unwrap_or(0)),
        "DECIMAL" => CastTarget::Decimal(small(1).unwrap_or(10), small(2).unwrap_or(0)),
        "DOUBLE" | "REAL" => CastTarget::Double,
        "FLOAT" if number(1).is_some_and(|digits| digits > 24) => CastTarget::Double,
        "FLOAT" => CastTarget::Float,
        "YEAR" => CastTarget::Year,
        other => return Err(Error::unsupported(format_args!("CAST AS {other}"))),
    })
}

fn column_type(name: &str, text: &str) -> ColumnType {
    let numbers: Vec<u32> = text.split(',').map(|part| part.parse().expect("a number")).collect();
    let wire = WireType::from_byte(u8::try_from(numbers[0]).expect("a type")).expect("a type");
    let (id, length) = match name {
        "vl" => (8, numbers[1] / 4),
        "vb" => (46, numbers[1]),
        "vg" => (45, numbers[1]),
        _ => (u16::try_from(numbers[3]).expect("a charset"), numbers[1]),
    };
    let decimals = u8::try_from(numbers[2]).expect("decimals");
    let mut ty = ColumnType::new(wire, Collation(id), length, decimals);
    ty.flags = Flags(u16::try_from(numbers[4]).expect("flags"));
    ty
}

fn read_value(text: &str) -> Option<Vec<u8>> {
    match text {
        "-" => None,
        "." => Some(Vec::new()),
        hex => Some(unhex(hex).expect("hexadecimal")),
    }
}

/// Builds a column from the text of its values with the conversions under test.
fn column_array(values: &[Option<Vec<u8>>], ty: &ColumnType) -> ArrayRef {
    let ctx = EvalContext::default();
    if ty.wire == WireType::Bit {
        let bits: arrow::array::UInt64Array = values
            .iter()
            .map(|value| {
                let bytes = value.as_ref()?;
                Some(bytes.iter().fold(0_u64, |value, byte| value << 8 | u64::from(*byte)))
            })
            .collect();
        return Arc::new(bits);
    }
    if ty.arrow() == DataType::Binary {
        let bytes: arrow::array::BinaryArray =
            values.iter().map(|value| value.as_deref()).collect();
        return Arc::new(bytes);
    }
    let texts: arrow::array::StringArray = values
        .iter()
        .map(|value| value.as_ref().map(|bytes| String::from_utf8(bytes.clone()).expect("text")))
        .collect();
    let texts: ArrayRef = Arc::new(texts);
    let text_type = ColumnType::varchar(255, collation::UTF8MB4_0900_AI_CI);
    convert(&texts, &text_type, ty, &ctx).expect("a recorded value")
}

fn describe(ty: &ColumnType) -> String {
    let ty = pelorus_functions::reported(ty, collation::UTF8MB4_0900_AI_CI);
    format!("{},{},{},{},{}", ty.wire as u8, ty.length, ty.decimals, ty.collation.0, ty.flags.0)
}

fn show(array: &ArrayRef, ty: &ColumnType, row: usize, ctx: &EvalContext) -> Result<String> {
    if array.data_type() == &DataType::Null || array.is_null(row) {
        return Ok("-".into());
    }
    let one = array.slice(row, 1);
    let bytes = if ty.is_binary_string() || ty.wire == WireType::Bit {
        let binary = ColumnType::varchar(255, collation::BINARY);
        let array = convert(&one, ty, &binary, ctx)?;
        array.as_binary::<i32>().value(0).to_vec()
    } else if ty.is_float() && ty.decimals >= 31 {
        // A client sees all digits, and a function's text has limited room.
        let mut text = String::new();
        match one.as_primitive_opt::<Float32Type>() {
            Some(numbers) => number::write_float(&mut text, numbers.value(0)),
            None => number::write_double(&mut text, one.as_primitive::<Float64Type>().value(0)),
        }
        text.into_bytes()
    } else {
        let text = ColumnType::varchar(255, collation::UTF8MB4_0900_AI_CI);
        let array = convert(&one, ty, &text, ctx)?;
        array.as_string::<i32>().value(0).as_bytes().to_vec()
    };
    if bytes.is_empty() {
        return Ok(".".into());
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

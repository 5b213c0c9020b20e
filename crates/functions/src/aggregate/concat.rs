//! `GROUP_CONCAT`. The arguments after the values are the bytes that rows are sorted by, constant
//! if they are not sorted, and the separator, a constant.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, LargeBinaryArray};
use arrow::datatypes::DataType;
use pelorus_env::Account;
use pelorus_error::{Error, Result};
use pelorus_types::{Collation, WireType, collation};

use super::{Accumulator, AggregateCall, Take, each};
use crate::collation::charset;
use crate::context::EvalContext;
use crate::input::{Input, Slot};
use crate::output::Output;
use crate::scalar::string::{Str, agreed, value_of};
use crate::types::result_type;
use crate::value::{Arg, Value};

/// Most characters of a result that is a VARCHAR.
const VARCHAR_CHARS_MAX: u32 = 512;
/// Sorted rows of a group that are kept, in bytes, before those are left out that a cut takes away.
const ROWS_BYTES: usize = 8 << 10;

/// The unit of the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// Bytes of binary strings.
    Byte,
    /// Bytes of UTF-8, of which a character is cut whole.
    Utf8,
    /// Characters, of which each takes a byte in its charset.
    Char,
}

#[derive(Clone, Debug)]
struct Plan {
    slots: Vec<Slot>,
    ordered: bool,
    separator: Vec<u8>,
    unit: Unit,
    limit: usize,
    storage: DataType,
    ctx: Arc<EvalContext>,
}

#[derive(Clone, Debug)]
struct Concat {
    plan: Plan,
    groups: Vec<Rows>,
    /// How many rows have become part of results.
    row: usize,
}

/// The rows of a group.
#[derive(Clone, Debug, Default)]
struct Rows {
    /// The sort key and text of each row, preceded by their lengths.
    bytes: Vec<u8>,
    /// How long the texts are, with a separator after each.
    length: usize,
    /// From how many bytes on rows are looked through for some to leave out.
    full: usize,
}

/// The arguments by role: values, sort keys of rows, the separator.
pub(super) fn parts<'a>(name: &str, args: &'a [Arg]) -> Result<(&'a [Arg], &'a Arg, &'a Arg)> {
    match args {
        [values @ .., order, separator] if !values.is_empty() => Ok((values, order, separator)),
        _ => Err(crate::registry::errors::parameter_count(name)),
    }
}

/// Whether rows are sorted.
pub(super) fn is_ordered(order: &Arg) -> bool {
    order.constant.is_none()
}

/// Binds `GROUP_CONCAT`.
pub(super) fn resolve(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<AggregateCall> {
    let (values, order, separator) = parts(name, args)?;
    let refs: Vec<&Arg> = values.iter().collect();
    let (mixed, _) = agreed(&refs, ctx, "group_concat")?;
    let unit = unit_of(mixed.collation)?;
    let separator = match &separator.constant {
        Some(Value::Text(text)) => text.clone().into_bytes(),
        Some(Value::Bytes(bytes)) if unit == Unit::Byte || bytes.is_ascii() => bytes.clone(),
        Some(Value::Bytes(_)) => return Err(Error::unsupported("bytes as SEPARATOR of texts")),
        _ => return Err(Error::internal("the separator of GROUP_CONCAT is a constant text")),
    };
    let limit = usize::try_from(ctx.group_concat_max_len).unwrap_or(usize::MAX);
    let chars = u32::try_from(limit).unwrap_or(u32::MAX / 64);
    let width = charset::width(mixed.collation);
    // MySQL multiplies the bytes of a character in twice more where it makes a TEXT.
    let is_long = chars > VARCHAR_CHARS_MAX;
    let length = chars.saturating_mul(if is_long { width.pow(3) } else { width });
    let mut ty = result_type::string_type(length, mixed.collation);
    ty.length = length;
    ty.wire = if is_long { WireType::LongBlob } else { WireType::VarString };
    let storage = ty.arrow();
    let plan = Plan {
        slots: values.iter().map(Slot::of).collect(),
        ordered: is_ordered(order),
        separator,
        unit,
        limit,
        storage,
        ctx: Arc::clone(ctx),
    };
    let make = move || -> Box<dyn Accumulator> {
        Box::new(Concat { plan: plan.clone(), groups: Vec::new(), row: 0 })
    };
    let states = vec![DataType::LargeBinary];
    Ok(AggregateCall::new(name, values, ty.nullable(), states, Box::new(make)))
}

fn unit_of(collation: Collation) -> Result<Unit> {
    if collation == collation::BINARY {
        return Ok(Unit::Byte);
    }
    match collation.charset() {
        "utf8mb4" | "utf8mb3" | "utf8" => Ok(Unit::Utf8),
        _ if charset::width(collation) == 1 => Ok(Unit::Char),
        other => Err(Error::unsupported(format_args!("GROUP_CONCAT in character set {other}"))),
    }
}

/// Whether a byte of UTF-8 begins a character.
fn begins(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}

impl Plan {
    /// How long a text is.
    fn measure(&self, text: &[u8]) -> usize {
        match self.unit {
            Unit::Byte | Unit::Utf8 => text.len(),
            Unit::Char => text.iter().filter(|byte| begins(**byte)).count(),
        }
    }

    /// Whether texts of a length, with a separator after each, leave nothing for others.
    fn is_over(&self, length: usize) -> bool {
        length > self.limit.saturating_add(self.measure(&self.separator))
    }

    /// Cuts a text to the limit, at the end of a character.
    fn cut(&self, text: &mut Vec<u8>) {
        let end = match self.unit {
            Unit::Byte => self.limit,
            Unit::Utf8 => (0..=self.limit)
                .rev()
                .find(|at| text.get(*at).is_none_or(|byte| begins(*byte)))
                .unwrap_or(0),
            Unit::Char => {
                let mut ends = text.iter().enumerate().filter(|(_, byte)| begins(**byte));
                ends.nth(self.limit).map_or(text.len(), |(at, _)| at)
            }
        };
        text.truncate(end);
    }
}

/// Takes the next bytes that have their length in front of them.
fn next_bytes<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (body, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    Some(body)
}

/// Takes the next row: its sort key, and its text.
fn next_row<'a>(bytes: &mut &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    Some((next_bytes(bytes)?, next_bytes(bytes)?))
}

impl Rows {
    fn put(&mut self, plan: &Plan, key: &[u8], text: &[u8]) {
        for part in [key, text] {
            let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
            self.bytes.extend_from_slice(&length.to_be_bytes());
            self.bytes.extend_from_slice(part);
        }
        let length = plan.measure(text) + plan.measure(&plan.separator);
        self.length = self.length.saturating_add(length);
    }

    fn add(&mut self, plan: &Plan, key: &[u8], text: &[u8]) {
        let is_over = plan.is_over(self.length);
        if is_over && !plan.ordered {
            return;
        }
        self.put(plan, key, text);
        if is_over && self.bytes.len() > self.full.max(ROWS_BYTES) {
            self.shorten(plan);
        }
    }

    /// Leaves out rows that a cut will take away.
    fn shorten(&mut self, plan: &Plan) {
        let mut kept = Rows::default();
        let mut length = 0_usize;
        let is_kept = |(_, text): &&(&[u8], &[u8])| {
            let is_over = plan.is_over(length);
            length += plan.measure(text) + plan.measure(&plan.separator);
            !is_over
        };
        let sorted = self.sorted(plan);
        let count = sorted.iter().take_while(is_kept).count();
        // As if they had come from the last to the first: see how they are sorted.
        for (key, text) in sorted.iter().take(count).rev() {
            kept.put(plan, key, text);
        }
        kept.full = kept.bytes.len() * 2;
        *self = kept;
    }

    /// The rows in their order. Of those that are equal, MySQL has the last first.
    fn sorted(&self, plan: &Plan) -> Vec<(&[u8], &[u8])> {
        let mut bytes = self.bytes.as_slice();
        let mut rows: Vec<_> = std::iter::from_fn(|| next_row(&mut bytes)).collect();
        if plan.ordered {
            rows.reverse();
            rows.sort_by(|one, other| one.0.cmp(other.0));
        }
        rows
    }
}

impl Concat {
    fn resize(&mut self, total: usize) {
        self.groups.resize(total.max(self.groups.len()), Rows::default());
    }

    /// The texts of a group in one, cut to the limit.
    fn joined(&mut self, rows: &Rows) -> Result<Value> {
        if rows.bytes.is_empty() {
            return Ok(Value::Null);
        }
        let plan = &self.plan;
        let (mut text, mut length) = (Vec::new(), 0_usize);
        for (at, (_, part)) in rows.sorted(plan).into_iter().enumerate() {
            self.row += 1;
            let separator = if at > 0 { plan.separator.as_slice() } else { &[] };
            for part in [separator, part] {
                text.extend_from_slice(part);
                length += plan.measure(part);
            }
            if length > plan.limit {
                plan.cut(&mut text);
                plan.ctx.warn(1260, format!("Row {} was cut by GROUP_CONCAT()", self.row));
                break;
            }
        }
        value_of(text, plan.unit == Unit::Byte)
    }
}

impl Accumulator for Concat {
    fn update(
        &mut self,
        args: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.resize(total);
        let plan = &self.plan;
        let inputs = args
            .iter()
            .zip(&plan.slots)
            .map(|(array, slot)| Input::new(array, slot, &plan.ctx))
            .collect::<Result<Vec<_>>>()?;
        let keys = match plan.ordered {
            false => None,
            true => {
                let keys = args.get(plan.slots.len()).and_then(|it| it.as_binary_opt::<i32>());
                Some(keys.ok_or_else(|| Error::internal("GROUP_CONCAT sorts by bytes"))?)
            }
        };
        let mut part = Vec::new();
        each(groups, filter, |row, group| {
            part.clear();
            for input in &inputs {
                match Str::read(input, row, plan.unit == Unit::Byte)? {
                    Some(text) => part.extend_from_slice(text.as_bytes()),
                    None => return Ok(()),
                }
            }
            let key = keys.map_or(&[][..], |keys| keys.value(row));
            self.groups[group].add(plan, key, &part);
            Ok(())
        })
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.resize(total);
        let partial = states
            .first()
            .and_then(|array| array.as_binary_opt::<i64>())
            .ok_or_else(|| Error::internal("a partial GROUP_CONCAT is bytes"))?;
        for (row, group) in groups.iter().enumerate() {
            let mut bytes = if partial.is_valid(row) { partial.value(row) } else { &[] };
            while !bytes.is_empty() {
                let (key, text) = next_row(&mut bytes)
                    .ok_or_else(|| Error::internal("a partial GROUP_CONCAT is cut off"))?;
                self.groups[*group].add(&self.plan, key, text);
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, take: Take) -> Result<ArrayRef> {
        let groups = take.from(&mut self.groups);
        let mut output = Output::new(&self.plan.storage, groups.len(), &Account::unlimited())?;
        for rows in &groups {
            output.push(self.joined(rows)?)?;
        }
        Ok(output.finish())
    }

    fn state(&mut self, take: Take) -> Result<Vec<ArrayRef>> {
        let groups = take.from(&mut self.groups);
        let states: LargeBinaryArray =
            groups.iter().map(|rows| Some(rows.bytes.as_slice())).collect();
        Ok(vec![Arc::new(states)])
    }

    fn size(&self) -> usize {
        self.groups.iter().map(|rows| rows.bytes.capacity()).sum::<usize>()
            + self.groups.capacity() * size_of::<Rows>()
    }

    fn copied(&self) -> Box<dyn Accumulator> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{BinaryArray, StringArray};
    use pelorus_types::ColumnType;

    use super::*;
    use crate::literal;

    /// `GROUP_CONCAT` of one column, sorted, with a limit and a collation.
    fn bound(limit: u64, collation: Collation) -> (AggregateCall, Arc<EvalContext>) {
        let mut context = EvalContext::default();
        context.group_concat_max_len = limit;
        let context = Arc::new(context);
        let values = Arg::column(ColumnType::varchar(20, collation), "c");
        let order = Arg::column(ColumnType::varchar(20, collation::BINARY), "");
        let args = [values, order, literal::text("; ", &context)];
        (resolve("GROUP_CONCAT", &args, &context).expect("it resolves"), context)
    }

    fn rows(texts: &[Option<&str>], keys: &[&str]) -> [ArrayRef; 2] {
        let keys: BinaryArray = keys.iter().map(|key| Some(key.as_bytes())).collect();
        [Arc::new(texts.iter().copied().collect::<StringArray>()), Arc::new(keys)]
    }

    fn result(states: &mut dyn Accumulator) -> Vec<Option<String>> {
        let array = states.evaluate(Take::All).expect("it evaluates");
        array.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
    }

    #[test]
    fn rows_are_sorted_across_partial_states_and_nulls_left_out() {
        let (call, context) = bound(1024, collation::UTF8MB4_0900_AI_CI);
        let (mut one, mut two) = (call.accumulator(), call.accumulator());
        let args = rows(&[Some("c"), None, Some("x")], &["3", "0", "1"]);
        one.update(&args, &[0, 0, 1], None, 3).expect("it takes rows");
        let args = rows(&[Some("a"), Some("b")], &["1", "3"]);
        two.update(&args, &[0, 0], None, 3).expect("it takes rows");
        two.merge(&one.state(Take::All).expect("it has states"), &[0, 1, 2], 3).expect("a merge");
        // Of equal rows the last that came is the first.
        let expected = [Some("a; c; b"), Some("x"), None].map(|text| text.map(str::to_owned));
        assert_eq!(result(two.as_mut()), expected);
        assert!(context.take_warnings().is_empty());
    }

    #[test]
    fn the_limit_counts_bytes_of_the_charset_and_keeps_characters() {
        for (limit, collation, expected) in [
            (4, collation::UTF8MB4_0900_AI_CI, "äö"),
            (5, collation::UTF8MB4_0900_AI_CI, "äö;"),
            (7, collation::UTF8MB4_0900_AI_CI, "äö; "),
            (4, Collation::default_of("latin1").expect("a charset"), "äö; "),
            (5, Collation::default_of("latin1").expect("a charset"), "äö; ü"),
        ] {
            let (call, context) = bound(limit, collation);
            let mut states = call.accumulator();
            let args = rows(&[Some("üß"), Some("äö")], &["2", "1"]);
            states.update(&args, &[0, 0], None, 1).expect("it takes rows");
            assert_eq!(result(states.as_mut()), [Some(expected.to_owned())], "{limit}");
            let warning = (1260, "Row 2 was cut by GROUP_CONCAT()".to_owned());
            assert_eq!(context.take_warnings(), [warning], "{limit}");
        }
        let (call, context) = bound(10, collation::UTF8MB4_0900_AI_CI);
        let mut states = call.accumulator();
        states.update(&rows(&[Some("äö"); 2], &["1"; 2]), &[0, 0], None, 1).expect("two rows");
        assert_eq!(result(states.as_mut()), [Some("äö; äö".to_owned())]);
        assert!(context.take_warnings().is_empty());
    }

    #[test]
    fn rows_that_a_cut_takes_away_are_not_kept() {
        let (call, _) = bound(100, collation::UTF8MB4_0900_AI_CI);
        let mut states = call.accumulator();
        for batch in (0..200).rev() {
            let texts: Vec<String> =
                (0..100).map(|row| format!("{:05}", batch * 100 + row)).collect();
            let args = rows(
                &texts.iter().map(|text| Some(text.as_str())).collect::<Vec<_>>(),
                &texts.iter().map(String::as_str).collect::<Vec<_>>(),
            );
            states.update(&args, &[0; 100], None, 1).expect("it takes rows");
            assert!(states.size() < 4 * ROWS_BYTES, "{}", states.size());
        }
        let expected: Vec<String> = (0..20).map(|row| format!("{row:05}")).collect();
        assert_eq!(result(states.as_mut()), [Some(expected.join("; ")[..100].to_owned())]);
    }
}

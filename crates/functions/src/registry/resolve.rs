//! Resolves function names: binds a name and argument types to a call.

use std::sync::Arc;

use pelorus_error::{Code, Error, Result};
use pelorus_types::WireType;

use crate::call::Call;
use crate::context::EvalContext;
use crate::kernels::forms;
use crate::registry::errors::{no_such_function, syntax_error_near};
use crate::registry::function::{Chooses, Places};
use crate::registry::table;
use crate::value::{Arg, Value};

/// Binds a function or operator by name, in any case, to its arguments.
///
/// Operators go by their signs and words, with `NOT` in front as in SQL (`NOT IN`, `IS NOT NULL`):
///
/// - `+`, `-` (one argument: the unary minus), `*`, `/`, `DIV`, `%`, `&`, `|`, `^`, `~`, `<<`, `>>`
/// - `=`, `<=>`, `<>`, `!=`, `<`, `<=`, `>`, `>=`, `BETWEEN`, `IN`, `LIKE` (third argument: the
///   escape), `REGEXP`, `AND`, `OR`, `XOR`, `NOT`, `IS NULL`, `IS TRUE`, `IS FALSE`, `IS UNKNOWN`
/// - `CASE`: conditions and results alternately, then the result of ELSE; `CASE WHEN` for the form
///   with a value: the value first; `CASE =`: the equality of that form alone
/// - `COLLATE`: text and the collation's name; `DATE_ADD` and `DATE_SUB`: date, amount, unit;
///   `EXTRACT`: unit, date; `TRIM`, `TRIM LEADING` and `TRIM TRAILING`: text and what to trim;
///   `CHAR USING`: codes and the charset's name; `GET_FORMAT`: kind, region; names and units are
///   constant texts
pub fn resolve(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let upper = name.to_ascii_uppercase();
    refuse_hidden_numbers(&upper, args)?;
    refuse_broken_text(&upper, args)?;
    let written = name;
    let name = upper.as_str();
    let row = table::find(name);
    let Some((row, bind)) = row.and_then(|row| Some((row, row.bind?))) else {
        return Err(match row {
            Some(row) if row.is_mysql => Error::unsupported(format_args!("the function {name}")),
            _ => no_such_function(ctx.database.as_deref(), written),
        });
    };
    let call = bind(name, args, ctx).map_err(|error| match error.code() {
        Code::WrongParameterCount if row.in_grammar => syntax_error_near(name),
        _ => error,
    })?;
    let ty = call.return_type();
    let is_fallible = !(row.infallible)(args, &ty);
    let mixes = forms::mixes(name, args, &ty, ctx.of_mariadb);
    let text_form = forms::text_form(name, args, &ty, ctx.of_mariadb);
    Ok(call
        .with_fallibility(is_fallible, args)
        .with_flow(row.flow.and_then(|flow| flow.of(args)))
        .with_hidden_number(hides_number(row.chooses, args, ctx))
        .with_forms(mixes, text_form))
}

/// A literal that is not valid in its charset is allowed in combination with bytes, as which it is
/// taken, and where a function needs only its bytes. MySQL uses the broken text elsewhere, too.
fn refuse_broken_text(name: &str, args: &[Arg]) -> Result<()> {
    let Some(broken) = args.iter().find(|it| it.broken) else { return Ok(()) };
    let is_of_bytes = table::find(name).is_some_and(|row| row.bytes);
    if is_of_bytes || args.iter().any(|it| !it.broken && it.ty.is_binary_string()) {
        return Ok(());
    }
    let bytes = match &broken.constant {
        Some(Value::Bytes(bytes)) => bytes.as_slice(),
        _ => &[],
    };
    let at = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), |_| 0);
    let shown: String = bytes[at..].iter().take(6).map(|byte| format!("\\x{byte:02X}")).collect();
    let text = format!("Invalid utf8mb4 character string: '{shown}'");
    Err(Error::new(Code::InvalidCharacterString, text))
}

/// The arguments, by their places, that count as numbers which are not those of their texts, and
/// texts are all that arrays hold: of an ENUM or SET the place of its member, of a value that IF or
/// its like chose the number of that value. JSON values are among them.
///
/// # Errors
/// Error 1235 for a list that compares such a value with texts as well as with numbers.
pub fn hidden_numbers(name: &str, args: &[Arg]) -> Result<Vec<usize>> {
    let hides = |arg: &Arg| arg.hides_number() || arg.mixes;
    if !args.iter().any(hides) {
        return Ok(Vec::new());
    }
    let upper = name.to_ascii_uppercase();
    // A text among dates is a date.
    let is_text = |arg: &Arg| {
        let is_json = |arg: &Arg| arg.ty.wire == WireType::Json;
        arg.ty.is_string() || arg.ty.is_temporal() && !args.iter().any(is_json)
    };
    let is_number = |arg: &Arg| !is_text(arg) && !arg.is_null();
    let hiding = args.iter().enumerate().filter(|(_, arg)| hides(arg));
    let places = |counts: &dyn Fn(usize) -> bool| {
        hiding.clone().map(|(at, _)| at).filter(|at| counts(*at)).collect()
    };
    let [first, rest @ ..] = args else { return Ok(Vec::new()) };
    Ok(match upper.as_str() {
        "=" | "<=>" | "<>" | "!=" | "<" | "<=" | ">" | ">=" | "BETWEEN" | "NOT BETWEEN"
        | "CASE =" | "FIELD" => {
            let is_asked = args.iter().any(is_number);
            places(&|_| is_asked)
        }
        "IN" | "NOT IN" | "CASE WHEN" => {
            let step = if upper == "CASE WHEN" { 2 } else { 1 };
            let count = if step == 2 { rest.len() / 2 * 2 } else { rest.len() };
            let compared: Vec<&Arg> = rest[..count].iter().step_by(step).collect();
            let is_first_asked = hides(first) && compared.iter().any(|arg| is_number(arg));
            if is_first_asked && compared.iter().any(|arg| is_text(arg)) {
                return Err(Error::unsupported(MIXED_LIST));
            }
            places(&|at| match at {
                0 => is_first_asked,
                at => is_number(first) && at <= count && (at - 1) % step == 0,
            })
        }
        "NULLIF" => {
            if hides(first) && args.iter().any(is_number) {
                return Err(Error::unsupported(HIDDEN_NUMBER));
            }
            places(&|at| at == 1 && is_number(first))
        }
        other => {
            let numbers = table::find(other).map_or(Places::None, |row| row.numbers);
            places(&|at| numbers.has(at, args.len()))
        }
    })
}

/// In refusals of ENUM and SET values, and of what IF and its like choose.
const HIDDEN_NUMBER: &str = "ENUM, SET and JSON values as numbers, and texts that IF, CASE, GREATEST \
                             or LEAST chose among other types";
/// In refusals of lists.
const MIXED_LIST: &str = "ENUM, SET and JSON values in lists of numbers and texts";

/// Whether a function takes a number with its fraction, not an integer.
pub fn asks_real(name: &str) -> bool {
    table::find(&name.to_ascii_uppercase()).is_some_and(|row| row.reals)
}

/// Whether a function takes an argument, by its place among so many, for a text whatever its type is.
pub fn asks_text(name: &str, at: usize, count: usize) -> bool {
    table::find(&name.to_ascii_uppercase()).is_some_and(|row| row.texts.has(at, count))
}

fn refuse_hidden_numbers(name: &str, args: &[Arg]) -> Result<()> {
    match hidden_numbers(name, args)?.is_empty() {
        true => Ok(()),
        false => Err(Error::unsupported(HIDDEN_NUMBER)),
    }
}

/// Whether the value of a call is one of its arguments, whose number may not be that of its text. A
/// MySQL makes the number of a text that COALESCE, GREATEST or LEAST chose of the text.
fn hides_number(chooses: Chooses, args: &[Arg], ctx: &EvalContext) -> bool {
    let is_hidden = |arg: &Arg| match chooses {
        Chooses::Nothing => false,
        Chooses::Common if !ctx.of_mariadb => arg.ty.wire == WireType::Json,
        Chooses::Argument | Chooses::Common => arg.hides_number(),
    };
    args.iter().any(is_hidden)
}

#[cfg(test)]
mod tests {
    use pelorus_types::{ColumnType, Flags, collation};

    use super::*;
    use crate::literal;

    #[test]
    fn numbers_of_listed_values_are_asked_for_beside_numbers() {
        let ctx = Arc::new(EvalContext::default());
        let mut ty = ColumnType::new(WireType::String, collation::UTF8MB4_0900_AI_CI, 4, 0);
        ty.flags = Flags::ENUM;
        let listed = || Arg::column(ty, "`e`");
        let number = || Arg::column(ColumnType::bigint(), "`n`");
        let text = || literal::text("x", &ctx);
        let asked = |name: &str, args: &[Arg]| hidden_numbers(name, args).ok();
        assert_eq!(asked("=", &[listed(), number()]), Some(vec![0]));
        assert_eq!(asked("=", &[listed(), text()]), Some(Vec::new()));
        assert_eq!(asked("between", &[number(), listed(), listed()]), Some(vec![1, 2]));
        assert_eq!(asked("IN", &[number(), text(), listed()]), Some(vec![2]));
        assert_eq!(asked("IN", &[listed(), number(), number()]), Some(vec![0]));
        assert_eq!(asked("IN", &[listed(), number(), text()]), None);
        assert_eq!(asked("CASE WHEN", &[number(), text(), listed(), listed()]), Some(Vec::new()));
        assert_eq!(asked("CASE WHEN", &[number(), listed(), text()]), Some(vec![1]));
        assert_eq!(asked("NULLIF", &[number(), listed()]), Some(vec![1]));
        assert_eq!(asked("NULLIF", &[listed(), number()]), None);
        assert_eq!(asked("+", &[listed(), text()]), Some(vec![0]));
        assert_eq!(asked("LEFT", &[listed(), listed()]), Some(vec![1]));
        assert_eq!(asked("CONCAT", &[listed(), number()]), Some(Vec::new()));
    }

    #[test]
    fn broken_text_stands_beside_bytes_alone() {
        let ctx = Arc::new(EvalContext::default());
        let broken = || literal::broken(b"a\xff".to_vec());
        let (bytes, text) = (literal::bytes(b"x".to_vec()), literal::text("x", &ctx));
        let errno = |name: &str, args: &[Arg]| resolve(name, args, &ctx).err().map(|it| it.errno());
        assert_eq!(errno("=", &[bytes.clone(), broken()]), None);
        assert_eq!(errno("IN", &[bytes, broken(), broken()]), None);
        assert_eq!(errno("HEX", &[broken()]), None);
        assert_eq!(errno("=", &[text.clone(), broken()]), Some(1300));
        assert_eq!(errno("CONCAT", &[broken(), broken()]), Some(1300));
        assert_eq!(errno("UPPER", &[broken()]), Some(1300));
        let error = resolve("=", &[text, broken()], &ctx).err().unwrap();
        assert_eq!(error.message(), "Invalid utf8mb4 character string: '\\xFF'");
    }
}

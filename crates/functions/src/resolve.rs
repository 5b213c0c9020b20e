//! From names to functions.

use std::sync::Arc;

use pelorus_error::{Error, Result};

use crate::call::Call;
use crate::context::EvalContext;
use crate::errors::no_such_function;
use crate::value::Arg;
use crate::{arithmetic, bits, compare, conditional, logic, names, round};

/// Binds a function or operator by name, in any case, to its arguments.
///
/// Operators go by their signs and words: `+ - * / DIV % MOD` (one argument: the unary minus), `=
/// <=> <> != < <= > >=`, `[NOT] BETWEEN`, `[NOT] IN`, `AND OR XOR NOT`, `IS [NOT]
/// NULL|TRUE|FALSE|UNKNOWN`, `[NOT] LIKE` (third argument: the escape), `[NOT] REGEXP`, `& | ^ ~ <<
/// >>`, `CASE` (condition, result, ..., else), `CASE WHEN` for the form with a value (value,
/// when, result, ..., else).
pub fn resolve(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Result<Call> {
    let upper = name.to_ascii_uppercase();
    let name_of_bound = upper.as_str();
    let bound = operator(name_of_bound, args, ctx).or_else(|| number(name_of_bound, args, ctx));
    match bound {
        Some(call) => call,
        None if names::is_function(&upper) => {
            Err(Error::unsupported(format_args!("the function {upper}")))
        }
        None => Err(no_such_function(ctx.database.as_deref(), name)),
    }
}

fn operator(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Option<Result<Call>> {
    Some(match name {
        "-" if args.len() == 1 => arithmetic::negate(name, args, ctx),
        "+" | "-" | "*" | "/" | "DIV" | "%" | "MOD" => arithmetic::binary(name, args, ctx),
        "=" | "<=>" | "<>" | "!=" | "<" | "<=" | ">" | ">=" => compare::binary(name, args, ctx),
        "BETWEEN" | "NOT BETWEEN" => compare::between(name, args, ctx),
        "IN" | "NOT IN" => compare::within(name, args, ctx),
        "AND" | "OR" | "XOR" | "NOT" | "!" | "IS NULL" | "IS NOT NULL" | "IS TRUE"
        | "IS NOT TRUE" | "IS FALSE" | "IS NOT FALSE" | "IS UNKNOWN" | "IS NOT UNKNOWN"
        | "ISNULL" => logic::resolve(name, args, ctx),
        "&" | "|" | "^" | "<<" | ">>" => bits::binary(name, args, ctx),
        "~" | "BIT_COUNT" => bits::unary(name, args, ctx),
        "IF" => conditional::if_else(name, args, ctx),
        "IFNULL" | "COALESCE" => conditional::coalesce(name, args, ctx),
        "NULLIF" => conditional::null_if(name, args, ctx),
        "CASE" => conditional::searched_case(name, args, ctx),
        "CASE WHEN" => conditional::simple_case(name, args, ctx),
        "STRCMP" => compare::strcmp(name, args, ctx),
        _ => return None,
    })
}

fn number(name: &str, args: &[Arg], ctx: &Arc<EvalContext>) -> Option<Result<Call>> {
    Some(match name {
        "ROUND" | "TRUNCATE" => round::round(name, args, ctx),
        "ABS" => round::abs(name, args, ctx),
        "CEIL" | "CEILING" | "FLOOR" => round::to_integer(name, args, ctx),
        "SIGN" => round::sign(name, args, ctx),
        _ => return None,
    })
}

//! Prints expressions of definitions as MySQL does: columns in backquotes, parentheses around every
//! operator, names in lower case, introducers before texts, and some functions by other names.
//!
//! The printed text means the same when it is parsed again. An expression that is not known here is
//! shown as it was written.

use sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Interval, TrimWhereField, UnaryOperator,
};

use super::definition::{ColumnDefault, Expression, KeyTarget, TableDefinition};
use crate::Mode;
use crate::ast_analysis::{function_name, plain_name};
use crate::literal::{self, Constant};

/// Functions that MySQL prints by another name.
const OTHER_NAMES: [(&str, &str); 17] = [
    ("CEIL", "ceiling"),
    ("CHARACTER_LENGTH", "char_length"),
    ("CURRENT_DATE", "curdate"),
    ("CURRENT_TIME", "curtime"),
    ("CURRENT_TIMESTAMP", "now"),
    ("DAY", "dayofmonth"),
    ("LCASE", "lower"),
    ("LOCALTIME", "now"),
    ("LOCALTIMESTAMP", "now"),
    ("MID", "substr"),
    ("OCTET_LENGTH", "length"),
    ("POWER", "pow"),
    ("SCHEMA", "database"),
    ("SESSION_USER", "user"),
    ("SUBSTRING", "substr"),
    ("SYSTEM_USER", "user"),
    ("UCASE", "upper"),
];

impl Expression {
    /// The text as MySQL prints it.
    pub fn printed(&self, mode: Mode) -> String {
        let printer = Printer { mode };
        printer.value(&self.tree).unwrap_or_else(|| self.text.clone())
    }
}

impl TableDefinition {
    /// Replaces the texts of all expressions of columns, keys and constraints by those that MySQL
    /// prints.
    pub fn print_expressions(&mut self, mode: Mode) {
        let print = |expression: &mut Expression| expression.text = expression.printed(mode);
        for column in &mut self.columns {
            if let Some(ColumnDefault::Expression(default)) = &mut column.default {
                print(default);
            }
            if let Some(generated) = &mut column.generated {
                print(&mut generated.expression);
            }
        }
        for part in self.keys.iter_mut().flat_map(|key| &mut key.parts) {
            if let KeyTarget::Expression(expression) = &mut part.target {
                print(expression);
            }
        }
        self.checks.iter_mut().for_each(|check| print(&mut check.expression));
    }
}

/// Prints expressions that were read in a mode.
struct Printer {
    mode: Mode,
}

impl Printer {
    fn value(&self, expr: &Expr) -> Option<String> {
        Some(match expr {
            Expr::Nested(inner) => self.value(inner)?,
            Expr::Identifier(name) if !name.value.starts_with('@') => literal::name(&name.value),
            Expr::CompoundIdentifier(parts) => literal::name(&parts.last()?.value),
            Expr::Value(_) | Expr::Prefixed { .. } => self.constant(expr)?,
            Expr::UnaryOp { op, expr } => self.unary(*op, expr)?,
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right)?,
            Expr::Collate { expr, collation } => {
                format!("({} collate {})", self.value(expr)?, plain_name(collation))
            }
            Expr::Case { operand, conditions, else_result, .. } => {
                let mut out = "(case".to_owned();
                if let Some(operand) = operand {
                    out += &format!(" {}", self.value(operand)?);
                }
                for when in conditions {
                    let condition = match operand {
                        Some(_) => self.value(&when.condition)?,
                        None => self.condition(&when.condition)?,
                    };
                    out += &format!(" when {condition} then {}", self.value(&when.result)?);
                }
                if let Some(otherwise) = else_result {
                    out += &format!(" else {}", self.value(otherwise)?);
                }
                out + " end)"
            }
            Expr::Cast { kind: CastKind::Cast, expr, data_type, format: None } => {
                format!("cast({} as {})", self.value(expr)?, cast_type(data_type)?)
            }
            Expr::Convert { expr, data_type: Some(to), charset: None, .. } => {
                format!("cast({} as {})", self.value(expr)?, cast_type(to)?)
            }
            Expr::Convert { expr, data_type: None, charset: Some(charset), .. } => {
                format!("convert({} using {})", self.value(expr)?, plain_name(charset))
            }
            Expr::Extract { field, expr, .. } => {
                let unit = field.to_string().to_ascii_lowercase();
                format!("extract({unit} from {})", self.value(expr)?)
            }
            Expr::Position { expr, r#in } => {
                format!("locate({},{})", self.value(expr)?, self.value(r#in)?)
            }
            Expr::Substring { expr, substring_from: Some(from), substring_for, .. } => {
                let mut args = vec![self.value(expr)?, self.value(from)?];
                if let Some(length) = substring_for {
                    args.push(self.value(length)?);
                }
                format!("substr({})", args.join(","))
            }
            Expr::Trim { trim_where, trim_what, expr, trim_characters: None } => {
                self.trim(trim_where.as_ref(), trim_what.as_deref(), expr)?
            }
            Expr::Function(function) => self.function(function)?,
            other => self.predicate(other)?,
        })
    }

    /// An expression that is true, false or NULL.
    fn predicate(&self, expr: &Expr) -> Option<String> {
        let not = |negated: &bool| if *negated { "not " } else { "" };
        Some(match expr {
            Expr::IsNull(expr) | Expr::IsUnknown(expr) => {
                format!("({} is null)", self.value(expr)?)
            }
            Expr::IsNotNull(expr) | Expr::IsNotUnknown(expr) => {
                format!("({} is not null)", self.value(expr)?)
            }
            Expr::IsTrue(expr) => format!("({} is true)", self.condition(expr)?),
            Expr::IsNotTrue(expr) => format!("({} is not true)", self.condition(expr)?),
            Expr::IsFalse(expr) => format!("({} is false)", self.condition(expr)?),
            Expr::IsNotFalse(expr) => format!("({} is not false)", self.condition(expr)?),
            Expr::Between { expr, negated, low, high } => {
                let (value, low, high) = (self.value(expr)?, self.value(low)?, self.value(high)?);
                format!("({value} {}between {low} and {high})", not(negated))
            }
            Expr::InList { expr, list, negated } => {
                let list = list.iter().map(|it| self.value(it)).collect::<Option<Vec<_>>>()?;
                format!("({} {}in ({}))", self.value(expr)?, not(negated), list.join(","))
            }
            Expr::Like { negated, any: false, expr, pattern, escape_char } => {
                let mut like = format!("({} like {}", self.value(expr)?, self.value(pattern)?);
                if let Some(escape) = escape_char {
                    like += &format!(" escape {}", self.value(escape)?);
                }
                if *negated { format!("(not({like})))") } else { like + ")" }
            }
            Expr::RLike { negated, expr, pattern, .. } => {
                let like = format!("regexp_like({},{})", self.value(expr)?, self.value(pattern)?);
                if *negated { format!("(not({like}))") } else { like }
            }
            _ => return None,
        })
    }

    /// An expression where MySQL wants a truth value.
    fn condition(&self, expr: &Expr) -> Option<String> {
        let text = self.value(expr)?;
        Some(if is_truth(expr) { text } else { format!("(0 <> {text})") })
    }

    fn unary(&self, op: UnaryOperator, expr: &Expr) -> Option<String> {
        Some(match op {
            UnaryOperator::Minus => format!("-({})", self.value(expr)?),
            UnaryOperator::Plus => self.value(expr)?,
            UnaryOperator::BitwiseNot => format!("~({})", self.value(expr)?),
            UnaryOperator::Not | UnaryOperator::BangNot => self.negated(expr)?,
            _ => return None,
        })
    }

    /// The opposite of a condition, which MySQL makes of it.
    fn negated(&self, expr: &Expr) -> Option<String> {
        use BinaryOperator::{And, Eq, Gt, GtEq, Lt, LtEq, NotEq, Or};
        Some(match expr {
            Expr::Nested(inner) => self.negated(inner)?,
            Expr::UnaryOp { op: UnaryOperator::Not | UnaryOperator::BangNot, expr } => {
                self.condition(expr)?
            }
            Expr::BinaryOp { left, op: op @ (And | Or), right } => {
                let word = if *op == And { "or" } else { "and" };
                format!("({} {word} {})", self.negated(left)?, self.negated(right)?)
            }
            Expr::BinaryOp { left, op, right } => {
                let opposite = match op {
                    Eq => "<>",
                    NotEq => "=",
                    Lt => ">=",
                    LtEq => ">",
                    Gt => "<=",
                    GtEq => "<",
                    _ => return None,
                };
                format!("({} {opposite} {})", self.value(left)?, self.value(right)?)
            }
            Expr::IsNull(_) | Expr::IsNotNull(_) | Expr::Between { .. } | Expr::InList { .. } => {
                let mut opposite = expr.clone();
                match &mut opposite {
                    Expr::Between { negated, .. } | Expr::InList { negated, .. } => {
                        *negated = !*negated;
                    }
                    Expr::IsNull(inner) => opposite = Expr::IsNotNull(inner.clone()),
                    Expr::IsNotNull(inner) => opposite = Expr::IsNull(inner.clone()),
                    _ => return None,
                }
                self.value(&opposite)?
            }
            Expr::Like { .. } | Expr::RLike { .. } => format!("(not({}))", self.value(expr)?),
            other if is_truth(other) => return None,
            other => format!("(0 = {})", self.value(other)?),
        })
    }

    fn binary(&self, left: &Expr, op: &BinaryOperator, right: &Expr) -> Option<String> {
        use BinaryOperator as Op;
        let sign = match op {
            Op::And | Op::Or => {
                let mut parts = Vec::new();
                self.chain(left, op, &mut parts)?;
                self.chain(right, op, &mut parts)?;
                let word = if *op == Op::And { " and " } else { " or " };
                return Some(format!("({})", parts.join(word)));
            }
            Op::Xor => {
                return Some(format!("({} xor {})", self.condition(left)?, self.condition(right)?));
            }
            Op::Arrow => return self.json_extract(left, right),
            Op::LongArrow => {
                return Some(format!("json_unquote({})", self.json_extract(left, right)?));
            }
            Op::Plus => "+",
            Op::Minus => "-",
            Op::Multiply => "*",
            Op::Divide => "/",
            Op::MyIntegerDivide => "DIV",
            Op::Modulo => "%",
            Op::Gt => ">",
            Op::Lt => "<",
            Op::GtEq => ">=",
            Op::LtEq => "<=",
            Op::Spaceship => "<=>",
            Op::Eq => "=",
            Op::NotEq => "<>",
            Op::BitwiseOr => "|",
            Op::BitwiseAnd => "&",
            Op::BitwiseXor => "^",
            Op::PGBitwiseShiftLeft => "<<",
            Op::PGBitwiseShiftRight => ">>",
            _ => return None,
        };
        match (left, right) {
            (date, Expr::Interval(interval)) | (Expr::Interval(interval), date) => {
                Some(format!("({} {sign} {})", self.value(date)?, self.interval(interval)?))
            }
            _ => Some(format!("({} {sign} {})", self.value(left)?, self.value(right)?)),
        }
    }

    /// The conditions of a chain with one operator.
    fn chain(&self, expr: &Expr, op: &BinaryOperator, out: &mut Vec<String>) -> Option<()> {
        match expr {
            Expr::Nested(inner) => self.chain(inner, op, out),
            Expr::BinaryOp { left, op: own, right } if own == op => {
                self.chain(left, op, out)?;
                self.chain(right, op, out)
            }
            other => {
                out.push(self.condition(other)?);
                Some(())
            }
        }
    }

    fn json_extract(&self, left: &Expr, right: &Expr) -> Option<String> {
        Some(format!("json_extract({},{})", self.value(left)?, self.value(right)?))
    }

    fn interval(&self, interval: &Interval) -> Option<String> {
        let unit = interval.leading_field.as_ref()?.to_string().to_ascii_lowercase();
        if interval.last_field.is_some() || interval.leading_precision.is_some() {
            return None;
        }
        Some(format!("interval {} {unit}", self.value(&interval.value)?))
    }

    fn trim(
        &self,
        place: Option<&TrimWhereField>,
        what: Option<&Expr>,
        expr: &Expr,
    ) -> Option<String> {
        let text = self.value(expr)?;
        let place = match place {
            None => "",
            Some(TrimWhereField::Both) => "both ",
            Some(TrimWhereField::Leading) => "leading ",
            Some(TrimWhereField::Trailing) => "trailing ",
        };
        Some(match what {
            None if place.is_empty() => format!("trim({text})"),
            None => return None,
            Some(what) => format!("trim({place}{} from {text})", self.value(what)?),
        })
    }

    fn function(&self, function: &Function) -> Option<String> {
        let name = function_name(&function.name);
        let plain = function.over.is_none()
            && function.filter.is_none()
            && function.within_group.is_empty()
            && !name.contains('.');
        let args = match &function.args {
            FunctionArguments::None => Vec::new(),
            FunctionArguments::List(list) if list.clauses.is_empty() => list
                .args
                .iter()
                .map(|arg| match arg {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
                    _ => None,
                })
                .collect::<Option<Vec<_>>>()?,
            _ => return None,
        };
        if !plain {
            return None;
        }
        let values = || args.iter().map(|arg| self.value(arg)).collect::<Option<Vec<_>>>();
        Some(match (name.as_str(), args.as_slice()) {
            ("DATE_ADD" | "ADDDATE", [date, Expr::Interval(by)]) => {
                format!("({} + {})", self.value(date)?, self.interval(by)?)
            }
            ("DATE_SUB" | "SUBDATE", [date, Expr::Interval(by)]) => {
                format!("({} - {})", self.value(date)?, self.interval(by)?)
            }
            ("TIMESTAMPDIFF", [Expr::Identifier(unit), from, to]) => {
                let unit = unit.value.to_ascii_uppercase();
                format!("timestampdiff({unit},{},{})", self.value(from)?, self.value(to)?)
            }
            // Their arguments are no plain values.
            ("TIMESTAMPADD" | "ADDDATE" | "SUBDATE" | "GET_FORMAT" | "CHAR" | "WEEK", _) => {
                return None;
            }
            ("MOD", [left, right]) => {
                format!("({} % {})", self.value(left)?, self.value(right)?)
            }
            ("DATE", [date]) => format!("cast({} as date)", self.value(date)?),
            ("ISNULL", [value]) => format!("({} is null)", self.value(value)?),
            ("INSTR", [text, part]) => {
                format!("locate({},{})", self.value(part)?, self.value(text)?)
            }
            ("BIN", [value]) => format!("conv({},10,2)", self.value(value)?),
            ("OCT", [value]) => format!("conv({},10,8)", self.value(value)?),
            ("DATEDIFF", [left, right]) => {
                format!("(to_days({}) - to_days({}))", self.value(left)?, self.value(right)?)
            }
            ("IF", [condition, yes, no]) => {
                let (yes, no) = (self.value(yes)?, self.value(no)?);
                format!("if({},{yes},{no})", self.condition(condition)?)
            }
            (known, _) => {
                let other = OTHER_NAMES.iter().find(|(it, _)| *it == known);
                let shown = other.map_or_else(|| known.to_ascii_lowercase(), |it| it.1.to_owned());
                format!("{shown}({})", values()?.join(","))
            }
        })
    }

    fn constant(&self, expr: &Expr) -> Option<String> {
        Some(match literal::constant(expr, self.mode)? {
            Constant::Null => "NULL".to_owned(),
            Constant::Boolean(truth) => truth.to_string(),
            Constant::Integer(text) | Constant::Decimal(text) | Constant::Float(text) => {
                text.to_ascii_lowercase()
            }
            Constant::Text { text, charset } => {
                let charset = charset.unwrap_or_else(|| "utf8mb4".to_owned());
                // The bytes of others would be those of another text.
                let is_utf8 = charset.starts_with("utf8");
                if !is_utf8 && !text.is_ascii() || self.mode.no_backslash_escapes {
                    return None;
                }
                let charset = if charset == "utf8" { "utf8mb3".to_owned() } else { charset };
                format!("_{charset}{}", quoted(&text))
            }
            Constant::Hex { bytes, charset: None } | Constant::Bits { bytes, charset: None } => {
                let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("0x{digits}")
            }
            _ => return None,
        })
    }
}

/// A text in quotes, with backslashes before what needs them.
fn quoted(text: &str) -> String {
    let mut out = "'".to_owned();
    for c in text.chars() {
        match c {
            '\'' | '\\' => out.extend(['\\', c]),
            '\0' => out.push_str("\\0"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\u{1a}' => out.push_str("\\Z"),
            other => out.push(other),
        }
    }
    out + "'"
}

/// Whether MySQL takes the value of an expression for a truth value as it is.
fn is_truth(expr: &Expr) -> bool {
    use BinaryOperator::{And, Eq, Gt, GtEq, Lt, LtEq, NotEq, Or, Spaceship, Xor};
    match expr {
        Expr::Nested(inner) => is_truth(inner),
        Expr::BinaryOp { op, .. } => {
            matches!(op, And | Or | Xor | Eq | NotEq | Gt | GtEq | Lt | LtEq | Spaceship)
        }
        Expr::UnaryOp { op, .. } => matches!(op, UnaryOperator::Not | UnaryOperator::BangNot),
        Expr::Value(value) => matches!(value.value, sqlparser::ast::Value::Boolean(_)),
        Expr::Function(function) => {
            let name = function_name(&function.name);
            matches!(name.as_str(), "ISNULL" | "REGEXP_LIKE" | "JSON_VALID" | "JSON_CONTAINS")
        }
        other => matches!(
            other,
            Expr::IsNull(_)
                | Expr::IsNotNull(_)
                | Expr::IsUnknown(_)
                | Expr::IsNotUnknown(_)
                | Expr::IsTrue(_)
                | Expr::IsNotTrue(_)
                | Expr::IsFalse(_)
                | Expr::IsNotFalse(_)
                | Expr::Between { .. }
                | Expr::InList { .. }
                | Expr::Like { .. }
                | Expr::RLike { .. }
        ),
    }
}

/// The type of a CAST; `None` for one that depends on more than its words.
fn cast_type(data_type: &DataType) -> Option<String> {
    let text = data_type.to_string().to_ascii_lowercase().replace(", ", ",");
    let base = text.split(['(', ' ']).next().unwrap_or_default();
    match base {
        "signed" | "unsigned" => Some(base.to_owned()),
        "date" | "datetime" | "time" | "json" | "year" | "double" | "float" => Some(text),
        "decimal" if text.contains(',') => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: &str) -> Option<String> {
        let tree = crate::parse_expression(text, Mode::default()).unwrap();
        Printer { mode: Mode::default() }.value(&tree)
    }

    #[test]
    fn expressions_are_printed_as_mysql_prints_them() {
        for (text, expected) in [
            ("a + 1", "(`a` + 1)"),
            ("a - (b - 1)", "(`a` - (`b` - 1))"),
            ("-a", "-(`a`)"),
            ("a = 1 OR b = 2 OR a = 3", "((`a` = 1) or (`b` = 2) or (`a` = 3))"),
            ("NOT a", "(0 = `a`)"),
            ("NOT (a > 1)", "(`a` <= 1)"),
            ("a XOR b", "((0 <> `a`) xor (0 <> `b`))"),
            ("a AND b", "((0 <> `a`) and (0 <> `b`))"),
            ("a IS TRUE", "((0 <> `a`) is true)"),
            ("a NOT BETWEEN 1 AND 5", "(`a` not between 1 and 5)"),
            ("a NOT IN (1,2)", "(`a` not in (1,2))"),
            ("s NOT LIKE 'x%'", "(not((`s` like _utf8mb4'x%')))"),
            ("s REGEXP 'a'", "regexp_like(`s`,_utf8mb4'a')"),
            ("concat(a, '-foo')", "concat(`a`,_utf8mb4'-foo')"),
            ("'it''s'", "_utf8mb4'it\\'s'"),
            ("x'61'", "0x61"),
            (
                "CASE WHEN a > 1 THEN 'x' ELSE 'y' END",
                "(case when (`a` > 1) then _utf8mb4'x' else _utf8mb4'y' end)",
            ),
            ("SUBSTRING(s, 1, 2)", "substr(`s`,1,2)"),
            ("d + INTERVAL 1 DAY", "(`d` + interval 1 day)"),
            ("DATE_SUB(d, INTERVAL a HOUR)", "(`d` - interval `a` hour)"),
            ("EXTRACT(YEAR FROM d)", "extract(year from `d`)"),
            ("MOD(a, 2)", "(`a` % 2)"),
            ("j->>'$.a'", "json_unquote(json_extract(`j`,_utf8mb4'$.a'))"),
            ("CAST(s AS DECIMAL(10,2))", "cast(`s` as decimal(10,2))"),
            ("s > 'abc' COLLATE utf8mb4_bin", "(`s` > (_utf8mb4'abc' collate utf8mb4_bin))"),
        ] {
            assert_eq!(printed(text).as_deref(), Some(expected), "{text}");
            assert_eq!(printed(expected).as_deref(), Some(expected), "{text}, read again");
        }
        assert_eq!(printed("CAST(a AS CHAR)"), None);
    }
}

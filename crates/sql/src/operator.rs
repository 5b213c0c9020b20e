//! The table of binary operators: MySQL's spelling of each, its variant in the syntax tree, and the
//! name of the function that it stands for.

use sqlparser::ast::BinaryOperator;

use crate::Mode;

/// The text between two operands, and the operator. Of synonyms (`!=`, `MOD`, `&&`) the one that
/// the grammar produces.
static OPERATORS: [(&str, BinaryOperator); 22] = [
    ("+", BinaryOperator::Plus),
    ("-", BinaryOperator::Minus),
    ("*", BinaryOperator::Multiply),
    ("/", BinaryOperator::Divide),
    ("%", BinaryOperator::Modulo),
    ("DIV", BinaryOperator::MyIntegerDivide),
    ("=", BinaryOperator::Eq),
    ("<>", BinaryOperator::NotEq),
    ("<", BinaryOperator::Lt),
    ("<=", BinaryOperator::LtEq),
    (">", BinaryOperator::Gt),
    (">=", BinaryOperator::GtEq),
    ("<=>", BinaryOperator::Spaceship),
    ("AND", BinaryOperator::And),
    ("OR", BinaryOperator::Or),
    ("XOR", BinaryOperator::Xor),
    ("&", BinaryOperator::BitwiseAnd),
    ("|", BinaryOperator::BitwiseOr),
    ("^", BinaryOperator::BitwiseXor),
    ("<<", BinaryOperator::PGBitwiseShiftLeft),
    (">>", BinaryOperator::PGBitwiseShiftRight),
    ("||", BinaryOperator::StringConcat),
];

/// The operator that is written so.
pub(crate) fn written(symbol: &str) -> Option<BinaryOperator> {
    OPERATORS.iter().find(|(it, _)| *it == symbol).map(|(_, operator)| operator.clone())
}

/// The name of the function that an operator represents: its symbol, but for `||`, which is `OR` or
/// `CONCAT` as the mode says. `None` for operators that MySQL does not have.
pub fn function_of(operator: &BinaryOperator, mode: Mode) -> Option<&'static str> {
    let (symbol, _) = OPERATORS.iter().find(|(_, it)| it == operator)?;
    Some(match *symbol {
        "||" if mode.pipes_as_concat => "CONCAT",
        "||" => "OR",
        symbol => symbol,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_symbol_leads_to_its_function() {
        let concat = Mode { pipes_as_concat: true, ..Mode::default() };
        for (symbol, _) in &OPERATORS {
            let operator = written(symbol).unwrap();
            let (plain, other) =
                if *symbol == "||" { ("OR", "CONCAT") } else { (*symbol, *symbol) };
            assert_eq!(function_of(&operator, Mode::default()), Some(plain));
            assert_eq!(function_of(&operator, concat), Some(other));
        }
        assert_eq!(written("!"), None);
        assert_eq!(function_of(&BinaryOperator::PGRegexMatch, Mode::default()), None);
    }
}

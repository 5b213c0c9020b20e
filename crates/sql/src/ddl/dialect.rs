//! Translates the expressions of a definition to another `sql_mode`: the same trees, printed so
//! that they have the same meaning in the other mode.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, Ident, UnaryOperator, Value, ValueWithSpan, VisitMut, VisitorMut,
};

use super::definition::{ColumnDefault, ColumnDefinition, Expression, KeyTarget, TableDefinition};
use super::partition::{
    PartitionBound, PartitionDefinition, PartitionMethod, PartitionValues, Partitioning,
};
use super::statement::AlterAction;
use crate::ast_analysis::nested;
use crate::parse::call_of;
use crate::{Mode, literal};

impl Expression {
    /// Rewrites the expression so that it has the same meaning under `to` as under `from`. The text
    /// stays as written if both modes read it alike.
    pub fn translate(&mut self, from: Mode, to: Mode) {
        if from.reads_as(to) {
            return;
        }
        let _ = self.tree.visit(&mut Translator { from, to });
        self.text = self.tree.to_string();
    }

    /// Its text as another mode reads it.
    pub fn text_in(&self, from: Mode, to: Mode) -> String {
        if from.reads_as(to) {
            return self.text.clone();
        }
        let mut translated = self.clone();
        translated.translate(from, to);
        translated.text
    }
}

impl TableDefinition {
    /// Rewrites every expression so that it has the same meaning under `to` as under `from`.
    pub fn translate(&mut self, from: Mode, to: Mode) {
        let mut all = Vec::new();
        self.columns.iter_mut().for_each(|column| of_column(column, &mut all));
        all.extend(self.checks.iter_mut().map(|check| &mut check.expression));
        for part in self.keys.iter_mut().flat_map(|key| &mut key.parts) {
            if let KeyTarget::Expression(expression) = &mut part.target {
                all.push(expression);
            }
        }
        if let Some(partitioning) = &mut self.partitioning {
            of_partitioning(partitioning, &mut all);
        }
        all.extend(&mut self.segment_by);
        all.into_iter().for_each(|it| it.translate(from, to));
    }
}

impl AlterAction {
    /// Rewrites every expression so that it has the same meaning under `to` as under `from`.
    pub fn translate(&mut self, from: Mode, to: Mode) {
        let mut all = Vec::new();
        match self {
            Self::AddColumn { column, .. }
            | Self::ModifyColumn { column, .. }
            | Self::ChangeColumn { column, .. } => of_column(column, &mut all),
            Self::ColumnDefault(_, Some(default)) => of_default(default, &mut all),
            Self::AddCheck(check) => all.push(&mut check.expression),
            Self::AddKey(key) => {
                for part in &mut key.parts {
                    if let KeyTarget::Expression(expression) = &mut part.target {
                        all.push(expression);
                    }
                }
            }
            Self::PartitionBy(partitioning) => of_partitioning(partitioning, &mut all),
            Self::SegmentBy(functions) => all.extend(functions),
            Self::AddPartitions(added) => of_partitions(added, &mut all),
            Self::ReorganizePartitions { into, .. } => of_partitions(into, &mut all),
            _ => {}
        }
        all.into_iter().for_each(|it| it.translate(from, to));
    }
}

fn of_column<'a>(column: &'a mut ColumnDefinition, all: &mut Vec<&'a mut Expression>) {
    if let Some(default) = &mut column.default {
        of_default(default, all);
    }
    all.extend(column.generated.as_mut().map(|generated| &mut generated.expression));
    all.extend(column.checks.iter_mut().map(|check| &mut check.expression));
}

fn of_default<'a>(default: &'a mut ColumnDefault, all: &mut Vec<&'a mut Expression>) {
    match default {
        ColumnDefault::Literal(expression) | ColumnDefault::Expression(expression) => {
            all.push(expression);
        }
        ColumnDefault::CurrentTimestamp(_) | ColumnDefault::Dropped => {}
    }
}

fn of_partitioning<'a>(partitioning: &'a mut Partitioning, all: &mut Vec<&'a mut Expression>) {
    of_method(&mut partitioning.method, all);
    if let Some(sub) = &mut partitioning.subpartitioning {
        of_method(&mut sub.method, all);
    }
    of_partitions(&mut partitioning.partitions, all);
}

fn of_method<'a>(method: &'a mut PartitionMethod, all: &mut Vec<&'a mut Expression>) {
    match method {
        PartitionMethod::Hash { expression, .. }
        | PartitionMethod::Range(expression)
        | PartitionMethod::List(expression) => all.push(expression),
        PartitionMethod::Value(list) => all.extend(list),
        PartitionMethod::Key { .. }
        | PartitionMethod::RangeColumns(_)
        | PartitionMethod::ListColumns(_) => {}
    }
}

fn of_partitions<'a>(partitions: &'a mut [PartitionDefinition], all: &mut Vec<&'a mut Expression>) {
    for partition in partitions {
        match &mut partition.values {
            Some(PartitionValues::LessThan(bounds)) => {
                all.extend(bounds.iter_mut().filter_map(|bound| match bound {
                    PartitionBound::Value(expression) => Some(expression),
                    PartitionBound::Maximum => None,
                }));
            }
            Some(PartitionValues::In(values)) => all.extend(values.iter_mut().flatten()),
            Some(PartitionValues::Default) | None => {}
        }
    }
}

/// Changes what two modes read differently in the printed tree. Names are printed in backticks,
/// which all modes know, and strings in single quotes.
struct Translator {
    from: Mode,
    to: Mode,
}

impl VisitorMut for Translator {
    type Break = ();

    fn post_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<()> {
        if let Value::SingleQuotedString(raw) | Value::NationalStringLiteral(raw) = &mut value.value
        {
            let quoted = literal::text(&literal::unescape(raw, '\'', self.from), self.to);
            let inner = quoted.strip_prefix('\'').and_then(|it| it.strip_suffix('\''));
            *raw = inner.unwrap_or_default().to_owned();
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let (from, to) = (self.from, self.to);
        match expr {
            Expr::BinaryOp { left, op: op @ BinaryOperator::StringConcat, right }
                if from.pipes_as_concat != to.pipes_as_concat =>
            {
                if to.pipes_as_concat {
                    *op = BinaryOperator::Or;
                } else {
                    let arguments = vec![take(left), take(right)];
                    *expr = call_of(Ident::new("CONCAT"), arguments);
                }
            }
            Expr::UnaryOp { op: UnaryOperator::Not, expr: operand }
                if from.high_not_precedence != to.high_not_precedence =>
            {
                let operand = Box::new(nested(take(operand)));
                let not = Expr::UnaryOp { op: UnaryOperator::Not, expr: operand };
                *expr = Expr::Nested(Box::new(not));
            }
            Expr::Like { any: false, pattern, escape_char, .. }
                if from.no_backslash_escapes != to.no_backslash_escapes =>
            {
                escape_as(to, pattern, escape_char);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Says what LIKE takes for the escape character where it does not say it itself and the mode that
/// it comes from takes another: none, or the backslash.
fn escape_as(to: Mode, pattern: &Expr, escape: &mut Option<Box<Expr>>) {
    let said = escape.as_deref().map(text_of);
    let is_plain = text_of(pattern).is_some_and(|text| !text.contains('\\'));
    let wanted = match (said, to.no_backslash_escapes) {
        (None, _) if is_plain => return,
        (None, true) => Some("\\"),
        (None, false) => Some(""),
        // No escape character goes without saying there, and may not be said.
        (Some(Some("")), true) => None,
        _ => return,
    };
    let string = |raw: &str| Value::SingleQuotedString(raw.to_owned()).with_empty_span();
    *escape = wanted.map(|raw| Box::new(Expr::Value(string(raw))));
}

/// The text between the quotes of a string.
fn text_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(raw), .. }) => Some(raw),
        _ => None,
    }
}

/// An expression out of its place.
fn take(place: &mut Expr) -> Expr {
    std::mem::replace(place, Expr::Value(Value::Null.with_empty_span()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_expression;

    fn expression(text: &str, mode: Mode) -> Expression {
        let tree = Box::new(parse_expression(text, mode).unwrap());
        Expression { text: text.to_owned(), tree }
    }

    #[test]
    fn expressions_mean_the_same_in_another_mode() {
        let plain = Mode::default();
        let all = Mode::from_sql_mode(
            "ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,HIGH_NOT_PRECEDENCE,IGNORE_SPACE",
        );
        for (text, expected) in [
            (r#""a b" || '\'"#, r"CONCAT(`a b`, '\\')"),
            (r#"a * "b" || c = 'it''s'"#, r"a * CONCAT(`b`, c) = 'it''s'"),
            ("NOT a BETWEEN 1 AND 2", "(NOT a) BETWEEN 1 AND 2"),
            ("NOT (a = 1)", "(NOT (a = 1))"),
            (r"s LIKE 'x\%'", r"s LIKE 'x\\%' ESCAPE ''"),
            ("s NOT LIKE t", "s NOT LIKE t ESCAPE ''"),
            (r"s LIKE 'x\%' ESCAPE '\'", r"s LIKE 'x\\%' ESCAPE '\\'"),
            ("s LIKE 'x%'", "s LIKE 'x%'"),
            ("CHAR_LENGTH (s) > 1", "CHAR_LENGTH(s) > 1"),
        ] {
            let translated = expression(text, all).text_in(all, plain);
            assert_eq!(translated, expected, "{text}");
            parse_expression(&translated, plain).unwrap();
        }
        for (text, expected) in [
            (r#"a = "b\n""#, "a = 'b\n'"),
            ("a || b = 1", "a OR b = 1"),
            ("NOT a = 1", "(NOT (a = 1))"),
            (r"'\'\\'", r"'''\'"),
            (r"s LIKE 'x\%'", r"s LIKE 'x\%' ESCAPE '\'"),
            (r"s LIKE 'x\\%' ESCAPE ''", r"s LIKE 'x\%'"),
            ("s LIKE 'x%'", "s LIKE 'x%'"),
        ] {
            let translated = expression(text, plain).text_in(plain, all);
            assert_eq!(translated, expected, "{text}");
            parse_expression(&translated, all).unwrap();
        }
    }

    #[test]
    fn what_both_modes_read_alike_stays_as_written() {
        let mode = Mode { version: 1, ..Mode::default() };
        let text = r#"a  ||  "b""#;
        assert_eq!(expression(text, mode).text_in(mode, Mode::default()), text);
    }
}

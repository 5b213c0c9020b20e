//! Parses operators, by precedence climbing.
//!
//! From loose to tight: `OR`, `XOR`, `AND`, `NOT`, `IS TRUE`, comparisons and `IS NULL`, `LIKE IN
//! BETWEEN REGEXP`, `|`, `&`, shifts, `+ -`, `* / DIV % MOD`, `^`, `||` as concatenation, signs and
//! `~`, `!`, `COLLATE`. `:=` takes a variable on its left and everything on its right.

use sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, MemberOf, ObjectName, UnaryOperator,
};

use super::MAX_DEPTH;
use super::cursor::{Parser, Result};
use crate::lexer::TokenKind;
use crate::operator;

pub(super) const OR: u8 = 2;
const XOR: u8 = 3;
const AND: u8 = 4;
const NOT: u8 = 5;
const TRUTH: u8 = 6;
const COMPARE: u8 = 7;
pub(super) const PREDICATE: u8 = 8;
pub(super) const BITS: u8 = 9;
const BIT_AND: u8 = 10;
const SHIFT: u8 = 11;
pub(super) const ADD: u8 = 12;
const MULTIPLY: u8 = 13;
const POWER: u8 = 14;
pub(super) const CONCAT: u8 = 15;
pub(super) const SIGN: u8 = 16;
const BANG: u8 = 17;
const COLLATE: u8 = 18;

/// An operator between or after operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Infix {
    Binary(&'static str),
    Is,
    Predicate,
    Collate,
}

impl Parser<'_> {
    /// Any expression.
    pub(crate) fn expr(&mut self) -> Result<Expr> {
        self.expr_of(OR)
    }

    /// An expression of operators that bind at least as tightly as `min`.
    pub(super) fn expr_of(&mut self, min: u8) -> Result<Expr> {
        self.deeper(|parser| {
            let outer = std::mem::take(&mut parser.height);
            let (left, tightness) = parser.prefix(min)?;
            let out = parser.infix(left, tightness, min);
            parser.height = parser.height.max(outer);
            out
        })
    }

    /// An operand with the operators in front of it, and how tightly it is held together.
    #[inline(never)]
    fn prefix(&mut self, min: u8) -> Result<(Expr, u8)> {
        let Some(token) = self.peek() else { return self.unexpected() };
        let out = if token.is_word(self.sql, "NOT") && !self.mode.high_not_precedence {
            if min > NOT {
                return self.unexpected();
            }
            self.advance();
            (unary(UnaryOperator::Not, self.expr_of(NOT)?), NOT)
        } else {
            (self.operand()?, u8::MAX)
        };
        self.grow(self.height)?;
        Ok(out)
    }

    /// An operand with its signs.
    fn operand(&mut self) -> Result<Expr> {
        let Some(token) = self.peek() else { return self.unexpected() };
        let text = self.text(token);
        let (operator, min) = match token.kind {
            TokenKind::Symbol => match text {
                "-" => (UnaryOperator::Minus, SIGN),
                "+" => (UnaryOperator::Plus, SIGN),
                "~" => (UnaryOperator::BitwiseNot, SIGN),
                "!" => (UnaryOperator::BangNot, BANG),
                _ => return self.primary(),
            },
            TokenKind::Word if text.eq_ignore_ascii_case("NOT") => (UnaryOperator::Not, BANG),
            TokenKind::Word
                if text.eq_ignore_ascii_case("BINARY") && !self.is_symbol_at(1, ".") =>
            {
                self.advance();
                let operand = self.expr_of(SIGN)?;
                return Ok(super::types::cast(operand, sqlparser::ast::DataType::Binary(None)));
            }
            _ => return self.primary(),
        };
        self.advance();
        Ok(unary(operator, self.expr_of(min)?))
    }

    /// Makes the tree one level higher than its highest part.
    fn grow(&mut self, part: usize) -> Result<()> {
        if part >= MAX_DEPTH {
            return self.unsupported("such long chains of operators");
        }
        self.height = part + 1;
        Ok(())
    }

    /// Goes on after an operand.
    pub(super) fn infix(&mut self, left: Expr, tightness: u8, min: u8) -> Result<Expr> {
        let mut left = left;
        let mut tightness = tightness;
        while let Some((operator, precedence)) = self.peek_operator() {
            if precedence < min {
                break;
            }
            // What MySQL reads as no expression at all (`a IN (b) + 1`) MariaDB may read somehow.
            let needed = if precedence == TRUTH || precedence == PREDICATE {
                precedence + 1
            } else {
                precedence
            };
            if tightness < needed {
                return self.unexpected();
            }
            let height = self.height;
            self.height = 0;
            left = if operator == Infix::Binary("AND") || operator == Infix::Binary("OR") {
                let (expr, higher) = self.chain(left, height, operator, precedence)?;
                self.height = higher;
                expr
            } else {
                let expr = self.one_infix(left, operator, precedence)?;
                self.grow(self.height.max(height))?;
                expr
            };
            tightness = precedence;
        }
        Ok(left)
    }

    /// A chain of `AND` or of `OR` as a balanced tree, with its height.
    #[inline(never)]
    fn chain(
        &mut self,
        first: Expr,
        height: usize,
        operator: Infix,
        precedence: u8,
    ) -> Result<(Expr, usize)> {
        let mut parts = vec![first];
        let mut highest = height;
        while self.peek_operator() == Some((operator, precedence)) {
            self.advance();
            self.height = 0;
            parts.push(self.expr_of(precedence + 1)?);
            highest = highest.max(self.height);
        }
        let levels = usize::try_from(parts.len().ilog2()).unwrap_or(usize::MAX).saturating_add(1);
        if highest.saturating_add(levels) > MAX_DEPTH {
            return self.unsupported("such deep nesting");
        }
        let operator = if precedence == AND { BinaryOperator::And } else { BinaryOperator::Or };
        Ok((balanced(parts, &operator), highest + levels))
    }

    /// The operator at the current token.
    fn peek_operator(&self) -> Option<(Infix, u8)> {
        let token = self.peek()?;
        let text = self.text(token);
        match token.kind {
            TokenKind::Symbol => Some(match text {
                "||" if self.mode.pipes_as_concat => (Infix::Binary("||"), CONCAT),
                "||" => (Infix::Binary("OR"), OR),
                "&&" => (Infix::Binary("AND"), AND),
                "=" => (Infix::Binary("="), COMPARE),
                "<=>" => (Infix::Binary("<=>"), COMPARE),
                "<" => (Infix::Binary("<"), COMPARE),
                "<=" => (Infix::Binary("<="), COMPARE),
                ">" => (Infix::Binary(">"), COMPARE),
                ">=" => (Infix::Binary(">="), COMPARE),
                "<>" | "!=" => (Infix::Binary("<>"), COMPARE),
                "|" => (Infix::Binary("|"), BITS),
                "&" => (Infix::Binary("&"), BIT_AND),
                "<<" => (Infix::Binary("<<"), SHIFT),
                ">>" => (Infix::Binary(">>"), SHIFT),
                "+" => (Infix::Binary("+"), ADD),
                "-" => (Infix::Binary("-"), ADD),
                "*" => (Infix::Binary("*"), MULTIPLY),
                "/" => (Infix::Binary("/"), MULTIPLY),
                "%" => (Infix::Binary("%"), MULTIPLY),
                "^" => (Infix::Binary("^"), POWER),
                _ => return None,
            }),
            TokenKind::Word => self.peek_word_operator(text),
            _ => None,
        }
    }

    fn peek_word_operator(&self, text: &str) -> Option<(Infix, u8)> {
        const PREDICATES: [&str; 6] = ["LIKE", "IN", "BETWEEN", "REGEXP", "RLIKE", "SOUNDS"];
        let is = |word: &str| text.eq_ignore_ascii_case(word);
        Some(if is("AND") {
            (Infix::Binary("AND"), AND)
        } else if is("OR") {
            (Infix::Binary("OR"), OR)
        } else if is("XOR") {
            (Infix::Binary("XOR"), XOR)
        } else if is("DIV") {
            (Infix::Binary("DIV"), MULTIPLY)
        } else if is("MOD") {
            (Infix::Binary("%"), MULTIPLY)
        } else if is("IS") {
            // Tighter or looser by what follows; see `is`.
            let truth = ["TRUE", "FALSE", "UNKNOWN"];
            let ahead = 1 + usize::from(self.is_word_at(1, "NOT"));
            let level = truth.iter().any(|word| self.is_word_at(ahead, word));
            (Infix::Is, if level { TRUTH } else { COMPARE })
        } else if is("COLLATE") {
            (Infix::Collate, COLLATE)
        } else if PREDICATES.iter().any(|word| is(word))
            || (is("MEMBER") && (self.is_word_at(1, "OF") || self.is_symbol_at(1, "(")))
            || (is("NOT") && PREDICATES.iter().any(|word| self.is_word_at(1, word)))
        {
            if is("SOUNDS") && !self.is_word_at(1, "LIKE") {
                return None;
            }
            (Infix::Predicate, PREDICATE)
        } else {
            return None;
        })
    }

    #[inline(never)]
    fn one_infix(&mut self, left: Expr, operator: Infix, precedence: u8) -> Result<Expr> {
        match operator {
            Infix::Is => self.is(left),
            Infix::Predicate => self.predicate(left),
            Infix::Collate => {
                self.advance();
                let collation = if self.take_word("BINARY") {
                    sqlparser::ast::Ident::new("binary")
                } else {
                    self.name_or_text()?
                };
                Ok(Expr::Collate {
                    expr: Box::new(left),
                    collation: ObjectName::from(vec![collation]),
                })
            }
            Infix::Binary(symbol) => {
                self.advance();
                let op = operator::written(symbol).unwrap_or(BinaryOperator::Or);
                if precedence == COMPARE && self.is_any_word(&["ALL", "ANY", "SOME"]) {
                    return self.quantified(left, op);
                }
                let right = match symbol {
                    "+" | "-" if self.is_word("INTERVAL") => self.interval_operand(precedence)?,
                    _ => self.expr_of(precedence + 1)?,
                };
                Ok(binary(left, op, right))
            }
        }
    }

    /// `a = ANY (query)`
    #[inline(never)]
    fn quantified(&mut self, left: Expr, compare_op: BinaryOperator) -> Result<Expr> {
        if compare_op == BinaryOperator::Spaceship {
            return self.unexpected();
        }
        let all = self.is_word("ALL");
        let is_some = self.is_word("SOME");
        self.advance();
        if !self.is_symbol("(") {
            return self.unexpected();
        }
        let right = Box::new(match self.primary()? {
            query @ Expr::Subquery(_) => query,
            _ => return self.unexpected(),
        });
        let left = Box::new(left);
        Ok(if all {
            Expr::AllOp { left, compare_op, right }
        } else {
            Expr::AnyOp { left, compare_op, right, is_some }
        })
    }

    fn is(&mut self, left: Expr) -> Result<Expr> {
        self.advance();
        let not = self.take_word("NOT");
        let left = Box::new(left);
        Ok(if self.take_word("NULL") {
            if not { Expr::IsNotNull(left) } else { Expr::IsNull(left) }
        } else if self.take_word("TRUE") {
            if not { Expr::IsNotTrue(left) } else { Expr::IsTrue(left) }
        } else if self.take_word("FALSE") {
            if not { Expr::IsNotFalse(left) } else { Expr::IsFalse(left) }
        } else if self.take_word("UNKNOWN") {
            if not { Expr::IsNotUnknown(left) } else { Expr::IsUnknown(left) }
        } else {
            return self.unexpected();
        })
    }

    #[inline(never)]
    fn predicate(&mut self, left: Expr) -> Result<Expr> {
        let negated = self.take_word("NOT");
        let expr = Box::new(left);
        if self.take_word("IN") { self.is_in(expr, negated) } else { self.matching(expr, negated) }
    }

    /// The predicates but `IN`, whose lists nest: each has a frame of the stack of its own.
    #[inline(never)]
    fn matching(&mut self, expr: Box<Expr>, negated: bool) -> Result<Expr> {
        if self.take_word("LIKE") {
            let pattern = Box::new(self.expr_of(CONCAT)?);
            let escape_char = match self.take_word("ESCAPE") {
                true => Some(Box::new(self.expr_of(CONCAT)?)),
                false => None,
            };
            return Ok(Expr::Like { negated, any: false, expr, pattern, escape_char });
        }
        if self.take_word("BETWEEN") {
            let low = Box::new(self.expr_of(BITS)?);
            self.expect_word("AND")?;
            let high = Box::new(self.expr_of(PREDICATE)?);
            return Ok(Expr::Between { expr, negated, low, high });
        }
        let regexp = self.is_word("REGEXP");
        if regexp || self.is_word("RLIKE") {
            self.advance();
            let pattern = Box::new(self.expr_of(BITS)?);
            return Ok(Expr::RLike { negated, expr, pattern, regexp });
        }
        if !negated && self.take_words(&["SOUNDS", "LIKE"]) {
            let right = self.expr_of(BITS)?;
            let [left, right] = [*expr, right].map(soundex);
            let equal = binary(left, BinaryOperator::Eq, right);
            return Ok(Expr::Nested(Box::new(equal)));
        }
        if !negated && self.take_word("MEMBER") {
            self.take_word("OF");
            self.expect_symbol("(")?;
            let array = Box::new(self.expr_of(CONCAT)?);
            self.expect_symbol(")")?;
            return Ok(Expr::MemberOf(MemberOf { value: expr, array }));
        }
        self.unexpected()
    }

    #[inline(never)]
    fn is_in(&mut self, expr: Box<Expr>, negated: bool) -> Result<Expr> {
        if !self.is_symbol("(") {
            return self.unexpected();
        }
        if self.begins_query(1) {
            self.advance();
            let subquery = self.query_expression()?;
            self.expect_symbol(")")?;
            return Ok(Expr::InSubquery { expr, subquery, negated });
        }
        let mut list = self.parenthesised(Self::expr)?;
        // `IN ((SELECT ...))` is `IN (SELECT ...)`.
        if let [only] = list.as_slice()
            && matches!(crate::ast_analysis::unnested(only), Expr::Subquery(_))
        {
            let mut inner = list.pop();
            while let Some(Expr::Nested(next)) = inner {
                inner = Some(*next);
            }
            if let Some(Expr::Subquery(subquery)) = inner {
                return Ok(Expr::InSubquery { expr, subquery, negated });
            }
        }
        Ok(Expr::InList { expr, list, negated })
    }
}

/// An operator in front.
pub(super) fn unary(op: UnaryOperator, expr: Expr) -> Expr {
    Expr::UnaryOp { op, expr: Box::new(expr) }
}

/// An operator between.
pub(super) fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

/// Joins the parts by one associative operator to a tree of logarithmic height.
pub(crate) fn balanced(mut parts: Vec<Expr>, operator: &BinaryOperator) -> Expr {
    while parts.len() > 1 {
        let mut next = Vec::with_capacity(parts.len().div_ceil(2));
        let mut rest = parts.into_iter();
        while let Some(left) = rest.next() {
            next.push(match rest.next() {
                Some(right) => binary(left, operator.clone(), right),
                None => left,
            });
        }
        parts = next;
    }
    // A chain has two parts at least.
    parts.pop().unwrap_or(Expr::Tuple(Vec::new()))
}

fn soundex(expr: Expr) -> Expr {
    let argument = FunctionArg::Unnamed(FunctionArgExpr::Expr(expr));
    super::function::call(ObjectName::from(vec!["SOUNDEX".into()]), vec![argument])
}

//! Parses function calls, including functions with a syntax of their own.

use sqlparser::ast::{
    DuplicateTreatment, Expr, ExtractSyntax, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentClause, FunctionArgumentList, FunctionArguments, Ident, NamedWindowDefinition,
    NamedWindowExpr, NullTreatment, ObjectName, ObjectNamePart, SearchModifier, TrimWhereField,
    WindowFrame, WindowFrameBound, WindowFrameUnits, WindowSpec, WindowType,
};

use super::cursor::{Parser, Result};
use super::expr::{BITS, CONCAT, PREDICATE};
use super::words;
use crate::ast_analysis::is_aggregate_name;
use crate::lexer::TokenKind;

/// Aggregates that take `DISTINCT`, in addition to those with a parser of their own.
/// `JSON_ARRAYAGG` does on MariaDB.
const WITH_DISTINCT: [&str; 6] = ["AVG", "JSON_ARRAYAGG", "MAX", "MIN", "ST_COLLECT", "SUM"];

/// A call with a list of arguments.
pub(super) fn call(name: ObjectName, args: Vec<FunctionArg>) -> Expr {
    with_list(name, FunctionArgumentList { duplicate_treatment: None, args, clauses: Vec::new() })
}

/// A call of a function with expressions as arguments.
pub(crate) fn call_of(name: Ident, arguments: Vec<Expr>) -> Expr {
    let args = arguments.into_iter().map(argument).collect();
    call(ObjectName::from(vec![name]), args)
}

fn argument(expr: Expr) -> FunctionArg {
    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))
}

fn with_list(name: ObjectName, list: FunctionArgumentList) -> Expr {
    Expr::Function(function(name, FunctionArguments::List(list)))
}

/// A function that is called without parentheses.
pub(super) fn bare_call(name: ObjectName) -> Expr {
    Expr::Function(function(name, FunctionArguments::None))
}

fn function(name: ObjectName, args: FunctionArguments) -> Function {
    Function {
        name,
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args,
        within_group: Vec::new(),
        filter: None,
        null_treatment: None,
        over: None,
    }
}

impl Parser<'_> {
    /// A call of a function with a syntax of its own; `None` when the function has none.
    #[inline(never)]
    pub(super) fn special_call(&mut self, upper: &str) -> Result<Option<Expr>> {
        Ok(Some(match upper {
            "CAST" => self.cast()?,
            "CONVERT" => self.convert()?,
            "EXTRACT" => self.extract()?,
            "TRIM" => self.trim()?,
            "SUBSTRING" | "SUBSTR" | "MID" => self.substring()?,
            "POSITION" => self.position_in()?,
            "CHAR" => self.char_of()?,
            "COUNT" => self.count()?,
            "GROUP_CONCAT" => self.group_concat()?,
            "TIMESTAMPADD" | "TIMESTAMPDIFF" => self.timestamp_unit()?,
            "GET_FORMAT" => self.get_format()?,
            "JSON_VALUE" | "WEIGHT_STRING" => self.plain_or_unsupported(upper)?,
            "JSON_TABLE" | "ROLLUP" | "CUBE" => return self.unexpected(),
            _ => return Ok(None),
        }))
    }

    /// Takes a function's name and its opening parenthesis.
    fn open(&mut self) -> Result<Ident> {
        let name = self.any_word()?;
        if words::needs_parenthesis_at_once(&name.value) && !self.mode.ignore_space && !self.glued()
        {
            return self.unexpected();
        }
        self.expect_symbol("(")?;
        Ok(name)
    }

    /// A call of an ordinary function or aggregate.
    #[inline(never)]
    pub(super) fn call(&mut self, name: Vec<Ident>) -> Result<Expr> {
        let one = match name.as_slice() {
            [only] => only.value.to_ascii_uppercase(),
            _ => String::new(),
        };
        if words::needs_parenthesis_at_once(&one) && !self.mode.ignore_space && !self.glued() {
            return self.unexpected();
        }
        self.expect_symbol("(")?;
        let duplicate_treatment = if WITH_DISTINCT.contains(&one.as_str()) {
            self.duplicate_treatment()
        } else if is_aggregate_name(&one) && one != "ANY_VALUE" && self.take_word("ALL") {
            Some(DuplicateTreatment::All)
        } else {
            None
        };
        let mut args = Vec::new();
        if !self.is_symbol(")") {
            args = self.list(Self::argument)?;
        }
        self.expect_symbol(")")?;
        let list = FunctionArgumentList { duplicate_treatment, args, clauses: Vec::new() };
        self.with_window(with_list(ObjectName::from(name), list))
    }

    fn duplicate_treatment(&mut self) -> Option<DuplicateTreatment> {
        if self.take_word("DISTINCT") {
            Some(DuplicateTreatment::Distinct)
        } else if self.take_word("ALL") {
            Some(DuplicateTreatment::All)
        } else {
            None
        }
    }

    fn argument(&mut self) -> Result<FunctionArg> {
        let expr = if self.is_word("INTERVAL") {
            match self.interval_or_call()? {
                interval @ Expr::Interval(_) if self.is_symbol(")") => interval,
                Expr::Interval(_) => return self.unsupported("an interval as first operand here"),
                call => self.infix(call, u8::MAX, super::expr::OR)?,
            }
        } else {
            self.expr()?
        };
        // Functions with clauses inside their parentheses would end here with something else.
        Ok(argument(expr))
    }

    /// `FROM FIRST`, `RESPECT NULLS` and `OVER` after a call.
    #[inline(never)]
    fn with_window(&mut self, call: Expr) -> Result<Expr> {
        let Expr::Function(mut function) = call else { return Ok(call) };
        if self.take_words(&["RESPECT", "NULLS"]) {
            function.null_treatment = Some(NullTreatment::RespectNulls);
        } else if self.is_word("IGNORE") && self.is_word_at(1, "NULLS") {
            return self.unsupported("IGNORE NULLS");
        } else if self.is_word("FROM")
            && (self.is_word_at(1, "FIRST") || self.is_word_at(1, "LAST"))
            && self.is_word_at(2, "OVER")
        {
            return self.unsupported("FROM FIRST");
        }
        if self.is_word("OVER") {
            self.advance();
            function.over = Some(match self.is_symbol("(") {
                true => WindowType::WindowSpec(self.window_spec()?),
                false => WindowType::NamedWindow(self.ident()?),
            });
        } else if function.null_treatment.is_some() {
            return self.unexpected();
        }
        Ok(Expr::Function(function))
    }

    /// `([name] [PARTITION BY ...] [ORDER BY ...] [frame])`
    #[inline(never)]
    fn window_spec(&mut self) -> Result<WindowSpec> {
        self.expect_symbol("(")?;
        let starts = ["PARTITION", "ORDER", "ROWS", "RANGE", "GROUPS"];
        let window_name = match self.is_name() && !self.is_any_word(&starts) {
            true => Some(self.ident()?),
            false => None,
        };
        let partition_by = match self.take_words(&["PARTITION", "BY"]) {
            true => self.list(Self::expr)?,
            false => Vec::new(),
        };
        let order_by = match self.take_words(&["ORDER", "BY"]) {
            true => self.list(Self::order_by_expr)?,
            false => Vec::new(),
        };
        let window_frame = self.window_frame()?;
        self.expect_symbol(")")?;
        Ok(WindowSpec { window_name, partition_by, order_by, window_frame })
    }

    fn window_frame(&mut self) -> Result<Option<WindowFrame>> {
        let units = if self.take_word("ROWS") {
            WindowFrameUnits::Rows
        } else if self.take_word("RANGE") {
            WindowFrameUnits::Range
        } else {
            return Ok(None);
        };
        let (start_bound, end_bound) = if self.take_word("BETWEEN") {
            let start = self.frame_bound()?;
            self.expect_word("AND")?;
            (start, Some(self.frame_bound()?))
        } else {
            (self.frame_bound()?, None)
        };
        if self.is_word("EXCLUDE") {
            return self.unsupported("EXCLUDE in a window");
        }
        Ok(Some(WindowFrame { units, start_bound, end_bound }))
    }

    fn frame_bound(&mut self) -> Result<WindowFrameBound> {
        if self.take_words(&["CURRENT", "ROW"]) {
            return Ok(WindowFrameBound::CurrentRow);
        }
        let offset = if self.take_word("UNBOUNDED") {
            None
        } else if self.is_word("INTERVAL") {
            Some(Box::new(self.interval_or_call()?))
        } else {
            Some(Box::new(self.expr_of(BITS)?))
        };
        if self.take_word("PRECEDING") {
            Ok(WindowFrameBound::Preceding(offset))
        } else if self.take_word("FOLLOWING") {
            Ok(WindowFrameBound::Following(offset))
        } else {
            self.unexpected()
        }
    }

    /// `name AS (spec)` of the `WINDOW` clause.
    pub(super) fn named_window(&mut self) -> Result<NamedWindowDefinition> {
        let name = self.ident()?;
        self.expect_word("AS")?;
        Ok(NamedWindowDefinition(name, NamedWindowExpr::WindowSpec(self.window_spec()?)))
    }

    #[inline(never)]
    fn cast(&mut self) -> Result<Expr> {
        self.open()?;
        let expr = self.expr()?;
        if self.is_word("AT") {
            return self.unsupported("AT TIME ZONE");
        }
        self.expect_word("AS")?;
        let data_type = self.cast_type()?;
        self.expect_symbol(")")?;
        Ok(super::types::cast(expr, data_type))
    }

    /// `CONVERT(x USING charset)` or `CONVERT(x, type)`.
    #[inline(never)]
    fn convert(&mut self) -> Result<Expr> {
        self.open()?;
        let expr = self.expr()?;
        if self.take_word("USING") {
            let charset = self.charset_name()?;
            self.expect_symbol(")")?;
            return Ok(Expr::Convert {
                is_try: false,
                expr: Box::new(expr),
                data_type: None,
                charset: Some(ObjectName::from(vec![charset])),
                target_before_value: false,
                styles: Vec::new(),
            });
        }
        self.expect_symbol(",")?;
        let data_type = self.cast_type()?;
        self.expect_symbol(")")?;
        Ok(super::types::cast(expr, data_type))
    }

    /// A charset by name; `BINARY` is a keyword elsewhere.
    pub(crate) fn charset_name(&mut self) -> Result<Ident> {
        if self.is_word("BINARY") || self.is_word("ASCII") || self.is_word("DEFAULT") {
            return self.any_word();
        }
        self.name_or_text()
    }

    /// A name, or a string that gives one.
    pub(super) fn name_or_text(&mut self) -> Result<Ident> {
        if let Some(token) = self.take_kind(TokenKind::Text) {
            let name = crate::literal::text_of_token(self.text(token), self.mode);
            return self.quoted_ident(name);
        }
        self.ident()
    }

    #[inline(never)]
    fn extract(&mut self) -> Result<Expr> {
        self.open()?;
        let field = self.unit()?;
        self.expect_word("FROM")?;
        let expr = Box::new(self.expr()?);
        self.expect_symbol(")")?;
        Ok(Expr::Extract { field, syntax: ExtractSyntax::From, expr })
    }

    /// `TRIM([BOTH | LEADING | TRAILING] [what] FROM text)`, `TRIM(text)`.
    #[inline(never)]
    fn trim(&mut self) -> Result<Expr> {
        self.open()?;
        let trim_where = if self.take_word("BOTH") {
            Some(TrimWhereField::Both)
        } else if self.take_word("LEADING") {
            Some(TrimWhereField::Leading)
        } else if self.take_word("TRAILING") {
            Some(TrimWhereField::Trailing)
        } else {
            None
        };
        let mut trim_what = None;
        let expr = if trim_where.is_some() && self.take_word("FROM") {
            self.expr()?
        } else {
            let first = self.expr()?;
            if self.take_word("FROM") {
                trim_what = Some(Box::new(first));
                self.expr()?
            } else if trim_where.is_some() {
                return self.unexpected();
            } else {
                first
            }
        };
        self.expect_symbol(")")?;
        // The printer leaves out FROM when only the side is said; one blank is what MySQL takes.
        if trim_where.is_some() && trim_what.is_none() {
            let blank = sqlparser::ast::Value::SingleQuotedString(" ".to_owned());
            trim_what = Some(Box::new(Expr::Value(super::primary::value(blank))));
        }
        Ok(Expr::Trim { trim_where, trim_what, expr: Box::new(expr), trim_characters: None })
    }

    /// `SUBSTRING(text FROM a FOR b)` as `SUBSTRING(text, a, b)`.
    #[inline(never)]
    fn substring(&mut self) -> Result<Expr> {
        let name = self.open()?;
        let mut arguments = vec![self.expr()?];
        let separator = if self.is_word("FROM") { "FROM" } else { "," };
        let second = if separator == "FROM" { "FOR" } else { "," };
        for separator in [separator, second] {
            let more = match separator {
                "," => self.take_symbol(","),
                word => self.take_word(word),
            };
            if more {
                arguments.push(self.expr()?);
            } else if arguments.len() == 1 {
                return self.unexpected();
            }
        }
        self.expect_symbol(")")?;
        Ok(call_of(name, arguments))
    }

    /// `POSITION(a IN b)` as `LOCATE(a, b)`.
    fn position_in(&mut self) -> Result<Expr> {
        self.open()?;
        // `IN` belongs to the syntax, so that the first operand has no predicate in it.
        let needle = self.expr_of(PREDICATE + 1)?;
        self.expect_word("IN")?;
        let text = self.expr()?;
        self.expect_symbol(")")?;
        Ok(call_of(Ident::new("LOCATE"), vec![needle, text]))
    }

    /// `MATCH (a, b) AGAINST ('text' [mode])`; without parentheses as well.
    #[inline(never)]
    pub(super) fn match_against(&mut self) -> Result<Expr> {
        self.expect_word("MATCH")?;
        let parentheses = self.take_symbol("(");
        let columns = self.list(|parser| {
            let mut parts = vec![ObjectNamePart::Identifier(parser.ident()?)];
            while parts.len() < 3 && parser.take_symbol(".") {
                parts.push(ObjectNamePart::Identifier(parser.any_ident()?));
            }
            Ok(ObjectName(parts))
        })?;
        if parentheses {
            self.expect_symbol(")")?;
        }
        self.expect_word("AGAINST")?;
        self.expect_symbol("(")?;
        let match_value = match self.peek().map(|token| token.kind) {
            Some(TokenKind::Text) => self.literal()?,
            Some(TokenKind::Placeholder) => {
                self.advance();
                super::primary::value(sqlparser::ast::Value::Placeholder("?".to_owned()))
            }
            _ => return self.unsupported("MATCH against something other than a string"),
        };
        let expansion = ["WITH", "QUERY", "EXPANSION"];
        let opt_search_modifier = if self.take_words(&["IN", "BOOLEAN", "MODE"]) {
            Some(SearchModifier::InBooleanMode)
        } else if self.take_words(&["IN", "NATURAL", "LANGUAGE", "MODE"]) {
            Some(match self.take_words(&expansion) {
                true => SearchModifier::InNaturalLanguageModeWithQueryExpansion,
                false => SearchModifier::InNaturalLanguageMode,
            })
        } else {
            self.take_words(&expansion).then_some(SearchModifier::WithQueryExpansion)
        };
        self.expect_symbol(")")?;
        Ok(Expr::MatchAgainst { columns, match_value, opt_search_modifier })
    }

    /// `CHAR(n, ... [USING charset])`
    fn char_of(&mut self) -> Result<Expr> {
        let name = self.open()?;
        let arguments = self.list(Self::expr)?;
        if self.is_word("USING") {
            return self.unsupported("CHAR ... USING");
        }
        self.expect_symbol(")")?;
        Ok(call_of(name, arguments))
    }

    /// `COUNT(*)`, `COUNT(DISTINCT a, b)`, `COUNT(a)`.
    #[inline(never)]
    fn count(&mut self) -> Result<Expr> {
        let name = self.open()?;
        let duplicate_treatment = self.duplicate_treatment();
        let args =
            if duplicate_treatment != Some(DuplicateTreatment::Distinct) && self.take_symbol("*") {
                vec![FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]
            } else {
                self.list(Self::expr)?.into_iter().map(argument).collect()
            };
        self.expect_symbol(")")?;
        if args.len() > 1 && duplicate_treatment != Some(DuplicateTreatment::Distinct) {
            return self.unexpected();
        }
        let list = FunctionArgumentList { duplicate_treatment, args, clauses: Vec::new() };
        self.with_window(with_list(ObjectName::from(vec![name]), list))
    }

    /// `GROUP_CONCAT([DISTINCT] a, ... [ORDER BY ...] [SEPARATOR '...'])`
    #[inline(never)]
    fn group_concat(&mut self) -> Result<Expr> {
        let name = self.open()?;
        let duplicate_treatment = match self.take_word("DISTINCT") {
            true => Some(DuplicateTreatment::Distinct),
            false => None,
        };
        let args = self.list(Self::expr)?.into_iter().map(argument).collect();
        let mut clauses = Vec::new();
        if self.take_words(&["ORDER", "BY"]) {
            clauses.push(FunctionArgumentClause::OrderBy(self.list(Self::order_by_expr)?));
        }
        if self.take_word("SEPARATOR") {
            let separator = match self.peek().map(|token| token.kind) {
                Some(TokenKind::Text | TokenKind::Hex | TokenKind::Bits) => self.literal()?,
                _ => return self.unexpected(),
            };
            clauses.push(FunctionArgumentClause::Separator(separator));
        }
        if self.is_word("LIMIT") {
            return self.unsupported("LIMIT in GROUP_CONCAT");
        }
        self.expect_symbol(")")?;
        let list = FunctionArgumentList { duplicate_treatment, args, clauses };
        self.with_window(with_list(ObjectName::from(vec![name]), list))
    }

    /// `TIMESTAMPDIFF(unit, a, b)`; the unit becomes a name as first argument.
    fn timestamp_unit(&mut self) -> Result<Expr> {
        let name = self.open()?;
        let unit = Expr::Identifier(Ident::new(self.unit()?.to_string()));
        let mut arguments = vec![unit];
        for _ in 0..2 {
            self.expect_symbol(",")?;
            arguments.push(self.expr()?);
        }
        self.expect_symbol(")")?;
        Ok(call_of(name, arguments))
    }

    /// `GET_FORMAT(DATE, 'EUR')`; the kind becomes a name as first argument.
    fn get_format(&mut self) -> Result<Expr> {
        let name = self.open()?;
        if !self.is_any_word(&["DATE", "TIME", "DATETIME", "TIMESTAMP"]) {
            return self.unexpected();
        }
        let kind = Expr::Identifier(self.any_word()?);
        self.expect_symbol(",")?;
        let arguments = vec![kind, self.expr()?];
        self.expect_symbol(")")?;
        Ok(call_of(name, arguments))
    }

    /// A function that has clauses which we do not read.
    fn plain_or_unsupported(&mut self, upper: &str) -> Result<Expr> {
        let name = self.open()?;
        let mut arguments = vec![self.expr_of(CONCAT)?];
        while self.take_symbol(",") {
            arguments.push(self.expr()?);
        }
        if !self.take_symbol(")") {
            return self.unsupported(upper);
        }
        Ok(call_of(name, arguments))
    }
}

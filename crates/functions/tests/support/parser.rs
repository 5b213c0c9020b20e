//! A parser of single SELECT statements, just enough to write tests of functions as SQL.

use std::sync::Arc;

/// An expression.
#[derive(Clone, Debug)]
pub(crate) enum Expr {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    /// Text with `_charset` before it.
    Introduced(String, Vec<u8>),
    Hex(Vec<u8>),
    Bits(Vec<u8>),
    Temporal(&'static str, String),
    Column(String),
    Call(String, Vec<Expr>),
    Cast(Arc<Expr>, Vec<String>),
    Using(Arc<Expr>, String),
    Aggregate {
        name: String,
        distinct: bool,
        args: Vec<Expr>,
        separator: Option<String>,
    },
}

/// What a statement selects.
#[derive(Debug)]
pub(crate) struct Select {
    pub(crate) items: Vec<Expr>,
    pub(crate) from_table: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Quoted(String),
    Number(String),
    Hex(String),
    Bits(String),
    Sign(String),
    End,
}

fn lex(text: &str) -> Result<Vec<Token>, String> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == '@' || c == '$';
    while at < chars.len() {
        let c = chars[at];
        let next = chars.get(at + 1).copied().unwrap_or(' ');
        if c.is_whitespace() {
            at += 1;
        } else if c == '\'' || c == '"' {
            let (value, end) = quoted(&chars, at)?;
            tokens.push(Token::Quoted(value));
            at = end;
        } else if matches!(c, 'x' | 'X') && next == '\'' {
            let (value, end) = quoted(&chars, at + 1)?;
            tokens.push(Token::Hex(value));
            at = end;
        } else if matches!(c, 'b' | 'B') && next == '\'' {
            let (value, end) = quoted(&chars, at + 1)?;
            tokens.push(Token::Bits(value));
            at = end;
        } else if c == '0' && next == 'x' {
            let end = (at + 2..chars.len()).find(|i| !chars[*i].is_ascii_hexdigit());
            let end = end.unwrap_or(chars.len());
            tokens.push(Token::Hex(chars[at + 2..end].iter().collect()));
            at = end;
        } else if c.is_ascii_digit() || (c == '.' && next.is_ascii_digit()) {
            let start = at;
            while at < chars.len() && (chars[at].is_ascii_digit() || chars[at] == '.') {
                at += 1;
            }
            if at < chars.len() && matches!(chars[at], 'e' | 'E') {
                let sign = usize::from(matches!(chars.get(at + 1), Some('+' | '-')));
                if chars.get(at + 1 + sign).is_some_and(char::is_ascii_digit) {
                    at += 1 + sign;
                    while at < chars.len() && chars[at].is_ascii_digit() {
                        at += 1;
                    }
                }
            }
            tokens.push(Token::Number(chars[start..at].iter().collect()));
        } else if word(c) {
            let start = at;
            while at < chars.len() && word(chars[at]) {
                at += 1;
            }
            tokens.push(Token::Word(chars[start..at].iter().collect()));
        } else {
            let three: String = chars[at..chars.len().min(at + 3)].iter().collect();
            let two: String = three.chars().take(2).collect();
            let sign = if three == "<=>" {
                three
            } else if ["<=", ">=", "<>", "!=", "<<", ">>", "&&", "||"].contains(&two.as_str()) {
                two
            } else {
                c.to_string()
            };
            at += sign.chars().count();
            tokens.push(Token::Sign(sign));
        }
    }
    tokens.push(Token::End);
    Ok(tokens)
}

fn quoted(chars: &[char], start: usize) -> Result<(String, usize), String> {
    let quote = chars[start];
    let mut out = String::new();
    let mut at = start + 1;
    while at < chars.len() {
        match chars[at] {
            '\\' if at + 1 < chars.len() => {
                at += 1;
                match chars[at] {
                    'n' => out.push('\n'),
                    't' => out.push('\t'),
                    'r' => out.push('\r'),
                    '0' => out.push('\0'),
                    'b' => out.push('\u{8}'),
                    'Z' => out.push('\u{1a}'),
                    '%' => out.push_str("\\%"),
                    '_' => out.push_str("\\_"),
                    other => out.push(other),
                }
            }
            c if c == quote && chars.get(at + 1) == Some(&quote) => {
                out.push(quote);
                at += 1;
            }
            c if c == quote => return Ok((out, at + 1)),
            c => out.push(c),
        }
        at += 1;
    }
    Err("a quote is not closed".into())
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

type Parsed = Result<Expr, String>;

const UNITS: &[&str] = &[
    "MICROSECOND",
    "SECOND",
    "MINUTE",
    "HOUR",
    "DAY",
    "WEEK",
    "MONTH",
    "QUARTER",
    "YEAR",
    "SECOND_MICROSECOND",
    "MINUTE_MICROSECOND",
    "MINUTE_SECOND",
    "HOUR_MICROSECOND",
    "HOUR_SECOND",
    "HOUR_MINUTE",
    "DAY_MICROSECOND",
    "DAY_SECOND",
    "DAY_MINUTE",
    "DAY_HOUR",
    "YEAR_MONTH",
];

const AGGREGATES: &[&str] = &[
    "COUNT",
    "SUM",
    "AVG",
    "MIN",
    "MAX",
    "BIT_AND",
    "BIT_OR",
    "BIT_XOR",
    "GROUP_CONCAT",
    "STD",
    "STDDEV",
    "STDDEV_POP",
    "STDDEV_SAMP",
    "VARIANCE",
    "VAR_POP",
    "VAR_SAMP",
    "ANY_VALUE",
];

/// Parses `SELECT item, ... [FROM t]`.
pub(crate) fn parse(text: &str) -> Result<Select, String> {
    let text = text.trim().trim_end_matches(';');
    let mut parser = Parser { tokens: lex(text)?, at: 0 };
    parser.word("SELECT")?;
    let mut items = vec![parser.expr(0)?];
    while parser.take_sign(",") {
        items.push(parser.expr(0)?);
    }
    let from_table = parser.take_word("FROM");
    if from_table {
        parser.word("T")?;
    }
    match parser.peek() {
        Token::End => Ok(Select { items, from_table }),
        other => Err(format!("{other:?} is left")),
    }
}

fn call(name: &str, args: Vec<Expr>) -> Expr {
    Expr::Call(name.to_owned(), args)
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Word(found) if found.eq_ignore_ascii_case(word))
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn word(&mut self, word: &str) -> Result<(), String> {
        if self.take_word(word) {
            Ok(())
        } else {
            Err(format!("{word} instead of {:?}", self.peek()))
        }
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Token::Sign(found) if found == sign);
        self.at += usize::from(found);
        found
    }

    fn sign(&mut self, sign: &str) -> Result<(), String> {
        if self.take_sign(sign) {
            Ok(())
        } else {
            Err(format!("{sign} instead of {:?}", self.peek()))
        }
    }

    /// Name and binding power of the operator that comes next.
    fn operator(&self) -> Option<(String, u8)> {
        let name = match self.peek() {
            Token::Sign(sign) => sign.clone(),
            Token::Word(word) => word.to_ascii_uppercase(),
            _ => return None,
        };
        let (name, power) = match name.as_str() {
            "OR" | "||" => ("OR", 1),
            "XOR" => ("XOR", 2),
            "AND" | "&&" => ("AND", 3),
            "BETWEEN" | "IN" | "LIKE" | "REGEXP" | "RLIKE" | "NOT" | "IS" => (name.as_str(), 6),
            "=" | "<=>" | "<>" | "!=" | "<" | "<=" | ">" | ">=" => (name.as_str(), 6),
            "|" => ("|", 7),
            "&" => ("&", 8),
            "<<" | ">>" => (name.as_str(), 9),
            "+" | "-" => (name.as_str(), 10),
            "*" | "/" | "%" | "DIV" | "MOD" => (name.as_str(), 11),
            "^" => ("^", 12),
            "COLLATE" => ("COLLATE", 14),
            _ => return None,
        };
        Some((name.to_owned(), power))
    }

    fn expr(&mut self, least: u8) -> Parsed {
        let mut left = self.prefix()?;
        while let Some((name, power)) = self.operator() {
            if power < least.max(1) {
                break;
            }
            self.at += 1;
            left = match name.as_str() {
                "NOT" => {
                    let inner = self.next();
                    let Token::Word(word) = inner else { return Err("NOT what?".into()) };
                    self.predicate(&format!("NOT {}", word.to_ascii_uppercase()), left)?
                }
                "BETWEEN" | "IN" | "LIKE" | "REGEXP" | "RLIKE" => self.predicate(&name, left)?,
                "IS" => {
                    let not = if self.take_word("NOT") { "NOT " } else { "" };
                    let Token::Word(word) = self.next() else { return Err("IS what?".into()) };
                    call(&format!("IS {not}{}", word.to_ascii_uppercase()), vec![left])
                }
                "COLLATE" => {
                    let Token::Word(word) = self.next() else { return Err("COLLATE what?".into()) };
                    call("COLLATE", vec![left, Expr::Text(word)])
                }
                "+" | "-" if self.is_word("INTERVAL") => {
                    let (amount, unit) = self.interval()?;
                    let function = if name == "+" { "DATE_ADD" } else { "DATE_SUB" };
                    call(function, vec![left, amount, unit])
                }
                _ => {
                    let right = self.expr(power + 1)?;
                    call(&name, vec![left, right])
                }
            };
        }
        Ok(left)
    }

    fn predicate(&mut self, name: &str, left: Expr) -> Parsed {
        match name.trim_start_matches("NOT ") {
            "BETWEEN" => {
                let low = self.expr(7)?;
                self.word("AND")?;
                let high = self.expr(7)?;
                Ok(call(name, vec![left, low, high]))
            }
            "IN" => {
                self.sign("(")?;
                let mut args = vec![left];
                args.extend(self.arguments()?);
                Ok(call(name, args))
            }
            "LIKE" => {
                let mut args = vec![left, self.expr(7)?];
                if self.take_word("ESCAPE") {
                    args.push(self.expr(7)?);
                }
                Ok(call(name, args))
            }
            _ => Ok(call(&name.replace("RLIKE", "REGEXP"), vec![left, self.expr(7)?])),
        }
    }

    fn interval(&mut self) -> Result<(Expr, Expr), String> {
        self.word("INTERVAL")?;
        let amount = self.expr(7)?;
        Ok((amount, self.unit()?))
    }

    fn unit(&mut self) -> Parsed {
        match self.next() {
            Token::Word(word) if UNITS.contains(&word.to_ascii_uppercase().as_str()) => {
                Ok(Expr::Text(word.to_ascii_uppercase()))
            }
            other => Err(format!("{other:?} is no unit")),
        }
    }

    /// Arguments up to the closing parenthesis; the opening one is gone.
    fn arguments(&mut self) -> Result<Vec<Expr>, String> {
        let mut args = Vec::new();
        if self.take_sign(")") {
            return Ok(args);
        }
        loop {
            if self.is_word("INTERVAL") {
                let (amount, unit) = self.interval()?;
                args.extend([amount, unit]);
            } else {
                args.push(self.expr(0)?);
            }
            if !self.take_sign(",") {
                break;
            }
        }
        self.sign(")")?;
        Ok(args)
    }

    fn prefix(&mut self) -> Parsed {
        match self.next() {
            Token::Number(number) => Ok(Expr::Number(number)),
            Token::Quoted(text) => {
                let mut text = text;
                while let Token::Quoted(more) = self.peek() {
                    text.push_str(&more.clone());
                    self.at += 1;
                }
                Ok(Expr::Text(text))
            }
            Token::Hex(digits) => Ok(Expr::Hex(unhex(&digits)?)),
            Token::Bits(digits) => Ok(Expr::Bits(unbits(&digits))),
            Token::Sign(sign) => match sign.as_str() {
                "(" => {
                    let inner = self.expr(0)?;
                    self.sign(")")?;
                    Ok(inner)
                }
                "-" => Ok(call("-", vec![self.expr(13)?])),
                "+" => self.expr(13),
                "~" => Ok(call("~", vec![self.expr(13)?])),
                "!" => Ok(call("!", vec![self.expr(13)?])),
                _ => Err(format!("{sign} begins nothing")),
            },
            Token::Word(word) => self.named(&word),
            Token::End => Err("an expression is missing".into()),
        }
    }

    fn named(&mut self, word: &str) -> Parsed {
        let upper = word.to_ascii_uppercase();
        if let Token::Quoted(text) = self.peek().clone() {
            let kind = match upper.as_str() {
                "DATE" => Some("DATE"),
                "TIME" => Some("TIME"),
                "TIMESTAMP" => Some("TIMESTAMP"),
                _ => None,
            };
            if let Some(kind) = kind {
                self.at += 1;
                return Ok(Expr::Temporal(kind, text));
            }
            if let Some(charset) = word.strip_prefix('_') {
                self.at += 1;
                return Ok(Expr::Introduced(charset.to_owned(), text.into_bytes()));
            }
        }
        if let (Some(charset), Token::Hex(digits)) = (word.strip_prefix('_'), self.peek().clone()) {
            self.at += 1;
            return Ok(Expr::Introduced(charset.to_owned(), unhex(&digits)?));
        }
        match upper.as_str() {
            "NULL" => return Ok(Expr::Null),
            "TRUE" | "FALSE" => return Ok(Expr::Bool(upper == "TRUE")),
            "NOT" => return Ok(call("NOT", vec![self.expr(5)?])),
            "CASE" => return self.case(),
            "BINARY" => {
                let inner = self.expr(13)?;
                return Ok(Expr::Cast(Arc::new(inner), vec!["BINARY".into()]));
            }
            "INTERVAL" => {
                // `INTERVAL n unit + date`
                self.at -= 1;
                let (amount, unit) = self.interval()?;
                self.sign("+")?;
                let date = self.expr(11)?;
                return Ok(call("DATE_ADD", vec![date, amount, unit]));
            }
            _ => {}
        }
        if !self.take_sign("(") {
            return match upper.as_str() {
                "CURRENT_DATE" | "CURRENT_TIME" | "CURRENT_TIMESTAMP" | "CURRENT_USER"
                | "LOCALTIME" | "LOCALTIMESTAMP" | "UTC_DATE" | "UTC_TIME" | "UTC_TIMESTAMP" => {
                    Ok(call(&upper, Vec::new()))
                }
                _ => Ok(Expr::Column(word.to_owned())),
            };
        }
        self.function(&upper)
    }

    fn function(&mut self, name: &str) -> Parsed {
        if AGGREGATES.contains(&name) {
            return self.aggregate(name);
        }
        match name {
            "CAST" => {
                let inner = self.expr(0)?;
                self.word("AS")?;
                Ok(Expr::Cast(Arc::new(inner), self.type_words()?))
            }
            "CONVERT" => {
                let inner = Arc::new(self.expr(0)?);
                if self.take_word("USING") {
                    let Token::Word(charset) = self.next() else { return Err("USING".into()) };
                    self.sign(")")?;
                    return Ok(Expr::Using(inner, charset));
                }
                self.sign(",")?;
                Ok(Expr::Cast(inner, self.type_words()?))
            }
            "EXTRACT" => {
                let unit = self.unit()?;
                self.word("FROM")?;
                let date = self.expr(0)?;
                self.sign(")")?;
                Ok(call(name, vec![unit, date]))
            }
            "TIMESTAMPDIFF" | "TIMESTAMPADD" => {
                let mut args = vec![self.unit()?];
                self.sign(",")?;
                args.extend(self.arguments()?);
                Ok(call(name, args))
            }
            "POSITION" => {
                let needle = self.expr(7)?;
                self.word("IN")?;
                let text = self.expr(0)?;
                self.sign(")")?;
                Ok(call("LOCATE", vec![needle, text]))
            }
            "TRIM" => self.trim(),
            "SUBSTRING" | "SUBSTR" | "MID" => {
                let mut args = vec![self.expr(0)?];
                while self.take_sign(",") || self.take_word("FROM") || self.take_word("FOR") {
                    args.push(self.expr(0)?);
                }
                self.sign(")")?;
                Ok(call(name, args))
            }
            "GET_FORMAT" => {
                let Token::Word(kind) = self.next() else { return Err("GET_FORMAT".into()) };
                self.sign(",")?;
                let mut args = vec![Expr::Text(kind.to_ascii_uppercase())];
                args.extend(self.arguments()?);
                Ok(call(name, args))
            }
            "CHAR" => {
                let mut args = vec![self.expr(0)?];
                while self.take_sign(",") {
                    args.push(self.expr(0)?);
                }
                if self.take_word("USING") {
                    let Token::Word(charset) = self.next() else { return Err("USING".into()) };
                    self.sign(")")?;
                    args.push(Expr::Text(charset));
                    return Ok(call("CHAR USING", args));
                }
                self.sign(")")?;
                Ok(call(name, args))
            }
            _ => Ok(call(name, self.arguments()?)),
        }
    }

    fn trim(&mut self) -> Parsed {
        let side = ["BOTH", "LEADING", "TRAILING"].into_iter().find(|side| self.take_word(side));
        let name = match side {
            Some("LEADING") => "TRIM LEADING",
            Some("TRAILING") => "TRIM TRAILING",
            _ => "TRIM",
        };
        let first = if side.is_some() && self.is_word("FROM") { None } else { Some(self.expr(0)?) };
        let args = if self.take_word("FROM") {
            let text = self.expr(0)?;
            std::iter::once(text).chain(first).collect()
        } else {
            first.into_iter().collect()
        };
        self.sign(")")?;
        Ok(call(name, args))
    }

    /// The words of a type up to the closing parenthesis, `DECIMAL(10,2)` as three of them.
    fn type_words(&mut self) -> Result<Vec<String>, String> {
        let mut words = Vec::new();
        let mut depth = 0;
        loop {
            match self.next() {
                Token::Word(word) => words.push(word.to_ascii_uppercase()),
                Token::Number(number) => words.push(number),
                Token::Sign(sign) if sign == "(" => depth += 1,
                Token::Sign(sign) if sign == "," => {}
                Token::Sign(sign) if sign == ")" && depth > 0 => depth -= 1,
                Token::Sign(sign) if sign == ")" => return Ok(words),
                other => return Err(format!("{other:?} in a type")),
            }
        }
    }

    fn case(&mut self) -> Parsed {
        let mut args = Vec::new();
        let simple = !self.is_word("WHEN");
        if simple {
            args.push(self.expr(0)?);
        }
        while self.take_word("WHEN") {
            args.push(self.expr(0)?);
            self.word("THEN")?;
            args.push(self.expr(0)?);
        }
        if self.take_word("ELSE") {
            args.push(self.expr(0)?);
        }
        self.word("END")?;
        Ok(call(if simple { "CASE WHEN" } else { "CASE" }, args))
    }

    fn aggregate(&mut self, name: &str) -> Parsed {
        let distinct = self.take_word("DISTINCT");
        let mut args = Vec::new();
        if name == "COUNT" && self.take_sign("*") {
            self.sign(")")?;
            return Ok(Expr::Aggregate { name: name.into(), distinct, args, separator: None });
        }
        args.push(self.expr(0)?);
        while self.take_sign(",") {
            args.push(self.expr(0)?);
        }
        let mut separator = None;
        if self.take_word("SEPARATOR") {
            let Token::Quoted(text) = self.next() else { return Err("SEPARATOR".into()) };
            separator = Some(text);
        }
        self.sign(")")?;
        Ok(Expr::Aggregate { name: name.into(), distinct, args, separator })
    }
}

pub(crate) fn unhex(digits: &str) -> Result<Vec<u8>, String> {
    let digits = if digits.len() % 2 == 1 { format!("0{digits}") } else { digits.to_owned() };
    (0..digits.len() / 2)
        .map(|at| u8::from_str_radix(&digits[at * 2..at * 2 + 2], 16).map_err(|e| e.to_string()))
        .collect()
}

fn unbits(digits: &str) -> Vec<u8> {
    let padded = format!("{}{digits}", "0".repeat((8 - digits.len() % 8) % 8));
    (0..padded.len() / 8)
        .map(|at| u8::from_str_radix(&padded[at * 8..at * 8 + 8], 2).unwrap_or(0))
        .collect()
}

//! Parses `SET`: variables, character sets, transactions.

use super::cursor::variable_name;
use crate::lexer::{TokenKind, unquote_name};
use crate::parse::cursor::{Parser, Result};

/// Which variables a `SET` means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Scope {
    /// `SESSION`, `LOCAL`, or nothing said.
    #[default]
    Session,
    /// `GLOBAL`
    Global,
    /// `PERSIST`
    Persist,
    /// `PERSIST_ONLY`
    PersistOnly,
}

/// The value after the `=`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetValue {
    /// `DEFAULT`
    Default,
    /// A bare word such as `ON`, `utf8mb4` or `SYSTEM`: a name, not a column. Its text.
    Word(String),
    /// A string; its value.
    Text(String),
    /// The text of any other expression.
    Expression(String),
}

/// A charset or collation by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Charset {
    /// `DEFAULT`
    Default,
    /// The name as written.
    Name(String),
}

/// A transaction isolation level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// `READ UNCOMMITTED`
    ReadUncommitted,
    /// `READ COMMITTED`
    ReadCommitted,
    /// `REPEATABLE READ`
    RepeatableRead,
    /// `SERIALIZABLE`
    Serializable,
}

/// Which transactions `SET TRANSACTION` means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// Only the next one.
    Next,
    /// All later ones of the session.
    Session,
    /// Those of new sessions.
    Global,
}

/// One part of a `SET`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// A system variable.
    Variable {
        /// Which one of the variables of this name.
        scope: Scope,
        /// The name as written; with a dot for those of components.
        name: String,
        /// The new value.
        value: SetValue,
    },
    /// `@name = ...`
    User {
        /// The name without its `@` and quotes.
        name: String,
        /// The text of the expression.
        expression: String,
    },
    /// `NAMES charset [COLLATE collation]`
    Names {
        /// The charset.
        charset: Charset,
        /// The collation.
        collation: Option<String>,
    },
    /// `CHARACTER SET charset`
    CharacterSet(Charset),
    /// `TRANSACTION ...`
    Transaction {
        /// Which transactions.
        target: Target,
        /// `ISOLATION LEVEL`
        isolation: Option<Isolation>,
        /// `READ ONLY` or `READ WRITE`
        read_only: Option<bool>,
    },
    /// `ROLE`, `DEFAULT ROLE`, `RESOURCE GROUP`, `STATEMENT ... FOR`: the words in upper case.
    Other(String),
}

impl Parser<'_> {
    /// `SET ...`, without `SET PASSWORD`.
    pub(super) fn set(&mut self) -> Result<Vec<Assignment>> {
        self.advance();
        for words in [["DEFAULT", "ROLE"], ["RESOURCE", "GROUP"]] {
            if self.take_words(&words) {
                self.rest_words();
                return Ok(vec![Assignment::Other(words.join(" "))]);
            }
        }
        for word in ["ROLE", "STATEMENT"] {
            if self.is_word(word) && !self.is_symbol_at(1, "=") {
                return Ok(vec![Assignment::Other(word.to_owned())]);
            }
        }
        let mut scope = Scope::Session;
        let assignments = self.list(|parser| parser.assignment(&mut scope))?;
        self.finish()?;
        Ok(assignments)
    }

    fn assignment(&mut self, scope: &mut Scope) -> Result<Assignment> {
        if let Some(token) = self.take_kind(TokenKind::UserVariable) {
            let name = variable_name(self.text(token), self.mode);
            self.assigns()?;
            return Ok(Assignment::User { name, expression: self.expression_text(&[])? });
        }
        if let Some(token) = self.take_kind(TokenKind::SystemVariable) {
            let (scope, name) = system_variable(self.text(token));
            self.assigns()?;
            let scope = scope.unwrap_or_default();
            return Ok(Assignment::Variable { scope, name, value: self.set_value()? });
        }
        if self.take_word("NAMES") {
            return self.names();
        }
        if self.take_words(&["CHARACTER", "SET"])
            || self.take_words(&["CHAR", "SET"])
            || (!self.is_symbol_at(1, "=") && self.take_word("CHARSET"))
        {
            return Ok(Assignment::CharacterSet(self.charset()?));
        }
        if self.is_word("TRANSACTION") && !self.is_symbol_at(1, "=") {
            return self.transaction(Target::Next);
        }
        let said = [
            ("GLOBAL", Scope::Global),
            ("SESSION", Scope::Session),
            ("LOCAL", Scope::Session),
            ("PERSIST", Scope::Persist),
            ("PERSIST_ONLY", Scope::PersistOnly),
        ];
        for (word, which) in said {
            let alone = self.is_symbol_at(1, "=") || self.is_symbol_at(1, ":=");
            if !alone && self.take_word(word) {
                // It holds for what follows as well.
                *scope = which;
                if self.is_word("TRANSACTION") && !self.is_symbol_at(1, "=") {
                    return match which {
                        Scope::Global => self.transaction(Target::Global),
                        Scope::Session => self.transaction(Target::Session),
                        _ => self.unexpected(),
                    };
                }
                break;
            }
        }
        let mut name = self.variable_part()?;
        while self.take_symbol(".") {
            name.push('.');
            name.push_str(&self.variable_part()?);
        }
        self.assigns()?;
        Ok(Assignment::Variable { scope: *scope, name, value: self.set_value()? })
    }

    fn variable_part(&mut self) -> Result<String> {
        // `default` is reserved, and the name of a key cache: `SET GLOBAL default.key_buffer_size`.
        match self.peek().and_then(|token| token.name(self.sql)) {
            Some(name) => {
                self.advance();
                Ok(name)
            }
            None => self.unexpected(),
        }
    }

    fn assigns(&mut self) -> Result<()> {
        if self.take_symbol(":=") { Ok(()) } else { self.expect_symbol("=") }
    }

    fn set_value(&mut self) -> Result<SetValue> {
        let ends = self
            .peek_at(1)
            .is_none_or(|next| next.is_symbol(self.sql, ",") || next.is_symbol(self.sql, ";"));
        if let Some(token) = self.peek().filter(|_| ends) {
            let text = self.text(token);
            let value = match token.kind {
                TokenKind::Word if text.eq_ignore_ascii_case("DEFAULT") => Some(SetValue::Default),
                TokenKind::Word
                    if !["NULL", "TRUE", "FALSE"]
                        .iter()
                        .any(|word| text.eq_ignore_ascii_case(word)) =>
                {
                    Some(SetValue::Word(text.to_owned()))
                }
                TokenKind::Quoted => Some(SetValue::Word(unquote_name(text))),
                TokenKind::Text => {
                    Some(SetValue::Text(crate::literal::text_of_token(text, self.mode)))
                }
                _ => None,
            };
            if let Some(value) = value {
                self.advance();
                return Ok(value);
            }
        }
        self.expression_text(&[]).map(SetValue::Expression)
    }

    fn charset(&mut self) -> Result<Charset> {
        if self.take_word("DEFAULT") {
            return Ok(Charset::Default);
        }
        self.name_or_string().map(Charset::Name)
    }

    fn names(&mut self) -> Result<Assignment> {
        let charset = self.charset()?;
        let collation = match charset != Charset::Default && self.take_word("COLLATE") {
            true => Some(self.name_or_string()?),
            false => None,
        };
        Ok(Assignment::Names { charset, collation })
    }

    fn transaction(&mut self, target: Target) -> Result<Assignment> {
        self.expect_word("TRANSACTION")?;
        let (mut isolation, mut read_only) = (None, None);
        self.list(|parser| {
            if parser.take_words(&["ISOLATION", "LEVEL"]) {
                isolation = Some(parser.isolation()?);
            } else if parser.take_words(&["READ", "ONLY"]) {
                read_only = Some(true);
            } else if parser.take_words(&["READ", "WRITE"]) {
                read_only = Some(false);
            } else {
                return parser.unexpected();
            }
            Ok(())
        })?;
        Ok(Assignment::Transaction { target, isolation, read_only })
    }

    fn isolation(&mut self) -> Result<Isolation> {
        if self.take_words(&["READ", "UNCOMMITTED"]) {
            Ok(Isolation::ReadUncommitted)
        } else if self.take_words(&["READ", "COMMITTED"]) {
            Ok(Isolation::ReadCommitted)
        } else if self.take_words(&["REPEATABLE", "READ"]) {
            Ok(Isolation::RepeatableRead)
        } else if self.take_word("SERIALIZABLE") {
            Ok(Isolation::Serializable)
        } else {
            self.unexpected()
        }
    }
}

/// Takes a `@@session.name` apart: which scope it says, and the name.
pub fn system_variable(token: &str) -> (Option<Scope>, String) {
    let text = token.strip_prefix("@@").unwrap_or(token);
    let plain = |part: &str| match part.starts_with('`') {
        true => unquote_name(part),
        false => part.to_owned(),
    };
    let (first, rest) = match text.split_once('.') {
        Some((first, rest)) => (first, rest),
        None => return (None, plain(text)),
    };
    let scope = match plain(first).to_ascii_lowercase().as_str() {
        "global" => Scope::Global,
        "session" | "local" => Scope::Session,
        "persist" => Scope::Persist,
        "persist_only" => Scope::PersistOnly,
        _ => return (None, text.replace('`', "")),
    };
    (Some(scope), rest.split('.').map(plain).collect::<Vec<_>>().join("."))
}

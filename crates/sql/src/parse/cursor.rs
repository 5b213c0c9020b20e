//! [`Parser`]: the tokens of a text, and the state of one parse.

use pelorus_error::{Code, Error};
use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};

use super::{MAX_DEPTH, Unparsed, words};
use crate::lexer::{self, Token, TokenKind};
use crate::{Mode, stop};

pub(crate) type Result<T> = std::result::Result<T, Unparsed>;

/// The state of one parse.
#[derive(Debug)]
pub(crate) struct Parser<'a> {
    pub(crate) sql: &'a str,
    pub(crate) mode: Mode,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    /// Levels until the next check of [`stop`].
    unasked: u32,
    /// How high the highest tree is that was built since the last look.
    pub(crate) height: usize,
    /// The names of the columns of every `SELECT`, in order of their first words.
    pub(crate) names: Vec<Vec<Option<String>>>,
    /// Whether past versions of tables are allowed: `FOR SYSTEM_TIME AS OF`.
    pub(crate) versions: bool,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(sql: &'a str, mode: Mode) -> Result<Self> {
        Self::of_tokens(sql, mode, lexer::tokens(sql, mode))
    }

    /// Parses some tokens of a text.
    pub(crate) fn of_tokens(sql: &'a str, mode: Mode, tokens: Vec<Token>) -> Result<Self> {
        if let Some(last) = tokens.last().filter(|last| last.kind == TokenKind::Invalid) {
            let error = lexer::syntax_error(sql, last.start);
            return Err(Unparsed { error, at: last.start });
        }
        let names = Vec::new();
        let unasked = stop::TOKENS;
        Ok(Self { sql, mode, tokens, at: 0, depth: 0, unasked, height: 0, names, versions: false })
    }

    pub(crate) fn placeholders(&self) -> usize {
        self.tokens.iter().filter(|token| token.kind == TokenKind::Placeholder).count()
    }

    pub(crate) fn into_names(self) -> Vec<Vec<Option<String>>> {
        self.names
    }

    /// The error for the current token.
    pub(crate) fn unexpected<T>(&self) -> Result<T> {
        let at = self.peek().map_or(self.sql.len(), |token| token.start);
        Err(Unparsed { error: lexer::syntax_error(self.sql, at), at })
    }

    /// The error for a derived table without the alias that MySQL requires.
    pub(crate) fn derived_without_alias<T>(&self) -> Result<T> {
        let at = self.peek().map_or(self.sql.len(), |token| token.start);
        let text = "Every derived table must have its own alias";
        Err(Unparsed { error: Error::new(Code::DerivedMustHaveAlias, text), at })
    }

    /// The error for a construct that is known but has no tree.
    pub(crate) fn unsupported<T>(&self, what: &str) -> Result<T> {
        let at = self.peek().map_or(self.sql.len(), |token| token.start);
        Err(Unparsed { error: Error::unsupported(what), at })
    }

    /// Runs a reader of queries or tables, whose frames are larger, some levels deeper.
    pub(crate) fn much_deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        const LEVELS: usize = 2;
        self.depth += LEVELS;
        let result = self.deeper(read);
        self.depth -= LEVELS;
        result
    }

    /// Runs a reader one level deeper.
    pub(crate) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_DEPTH {
            return self.unsupported("such deep nesting");
        }
        self.unasked -= 1;
        if self.unasked == 0 {
            self.unasked = stop::TOKENS;
            if stop::is_asked() {
                return Err(Unparsed { error: Error::interrupted(), at: 0 });
            }
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// The tokens from a position up to the current one.
    pub(crate) fn since(&self, position: usize) -> &[Token] {
        self.tokens.get(position..self.at).unwrap_or_default()
    }

    /// Goes back to a position, to parse the text after it in another way.
    pub(crate) fn rewind(&mut self, position: usize) {
        self.at = position;
    }

    pub(crate) fn peek(&self) -> Option<Token> {
        self.peek_at(0)
    }

    pub(crate) fn peek_at(&self, ahead: usize) -> Option<Token> {
        self.tokens.get(self.at + ahead).copied()
    }

    pub(crate) fn advance(&mut self) {
        self.at += 1;
    }

    pub(crate) fn text(&self, token: Token) -> &'a str {
        token.text(self.sql)
    }

    /// The next token when it is of this kind.
    pub(crate) fn take_kind(&mut self, kind: TokenKind) -> Option<Token> {
        let token = self.peek().filter(|token| token.kind == kind)?;
        self.at += 1;
        Some(token)
    }

    pub(crate) fn is_word_at(&self, ahead: usize, word: &str) -> bool {
        self.peek_at(ahead).is_some_and(|token| token.is_word(self.sql, word))
    }

    pub(crate) fn is_word(&self, word: &str) -> bool {
        self.is_word_at(0, word)
    }

    pub(crate) fn is_any_word(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is_word(word))
    }

    pub(crate) fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    /// Takes all the words or none.
    pub(crate) fn take_words(&mut self, words: &[&str]) -> bool {
        let found = words.iter().enumerate().all(|(ahead, word)| self.is_word_at(ahead, word));
        if found {
            self.at += words.len();
        }
        found
    }

    pub(crate) fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.take_word(word) { Ok(()) } else { self.unexpected() }
    }

    pub(crate) fn is_symbol_at(&self, ahead: usize, symbol: &str) -> bool {
        self.peek_at(ahead).is_some_and(|token| token.is_symbol(self.sql, symbol))
    }

    pub(crate) fn is_symbol(&self, symbol: &str) -> bool {
        self.is_symbol_at(0, symbol)
    }

    pub(crate) fn take_symbol(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(symbol);
        self.at += usize::from(found);
        found
    }

    pub(crate) fn expect_symbol(&mut self, symbol: &str) -> Result<()> {
        if self.take_symbol(symbol) { Ok(()) } else { self.unexpected() }
    }

    pub(crate) fn expect_end(&self) -> Result<()> {
        if self.peek().is_none() { Ok(()) } else { self.unexpected() }
    }

    /// A list with commas of at least one element.
    pub(crate) fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut out = vec![read(self)?];
        while self.take_symbol(",") {
            out.push(read(self)?);
        }
        Ok(out)
    }

    /// A list in parentheses.
    pub(crate) fn parenthesised<T>(
        &mut self,
        read: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.expect_symbol("(")?;
        let out = self.list(read)?;
        self.expect_symbol(")")?;
        Ok(out)
    }

    /// Whether the current token can be a name where a keyword is allowed as well.
    pub(crate) fn is_name(&self) -> bool {
        self.peek().is_some_and(|token| match token.kind {
            TokenKind::Quoted => true,
            TokenKind::Word => !words::is_reserved(self.text(token)),
            _ => false,
        })
    }

    /// A name.
    pub(crate) fn ident(&mut self) -> Result<Ident> {
        if !self.is_name() {
            return self.unexpected();
        }
        self.any_ident()
    }

    /// A name after a dot, where reserved words are names too.
    pub(crate) fn any_ident(&mut self) -> Result<Ident> {
        let Some(token) = self.peek() else { return self.unexpected() };
        let ident = match token.kind {
            TokenKind::Word => Ident::new(self.text(token)),
            TokenKind::Quoted => {
                let name = lexer::unquote_name(self.text(token));
                self.quoted_ident(name)?
            }
            _ => return self.unexpected(),
        };
        self.at += 1;
        Ok(ident)
    }

    /// A name in backticks. The printer of the tree takes two backticks for one that is escaped
    /// already; such names are left to the server.
    pub(crate) fn quoted_ident(&self, name: String) -> Result<Ident> {
        if name.contains("``") || name.contains("\\`") {
            return self.unsupported("a name with these backticks");
        }
        Ok(Ident::with_quote('`', name))
    }

    /// `name` or `database.name`.
    pub(crate) fn object_name(&mut self) -> Result<ObjectName> {
        let mut parts = vec![ObjectNamePart::Identifier(self.ident()?)];
        if self.take_symbol(".") {
            parts.push(ObjectNamePart::Identifier(self.any_ident()?));
        }
        Ok(ObjectName(parts))
    }

    /// An integer literal.
    pub(crate) fn integer(&mut self) -> Result<u64> {
        let value = self
            .peek()
            .filter(|token| token.kind == TokenKind::Integer)
            .and_then(|token| self.text(token).parse().ok());
        let Some(value) = value else { return self.unexpected() };
        self.at += 1;
        Ok(value)
    }
}

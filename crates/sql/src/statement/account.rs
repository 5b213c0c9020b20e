//! Parses account statements: `CREATE USER`, `ALTER USER`, `DROP USER` and similar.

use pelorus_error::{Code, Error};

use super::name::{Secret, UserName};
use super::{AlterUser, CreateUser, DropUser, Grant, SetPassword, Statement};
use crate::lexer::TokenKind;
use crate::parse::Unparsed;
use crate::parse::cursor::{Parser, Result};

/// How an account proves itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authentication {
    /// The plugin after `WITH` or `VIA`.
    pub plugin: Option<String>,
    /// The authentication method.
    pub method: Method,
}

/// The authentication method of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Method {
    /// `BY 'password'`
    Password(Secret),
    /// `BY RANDOM PASSWORD`
    Random,
    /// `AS 'hash'`, `AS 0x...`, `BY PASSWORD 'hash'`; by its bytes.
    Hash(Secret),
    /// Only the plugin is named.
    Plugin,
}

/// A user as `CREATE USER` and `ALTER USER` name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserSpec {
    /// The account.
    pub user: UserName,
    /// How it proves itself, if said.
    pub authentication: Option<Authentication>,
}

/// `REQUIRE ...`
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Require {
    /// `NONE`
    None,
    /// `SSL`
    Ssl,
    /// `X509`, `ISSUER`, `SUBJECT`, `CIPHER`: the words in upper case.
    Other(String),
}

/// The options of `CREATE USER` and `ALTER USER` for all their users.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct UserOptions {
    /// `ACCOUNT LOCK` is `Some(true)`, `ACCOUNT UNLOCK` is `Some(false)`.
    pub locked: Option<bool>,
    /// `REQUIRE`
    pub require: Option<Require>,
    /// Ours: `READ ONLY` is `Some(true)`, `READ WRITE` is `Some(false)`.
    pub read_only: Option<bool>,
    /// `FAILED_LOGIN_ATTEMPTS`; 0 is no limit.
    pub failed_login_attempts: Option<u16>,
    /// `PASSWORD_LOCK_TIME`
    pub password_lock_time: Option<LockTime>,
    /// Other options of MySQL, each with its words in upper case: `PASSWORD EXPIRE`,
    /// `WITH MAX_QUERIES_PER_HOUR 10`, `COMMENT '...'`, ...
    pub others: Vec<String>,
}

/// How long an account is locked after failed logins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockTime {
    /// So many days; 0 is never.
    Days(u16),
    /// `UNBOUNDED`: until it is unlocked.
    Unbounded,
}

impl Default for LockTime {
    fn default() -> Self {
        Self::Days(0)
    }
}

/// The largest number of `FAILED_LOGIN_ATTEMPTS` and `PASSWORD_LOCK_TIME`, as in MySQL.
const LOGIN_LIMIT: u16 = 32_767;

/// Words that begin an option of an account.
const OPTIONS: [&str; 8] = [
    "REQUIRE",
    "ACCOUNT",
    "READ",
    "COMMENT",
    "ATTRIBUTE",
    "PASSWORD",
    "FAILED_LOGIN_ATTEMPTS",
    "PASSWORD_LOCK_TIME",
];

impl Parser<'_> {
    /// Parses the text after `CREATE USER`, `ALTER USER` or `DROP USER`.
    pub(super) fn user(&mut self, verb: &str, or_replace: bool) -> Result<Statement> {
        if or_replace && verb != "CREATE" {
            return self.unexpected();
        }
        if verb == "CREATE" {
            let if_not_exists = self.if_not_exists();
            let (users, options) = self.users_with_options()?;
            return Ok(Statement::CreateUser(CreateUser {
                or_replace,
                if_not_exists,
                users,
                options,
            }));
        }
        let if_exists = self.if_exists();
        if verb == "ALTER" {
            let (users, options) = self.users_with_options()?;
            return Ok(Statement::AlterUser(AlterUser { if_exists, users, options }));
        }
        let users = self.list(Self::user_name)?;
        self.finish()?;
        Ok(Statement::DropUser(DropUser { if_exists, users }))
    }

    fn users_with_options(&mut self) -> Result<(Vec<UserSpec>, UserOptions)> {
        let users = self.list(|parser| {
            let user = parser.user_name()?;
            Ok(UserSpec { user, authentication: parser.authentication()? })
        })?;
        let options = self.user_options()?;
        self.finish()?;
        Ok((users, options))
    }

    /// `IDENTIFIED BY 'password'`, `IDENTIFIED WITH plugin [BY 'password' | AS 'hash']`.
    fn authentication(&mut self) -> Result<Option<Authentication>> {
        if !self.take_word("IDENTIFIED") {
            return Ok(None);
        }
        let plugin = match self.take_word("WITH") || self.take_word("VIA") {
            true => Some(self.name_or_string()?),
            false => None,
        };
        let method = if self.take_word("BY") {
            if self.take_words(&["RANDOM", "PASSWORD"]) {
                Method::Random
            } else if self.take_word("PASSWORD") {
                Method::Hash(Secret::of_bytes(self.string_value()?.as_bytes()))
            } else {
                Method::Password(Secret::new(self.string_value()?))
            }
        } else if plugin.is_some() && (self.take_word("AS") || self.take_word("USING")) {
            self.hash()?
        } else if plugin.is_some() {
            Method::Plugin
        } else {
            return self.unexpected();
        };
        if self.is_word("REPLACE") || self.is_word("RETAIN") || self.is_word("DISCARD") {
            return self.unsupported("two passwords of one user");
        }
        if self.is_any_word(&["AND", "OR", "INITIAL"]) {
            return self.unsupported("authentication in several steps");
        }
        Ok(Some(Authentication { plugin, method }))
    }

    /// `'hash'`, `0x..` or MariaDB's `PASSWORD('password')`.
    fn hash(&mut self) -> Result<Method> {
        if self.take_word("PASSWORD") {
            self.expect_symbol("(")?;
            let password = self.string_value()?;
            self.expect_symbol(")")?;
            return Ok(Method::Password(Secret::new(password)));
        }
        if let Some(token) = self.take_kind(TokenKind::Hex) {
            let text = self.text(token);
            let digits = text.get(2..).unwrap_or_default().trim_end_matches('\'');
            let bytes = crate::literal::hex_bytes(digits);
            return Ok(Method::Hash(Secret::of_bytes(&bytes)));
        }
        Ok(Method::Hash(Secret::of_bytes(self.string_value()?.as_bytes())))
    }

    fn user_options(&mut self) -> Result<UserOptions> {
        let mut options = UserOptions::default();
        while self.peek().is_some() && !self.is_symbol(";") {
            if self.take_word("REQUIRE") {
                options.require = Some(self.require()?);
            } else if self.take_words(&["ACCOUNT", "LOCK"]) {
                options.locked = Some(true);
            } else if self.take_words(&["ACCOUNT", "UNLOCK"]) {
                options.locked = Some(false);
            } else if self.take_words(&["READ", "ONLY"]) {
                options.read_only = Some(true);
            } else if self.take_words(&["READ", "WRITE"]) {
                options.read_only = Some(false);
            } else if self.take_word("FAILED_LOGIN_ATTEMPTS") {
                options.failed_login_attempts = Some(self.login_number("FAILED_LOGIN_ATTEMPTS")?);
            } else if self.take_words(&["PASSWORD_LOCK_TIME", "UNBOUNDED"]) {
                options.password_lock_time = Some(LockTime::Unbounded);
            } else if self.take_word("PASSWORD_LOCK_TIME") {
                let days = self.login_number("PASSWORD_LOCK_TIME")?;
                options.password_lock_time = Some(LockTime::Days(days));
            } else {
                options.others.push(self.other_option()?);
            }
        }
        Ok(options)
    }

    /// The number of an option about failed logins.
    fn login_number(&mut self, option: &str) -> Result<u16> {
        let Some(token) = self.take_kind(TokenKind::Integer) else { return self.unexpected() };
        let number = self.text(token).parse().ok().filter(|number| *number <= LOGIN_LIMIT);
        number.ok_or_else(|| {
            let text = format!("Incorrect {option} value: '{}'", self.text(token));
            Unparsed { error: Error::new(Code::WrongOptionValue, text), at: token.start }
        })
    }

    fn require(&mut self) -> Result<Require> {
        if self.take_word("NONE") {
            return Ok(Require::None);
        }
        if self.take_word("SSL") {
            return Ok(Require::Ssl);
        }
        if !self.is_any_word(&["X509", "ISSUER", "SUBJECT", "CIPHER"]) {
            return self.unexpected();
        }
        let words = self.option_words();
        Ok(Require::Other(words))
    }

    fn other_option(&mut self) -> Result<String> {
        let known = ["WITH", "PASSWORD", "DEFAULT", "COMMENT", "ATTRIBUTE"];
        if !self.is_any_word(&known) {
            return self.unexpected();
        }
        Ok(self.option_words())
    }

    /// The words of an option, up to one that begins the next.
    fn option_words(&mut self) -> String {
        let mut words: Vec<String> = Vec::new();
        while let Some(token) = self.peek().filter(|token| !token.is_symbol(self.sql, ";")) {
            // `PASSWORD REQUIRE CURRENT` is one option.
            let is_within = words.is_empty() || words == ["PASSWORD"] && self.is_word("REQUIRE");
            if !is_within && self.is_any_word(&OPTIONS) {
                break;
            }
            let text = self.text(token);
            words.push(match token.kind {
                TokenKind::Word => text.to_ascii_uppercase(),
                _ => text.to_owned(),
            });
            self.advance();
        }
        words.join(" ")
    }

    /// Parses the text after `SET PASSWORD`.
    pub(super) fn set_password(&mut self) -> Result<Statement> {
        let user = match self.take_word("FOR") {
            true => self.user_name()?,
            false => UserName::Current,
        };
        if self.take_words(&["TO", "RANDOM"]) {
            self.finish()?;
            return Ok(Statement::SetPassword(SetPassword {
                user,
                password: None,
                function: false,
            }));
        }
        if !self.take_symbol(":=") {
            self.expect_symbol("=")?;
        }
        let function = self.is_word("PASSWORD") && self.is_symbol_at(1, "(");
        if function {
            self.advance();
            self.advance();
        }
        let password = Some(Secret::new(self.string_value()?));
        if function {
            self.expect_symbol(")")?;
        }
        if self.is_word("REPLACE") || self.is_word("RETAIN") {
            return self.unsupported("two passwords of one user");
        }
        self.finish()?;
        Ok(Statement::SetPassword(SetPassword { user, password, function }))
    }

    /// Parses `GRANT privileges ON object TO users`, `REVOKE privileges ON object FROM users`.
    pub(super) fn grant(&mut self) -> Result<Statement> {
        let revoke = self.is_word("REVOKE");
        self.advance();
        self.if_exists();
        let stops = ["ON", "TO", "FROM"];
        let privileges = self.list(|parser| parser.expression_text(&stops))?;
        let privileges = privileges.iter().map(|text| text.to_ascii_uppercase()).collect();
        let start = self.position() + 1;
        let mut on = None;
        if self.take_word("ON") {
            while self.peek().is_some() && !self.is_any_word(&["TO", "FROM"]) {
                self.advance();
            }
            on = Some(self.text_since(start));
        }
        if !revoke {
            self.expect_word("TO")?;
        } else {
            self.expect_word("FROM")?;
        }
        let mut users = vec![self.granted_user()?];
        while self.take_symbol(",") {
            users.push(self.granted_user()?);
        }
        Ok(Statement::Grant(Grant { revoke, privileges, on, users }))
    }

    /// A user after `TO`; what older servers allow after it is passed over.
    fn granted_user(&mut self) -> Result<UserName> {
        let user = self.user_name()?;
        self.authentication()?;
        Ok(user)
    }
}

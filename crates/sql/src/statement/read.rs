//! Classifies a statement by its first words, and parses the statements that have no file of their
//! own.

use pelorus_error::Result as PublicResult;

use super::data::tables_of;
use super::{
    Begin, Completion, Describe, Execute, Explain, ExplainTarget, HistogramAction, HistogramChange,
    Kill, Maintenance, Prepare, PrepareSource, QueryFacts, Statement, TableName, Write, WriteKind,
};
use crate::Mode;
use crate::dml::{self, Change, InsertSource};
use crate::lexer::{Token, TokenKind};
use crate::parse::cursor::{Parser, Result};

pub(super) fn classify(sql: &str, mode: Mode) -> PublicResult<Statement> {
    if let Some(statement) = long_insert(sql, mode) {
        return Ok(statement);
    }
    let mut parser = Parser::new(sql, mode)?;
    Ok(parser.statement()?)
}

/// Recognises an `INSERT ... VALUES` of many rows without making tokens of all of them: making
/// tokens costs several times what reading the rows costs. `None` leaves the text, and what may be
/// wrong with it, to the usual way.
fn long_insert(sql: &str, mode: Mode) -> Option<Statement> {
    /// Below this the usual way is fast enough.
    const LONG: usize = 16 << 10;
    // A subquery among the values names further tables.
    if sql.len() < LONG || has_select(sql.as_bytes()) {
        return None;
    }
    let first = crate::lexer::Lexer::new(sql, mode).next()?;
    if !first.is_word(sql, "INSERT") && !first.is_word(sql, "REPLACE") {
        return None;
    }
    let Change::Insert(insert) = dml::parse(sql, mode).ok()? else { return None };
    let InsertSource::Values(_) = insert.source else { return None };
    Some(Statement::Write(Write {
        kind: if insert.replace { WriteKind::Replace } else { WriteKind::Insert },
        tables: vec![insert.table],
        changed: 1,
        returning: !insert.returning.is_empty(),
        local: false,
    }))
}

/// Whether the word `select` may be in a text.
fn has_select(text: &[u8]) -> bool {
    const WORD: &[u8] = b"select";
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| byte | 0x20 == b's') {
        rest = &rest[at..];
        if rest.get(..WORD.len()).is_some_and(|word| word.eq_ignore_ascii_case(WORD)) {
            return true;
        }
        rest = &rest[1..];
    }
    false
}

/// Statements that administer a server and that we only recognise.
const ADMINISTRATION: [&str; 12] = [
    "RESET",
    "PURGE",
    "CHANGE",
    "INSTALL",
    "UNINSTALL",
    "SHUTDOWN",
    "RESTART",
    "CLONE",
    "BINLOG",
    "STOP",
    "BACKUP",
    "SIGNAL",
];

impl Parser<'_> {
    fn statement(&mut self) -> Result<Statement> {
        while self.take_symbol(";") {}
        self.check_single()?;
        let Some(first) = self.peek() else { return Ok(Statement::Empty) };
        let word = match first.kind {
            TokenKind::Word => self.text(first).to_ascii_uppercase(),
            TokenKind::Symbol if self.text(first) == "(" => "(".to_owned(),
            _ => return self.unexpected(),
        };
        match word.as_str() {
            "(" | "SELECT" | "VALUES" | "TABLE" => self.query_facts().map(Statement::Query),
            "WITH" => self.with_statement(),
            "EXPLAIN" | "DESCRIBE" | "DESC" => self.explain(),
            "ANALYZE" | "CHECK" | "CHECKSUM" | "OPTIMIZE" | "REPAIR" | "CACHE" => {
                self.maintenance(&word)
            }
            "SHOW" => self.show().map(|show| Statement::Show(Box::new(show))),
            "SET" => self.set_statement(),
            "USE" => self.one_name(Statement::Use),
            "BEGIN" => self.begin(),
            "START" => self.start(),
            "COMMIT" => self.completion(Statement::Commit),
            "ROLLBACK" => self.rollback(),
            "SAVEPOINT" => self.one_name(Statement::Savepoint),
            "RELEASE" => {
                self.advance();
                if !self.is_word("SAVEPOINT") {
                    return self.unexpected();
                }
                self.one_name(Statement::ReleaseSavepoint)
            }
            "XA" => Ok(Statement::Xa),
            "PREPARE" => self.prepare(),
            "EXECUTE" => self.execute(),
            "DEALLOCATE" => self.deallocate(),
            "KILL" => self.kill(),
            "HELP" => {
                self.advance();
                let topic = self.name_or_string()?;
                self.finish()?;
                Ok(Statement::Help(topic))
            }
            "MIRROR" => self.mirror().map(Statement::Mirror),
            "UNMIRROR" => self.unmirror().map(Statement::Mirror),
            "CREATE" | "ALTER" | "DROP" | "TRUNCATE" | "RENAME" => self.definition(&word),
            "GRANT" | "REVOKE" => self.grant(),
            "FLUSH" => {
                self.advance();
                Ok(Statement::Flush(self.rest_words()))
            }
            "LOCK" => self.lock(),
            "UNLOCK" => {
                self.advance();
                Ok(match self.is_word("INSTANCE") {
                    true => Statement::Administration("UNLOCK".to_owned()),
                    false => Statement::UnlockTables,
                })
            }
            "DO" => {
                self.advance();
                let start = self.position();
                self.list(|parser| parser.expression_text(&[]))?;
                let text = self.text_since(start);
                self.finish()?;
                Ok(Statement::Do(text))
            }
            "HANDLER" => {
                self.advance();
                self.table_name().map(Statement::Handler)
            }
            _ if ADMINISTRATION.contains(&word.as_str()) => Ok(Statement::Administration(word)),
            _ => self.write(&word),
        }
    }

    /// Refuses a second statement after a `;`, unless it is part of a program's body.
    fn check_single(&self) -> Result<()> {
        let rest = self.peek().map_or("", |first| self.sql.get(first.start..).unwrap_or_default());
        let (_, behind) = crate::lexer::next_statement(rest, self.mode);
        match crate::lexer::Lexer::new(behind, self.mode)
            .find(|token| !token.is_symbol(behind, ";"))
        {
            Some(token) => {
                let at = self.sql.len() - behind.len() + token.start;
                Err(crate::parse::Unparsed { error: crate::lexer::syntax_error(self.sql, at), at })
            }
            None => Ok(()),
        }
    }

    fn all_tokens(&mut self) -> Vec<Token> {
        let start = self.position();
        while self.peek().is_some() {
            self.advance();
        }
        self.since(start).to_vec()
    }

    /// Reads what decides where a query goes.
    fn query_facts(&mut self) -> Result<QueryFacts> {
        let sql = self.sql;
        let mode = self.mode;
        let tokens = self.all_tokens();
        let mut facts = QueryFacts { tables: tables_of(sql, &tokens), ..QueryFacts::default() };
        for (at, token) in tokens.iter().enumerate() {
            let next = |ahead: usize, word: &str| {
                tokens.get(at + ahead).is_some_and(|token| token.is_word(sql, word))
            };
            if token.is_symbol(sql, ":=") {
                facts.assigns = true;
            } else if token.is_word(sql, "FOR") && (next(1, "UPDATE") || next(1, "SHARE"))
                || token.is_word(sql, "LOCK") && next(1, "IN") && next(2, "SHARE")
            {
                facts.locking = true;
            } else if token.is_word(sql, "SQL_CALC_FOUND_ROWS") {
                facts.calc_found_rows = true;
            } else if token.is_word(sql, "INTO") {
                facts.into_file |= next(1, "OUTFILE") || next(1, "DUMPFILE");
                if !facts.into_file {
                    facts.into_variables = into_variables(sql, mode, &tokens[at + 1..]);
                }
            }
        }
        let variables = facts.into_variables.clone();
        facts.tables.retain(|table| table.database.is_some() || !variables.contains(&table.name));
        Ok(facts)
    }

    /// `WITH ...`: the word after the last definition tells what the statement is.
    fn with_statement(&mut self) -> Result<Statement> {
        let mut open = 0usize;
        let mut ahead = 1;
        let verbs = ["SELECT", "VALUES", "TABLE", "UPDATE", "DELETE", "INSERT", "REPLACE"];
        while let Some(token) = self.peek_at(ahead) {
            if token.is_symbol(self.sql, "(") {
                open += 1;
            } else if token.is_symbol(self.sql, ")") {
                open = open.saturating_sub(1);
                // `AS (...) (SELECT ...)`
                if open == 0 && self.is_symbol_at(ahead + 1, "(") {
                    return self.query_facts().map(Statement::Query);
                }
            } else if open == 0
                && let Some(verb) = verbs.iter().find(|verb| token.is_word(self.sql, verb))
            {
                return match *verb {
                    "SELECT" | "VALUES" | "TABLE" => self.query_facts().map(Statement::Query),
                    verb => self.write(verb),
                };
            }
            ahead += 1;
        }
        self.unexpected()
    }

    fn write(&mut self, word: &str) -> Result<Statement> {
        let kind = match word {
            "INSERT" => WriteKind::Insert,
            "REPLACE" => WriteKind::Replace,
            "UPDATE" => WriteKind::Update,
            "DELETE" => WriteKind::Delete,
            "LOAD" => WriteKind::Load,
            "IMPORT" => WriteKind::Import,
            "CALL" => return self.call_statement(),
            other => return Ok(Statement::Unknown(other.to_owned())),
        };
        let sql = self.sql;
        let tokens = self.all_tokens();
        let tables = tables_of(sql, &tokens);
        let word_at = |word: &str| tokens.iter().position(|token| token.is_word(sql, word));
        let changed = match kind {
            // Everything that is named before SET may be changed.
            WriteKind::Update => {
                let end = word_at("SET").unwrap_or(tokens.len());
                tables_of(sql, &tokens[..end]).len()
            }
            WriteKind::Delete => {
                let from = word_at("FROM").unwrap_or(tokens.len());
                let modifiers = ["DELETE", "LOW_PRIORITY", "QUICK", "IGNORE"];
                let begin = word_at("DELETE").unwrap_or(0);
                let single = tokens.get(begin..from).unwrap_or_default().iter().all(|token| {
                    token.kind == TokenKind::Hint
                        || modifiers.iter().any(|word| token.is_word(sql, word))
                });
                if single && word_at("USING").is_none() { 1 } else { tables.len() }
            }
            _ => 1,
        };
        Ok(Statement::Write(Write {
            kind,
            changed: changed.min(tables.len()),
            tables,
            returning: word_at("RETURNING").is_some(),
            local: kind == WriteKind::Load
                && tokens.iter().take(5).any(|token| token.is_word(sql, "LOCAL")),
        }))
    }

    fn call_statement(&mut self) -> Result<Statement> {
        self.advance();
        let procedure = self.table_name()?;
        Ok(Statement::Write(Write {
            kind: WriteKind::Call,
            tables: vec![procedure],
            changed: 0,
            returning: true,
            local: false,
        }))
    }

    fn explain(&mut self) -> Result<Statement> {
        self.advance();
        let mut explain = Explain {
            analyze: self.take_word("ANALYZE"),
            extended: self.take_word("EXTENDED") || self.take_word("PARTITIONS"),
            format: None,
            target: ExplainTarget::Connection(0),
        };
        if self.is_word("FORMAT") && self.is_symbol_at(1, "=") {
            self.advance();
            self.advance();
            explain.format = Some(self.name_or_string()?.to_ascii_uppercase());
        }
        // MySQL 9 can put the plan into a variable.
        if self.is_word("INTO") {
            return self.unsupported("EXPLAIN INTO");
        }
        if self.take_words(&["FOR", "CONNECTION"]) {
            explain.target = ExplainTarget::Connection(self.integer()?);
            self.finish()?;
            return Ok(Statement::Explain(explain));
        }
        if self.is_explainable() {
            explain.target = self.explained()?;
            return Ok(Statement::Explain(explain));
        }
        if explain.analyze || explain.extended || explain.format.is_some() {
            return self.unexpected();
        }
        let table = self.table_name()?;
        let column = match self.peek() {
            Some(token) if !token.is_symbol(self.sql, ";") => Some(self.name_or_string()?),
            _ => None,
        };
        self.finish()?;
        Ok(Statement::Describe(Describe { table, column }))
    }

    /// Whether a statement begins here that can be explained: none that explains another one.
    fn is_explainable(&self) -> bool {
        let verbs = ["SELECT", "WITH", "INSERT", "REPLACE", "UPDATE", "DELETE", "VALUES", "TABLE"];
        self.is_any_word(&verbs) || self.is_symbol("(")
    }

    fn explained(&mut self) -> Result<ExplainTarget> {
        let start = self.position();
        let statement = self.statement()?;
        while self.peek().is_some() {
            self.advance();
        }
        let text = self.text_since(start);
        let text = text.trim_end_matches(';').trim_end().to_owned();
        Ok(ExplainTarget::Statement(text, Box::new(statement)))
    }

    /// `SET`, `SET PASSWORD`.
    fn set_statement(&mut self) -> Result<Statement> {
        if !self.is_word_at(1, "PASSWORD") || self.is_symbol_at(2, ".") {
            return self.set().map(Statement::Set);
        }
        self.advance();
        self.advance();
        self.set_password()
    }

    /// `ANALYZE TABLE`, or MariaDB's `ANALYZE statement`.
    fn maintenance(&mut self, verb: &str) -> Result<Statement> {
        self.advance();
        if verb == "CHECK" && self.take_word("MIRROR") {
            return self.check_mirror().map(Statement::Mirror);
        }
        let is_logged = matches!(verb, "ANALYZE" | "OPTIMIZE" | "REPAIR");
        if is_logged && !self.take_word("NO_WRITE_TO_BINLOG") {
            self.take_word("LOCAL");
        }
        // MariaDB checks views as well.
        let views = matches!(verb, "CHECK" | "REPAIR") && self.take_word("VIEW");
        if views
            || verb == "CACHE" && self.take_word("INDEX")
            || verb != "CACHE" && (self.take_word("TABLE") || self.take_word("TABLES"))
        {
            return self.maintained(verb, views);
        }
        if verb != "ANALYZE" {
            return self.unexpected();
        }
        let format = match self.is_word("FORMAT") && self.is_symbol_at(1, "=") {
            true => {
                self.advance();
                self.advance();
                Some(self.name_or_string()?.to_ascii_uppercase())
            }
            false => None,
        };
        if !self.is_explainable() {
            return self.unexpected();
        }
        let target = self.explained()?;
        Ok(Statement::Explain(Explain { analyze: true, extended: false, format, target }))
    }

    /// The tables or views, and the options that the verb has.
    fn maintained(&mut self, verb: &str, views: bool) -> Result<Statement> {
        let tables = self.list(|parser| {
            let table = parser.table_name()?;
            if verb == "ANALYZE" && parser.take_words(&["PERSISTENT", "FOR"]) {
                parser.persistent()?;
            }
            if verb == "CACHE" {
                parser.skip_cached();
            }
            Ok(table)
        })?;
        let (mut histogram, mut quick) = (None, false);
        match verb {
            "ANALYZE" => histogram = self.histogram()?,
            "CHECK" => {
                let words = ["QUICK", "FAST", "MEDIUM", "EXTENDED", "CHANGED"];
                quick = self.take_options(&words, &["FOR", "UPGRADE"]);
            }
            "REPAIR" => {
                let last: &[&str] = if views { &["FROM", "MYSQL"] } else { &["USE_FRM"] };
                quick = self.take_options(&["QUICK", "EXTENDED"], last);
            }
            "CHECKSUM" if self.is_any_word(&["QUICK", "EXTENDED"]) => self.advance(),
            // MariaDB waits for the given time.
            "OPTIMIZE" if self.is_word("WAIT") => {
                self.advance();
                self.integer()?;
            }
            "OPTIMIZE" if self.is_word("NOWAIT") => self.advance(),
            _ => {}
        }
        self.finish()?;
        let verb = verb.to_owned();
        Ok(Statement::Maintenance(Maintenance { verb, tables, histogram, quick }))
    }

    /// Passes over what `CACHE INDEX` says of a table: `KEY (a, b)`, and `IN hot` after the last.
    fn skip_cached(&mut self) {
        let mut depth = 0_usize;
        while self.peek().is_some() && (depth > 0 || !self.is_symbol(",")) {
            depth += usize::from(self.is_symbol("("));
            depth = depth.saturating_sub(usize::from(self.is_symbol(")")));
            self.advance();
        }
    }

    /// Takes words and a phrase as often as they stand there; whether `QUICK` was among them.
    fn take_options(&mut self, words: &[&str], phrase: &[&str]) -> bool {
        let mut quick = false;
        loop {
            if self.is_any_word(words) {
                quick |= self.is_word("QUICK");
                self.advance();
            } else if !self.take_words(phrase) {
                return quick;
            }
        }
    }

    /// The part after `PERSISTENT FOR` in MariaDB's `ANALYZE TABLE`.
    fn persistent(&mut self) -> Result<()> {
        if self.take_word("ALL") {
            return Ok(());
        }
        for word in ["COLUMNS", "INDEXES"] {
            self.expect_word(word)?;
            if self.take_word("ALL") {
                continue;
            }
            self.expect_symbol("(")?;
            if !self.is_symbol(")") {
                self.list(|parser| match parser.take_word("PRIMARY") {
                    true => Ok(()),
                    false => parser.name_text().map(drop),
                })?;
            }
            self.expect_symbol(")")?;
        }
        Ok(())
    }

    /// `UPDATE HISTOGRAM` and `DROP HISTOGRAM`.
    fn histogram(&mut self) -> Result<Option<HistogramChange>> {
        let update = self.take_words(&["UPDATE", "HISTOGRAM", "ON"]);
        if !update && !self.take_words(&["DROP", "HISTOGRAM", "ON"]) {
            return Ok(None);
        }
        let columns = self.list(Self::name_text)?;
        let action = if !update {
            HistogramAction::Drop
        } else if self.take_words(&["USING", "DATA"]) {
            match self.peek().map(|token| token.kind) {
                Some(TokenKind::Text) => self.advance(),
                _ => return self.unexpected(),
            }
            HistogramAction::Given
        } else {
            let mut buckets = None;
            if self.is_word("WITH") {
                self.advance();
                buckets = Some(self.integer()?);
                self.expect_word("BUCKETS")?;
            }
            if self.take_word("AUTO") || self.take_word("MANUAL") {
                self.expect_word("UPDATE")?;
            }
            HistogramAction::Update { buckets }
        };
        Ok(Some(HistogramChange { columns, action }))
    }

    fn one_name(&mut self, make: fn(String) -> Statement) -> Result<Statement> {
        self.advance();
        let name = self.name_text()?;
        self.finish()?;
        Ok(make(name))
    }

    fn begin(&mut self) -> Result<Statement> {
        self.advance();
        if self.is_word("NOT") {
            return Ok(Statement::Write(Write {
                kind: WriteKind::Compound,
                tables: Vec::new(),
                changed: 0,
                returning: true,
                local: false,
            }));
        }
        self.take_word("WORK");
        self.finish()?;
        Ok(Statement::Begin(Begin::default()))
    }

    fn start(&mut self) -> Result<Statement> {
        self.advance();
        if !self.take_word("TRANSACTION") {
            return match self.is_any_word(&["REPLICA", "SLAVE", "GROUP_REPLICATION", "ALL"]) {
                true => Ok(Statement::Administration("START".to_owned())),
                false => self.unexpected(),
            };
        }
        let mut begin = Begin::default();
        if self.peek().is_some() && !self.is_symbol(";") {
            self.list(|parser| {
                if parser.take_words(&["READ", "ONLY"]) {
                    begin.read_only = Some(true);
                } else if parser.take_words(&["READ", "WRITE"]) {
                    begin.read_only = Some(false);
                } else if parser.take_words(&["WITH", "CONSISTENT", "SNAPSHOT"]) {
                    begin.consistent_snapshot = true;
                } else {
                    return parser.unexpected();
                }
                Ok(())
            })?;
        }
        self.finish()?;
        Ok(Statement::Begin(begin))
    }

    fn completion(&mut self, make: fn(Completion) -> Statement) -> Result<Statement> {
        self.advance();
        self.take_word("WORK");
        let mut completion = Completion::default();
        if self.take_word("AND") {
            completion.chain = Some(!self.take_word("NO"));
            self.expect_word("CHAIN")?;
        }
        if self.take_words(&["NO", "RELEASE"]) {
            completion.release = Some(false);
        } else if self.take_word("RELEASE") {
            completion.release = Some(true);
        }
        self.finish()?;
        Ok(make(completion))
    }

    fn rollback(&mut self) -> Result<Statement> {
        let to = 1 + usize::from(self.is_word_at(1, "WORK"));
        if !self.is_word_at(to, "TO") {
            return self.completion(Statement::Rollback);
        }
        for _ in 0..=to {
            self.advance();
        }
        self.take_word("SAVEPOINT");
        let name = self.name_text()?;
        self.finish()?;
        Ok(Statement::RollbackTo(name))
    }

    fn prepare_source(&mut self) -> Result<PrepareSource> {
        if let Some(token) = self.take_kind(TokenKind::UserVariable) {
            let name = super::cursor::variable_name(self.text(token), self.mode);
            return Ok(PrepareSource::Variable(name));
        }
        self.string_value().map(PrepareSource::Text)
    }

    fn prepare(&mut self) -> Result<Statement> {
        self.advance();
        let name = self.name_text()?;
        self.expect_word("FROM")?;
        let source = self.prepare_source()?;
        self.finish()?;
        Ok(Statement::Prepare(Prepare { name, source }))
    }

    fn execute(&mut self) -> Result<Statement> {
        self.advance();
        if self.take_word("IMMEDIATE") {
            let source = self.prepare_source()?;
            if self.is_word("USING") {
                return self.unsupported("EXECUTE IMMEDIATE ... USING");
            }
            self.finish()?;
            return Ok(Statement::ExecuteImmediate(source));
        }
        let name = self.name_text()?;
        let using = match self.take_word("USING") {
            true => self.list(|parser| parser.expression_text(&[]))?,
            false => Vec::new(),
        };
        self.finish()?;
        Ok(Statement::Execute(Execute { name, using }))
    }

    fn deallocate(&mut self) -> Result<Statement> {
        self.advance();
        if !self.is_word("PREPARE") {
            return self.unexpected();
        }
        self.one_name(Statement::Deallocate)
    }

    fn kill(&mut self) -> Result<Statement> {
        self.advance();
        // MariaDB's HARD and SOFT change nothing that we do.
        if !self.take_word("HARD") {
            self.take_word("SOFT");
        }
        let query_only = self.take_word("QUERY");
        if !query_only {
            self.take_word("CONNECTION");
        }
        if self.is_word("USER") || self.is_word("ID") {
            return self.unsupported("KILL USER");
        }
        let id = self.expression_text(&[])?;
        self.finish()?;
        Ok(Statement::Kill(Kill { query_only, id }))
    }

    fn lock(&mut self) -> Result<Statement> {
        self.advance();
        if self.is_word("INSTANCE") {
            return Ok(Statement::Administration("LOCK".to_owned()));
        }
        if !self.take_word("TABLES") {
            self.expect_word("TABLE")?;
        }
        let tables = self.list(|parser| {
            let table = parser.table_name()?;
            if !parser.is_any_word(&["READ", "WRITE", "LOW_PRIORITY"]) {
                parser.take_word("AS");
                parser.name_text()?;
            }
            let read = parser.take_word("READ");
            if read {
                parser.take_word("LOCAL");
            } else {
                parser.take_word("LOW_PRIORITY");
                parser.expect_word("WRITE")?;
            }
            Ok((table, !read))
        })?;
        self.finish()?;
        Ok(Statement::LockTables(tables))
    }
}

/// The variables of `INTO @a, @b`, or the bare names of a program's variables.
fn into_variables(sql: &str, mode: Mode, tokens: &[Token]) -> Vec<String> {
    let mut out = Vec::new();
    for pair in tokens.chunks(2) {
        let Some(name) = pair.first() else { break };
        match name.kind {
            TokenKind::UserVariable => {
                out.push(super::cursor::variable_name(name.text(sql), mode));
            }
            TokenKind::Word | TokenKind::Quoted => out.extend(name.name(sql)),
            _ => break,
        }
        if !pair.get(1).is_some_and(|comma| comma.is_symbol(sql, ",")) {
            break;
        }
    }
    out
}

/// A table of this name without a database.
pub(super) fn bare(name: String) -> TableName {
    TableName { database: None, name }
}

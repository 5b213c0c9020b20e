//! DML statements on native tables: they are planned, executed, and planned again after a conflict.
//! `LOAD DATA LOCAL` first requests the file from the client.

use std::sync::Arc;
use std::time::Duration;

use pelorus_env::blocking;
use pelorus_error::{Code, Error, Result};
use pelorus_functions::assignment::{NullRule, Policy};
use pelorus_native::durability::Wanted;
use pelorus_native::write::auto::{Numbers, Steps};
use pelorus_native::write::change::{Change, Counts};
use pelorus_native::write::load::Loader;
use pelorus_native::write::lookup::duplicate_text;
use pelorus_native::write::{Plan, Report, Statement, commit};
use pelorus_sql::dml::{Change as Parsed, LoadData};

use super::Session;
use super::statement_lifecycle::read_long;
use super::stream::Running;
use crate::api::Outcome;
use crate::variables::VarValue;
use crate::variables::check::check_charset;

/// How often a statement outside of transactions is tried when others were faster.
const TRIES: u32 = 20;

/// A `LOAD DATA LOCAL` whose file is on its way.
#[derive(Debug)]
pub(super) struct Loading {
    loader: Loader,
    counts: Counts,
    /// Rows that planning left out, of all pieces that were executed.
    skipped: u64,
    /// AUTO_INCREMENT values of all of them.
    numbers: Numbers,
    failure: Option<Error>,
    /// The statement shows in the list of sessions until this is dropped.
    pub(super) running: Option<Running>,
}

impl Session {
    /// Runs `INSERT`, `REPLACE`, `UPDATE` or `DELETE` on native tables.
    ///
    /// # Errors
    /// MySQL's errors of the statement. Nothing of it is done then.
    pub(super) async fn change_native(&mut self, sql: &str) -> Result<Outcome> {
        let memory = self.stage_memory();
        let read = || pelorus_sql::dml::parse(sql, self.settings.mode());
        let change = read_long(sql, self.statement.stop(), &memory, read)??;
        if let Parsed::Load(load) = &change {
            return self.load_native(load);
        }
        let pin = self.native_reads().pin;
        self.join_native(&pin, true)?;
        drop(pin);
        let mut is_numbered = false;
        let outcome = self.change_until_done(&change, &mut is_numbered).await;
        if is_numbered && self.settings.variables().count("insert_id") > 0 {
            // It was for one statement.
            self.settings.put_variable("insert_id", VarValue::UInt(0));
        }
        outcome
    }

    /// Plans and executes a statement, and repeats both after a conflict with another session.
    /// `is_numbered` says in the end whether it has made AUTO_INCREMENT values.
    async fn change_until_done(
        &mut self,
        change: &Parsed<'_>,
        is_numbered: &mut bool,
    ) -> Result<Outcome> {
        let (mut tries, mut changes) = (1, 0);
        let (mut plan, counts) = loop {
            let view = self.view();
            let planned = self.native_statement(&view).plan(change).await;
            let (depends, carried) = match planned {
                Ok(mut plan) => {
                    *is_numbered |= plan.numbers.first_made.is_some();
                    let carried = self.carry_out(&mut plan, view.native.pin.version());
                    (plan.depends, carried.map(|counts| (plan, counts)))
                }
                Err(error) => (false, Err(error)),
            };
            let error = match carried {
                Ok(done) => break done,
                Err(error) => error,
            };
            let is_conflict = error.code() == Code::Deadlock && depends;
            if is_conflict && tries < TRIES && !self.transaction.is_open() {
                tokio::time::sleep(Duration::from_millis(u64::from(tries))).await;
                tries += 1;
            } else if !self.waits_for_change(&error, &mut changes).await {
                return Err(error);
            }
            self.begin_diagnostics();
        };
        Ok(self.changed(&mut plan, &counts))
    }

    /// Begins `LOAD DATA`.
    ///
    /// # Errors
    /// A charset that there is not (1115), files of this machine, which nothing here reads (1290),
    /// and LOCAL ones where `local_infile` is off (3948).
    fn load_native(&mut self, load: &LoadData) -> Result<Outcome> {
        if let Some(charset) = &load.charset {
            check_charset(charset)?;
        }
        if !load.local {
            // As on a server, other errors are reported first.
            let view = self.view();
            self.native_statement(&view).loader(load)?;
            return Err(Error::new(
                Code::OptionPreventsStatement,
                "The MySQL server is running with the --secure-file-priv option so it cannot \
                 execute this statement; Pelorus reads no files of its machine, LOAD DATA LOCAL \
                 reads the client's",
            ));
        }
        if !self.engine.globals().get("local_infile").is_on() {
            return Err(Error::new(
                Code::LocalInfileDisabled,
                "Loading local data is disabled; this must be enabled on both the client and \
                 server sides",
            ));
        }
        let pin = self.native_reads().pin;
        self.join_native(&pin, true)?;
        let view = self.view();
        let loader = self.native_statement(&view).loader(load)?;
        let (counts, numbers) = (Counts::default(), Numbers::default());
        self.loading =
            Some(Loading { loader, counts, skipped: 0, numbers, failure: None, running: None });
        Ok(Outcome::File(load.file.clone()))
    }

    /// Takes bytes of the file that [`Outcome::File`] requested. After an error the rest of the
    /// file is ignored, and [`Self::loaded`] gives the error.
    pub async fn load(&mut self, bytes: &[u8]) {
        let Some(mut loading) = self.loading.take() else { return };
        if loading.failure.is_none()
            && let Err(error) = self.load_piece(&mut loading, bytes).await
        {
            loading.failure = Some(error);
        }
        self.loading = Some(loading);
    }

    /// The file cannot be taken: nothing more of it is loaded, and [`Self::loaded`] gives the
    /// error.
    pub fn fail_load(&mut self, error: Error) {
        if let Some(loading) = &mut self.loading {
            loading.failure.get_or_insert(error);
        }
    }

    async fn load_piece(&mut self, loading: &mut Loading, bytes: &[u8]) -> Result<()> {
        self.statement.stop().check()?;
        blocking(|| loading.loader.feed(bytes))?;
        if !loading.loader.is_full() {
            return Ok(());
        }
        if self.transaction.is_open() {
            return Err(match loading.loader.refused() {
                Some(refused) => Error::out_of_memory(refused),
                None => Error::unsupported("a file of this size inside a transaction"),
            });
        }
        self.load_rows(loading).await.map(drop)
    }

    /// Executes the rows that were read of the file.
    async fn load_rows(&mut self, loading: &mut Loading) -> Result<Plan> {
        let _change = self.engine.global_read_lock().change().await;
        let view = self.view();
        let mut plan = self.native_statement(&view).loaded(&mut loading.loader).await?;
        let counts = self.carry_out(&mut plan, view.native.pin.version())?;
        self.tell(&mut plan, &counts);
        loading.counts.add(&counts);
        loading.counts.ignored_rows.clear();
        // The report at the end covers all pieces.
        loading.numbers = loading.numbers.then(plan.numbers);
        plan.numbers = loading.numbers;
        if let Some(first) = loading.numbers.first_made {
            self.statement.set_last_insert_id(first);
        }
        if let Report::Load { skipped, .. } = &mut plan.report {
            loading.skipped += *skipped;
            *skipped = loading.skipped;
        }
        Ok(plan)
    }

    /// The end of the file: returns the outcome of the statement.
    ///
    /// # Errors
    /// Errors of its rows; no file was requested (1105).
    pub async fn loaded(&mut self) -> Result<Outcome> {
        let Some(mut loading) = self.loading.take() else {
            return Err(Error::internal("a file that nobody asked for"));
        };
        let outcome = match loading.failure.take() {
            Some(error) => Err(error),
            None => self.load_rest(&mut loading).await,
        };
        match outcome {
            Ok(Outcome::Done(done)) => {
                self.statement.count_rows(done.affected_rows);
                Ok(Outcome::Done(done))
            }
            Ok(other) => Ok(other),
            Err(error) => {
                self.statement.fail(&error);
                Err(error)
            }
        }
    }

    async fn load_rest(&mut self, loading: &mut Loading) -> Result<Outcome> {
        self.statement.stop().check()?;
        blocking(|| loading.loader.finish())?;
        let plan = self.load_rows(loading).await?;
        for (name, value) in loading.loader.variables() {
            self.settings.set_user_variable(name, value.clone())?;
        }
        let (found_rows, warnings) =
            (self.identity.login().found_rows, self.statement.diagnostics().count());
        Ok(Outcome::Done(plan.done(&loading.counts, found_rows, warnings)))
    }

    /// Executes a plan: at once, or in the open transaction.
    pub(super) fn carry_out(&mut self, plan: &mut Plan, version: u64) -> Result<Counts> {
        let stop = self.statement.stop().clone();
        let native = self.transaction.open.as_mut().and_then(|open| open.native.as_mut());
        let mut counts = if let Some(native) = native {
            blocking(|| native.apply(&plan.changes, &stop))?
        } else {
            let store = self.engine.native().store();
            let snapshot = plan.depends.then_some(version);
            let durability = self.durability();
            let bytes = plan.changes.iter().map(Change::bytes).sum();
            let held = self.engine.memory().statements().reserve(bytes);
            let _held = held.map_err(Error::out_of_memory)?;
            blocking(|| commit::commit(store, &mut plan.changes, snapshot, durability, &stop))?
        };
        let alike = plan.alike.min(counts.replaced);
        counts.replaced -= alike;
        counts.inserted += alike;
        Ok(counts)
    }

    /// The report of an executed statement to the client and the session.
    pub(super) fn changed(&mut self, plan: &mut Plan, counts: &Counts) -> Outcome {
        self.tell(plan, counts);
        Outcome::Done(plan.done(
            counts,
            self.identity.login().found_rows,
            self.statement.diagnostics().count(),
        ))
    }

    /// Warnings and AUTO_INCREMENT values of a plan that was executed.
    fn tell(&mut self, plan: &mut Plan, counts: &Counts) {
        let mut warnings = std::mem::take(&mut plan.warnings);
        if let [change] = plan.changes.as_slice() {
            plan.numbers = plan.numbers.of_written(change, counts);
            // Texts beyond the limit are never shown.
            let shown = counts.ignored_rows.len().min(self.statement.diagnostics().limit());
            for &row in &counts.ignored_rows[..shown] {
                let Some((columns, at)) = change.put_at(row) else { continue };
                let text = duplicate_text(&change.def, columns, at);
                let row = change.places.as_ref().map_or(row as u64, |it| it.value(row).into());
                warnings.push(row + 1, Code::DuplicateKey.errno(), text);
            }
            warnings.add(Vec::new(), (counts.ignored_rows.len() - shown) as u64);
        }
        warnings.tell(self.statement.diagnostics());
        if let Some(first) = plan.numbers.first_made {
            self.statement.set_last_insert_id(first);
            self.transaction.insert_id_on = None;
        }
    }

    /// When commits of this session are acknowledged.
    pub(super) fn durability(&self) -> Wanted {
        Wanted::of_variable(self.settings.variables().get("pelorus_durability").text())
    }

    /// How AUTO_INCREMENT counts in this session.
    pub(super) fn auto_increment_steps(&self) -> Steps {
        Steps {
            increment: self.settings.variables().count("auto_increment_increment").max(1),
            offset: self.settings.variables().count("auto_increment_offset").max(1),
            zero_is_value: self.settings.has_sql_mode("NO_AUTO_VALUE_ON_ZERO"),
            first: Some(self.settings.variables().count("insert_id")).filter(|first| *first > 0),
        }
    }

    /// The session's state that a DML statement sees.
    pub(super) fn native_statement<'s>(
        &'s self,
        view: &Arc<super::statement_snapshot::View>,
    ) -> Statement<'s> {
        let context = self.context(view);
        let policy = Policy {
            nulls: NullRule::Refuse,
            null_is_now: !self.settings.variables().is_on("explicit_defaults_for_timestamp"),
            ..Policy::new(&context.eval, self.settings.is_strict())
        };
        Statement {
            catalog: self.engine.native(),
            database: self.settings.database(),
            context,
            reads: view.native.clone(),
            diagnostics: self.statement.diagnostics().clone(),
            stop: self.statement.stop().clone(),
            policy,
            steps: self.auto_increment_steps(),
            safe_updates: self.settings.variables().is_on("sql_safe_updates"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::api::{Outcome, RowFormat};
    use crate::session::tests::dml::with_tables;

    #[tokio::test]
    async fn a_file_in_pieces_is_told_of_as_a_whole() {
        let table = "CREATE TABLE c (id INT AUTO_INCREMENT PRIMARY KEY, v INT, CHECK (v < 100))";
        let (_engine, mut client) = with_tables(&[table]).await;
        client.run("SET GLOBAL local_infile = ON").await;
        let session = client.session();
        let sql = "LOAD DATA LOCAL INFILE 'f' INTO TABLE c (v, @rest)";
        session.execute(sql, RowFormat::Text).await.unwrap();
        session.loading.as_mut().unwrap().loader.piece_bytes = 1;
        let row = |v: u32| format!("{v}\t{}\n", "x".repeat(1000));
        // What is broken stands at the end, so that it has not the first number.
        let piece = row(7).repeat(4999) + &row(200);
        for _ in 0..2 {
            session.load(piece.as_bytes()).await;
        }
        assert_eq!(session.loading.as_ref().unwrap().counts.inserted, 9998);
        session.load(row(200).as_bytes()).await;
        let Ok(Outcome::Done(done)) = session.loaded().await else { panic!("no numbers") };
        assert_eq!(done.info, "Records: 10001  Deleted: 0  Skipped: 3  Warnings: 3");
        assert_eq!((done.affected_rows, done.last_insert_id), (9998, 1));
        assert_eq!(session.statement.last_insert_id(), 1);
    }

    #[tokio::test]
    async fn a_file_with_other_line_ends_is_no_row_that_takes_all_memory() {
        let (_engine, mut client) = with_tables(&["CREATE TABLE t (id INT PRIMARY KEY)"]).await;
        client.run("SET GLOBAL local_infile = ON").await;
        let session = client.session();
        let sql = "LOAD DATA LOCAL INFILE 'f' INTO TABLE t";
        session.execute(sql, RowFormat::Text).await.unwrap();
        session.loading.as_mut().unwrap().loader.limit_rows(6 << 20);
        let version = session.engine.native().store().version();
        session.load(b"1\n").await;
        let piece = b"2\r".repeat(1 << 20);
        for _ in 0..4 {
            session.load(&piece).await;
        }
        let error = session.loaded().await.unwrap_err();
        assert_eq!(error.errno(), 1118);
        let text = "Row 2 of the file has no end in 256 MiB; LINES TERMINATED BY";
        assert!(error.message().starts_with(text), "{}", error.message());
        assert_eq!(session.engine.native().store().version(), version);
    }
}

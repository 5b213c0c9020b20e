//! `LOAD DATA LOCAL`: the file is requested from the client, and comes in pieces.

use pelorus_env::blocking;
use pelorus_error::{Code, Error, Result};
use pelorus_native::write::auto::Numbers;
use pelorus_native::write::change::Counts;
use pelorus_native::write::load::Loader;
use pelorus_native::write::{Plan, Report};
use pelorus_sql::dml::LoadData;

use super::native_dml;
use crate::api::Outcome;
use crate::session::context::SettingsContext;
use crate::session::native_statement;
use crate::session::stream::Running;
use crate::variables::check::check_charset;

/// A `LOAD DATA LOCAL` whose file is on its way.
#[derive(Debug)]
pub(crate) struct Loading {
    loader: Loader,
    counts: Counts,
    /// Rows that planning left out, of all pieces that were executed.
    skipped: u64,
    /// AUTO_INCREMENT values of all of them.
    numbers: Numbers,
    failure: Option<Error>,
    /// The statement shows in the list of sessions until this is dropped.
    running: Option<Running>,
}

/// For statements that may begin a `LOAD DATA LOCAL`.
pub(crate) struct LoadContext<'a> {
    pub(crate) base: SettingsContext<'a>,
    pub(crate) loading: &'a mut Option<Loading>,
}

impl Loading {
    /// The session shows the statement until the file has come.
    pub(crate) fn show_while_loading(&mut self, running: Running) {
        self.running = Some(running);
    }

    /// The file cannot be read: nothing more of it is loaded.
    pub(crate) fn fail(&mut self, error: Error) {
        self.failure.get_or_insert(error);
    }
}

/// Begins `LOAD DATA`.
///
/// # Errors
/// A charset that there is not (1115), files of this machine, which nothing here reads (1290),
/// and LOCAL ones where `local_infile` is off (3948).
pub(crate) fn begin(cx: &mut LoadContext<'_>, load: &LoadData) -> Result<Outcome> {
    if let Some(charset) = &load.charset {
        check_charset(charset)?;
    }
    if !load.local {
        // As on a server, other errors are reported first.
        let view = cx.base.reads().view();
        cx.base.reads().native_statement(&view).loader(load)?;
        return Err(Error::new(
            Code::OptionPreventsStatement,
            "The MySQL server is running with the --secure-file-priv option so it cannot \
             execute this statement; Pelorus reads no files of its machine, LOAD DATA LOCAL \
             reads the client's",
        ));
    }
    if !cx.base.engine.globals().get("local_infile").is_on() {
        return Err(Error::new(
            Code::LocalInfileDisabled,
            "Loading local data is disabled; this must be enabled on both the client and \
             server sides",
        ));
    }
    let pin = cx.base.reads().native_reads().pin;
    native_statement::join(&mut cx.base.transaction_context(), &pin, true)?;
    let view = cx.base.reads().view();
    let loader = cx.base.reads().native_statement(&view).loader(load)?;
    let (counts, numbers) = (Counts::default(), Numbers::default());
    *cx.loading =
        Some(Loading { loader, counts, skipped: 0, numbers, failure: None, running: None });
    Ok(Outcome::File(load.file.clone()))
}

/// Takes bytes of the file. After an error the rest of the file is ignored, and [`finish`] returns
/// the error.
pub(crate) async fn take_bytes(cx: &mut LoadContext<'_>, bytes: &[u8]) {
    let Some(mut loading) = cx.loading.take() else { return };
    if loading.failure.is_none()
        && let Err(error) = load_piece(&mut cx.base, &mut loading, bytes).await
    {
        loading.fail(error);
    }
    *cx.loading = Some(loading);
}

/// The end of the file: returns the outcome of the statement.
///
/// # Errors
/// Errors of its rows; no file was requested (1105).
pub(crate) async fn finish(cx: &mut LoadContext<'_>) -> Result<Outcome> {
    let Some(mut loading) = cx.loading.take() else {
        return Err(Error::internal("the end of a file that no LOAD DATA LOCAL requested"));
    };
    let outcome = match loading.failure.take() {
        Some(error) => Err(error),
        None => load_rest(&mut cx.base, &mut loading).await,
    };
    match outcome {
        Ok(Outcome::Done(done)) => {
            cx.base.statement.count_rows(done.affected_rows);
            Ok(Outcome::Done(done))
        }
        Ok(other) => Ok(other),
        Err(error) => {
            cx.base.statement.fail(&error);
            Err(error)
        }
    }
}

async fn load_piece(
    cx: &mut SettingsContext<'_>,
    loading: &mut Loading,
    bytes: &[u8],
) -> Result<()> {
    cx.statement.stop().check()?;
    blocking(|| loading.loader.feed(bytes))?;
    if !loading.loader.is_full() {
        return Ok(());
    }
    if cx.transaction.is_open() {
        return Err(match loading.loader.refused() {
            Some(refused) => Error::out_of_memory(refused),
            None => Error::unsupported("a file of this size inside a transaction"),
        });
    }
    load_rows(cx, loading).await.map(drop)
}

/// Executes the rows that were read of the file.
async fn load_rows(cx: &mut SettingsContext<'_>, loading: &mut Loading) -> Result<Plan> {
    let _change = cx.engine.global_read_lock().change().await;
    let view = cx.reads().view();
    let mut plan = cx.reads().native_statement(&view).loaded(&mut loading.loader).await?;
    let counts = native_statement::execute(
        &mut cx.transaction_context(),
        &mut plan,
        view.native.pin.version(),
    )?;
    native_dml::report(&mut cx.transaction_context(), &mut plan, &counts);
    loading.counts.add(&counts);
    loading.counts.ignored_rows.clear();
    // The report at the end covers all pieces.
    loading.numbers = loading.numbers.then(plan.numbers);
    plan.numbers = loading.numbers;
    if let Some(first) = loading.numbers.first_made {
        cx.statement.set_last_insert_id(first);
    }
    if let Report::Load { skipped, .. } = &mut plan.report {
        loading.skipped += *skipped;
        *skipped = loading.skipped;
    }
    Ok(plan)
}

async fn load_rest(cx: &mut SettingsContext<'_>, loading: &mut Loading) -> Result<Outcome> {
    cx.statement.stop().check()?;
    blocking(|| loading.loader.finish())?;
    let plan = load_rows(cx, loading).await?;
    for (name, value) in loading.loader.variables() {
        cx.settings.set_user_variable(name, value.clone())?;
    }
    let (found_rows, warnings) = (cx.identity.login().found_rows, cx.diagnostics().count());
    Ok(Outcome::Done(plan.done(&loading.counts, found_rows, warnings)))
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

//! `SHOW` and `DESCRIBE` of native databases and tables.

use pelorus_error::{Code, Error, Result};
use pelorus_functions::TimeZone;
use pelorus_result::result_table::{Cell, ResultTable, int, nullable_text, text};
use pelorus_sql::ddl::{KeyKind, KeyTarget};
use pelorus_sql::literal;
use pelorus_sql::statement::{Show, ShowKind};
use pelorus_types::{Collation, Column, ColumnType};

use super::catalog::{Catalog, DatabaseOptions};
use super::default_text::default_text;
use super::definition::{ENGINE, NativeDef, key_name};
use super::{info, statistics, types};

/// The result of a `SHOW` about a native database; `None` if the statement is not about native
/// databases.
///
/// # Errors
/// No such table (1146), and objects that native databases do not have (1235).
pub fn show(
    catalog: &Catalog,
    database: &str,
    show: &Show,
    zone: TimeZone,
    shows_row_id: bool,
) -> Result<Option<ResultTable>> {
    let table = || {
        let name = show.table.as_ref().map(|table| table.name.as_str()).unwrap_or_default();
        catalog.require(database, name)
    };
    Ok(Some(match show.kind {
        ShowKind::Tables => tables(catalog, database, show),
        ShowKind::TableStatus => table_status(catalog, database),
        ShowKind::Columns => columns(table()?.as_ref(), show.full, zone, shows_row_id),
        ShowKind::Index => indexes(catalog, table()?.as_ref(), shows_row_id),
        ShowKind::CreateTable => create_table(table()?.as_ref(), zone, shows_row_id),
        ShowKind::CreateView => {
            let def = table()?;
            let text = format!("'{}.{}' is not VIEW", def.database, def.name);
            return Err(Error::new(Code::WrongObject, text));
        }
        // There are no triggers and events.
        ShowKind::Triggers | ShowKind::Events | ShowKind::OpenTables => return Ok(None),
        other => {
            return Err(Error::unsupported(format_args!("SHOW {other:?} of native tables")));
        }
    }))
}

/// `SHOW CREATE DATABASE`.
pub fn create_database(name: &str, options: &DatabaseOptions, if_not_exists: bool) -> ResultTable {
    let collation = options.collation;
    let is_default = Collation::default_of(collation.charset()) == Some(collation);
    // The default collation goes without saying, but for utf8mb4, where it was another once.
    let collate = match is_default && collation.charset() != "utf8mb4" {
        true => String::new(),
        false => format!(" COLLATE {}", collation.name()),
    };
    let exists = if if_not_exists { "/*!32312 IF NOT EXISTS*/ " } else { "" };
    let sql = format!(
        "CREATE DATABASE {exists}{} /*!40100 DEFAULT CHARACTER SET {}{collate} */ /*!80016 DEFAULT \
         ENCRYPTION='N' */",
        literal::name(name),
        collation.charset()
    );
    let mut grid = ResultTable::new(vec![text("Database", 64), text("Create Database", 1024)]);
    grid.push(vec![name.into(), sql.into()]);
    grid
}

fn tables(catalog: &Catalog, database: &str, show: &Show) -> ResultTable {
    let pattern = show.like.as_ref().map(|like| format!(" ({like})")).unwrap_or_default();
    let mut columns = vec![text(&format!("Tables_in_{database}{pattern}"), 64)];
    if show.full {
        columns.push(text("Table_type", 11));
    }
    let mut grid = ResultTable::new(columns);
    let mut names: Vec<String> =
        catalog.tables(database).iter().map(|def| def.name.clone()).collect();
    names.extend(catalog.broken_tables(database).into_iter().map(|(name, ..)| name));
    names.sort_unstable();
    for name in names {
        let mut row: Vec<Cell> = vec![name.into()];
        if show.full {
            row.push("BASE TABLE".into());
        }
        grid.push(row);
    }
    grid
}

/// An unsigned number that can be NULL.
fn number(name: &str) -> Column {
    Column::computed(name, ColumnType::bigint_unsigned())
}

fn table_status(catalog: &Catalog, database: &str) -> ResultTable {
    let words = |name: &str| nullable_text(name, 2048);
    let mut grid = ResultTable::new(vec![
        text("Name", 64),
        nullable_text("Engine", 64),
        number("Version"),
        nullable_text("Row_format", 10),
        number("Rows"),
        number("Avg_row_length"),
        number("Data_length"),
        number("Max_data_length"),
        number("Index_length"),
        number("Data_free"),
        number("Auto_increment"),
        words("Create_time"),
        words("Update_time"),
        words("Check_time"),
        nullable_text("Collation", 64),
        number("Checksum"),
        nullable_text("Create_options", 256),
        words("Comment"),
    ]);
    let snapshot = catalog.store().snapshot();
    for def in catalog.tables(database) {
        let rows = info::rows(&def, &snapshot);
        let sizes = info::Sizes::of(&def, rows);
        grid.push(vec![
            def.name.as_str().into(),
            ENGINE.into(),
            Cell::UInt(10),
            "Compressed".into(),
            rows.into(),
            sizes.row.into(),
            sizes.data.into(),
            Cell::UInt(0),
            Cell::UInt(0),
            sizes.free.into(),
            info::auto_increment(&def).into(),
            Cell::Null,
            Cell::Null,
            Cell::Null,
            def.collation.name().into(),
            Cell::Null,
            info::create_options(&def).into(),
            def.definition.option("COMMENT").unwrap_or_default().into(),
        ]);
    }
    // As MySQL shows tables that it cannot open: the comment says why.
    for (name, _, error) in catalog.broken_tables(database) {
        let mut row: Vec<Cell> = vec![name.into()];
        row.resize(17, Cell::Null);
        row.push(error.message().into());
        grid.push(row);
    }
    grid
}

fn columns(def: &NativeDef, full: bool, zone: TimeZone, shows_row_id: bool) -> ResultTable {
    let mut head = vec![text("Field", 64), text("Type", 65_535)];
    if full {
        head.push(nullable_text("Collation", 64));
    }
    head.extend([
        text("Null", 3),
        text("Key", 3),
        nullable_text("Default", 65_535),
        text("Extra", 256),
    ]);
    if full {
        head.extend([text("Privileges", 154), text("Comment", 2048)]);
    }
    let mut grid = ResultTable::new(head);
    let hidden = usize::from(def.hides_row_id(shows_row_id));
    let columns = def.definition.columns.iter().zip(&def.columns).enumerate();
    for (at, (column, client)) in columns.skip(hidden) {
        let ty = &client.ty;
        let mut row: Vec<Cell> =
            vec![column.name.as_str().into(), types::sql_type(&column.data_type).into()];
        if full {
            let is_text = column.data_type.base.is_text();
            row.push(is_text.then(|| ty.collation.name()).into());
        }
        row.extend([
            if ty.is_nullable() { "YES" } else { "NO" }.into(),
            info::key_word(ty.flags).into(),
            default_text(def, at, zone).into(),
            info::extra(def, at).into(),
        ]);
        if full {
            row.push("select,insert,update,references".into());
            row.push(column.comment.clone().unwrap_or_default().into());
        }
        grid.push(row);
    }
    grid
}

fn indexes(catalog: &Catalog, def: &NativeDef, shows_row_id: bool) -> ResultTable {
    let mut grid = ResultTable::new(vec![
        text("Table", 64),
        int("Non_unique"),
        text("Key_name", 64),
        int("Seq_in_index"),
        nullable_text("Column_name", 64),
        nullable_text("Collation", 1),
        Column::computed("Cardinality", ColumnType::bigint()),
        Column::computed("Sub_part", ColumnType::bigint()),
        nullable_text("Packed", 1),
        text("Null", 3),
        text("Index_type", 11),
        text("Comment", 8),
        text("Index_comment", 2048),
        text("Visible", 3),
        nullable_text("Expression", 65_535),
    ]);
    let snapshot = catalog.store().snapshot();
    let rows = info::rows(def, &snapshot);
    for key in def.keys_shown(def.hides_row_id(shows_row_id)) {
        let is_unique = matches!(key.kind, KeyKind::Primary | KeyKind::Unique);
        for (place, part) in key.parts.iter().enumerate() {
            let (column, expression) = match &part.target {
                KeyTarget::Column(name) => (Some(name.as_str()), None),
                KeyTarget::Expression(it) => (None, Some(it.printed(def.mode))),
            };
            let order = if part.descending { "D" } else { "A" };
            grid.push(vec![
                def.name.as_str().into(),
                Cell::Int(i64::from(!is_unique)),
                key_name(key).into(),
                (place + 1).into(),
                column.into(),
                (key.kind != KeyKind::FullText).then_some(order).into(),
                statistics::cardinality(catalog, def, (key, place, rows)).into(),
                part.length.map(i64::from).into(),
                Cell::Null,
                if info::holds_null(def, part) { "YES" } else { "" }.into(),
                info::index_type(key).into(),
                "".into(),
                key.comment.clone().unwrap_or_default().into(),
                if key.invisible { "NO" } else { "YES" }.into(),
                expression.into(),
            ]);
        }
    }
    grid
}

fn create_table(def: &NativeDef, zone: TimeZone, shows_row_id: bool) -> ResultTable {
    let mut grid = ResultTable::new(vec![text("Table", 64), text("Create Table", 65_535)]);
    grid.push(vec![
        def.name.as_str().into(),
        def.create_text(zone, def.hides_row_id(shows_row_id)).into(),
    ]);
    grid
}

//! Renders a definition as text, in the form of MySQL 8's `SHOW CREATE TABLE`.
//!
//! Text that is rendered to be [stored](Shown::kept) parses to the same definition in the form that
//! [`TableDefinition::normalise`] gives, if it is parsed in the mode in which it was rendered.

use std::fmt::Write as _;

use super::definition::{
    Base, CheckDefinition, ColumnDefault, ColumnDefinition, Expression, ForeignKey, KeyDefinition,
    KeyKind, KeyTarget, Reference, ReferenceAction, TableDefinition, TableOption, TypeName,
};
use super::partition::{
    PartitionBound, PartitionDefinition, PartitionMethod, PartitionValues, Partitioning,
};
use crate::Mode;
use crate::literal;
use crate::parse::words;

/// Properties of a table that a server shows in addition to its definition.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// `ENGINE=`
    pub engine: &'a str,
    /// `AUTO_INCREMENT=`: the next number, when there is one to show.
    pub auto_increment: Option<u64>,
    /// `DEFAULT CHARSET=`
    pub charset: &'a str,
    /// `COLLATE=`; `None` for the default collation of the charset where it goes without saying.
    pub collation: Option<&'a str>,
    /// The mode in which the definition was read, and in which the text is to be read.
    pub mode: Mode,
    /// The text is stored, not shown: it includes clauses that MySQL does not have.
    pub kept: bool,
}

/// The text of `SHOW CREATE TABLE`. The options `ENGINE`, `AUTO_INCREMENT`, `CHARSET` and `COLLATE`
/// of the definition are replaced by those of `shown`; a query and `LIKE` are left out.
pub fn show_create_table(table: &TableDefinition, shown: Shown<'_>) -> String {
    let mode = shown.mode;
    let mut lines: Vec<String> = Vec::new();
    lines.extend(table.columns.iter().map(|column| column_text(column, shown)));
    lines.extend(table.keys.iter().map(|key| key_text(key, mode)));
    lines.extend(table.foreign_keys.iter().map(foreign_key_text));
    lines.extend(table.checks.iter().map(check_text));
    let temporary = if table.temporary { "TEMPORARY " } else { "" };
    let name = literal::name(&table.name.name);
    let mut out = format!("CREATE {temporary}TABLE {name} (\n  {}\n)", lines.join(",\n  "));
    put(&mut out, format_args!(" ENGINE={}", shown.engine));
    if let Some(next) = shown.auto_increment {
        put(&mut out, format_args!(" AUTO_INCREMENT={next}"));
    }
    put(&mut out, format_args!(" DEFAULT CHARSET={}", shown.charset));
    if let Some(collation) = shown.collation {
        put(&mut out, format_args!(" COLLATE={collation}"));
    }
    for option in &table.options {
        if !["ENGINE", "AUTO_INCREMENT", "CHARSET", "COLLATE"].contains(&option.name.as_str()) {
            option_text(&mut out, option, "=", mode);
        }
    }
    if let Some(partitioning) = &table.partitioning {
        partitioning_text(&mut out, partitioning, mode);
    }
    if !table.segment_by.is_empty() {
        put(&mut out, format_args!("\nSEGMENT BY ({})", expressions(&table.segment_by)));
    }
    out
}

/// Adds to a text; a `String` takes every write.
fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).ok();
}

fn expressions(list: &[Expression]) -> String {
    list.iter().map(|expression| expression.text.as_str()).collect::<Vec<_>>().join(", ")
}

fn names(list: &[String]) -> String {
    list.iter().map(|name| literal::name(name)).collect::<Vec<_>>().join(",")
}

fn column_text(column: &ColumnDefinition, Shown { mode, kept, .. }: Shown<'_>) -> String {
    let data_type = &column.data_type;
    let mut out = format!("{} {}", literal::name(&column.name), type_text(data_type, mode));
    if let Some(generated) = &column.generated {
        let kind = if generated.stored { "STORED" } else { "VIRTUAL" };
        let text = &generated.expression.text;
        put(&mut out, format_args!(" GENERATED ALWAYS AS ({text}) {kind}"));
    }
    match column.nullable {
        Some(false) => out.push_str(" NOT NULL"),
        Some(true) if data_type.base == Base::Timestamp => out.push_str(" NULL"),
        _ => {}
    }
    if let Some(srid) = column.srid {
        put(&mut out, format_args!(" /*!80003 SRID {srid} */"));
    }
    match &column.default {
        Some(ColumnDefault::Literal(literal)) => {
            put(&mut out, format_args!(" DEFAULT {}", literal.text));
        }
        Some(ColumnDefault::Expression(expression)) => {
            put(&mut out, format_args!(" DEFAULT ({})", expression.text));
        }
        Some(ColumnDefault::CurrentTimestamp(digits)) => {
            put(&mut out, format_args!(" DEFAULT {}", current_timestamp(*digits)));
        }
        Some(ColumnDefault::Dropped) if kept => out.push_str(" NO DEFAULT"),
        Some(ColumnDefault::Dropped) | None => {}
    }
    if let Some(digits) = column.on_update {
        put(&mut out, format_args!(" ON UPDATE {}", current_timestamp(digits)));
    }
    if column.auto_increment {
        out.push_str(" AUTO_INCREMENT");
    }
    if column.invisible {
        out.push_str(" /*!80023 INVISIBLE */");
    }
    for option in &column.options {
        option_text(&mut out, option, " ", mode);
    }
    if let Some(comment) = &column.comment {
        put(&mut out, format_args!(" COMMENT {}", literal::on_one_line(comment, mode)));
    }
    out
}

fn current_timestamp(digits: u32) -> String {
    match digits {
        0 => "CURRENT_TIMESTAMP".to_owned(),
        digits => format!("CURRENT_TIMESTAMP({digits})"),
    }
}

fn type_text(data_type: &TypeName, mode: Mode) -> String {
    let mut out = data_type.base.name().to_owned();
    if matches!(data_type.base, Base::Enum | Base::Set) {
        let values = data_type.values.iter().map(|value| literal::on_one_line(value, mode));
        put(&mut out, format_args!("({})", values.collect::<Vec<_>>().join(",")));
    }
    match (data_type.length, data_type.scale) {
        (Some(length), Some(scale)) => put(&mut out, format_args!("({length},{scale})")),
        (Some(length), None) => put(&mut out, format_args!("({length})")),
        _ => {}
    }
    if data_type.unsigned {
        out.push_str(" unsigned");
    }
    if data_type.zerofill {
        out.push_str(" zerofill");
    }
    if let Some(charset) = &data_type.charset {
        put(&mut out, format_args!(" CHARACTER SET {}", word(charset)));
    }
    if data_type.binary {
        out.push_str(" BINARY");
    }
    if let Some(collation) = &data_type.collation {
        put(&mut out, format_args!(" COLLATE {}", word(collation)));
    }
    out
}

/// A name without quotes where it can do without them.
fn word(name: &str) -> String {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name.bytes().any(|byte| !byte.is_ascii_digit())
        && !name.starts_with(|first: char| first.is_ascii_digit() || first == '_');
    match plain && (!words::is_reserved(name) || name.eq_ignore_ascii_case("binary")) {
        true => name.to_owned(),
        false => literal::name(name),
    }
}

/// Names that MySQL quotes only where it must.
fn words_of(list: &[String]) -> String {
    list.iter().map(|name| word(name)).collect::<Vec<_>>().join(",")
}

/// ` NAME=value`
fn option_text(out: &mut String, option: &TableOption, equals: &str, mode: Mode) {
    let name = &option.name;
    if option.quoted {
        put(out, format_args!(" {name}{equals}{}", literal::on_one_line(&option.value, mode)));
        return;
    }
    let is_name = ["TABLESPACE", "ENGINE", "SECONDARY_ENGINE"].contains(&name.as_str());
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.';
    let value = &option.value;
    if value.starts_with('(') || value.is_empty() || (!is_name && value.bytes().all(plain)) {
        let equals = if value.is_empty() { "" } else { equals };
        put(out, format_args!(" {name}{equals}{value}"));
        return;
    }
    let keyword = ["NULL", "DEFAULT"].iter().any(|word| value.eq_ignore_ascii_case(word));
    let value = if is_name && keyword { value.clone() } else { word(value) };
    put(out, format_args!(" {name}{equals}{value}"));
}

fn key_text(key: &KeyDefinition, mode: Mode) -> String {
    let mut out = match key.kind {
        KeyKind::Primary => "PRIMARY KEY",
        KeyKind::Unique => "UNIQUE KEY",
        KeyKind::Index => "KEY",
        KeyKind::FullText => "FULLTEXT KEY",
        KeyKind::Spatial => "SPATIAL KEY",
    }
    .to_owned();
    if let Some(name) = &key.name {
        put(&mut out, format_args!(" {}", literal::name(name)));
    }
    let parts: Vec<String> = key
        .parts
        .iter()
        .map(|part| {
            let mut out = match &part.target {
                KeyTarget::Column(column) => literal::name(column),
                KeyTarget::Expression(expression) => format!("({})", expression.text),
            };
            if let Some(length) = part.length {
                put(&mut out, format_args!("({length})"));
            }
            out + if part.descending { " DESC" } else { "" }
        })
        .collect();
    put(&mut out, format_args!(" ({})", parts.join(",")));
    for option in &key.options {
        option_text(&mut out, option, "=", mode);
    }
    if let Some(using) = &key.using {
        put(&mut out, format_args!(" USING {using}"));
    }
    if let Some(comment) = &key.comment {
        put(&mut out, format_args!(" COMMENT {}", literal::on_one_line(comment, mode)));
    }
    if let Some(parser) = &key.parser {
        put(&mut out, format_args!(" /*!50100 WITH PARSER {} */", literal::name(parser)));
    }
    if key.invisible {
        out.push_str(" /*!80000 INVISIBLE */");
    }
    out
}

fn foreign_key_text(key: &ForeignKey) -> String {
    let mut out = String::new();
    if let Some(name) = &key.name {
        put(&mut out, format_args!("CONSTRAINT {} ", literal::name(name)));
    }
    let index = key.index.as_deref().map(|name| literal::name(name) + " ").unwrap_or_default();
    let columns = names(&key.columns).replace("`,`", "`, `");
    put(&mut out, format_args!("FOREIGN KEY {index}({columns}) {}", reference(&key.references)));
    out
}

fn reference(reference: &Reference) -> String {
    let database = reference.table.database.as_deref().map(|name| literal::name(name) + ".");
    let table = database.unwrap_or_default() + &literal::name(&reference.table.name);
    let mut out = format!("REFERENCES {table}");
    if !reference.columns.is_empty() {
        let columns = names(&reference.columns).replace("`,`", "`, `");
        put(&mut out, format_args!(" ({columns})"));
    }
    if let Some(matching) = &reference.matching {
        put(&mut out, format_args!(" MATCH {matching}"));
    }
    for (event, action) in [("DELETE", reference.on_delete), ("UPDATE", reference.on_update)] {
        let words = match action {
            None => continue,
            Some(ReferenceAction::Restrict) => "RESTRICT",
            Some(ReferenceAction::Cascade) => "CASCADE",
            Some(ReferenceAction::SetNull) => "SET NULL",
            Some(ReferenceAction::NoAction) => "NO ACTION",
            Some(ReferenceAction::SetDefault) => "SET DEFAULT",
        };
        put(&mut out, format_args!(" ON {event} {words}"));
    }
    out
}

fn check_text(check: &CheckDefinition) -> String {
    let name = check.name.as_deref().map(|name| format!("CONSTRAINT {} ", literal::name(name)));
    let enforced = if check.enforced { "" } else { " /*!80016 NOT ENFORCED */" };
    format!("{}CHECK ({}){enforced}", name.unwrap_or_default(), check.expression.text)
}

/// In a version comment, as MySQL writes it; clauses that only Pelorus reads are outside of it.
fn partitioning_text(out: &mut String, partitioning: &Partitioning, mode: Mode) {
    if let PartitionMethod::Value(list) = &partitioning.method {
        put(out, format_args!("\nPARTITION BY ({})", expressions(list)));
        return;
    }
    let method = method_text(&partitioning.method);
    let comment = match &partitioning.method {
        PartitionMethod::RangeColumns(_) | PartitionMethod::ListColumns(_) => "50500",
        _ => "50100",
    };
    put(out, format_args!("\n/*!{comment} PARTITION BY {method}"));
    if let Some(count) = partitioning.count {
        put(out, format_args!("\nPARTITIONS {count}"));
    }
    if let Some(sub) = &partitioning.subpartitioning {
        put(out, format_args!("\nSUBPARTITION BY {}", method_text(&sub.method)));
        if let Some(count) = sub.count {
            put(out, format_args!("\nSUBPARTITIONS {count}"));
        }
    }
    let of_columns = matches!(partitioning.method, PartitionMethod::RangeColumns(_));
    let text = |partition| partition_text(partition, of_columns, mode);
    let partitions: Vec<String> = partitioning.partitions.iter().map(text).collect();
    if !partitions.is_empty() {
        put(out, format_args!("\n({})", partitions.join(",\n ")));
    }
    out.push_str(" */");
}

fn method_text(method: &PartitionMethod) -> String {
    match method {
        PartitionMethod::Hash { linear, expression } => {
            format!("{}HASH ({})", if *linear { "LINEAR " } else { "" }, expression.text)
        }
        PartitionMethod::Key { linear, algorithm, columns } => {
            let algorithm = algorithm.map(|number| format!("ALGORITHM = {number} "));
            let linear = if *linear { "LINEAR " } else { "" };
            format!("{linear}KEY {}({})", algorithm.unwrap_or_default(), words_of(columns))
        }
        PartitionMethod::Range(expression) => format!("RANGE ({})", expression.text),
        PartitionMethod::RangeColumns(columns) => format!("RANGE  COLUMNS({})", words_of(columns)),
        PartitionMethod::List(expression) => format!("LIST ({})", expression.text),
        PartitionMethod::ListColumns(columns) => format!("LIST  COLUMNS({})", words_of(columns)),
        PartitionMethod::Value(list) => format!("({})", expressions(list)),
    }
}

fn partition_text(partition: &PartitionDefinition, of_columns: bool, mode: Mode) -> String {
    let mut out = format!("PARTITION {}", word(&partition.name));
    match &partition.values {
        Some(PartitionValues::LessThan(bounds)) => {
            let bounds: Vec<&str> = bounds
                .iter()
                .map(|bound| match bound {
                    PartitionBound::Maximum => "MAXVALUE",
                    PartitionBound::Value(value) => value.text.as_str(),
                })
                .collect();
            match bounds.as_slice() {
                ["MAXVALUE"] if !of_columns => out.push_str(" VALUES LESS THAN MAXVALUE"),
                _ => put(&mut out, format_args!(" VALUES LESS THAN ({})", bounds.join(","))),
            }
        }
        Some(PartitionValues::In(values)) => {
            let values = values.iter().map(|value| match value.as_slice() {
                [only] => only.text.clone(),
                more => format!("({})", expressions(more)),
            });
            let values: Vec<String> = values.collect();
            put(&mut out, format_args!(" VALUES IN ({})", values.join(",")));
        }
        Some(PartitionValues::Default) => out.push_str(" DEFAULT"),
        None => {}
    }
    for option in &partition.options {
        option_text(&mut out, option, " = ", mode);
    }
    let subpartitions: Vec<String> = partition
        .subpartitions
        .iter()
        .map(|(name, options)| {
            let mut out = format!("SUBPARTITION {}", word(name));
            for option in options {
                option_text(&mut out, option, " = ", mode);
            }
            out
        })
        .collect();
    if !subpartitions.is_empty() {
        put(&mut out, format_args!("\n ({})", subpartitions.join(",\n  ")));
    }
    out
}

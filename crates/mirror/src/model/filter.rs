//! Filters of mirrors: columns that the copy leaves out, and the condition of its rows.
//!
//! A copy has all columns of its table in their order, so that the binlog and DDL statements fit
//! it. Columns that are left out are NULL in every row, and are neither requested nor decoded. The
//! definition of the copy says which columns these are, so that it holds for every generation of
//! the copy. The mirror's record has the user's words for the next time that the copy is created;
//! they follow renames of columns.

use arrow::array::{ArrayRef, new_null_array};
use pelorus_binlog::Images;
use pelorus_error::{Error, Result};
use pelorus_sql::statement::{MirrorColumns, MirrorFilter};

use crate::model::copies::CopyColumn;

/// All columns of a copy, built from the mirrored ones.
pub(crate) fn all_columns(columns: &[CopyColumn], kept: Vec<ArrayRef>) -> Vec<ArrayRef> {
    if kept.len() == columns.len() {
        return kept;
    }
    let rows = kept.first().map_or(0, |column| column.len());
    let mut kept = kept.into_iter();
    let column = |column: &CopyColumn| match column.left_out {
        true => Some(new_null_array(&column.ty.arrow(), rows)),
        false => kept.next(),
    };
    columns.iter().map_while(column).collect()
}

/// The same for images, in all of which such a column is present.
pub(crate) fn all_images(columns: &[CopyColumn], images: &mut Images) {
    if images.arrays.len() == columns.len() {
        return;
    }
    let kept: Vec<usize> = (0..columns.len()).filter(|&at| !columns[at].left_out).collect();
    for change in &mut images.changes {
        change.target = kept.get(change.target).copied().unwrap_or(change.target);
    }
    let mut present = std::mem::take(&mut images.present).into_iter();
    let of = |column: &CopyColumn| if column.left_out { None } else { present.next().flatten() };
    images.present = columns.iter().map(of).collect();
    images.arrays = all_columns(columns, std::mem::take(&mut images.arrays));
}

/// The words of a filter after the definition of its copy has changed: renamed columns are
/// replaced.
///
/// # Errors
/// A mirrored column has got the name of one that is left out, or the other way round: the copy has
/// to be made again by the words as they are.
pub(crate) fn followed(text: &str, columns: &[CopyColumn]) -> Result<String> {
    let mut filter = MirrorFilter::parse(text)?;
    let named = |at: bool| columns.iter().filter(move |it| it.left_out == at).map(|it| &it.name);
    let is_one_of = |names: &[String], other: &String| {
        names.iter().any(|name| name.eq_ignore_ascii_case(other))
    };
    match &mut filter.columns {
        MirrorColumns::All => {}
        MirrorColumns::Only(names) => {
            if let Some(name) = named(true).find(|name| is_one_of(names, name)) {
                return Err(changed(name));
            }
            *names = named(false).cloned().collect();
        }
        MirrorColumns::Except(names) => {
            if let Some(name) = named(false).find(|name| is_one_of(names, name)) {
                return Err(changed(name));
            }
            let more: Vec<String> =
                named(true).filter(|name| !is_one_of(names, name)).cloned().collect();
            names.extend(more);
        }
    }
    Ok(filter.to_string())
}

fn changed(name: &str) -> Error {
    Error::unsupported(format_args!("following a column that took the name '{name}'"))
}

#[cfg(test)]
mod tests {
    use pelorus_types::ColumnType;

    use super::*;

    fn columns(text: &str) -> Vec<CopyColumn> {
        let column = |word: &str| CopyColumn {
            name: word.trim_start_matches('-').to_owned(),
            ty: ColumnType::bigint(),
            members: Vec::new(),
            form: pelorus_binlog::Form::Plain,
            left_out: word.starts_with('-'),
            absent: crate::model::copies::Absent::Computed,
        };
        text.split_whitespace().map(column).collect()
    }

    #[test]
    fn left_out_columns_are_null() {
        use arrow::array::{Array as _, Int64Array};
        let array = |value: i64| -> ArrayRef { std::sync::Arc::new(Int64Array::from(vec![value])) };
        let all = all_columns(&columns("a -b c"), vec![array(1), array(3)]);
        assert_eq!(all.len(), 3);
        assert!(all[1].is_null(0) && all[1].len() == 1);
        assert_eq!(all[2].as_ref(), array(3).as_ref());
    }

    #[test]
    fn names_are_followed() {
        let after = |text: &str, now: &str| followed(text, &columns(now)).ok();
        assert_eq!(after("WHERE a = 1", "a b").as_deref(), Some("WHERE a = 1"));
        // b was renamed to c: what was left out stays so.
        assert_eq!(
            after("EXCEPT COLUMNS (`b`)", "a -c").as_deref(),
            Some("EXCEPT COLUMNS (`b`, `c`)")
        );
        assert_eq!(
            after("COLUMNS (`a`, `b`) WHERE a > 1", "a c -d").as_deref(),
            Some("COLUMNS (`a`, `c`) WHERE a > 1")
        );
        // a was renamed to b, which is to be left out.
        assert_eq!(after("EXCEPT COLUMNS (`b`)", "b -c"), None);
        assert_eq!(after("COLUMNS (`a`)", "-a"), None);
    }
}

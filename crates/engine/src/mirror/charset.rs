//! The collations of copies, if a definition or a statement names charsets only.
//!
//! The default collation of a charset depends on the kind of the server, its version and the
//! session; copies must compare as their sources do.

use pelorus_error::{Error, Result};
use pelorus_sql::ddl::{AlterAction, AlterTable, Base, TableDefinition, TableOption, TypeName};
use pelorus_types::Collation;

/// Gives a definition the collations that its columns have on the server, and its own by an empty name.
pub(crate) fn set_collations(definition: &mut TableDefinition, collations: &[(String, String)]) {
    let of = |name: &str| {
        let mut all = collations.iter();
        all.find(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, collation)| collation.clone())
    };
    if let Some(collation) = of("") {
        definition.options.retain(|it| !matches!(it.name.as_str(), "CHARSET" | "COLLATE"));
        definition.options.push(option(collation));
    }
    for column in definition.columns.iter_mut().filter(|it| it.data_type.base.is_text()) {
        if let Some(collation) = of(&column.name) {
            (column.data_type.charset, column.data_type.binary) = (None, false);
            column.data_type.collation = Some(collation);
        }
    }
}

fn option(collation: String) -> TableOption {
    TableOption { name: "COLLATE".to_owned(), value: collation, quoted: false }
}

/// Names the collations in a statement that names charsets alone. `collations` are those that the
/// session takes, where they are not ours.
///
/// # Errors
/// A charset of which the collation is not known.
pub(super) fn name_collations(
    alter: &mut AlterTable,
    collations: &[(String, Option<Collation>)],
) -> Result<()> {
    let of = |charset: &str| {
        let mut all = collations.iter();
        match all.find(|(name, _)| name.eq_ignore_ascii_case(charset)) {
            None => Ok(None),
            Some((_, Some(collation))) => Ok(Some(collation.name())),
            Some((_, None)) => Err(Error::unsupported(format_args!(
                "following a statement with the character set {charset} alone"
            ))),
        }
    };
    let of_type = |data_type: &mut TypeName| -> Result<()> {
        if let (Some(charset), None, false) =
            (&data_type.charset, &data_type.collation, data_type.binary)
            && let Some(collation) = of(charset)?
        {
            data_type.collation = Some(collation);
        }
        Ok(())
    };
    let names_collation = alter.actions.iter().any(is_collation);
    for action in &mut alter.actions {
        match action {
            AlterAction::AddColumn { column, .. }
            | AlterAction::ModifyColumn { column, .. }
            | AlterAction::ChangeColumn { column, .. } => of_type(&mut column.data_type)?,
            AlterAction::Convert { charset: Some(charset), collation: to @ None } => {
                *to = of(charset)?;
            }
            AlterAction::Option(it) if it.name == "CHARSET" && !names_collation => {
                if let Some(collation) = of(&it.value)? {
                    *it = option(collation);
                }
            }
            _ => {}
        }
    }
    // New columns take the new default, wherever in the statement it stands.
    let is_default = |action: &AlterAction| {
        is_collation(action)
            || matches!(action, AlterAction::Option(option) if option.name == "CHARSET")
    };
    alter.actions.sort_by_key(|action| !is_default(action));
    Ok(())
}

/// Converts columns of JSON to the type that MariaDB gives them: text under a collation of its own.
pub(super) fn json_as_text(alter: &mut AlterTable) {
    for action in &mut alter.actions {
        if let AlterAction::AddColumn { column, .. }
        | AlterAction::ModifyColumn { column, .. }
        | AlterAction::ChangeColumn { column, .. } = action
            && column.data_type.base == Base::Json
        {
            let mut text = TypeName::new(Base::LongText);
            text.charset = Some("utf8mb4".to_owned());
            text.collation = Some("utf8mb4_bin".to_owned());
            column.data_type = text;
        }
    }
}

fn is_collation(action: &AlterAction) -> bool {
    matches!(action, AlterAction::Option(option) if option.name == "COLLATE")
}

#[cfg(test)]
mod tests {
    use pelorus_sql::Mode;
    use pelorus_sql::ddl::{ColumnDefinition, TableStatement};

    use super::*;

    #[test]
    fn json_is_text() {
        for actions in ["ADD j JSON", "MODIFY j JSON NOT NULL", "CHANGE i j JSON"] {
            let sql = format!("ALTER TABLE t {actions}, ADD k INT");
            let TableStatement::Alter(mut alter) =
                pelorus_sql::ddl::parse(&sql, Mode::default()).unwrap()
            else {
                panic!("{sql}")
            };
            json_as_text(&mut alter);
            let of = |action: &AlterAction| -> Box<ColumnDefinition> {
                match action {
                    AlterAction::AddColumn { column, .. }
                    | AlterAction::ModifyColumn { column, .. }
                    | AlterAction::ChangeColumn { column, .. } => column.clone(),
                    other => panic!("{other:?}"),
                }
            };
            let (json, other) = (of(&alter.actions[0]), of(&alter.actions[1]));
            assert_eq!(json.data_type.base, Base::LongText, "{actions}");
            assert_eq!(json.data_type.collation.as_deref(), Some("utf8mb4_bin"));
            assert_eq!(other.data_type.base, Base::Int);
        }
    }

    #[test]
    fn charsets_alone_get_the_collations_of_the_server() {
        let parse = |sql: &str| pelorus_sql::ddl::parse(sql, Mode::default()).unwrap();
        let general = [
            ("utf8mb4".to_owned(), Collation::by_name("utf8mb4_general_ci")),
            ("utf8".to_owned(), None),
        ];
        let named = |actions: &str| match parse(&format!("ALTER TABLE t {actions}")) {
            TableStatement::Alter(mut alter) => {
                name_collations(&mut alter, &general).map(|()| format!("{:?}", alter.actions))
            }
            other => panic!("{other:?}"),
        };
        for with in [
            "ADD c CHAR(3) CHARACTER SET utf8mb4",
            "MODIFY c ENUM('a') CHARSET utf8mb4",
            "CONVERT TO CHARACTER SET utf8mb4",
            "DEFAULT CHARACTER SET utf8mb4",
        ] {
            assert!(named(with).unwrap().contains("utf8mb4_general_ci"), "{with}");
        }
        for without in [
            "ADD c CHAR(3) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
            "ADD c CHAR(3) CHARACTER SET latin1",
            "CHARSET utf8mb4 COLLATE utf8mb4_bin",
        ] {
            assert!(!named(without).unwrap().contains("general"), "{without}");
        }
        assert!(named("ADD c CHAR(3) CHARACTER SET utf8").is_err());
        let first = named("ADD c CHAR(3), CHARSET utf8mb4").unwrap();
        assert!(first.find("general").unwrap() < first.find("AddColumn").unwrap(), "{first}");
    }

    #[test]
    fn definitions_get_the_collations_of_their_columns() {
        let text = "CREATE TABLE t (a CHAR(3), b INT, c TEXT CHARACTER SET latin1) CHARSET utf8mb4";
        let TableStatement::Create(mut definition) =
            pelorus_sql::ddl::parse(text, Mode::default()).unwrap()
        else {
            panic!()
        };
        let pair = |name: &str, collation: &str| (name.to_owned(), collation.to_owned());
        set_collations(
            &mut definition,
            &[pair("", "gbk_bin"), pair("A", "utf8mb4_bin"), pair("c", "latin1_bin")],
        );
        let of = |at: usize| definition.columns[at].data_type.collation.as_deref();
        assert_eq!((of(0), of(1), of(2)), (Some("utf8mb4_bin"), None, Some("latin1_bin")));
        assert_eq!(definition.option("COLLATE"), Some("gbk_bin"));
        assert_eq!(definition.option("CHARSET"), None);
    }
}

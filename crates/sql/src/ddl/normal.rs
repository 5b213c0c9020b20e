//! The normal form of table definitions: equivalent definitions become equal, as MySQL normalises a
//! definition before it stores it.

use sqlparser::ast::{Expr, Value};

use super::definition::{
    Base, ColumnDefault, ColumnDefinition, Expression, ForeignKey, KeyDefinition, KeyKind, KeyPart,
    KeyTarget, TableDefinition, TypeName,
};

impl TableDefinition {
    /// Brings the definition into the form that MySQL stores and shows:
    ///
    /// - keys and checks of columns become keys and checks of the table, and keys are put in
    ///   MySQL's order: primary, unique without NULL, unique, others, full text;
    /// - what has no name gets the name that MySQL gives (`a_2`, `t_ibfk_1`, `t_chk_1`);
    /// - every column says whether it can be NULL, and has `DEFAULT NULL` where that is the
    ///   default;
    /// - empty comments are gone;
    /// - types have their default lengths, and integers no display width except `tinyint(1)` and
    ///   with `ZEROFILL`;
    /// - the number of partitions is gone where these are listed;
    /// - references at columns are gone; [`Self::take_references`] makes foreign keys of them
    ///   before.
    ///
    /// Doing it twice changes nothing more. Nothing is checked: columns of keys may be missing and
    /// names may occur twice.
    pub fn normalise(&mut self) {
        self.move_column_constraints();
        self.set_nullability();
        for column in &mut self.columns {
            column.data_type.normalise();
            column.normalise_default();
            column.references = None;
        }
        if let Some(partitioning) = &mut self.partitioning
            && !partitioning.partitions.is_empty()
        {
            partitioning.count = None;
        }
        self.drop_empty_comments();
        self.order_keys();
        self.name_constraints();
        self.keys.iter_mut().for_each(|it| it.if_not_exists = false);
        self.foreign_keys.iter_mut().for_each(|it| it.if_not_exists = false);
        for check in &mut self.checks {
            (check.if_not_exists, check.position) = (false, 0);
        }
    }

    /// Makes foreign keys of the references at columns, as MySQL 9 does, and gives each foreign key
    /// of a definition that was just written the plain key that MySQL gives it.
    pub fn complete_foreign_keys(&mut self) {
        let written = std::mem::take(&mut self.foreign_keys);
        self.take_references();
        for key in written {
            self.add_foreign_key(key);
        }
    }

    /// Makes foreign keys of the references at columns.
    pub fn take_references(&mut self) {
        let taken: Vec<_> = self
            .columns
            .iter_mut()
            .filter_map(|column| Some((column.name.clone(), column.references.take()?)))
            .collect();
        for (column, references) in taken {
            let columns = vec![column];
            self.add_foreign_key(ForeignKey {
                name: None,
                index: None,
                if_not_exists: false,
                columns,
                references,
            });
        }
    }

    /// Adds a foreign key, and a plain key unless one begins with its columns.
    pub fn add_foreign_key(&mut self, key: ForeignKey) {
        if !self.has_key_for(&key.columns) {
            let name = key.name.clone().or_else(|| key.index.clone());
            let mut plain = KeyDefinition::new(KeyKind::Index, name);
            let part = |column: &String| KeyPart {
                target: KeyTarget::Column(column.clone()),
                length: None,
                descending: false,
            };
            plain.parts = key.columns.iter().map(part).collect();
            self.keys.push(plain);
        }
        self.foreign_keys.push(key);
    }

    /// Whether a key begins with some columns.
    fn has_key_for(&self, columns: &[String]) -> bool {
        let is_key = |column: &ColumnDefinition| {
            (column.primary || column.unique)
                && matches!(columns, [only] if only.eq_ignore_ascii_case(&column.name))
        };
        self.columns.iter().any(is_key) || self.keys.iter().any(|key| key.begins_with(columns))
    }

    fn move_column_constraints(&mut self) {
        for column in &mut self.columns {
            for (flag, kind) in
                [(&mut column.primary, KeyKind::Primary), (&mut column.unique, KeyKind::Unique)]
            {
                if std::mem::take(flag) {
                    let mut key = KeyDefinition::new(kind, None);
                    let target = KeyTarget::Column(column.name.clone());
                    key.parts = vec![KeyPart { target, length: None, descending: false }];
                    self.keys.push(key);
                }
            }
            self.checks.append(&mut column.checks);
        }
        // Those that were there before come first, new ones in the order of the text.
        self.checks.sort_by_key(|check| check.position);
    }

    /// An empty comment is none.
    fn drop_empty_comments(&mut self) {
        let is_empty = |comment: &mut String| comment.is_empty();
        for column in &mut self.columns {
            column.comment.take_if(is_empty);
        }
        for key in &mut self.keys {
            key.comment.take_if(is_empty);
        }
        self.options.retain(|option| option.name != "COMMENT" || !option.value.is_empty());
    }

    fn set_nullability(&mut self) {
        for column in &mut self.columns {
            let in_primary =
                self.keys.iter().any(|key| key.kind == KeyKind::Primary && key.holds(&column.name));
            if in_primary || column.auto_increment {
                column.nullable = Some(false);
            }
            column.nullable.get_or_insert(true);
        }
    }

    fn order_keys(&mut self) {
        let columns = &self.columns;
        let nullable = |key: &KeyDefinition| {
            columns.iter().any(|column| column.nullable == Some(true) && key.holds(&column.name))
        };
        self.keys.sort_by_key(|key| match key.kind {
            KeyKind::Primary => 0,
            KeyKind::Unique if !nullable(key) => 1,
            KeyKind::Unique => 2,
            KeyKind::Index | KeyKind::Spatial => 3,
            KeyKind::FullText => 4,
        });
    }

    fn name_constraints(&mut self) {
        let mut taken: Vec<String> =
            self.keys.iter().filter_map(|key| key.name.as_deref().map(str::to_lowercase)).collect();
        for key in &mut self.keys {
            if key.name.is_some() || key.kind == KeyKind::Primary {
                continue;
            }
            let base = match key.parts.first().map(|part| &part.target) {
                Some(KeyTarget::Column(column)) => column.clone(),
                _ => "functional_index".to_owned(),
            };
            let mut name = base.clone();
            let mut number = 1;
            while taken.contains(&name.to_lowercase()) || name.eq_ignore_ascii_case("PRIMARY") {
                number += 1;
                name = format!("{base}_{number}");
            }
            taken.push(name.to_lowercase());
            key.name = Some(name);
        }
        let table = self.name.name.clone();
        let names = self.foreign_keys.iter_mut().map(|key| &mut key.name);
        name_all(names.collect(), &format!("{table}_ibfk_"));
        name_all(
            self.checks.iter_mut().map(|check| &mut check.name).collect(),
            &format!("{table}_chk_"),
        );
        for key in &mut self.foreign_keys {
            key.index = None;
        }
    }
}

/// Gives the next free number to each that has no name.
fn name_all(names: Vec<&mut Option<String>>, prefix: &str) {
    let number = |name: &Option<String>| {
        name.as_deref().and_then(|name| name.strip_prefix(prefix)?.parse::<u64>().ok())
    };
    let mut last = names.iter().filter_map(|name| number(name)).max().unwrap_or(0);
    for name in names {
        if name.is_none() {
            last = last.saturating_add(1);
            *name = Some(format!("{prefix}{last}"));
        }
    }
}

impl KeyDefinition {
    /// Whether whole columns are its first ones, in this order, and can be looked up by it.
    fn begins_with(&self, columns: &[String]) -> bool {
        let is = |(part, column): (&KeyPart, &String)| {
            part.length.is_none()
                && matches!(&part.target, KeyTarget::Column(it) if it.eq_ignore_ascii_case(column))
        };
        !matches!(self.kind, KeyKind::FullText | KeyKind::Spatial)
            && self.parts.len() >= columns.len()
            && self.parts.iter().zip(columns).all(is)
    }

    /// Whether a column, or the beginning of one, is part of the key.
    pub fn holds(&self, column: &str) -> bool {
        self.parts.iter().any(|part| {
            matches!(&part.target, KeyTarget::Column(name) if name.eq_ignore_ascii_case(column))
        })
    }
}

impl ColumnDefinition {
    fn normalise_default(&mut self) {
        if self.nullable == Some(false) && self.default == Some(ColumnDefault::Dropped) {
            self.default = None;
        }
        let null = ColumnDefault::Literal(Expression {
            text: "NULL".to_owned(),
            tree: Box::new(Expr::Value(Value::Null.with_empty_span())),
        });
        let is_null = match &self.default {
            Some(ColumnDefault::Literal(literal)) => {
                matches!(literal.tree.as_ref(), Expr::Value(value) if value.value == Value::Null)
            }
            None => true,
            _ => false,
        };
        if !is_null {
            return;
        }
        let shown = self.nullable == Some(true)
            && self.generated.is_none()
            && !self.data_type.base.has_no_default();
        // `NOT NULL DEFAULT NULL` is an error of its own, which must not vanish here.
        if shown {
            self.default = Some(null);
        } else if self.nullable == Some(true) {
            self.default = None;
        }
    }
}

impl TypeName {
    fn normalise(&mut self) {
        let width = match self.base {
            Base::TinyInt => 3,
            Base::SmallInt => 5,
            Base::MediumInt => 8,
            Base::Int => 10,
            _ => 20,
        };
        match self.base {
            base if base.is_integer() => {
                self.length = match self.length {
                    Some(length) if self.zerofill => Some(length),
                    None if self.zerofill => Some(width),
                    Some(1) if base == Base::TinyInt && !self.unsigned => Some(1),
                    _ => None,
                };
            }
            Base::Decimal => {
                // `DECIMAL(0)` is `DECIMAL(10)`.
                if self.length.is_none_or(|length| length == 0) {
                    self.length = Some(10);
                }
                self.scale.get_or_insert(0);
            }
            Base::Bit | Base::Char | Base::Binary => {
                self.length.get_or_insert(1);
            }
            Base::Time | Base::DateTime | Base::Timestamp if self.length == Some(0) => {
                self.length = None;
            }
            Base::Year => self.length = None,
            Base::Vector => {
                self.length.get_or_insert(2048);
            }
            _ => {}
        }
    }
}

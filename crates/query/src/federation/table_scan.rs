//! A table of a server that is joined here.

use datafusion::logical_expr::LogicalPlan;
use pelorus_error::Result;
use pelorus_link::{Fragment, KeyPart, KeyRange, Link, RemoteTable, ScanRequest};
use pelorus_sql::ast_analysis::{self, Node};
use pelorus_sql::{Mode, literal};
use pelorus_types::Column;
use sqlparser::ast;

use super::block::{remote_columns, runs_once};
use super::sql_writer;
use crate::binder::functional_dependency::rejected_nulls;
use crate::binder::scope::Scope;
use crate::binder::statement::{Binder, TableUse};
use crate::binder::typed_expression::TypedExpr;

impl Scope {
    /// Adds columns of a table of a server, which are in the order of its description, and the
    /// dependencies of its keys: the primary key, and unique keys whose NULLs the block excludes.
    pub(crate) fn push_remote(
        &mut self,
        (schema, alias): (&str, &str),
        table: &RemoteTable,
        (typed, columns): (Vec<TypedExpr>, &[Column]),
        select: &ast::Select,
    ) {
        let begin = self.columns.len();
        self.push_relation(schema, alias, typed);
        self.columns[begin..].iter_mut().for_each(|column| column.folds = table.folds_names);
        let rejected = rejected_nulls(select);
        let is_rejected = |name: &str| {
            rejected.iter().any(|path| {
                let [.., of, column] = path[..] else {
                    return path.last().is_some_and(|it| it.eq_ignore_ascii_case(name));
                };
                of.eq_ignore_ascii_case(alias) && column.eq_ignore_ascii_case(name)
            })
        };
        let place = |part: &KeyPart| {
            let is_whole = part.prefix.is_none() && (!part.nullable || is_rejected(&part.column));
            let is_it = |it: &Column| it.name.eq_ignore_ascii_case(&part.column);
            columns.iter().position(is_it).filter(|_| is_whole).map(|at| begin + at)
        };
        for key in table.keys.iter().filter(|key| key.unique) {
            if let Some(parts) = key.parts.iter().map(place).collect::<Option<Vec<_>>>() {
                self.facts.add(parts, (begin..self.columns.len()).collect(), true);
            }
        }
    }
}

impl Binder<'_> {
    /// A table of a server that is joined here: only the columns that the block names, only the
    /// rows that pass the conditions on this table alone.
    pub(crate) async fn remote_leaf(
        &self,
        link: &Link,
        table: &RemoteTable,
        TableUse { schema, alias, select, filtered }: TableUse<'_>,
    ) -> Result<(LogicalPlan, Scope)> {
        let mut columns = remote_columns(table);
        if !self.mentioned.all(select, alias) {
            columns.retain(|column| self.mentioned.column(alias, &column.name));
        }
        if columns.is_empty() {
            // Something must be read to count the rows.
            columns.extend(remote_columns(table).into_iter().take(1));
        }
        let list: Vec<String> = columns.iter().map(|column| literal::name(&column.name)).collect();
        let conditions = match (&select.selection, filtered) {
            (Some(selection), true) => {
                self.own_conditions(selection, table, alias, select.from.len() == 1)
            }
            _ => Vec::new(),
        };
        let conditions = if conditions.is_empty() {
            "1=1".to_owned()
        } else {
            let texts: Vec<String> = conditions.iter().map(|it| format!("({it})")).collect();
            texts.join(" AND ")
        };
        let fragment = Fragment {
            parts: [
                format!(
                    "SELECT {} FROM {}.{}",
                    list.join(", "),
                    literal::name(&table.database),
                    literal::name(&table.name)
                ),
                format!(" AS {} WHERE {conditions} AND (", literal::name(alias)),
                ")".to_owned(),
            ],
        };
        let options = &self.context.options;
        let (ranges, how) = if table.rows >= options.split_rows_min && options.streams > 1 {
            let split = link.split(table, None, options.streams * 4).await?;
            (split.ranges.clone(), split.how.clone())
        } else {
            (vec![KeyRange::whole(table.rows)], "one range".to_owned())
        };
        let request = ScanRequest {
            settings: self.context.settings.clone(),
            fragment,
            ranges,
            qualifier: alias.to_owned(),
            tables: vec![(table.database.clone(), table.name.clone())],
            cut: Some((table.database.clone(), table.name.clone())),
            streams: options.streams,
            committed: false,
            buffer_whole_range: true,
            expected: columns.iter().map(|column| column.ty).collect(),
            memory: self.context.memory.clone(),
        };
        let (plan, typed) = self.fragment(link, request, &columns, how)?;
        let mut scope = Scope::default();
        scope.push_remote((schema, alias), table, (typed, &columns), select);
        Ok((plan, scope))
    }

    /// The conditions of WHERE that concern one table alone, as text for its server.
    fn own_conditions(
        &self,
        selection: &ast::Expr,
        table: &RemoteTable,
        alias: &str,
        only_table: bool,
    ) -> Vec<String> {
        ast_analysis::conjuncts(selection)
            .into_iter()
            .filter(|condition| is_own(condition, table, alias, only_table, self.context.mode))
            .filter_map(|condition| sql_writer::expression(self.context, condition).ok())
            .collect()
    }
}

/// Whether a condition names nothing but columns of one table, and means the same on its server.
fn is_own(
    condition: &ast::Expr,
    table: &RemoteTable,
    alias: &str,
    only_table: bool,
    mode: Mode,
) -> bool {
    let is_column = |path: &[ast::Ident]| match path {
        // A bare name could be another table's column too, which only the whole FROM clause tells;
        // with one table there is no doubt.
        [column] => only_table && table.column(&column.value).is_some(),
        [table_name, column] => {
            table_name.value.eq_ignore_ascii_case(alias) && table.column(&column.value).is_some()
        }
        _ => false,
    };
    let (mut own, mut columns) = (true, 0_usize);
    ast_analysis::walk_expr(condition, &mut |node| {
        own &= match node {
            Node::Expr(ast::Expr::Identifier(name)) => {
                columns += 1;
                is_column(std::slice::from_ref(name))
            }
            Node::Expr(ast::Expr::CompoundIdentifier(path)) => {
                columns += 1;
                is_column(path)
            }
            Node::Expr(ast::Expr::Function(function)) => function.over.is_none(),
            Node::Expr(_) | Node::Table(_) => true,
            Node::Query(_) | Node::End => false,
        }
    });
    own && columns > 0
        && !ast_analysis::has_aggregate(condition)
        && !runs_once(&ast_analysis::expression_dependence(condition, mode))
}

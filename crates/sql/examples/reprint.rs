//! Parses every line of standard input as a query and prints it again, for comparisons with real
//! servers: `ok<TAB>text<TAB>names` or `unparsed<TAB>error`. `\n` stands for a line break.

#![allow(clippy::print_stdout, reason = "this is a command-line tool")]

use std::io::BufRead as _;

use pelorus_sql::{Mode, parse_query};

fn main() {
    let mode = std::env::args().nth(1).unwrap_or_default();
    let mode = Mode::from_sql_mode(&mode);
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let sql = line.replace("\\n", "\n");
        match parse_query(&sql, mode) {
            Ok(parsed) => {
                let mut body = parsed.query.body.as_ref();
                let names = loop {
                    match body {
                        pelorus_sql::ast::SetExpr::SetOperation { left, .. } => body = left,
                        pelorus_sql::ast::SetExpr::Query(query) => body = &query.body,
                        pelorus_sql::ast::SetExpr::Select(select) => break parsed.names(select),
                        _ => break None,
                    }
                };
                let text = parsed.query.to_string().replace('\n', "\\n");
                println!("ok\t{text}\t{}", format!("{names:?}").replace('\t', " "));
            }
            Err(error) => println!("unparsed\t{}", error.to_string().replace('\n', "\\n")),
        }
    }
}

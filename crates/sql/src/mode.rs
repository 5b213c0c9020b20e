//! The parts of `sql_mode` and of the server that change how statement text is read.

/// How text is to be read. Rendered text means the same only when it is read in the same mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mode {
    /// `"x"` is an identifier, not a string.
    pub ansi_quotes: bool,
    /// A backslash in a string is an ordinary character.
    pub no_backslash_escapes: bool,
    /// `||` joins strings instead of meaning OR.
    pub pipes_as_concat: bool,
    /// `NOT` binds as tightly as `!`.
    pub high_not_precedence: bool,
    /// A space is allowed between a function's name and its parenthesis.
    pub ignore_space: bool,
    /// `/*!nnnnn ... */` is read when `nnnnn` is at most this. The largest number means all that a
    /// server has executed, also MariaDB's `/*M! ... */`.
    pub version: u32,
}

impl Default for Mode {
    fn default() -> Self {
        Self {
            ansi_quotes: false,
            no_backslash_escapes: false,
            pipes_as_concat: false,
            high_not_precedence: false,
            ignore_space: false,
            version: 80_400,
        }
    }
}

impl Mode {
    /// Reads the value of the `sql_mode` variable; words that do not concern the text are passed
    /// over.
    pub fn from_sql_mode(sql_mode: &str) -> Self {
        let mut mode = Self::default();
        for word in sql_mode.split(',') {
            match word.trim().to_ascii_uppercase().as_str() {
                "ANSI_QUOTES" => mode.ansi_quotes = true,
                "NO_BACKSLASH_ESCAPES" => mode.no_backslash_escapes = true,
                "PIPES_AS_CONCAT" => mode.pipes_as_concat = true,
                "HIGH_NOT_PRECEDENCE" => mode.high_not_precedence = true,
                "IGNORE_SPACE" => mode.ignore_space = true,
                // The combined modes; a server reports them spelled out as well.
                "ANSI" | "DB2" | "MAXDB" | "MSSQL" | "ORACLE" | "POSTGRESQL" => {
                    mode.ansi_quotes = true;
                    mode.pipes_as_concat = true;
                    mode.ignore_space = true;
                }
                _ => {}
            }
        }
        mode
    }

    /// The value of `sql_mode` under which a server reads text in this mode; its other modes are
    /// unchanged.
    pub fn within(self, sql_mode: &str) -> String {
        if self.reads_as(Self::from_sql_mode(sql_mode)) {
            return sql_mode.to_owned();
        }
        let others = sql_mode.split(',').filter(|word| {
            !word.trim().is_empty() && Self::from_sql_mode(word).reads_as(Self::default())
        });
        let words = [
            (self.ansi_quotes, "ANSI_QUOTES"),
            (self.no_backslash_escapes, "NO_BACKSLASH_ESCAPES"),
            (self.pipes_as_concat, "PIPES_AS_CONCAT"),
            (self.high_not_precedence, "HIGH_NOT_PRECEDENCE"),
            (self.ignore_space, "IGNORE_SPACE"),
        ];
        let own = words.into_iter().filter(|(on, _)| *on).map(|(_, word)| word);
        others.chain(own).collect::<Vec<_>>().join(",")
    }

    /// Whether texts without comments mean the same in both.
    pub fn reads_as(self, other: Self) -> bool {
        Self { version: 0, ..self } == Self { version: 0, ..other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_words_that_matter() {
        let mode = Mode::from_sql_mode("STRICT_TRANS_TABLES, ansi_quotes,NO_BACKSLASH_ESCAPES");
        assert!(mode.ansi_quotes && mode.no_backslash_escapes && !mode.pipes_as_concat);
        let ansi = Mode::from_sql_mode("ANSI");
        assert!(ansi.ansi_quotes && ansi.pipes_as_concat && ansi.ignore_space);
        assert_eq!(Mode::from_sql_mode(""), Mode::default());
    }

    #[test]
    fn only_the_words_that_matter_are_replaced() {
        let quotes = Mode { ansi_quotes: true, ..Mode::default() };
        assert_eq!(quotes.within("STRICT_ALL_TABLES"), "STRICT_ALL_TABLES,ANSI_QUOTES");
        assert_eq!(quotes.within("IGNORE_SPACE"), "ANSI_QUOTES");
        assert_eq!(quotes.within("ANSI_QUOTES,NO_ZERO_DATE"), "ANSI_QUOTES,NO_ZERO_DATE");
        assert_eq!(Mode::default().within("NO_ZERO_DATE,ANSI,PIPES_AS_CONCAT"), "NO_ZERO_DATE");
        assert_eq!(Mode::default().within(""), "");
    }
}

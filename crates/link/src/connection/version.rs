//! The version of a server: MySQL or MariaDB, and the features that follow from it.

/// The version of a server, and the features that follow from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerVersion {
    /// As in `@@version`.
    pub(crate) text: String,
    pub(crate) is_mariadb: bool,
    /// Major, minor, patch.
    pub(crate) number: (u16, u16, u16),
}

impl ServerVersion {
    pub(crate) fn parse(text: &str, is_mariadb: bool) -> Self {
        let mut parts = text
            .split(|c: char| !c.is_ascii_digit())
            .map(|digits| digits.parse::<u16>().unwrap_or(0));
        let mut next = || parts.next().unwrap_or(0);
        let number = (next(), next(), next());
        Self { text: text.to_owned(), is_mariadb, number }
    }

    /// `EXPLAIN` in the form of rows with the traditional columns.
    pub(crate) fn explain(&self) -> &'static str {
        // MySQL 8.3 has a variable that may make a tree the default.
        if !self.is_mariadb && self.number >= (5, 7, 0) {
            "EXPLAIN FORMAT=TRADITIONAL "
        } else {
            "EXPLAIN "
        }
    }

    /// Whether `$$ ... $$` is a string, as in stored programs in JavaScript.
    pub(crate) fn has_dollar_quotes(&self) -> bool {
        !self.is_mariadb && self.number >= (9, 0, 0)
    }

    /// The variable that says whether a session's transactions only read.
    pub(crate) fn read_only_variable(&self) -> &'static str {
        let is_renamed = match self.is_mariadb {
            true => self.number >= (11, 1, 0),
            false => self.number >= (5, 7, 20),
        };
        if is_renamed { "transaction_read_only" } else { "tx_read_only" }
    }

    /// The statement that shows the end of the binlog and its filters.
    pub(crate) fn binlog_status(&self) -> &'static str {
        if self.is_mariadb || self.number < (8, 2, 0) {
            "SHOW MASTER STATUS"
        } else {
            "SHOW BINARY LOG STATUS"
        }
    }

    /// How to ask for the servers that it follows.
    pub(crate) fn following(&self) -> &'static str {
        if self.is_mariadb {
            "SHOW ALL SLAVES STATUS"
        } else if self.number < (8, 0, 22) {
            "SHOW SLAVE STATUS"
        } else {
            "SHOW REPLICA STATUS"
        }
    }

    /// A statement that tells whether the account may read the binlog: MySQL carries it out for
    /// those only, roles and all; MariaDB lists the rights.
    pub(crate) fn right_to_follow(&self) -> &'static str {
        if self.is_mariadb {
            "SHOW GRANTS"
        } else if self.number < (8, 0, 22) {
            "SHOW SLAVE HOSTS"
        } else {
            "SHOW REPLICAS"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        let maria = ServerVersion::parse("10.11.19-MariaDB-0+deb12u1-log", true);
        assert_eq!(maria.number, (10, 11, 19));
        assert_eq!(ServerVersion::parse("9.7.4-2", false).number, (9, 7, 4));
        assert_eq!(ServerVersion::parse("strange", false).number, (0, 0, 0));
    }
}

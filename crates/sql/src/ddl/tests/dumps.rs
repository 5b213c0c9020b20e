//! Tests of definitions as `mysqldump` and `SHOW CREATE TABLE` write them.

use super::*;

/// MySQL 8.4's `SHOW CREATE TABLE`: what is written must be what was read, except for the engine.
const SHOWN: [&str; 4] = [
    "CREATE TABLE `orders` (
  `id` bigint unsigned NOT NULL AUTO_INCREMENT,
  `customer_id` int NOT NULL DEFAULT '0',
  `code` varchar(20) CHARACTER SET latin1 COLLATE latin1_bin DEFAULT NULL,
  `amount` decimal(10,2) unsigned NOT NULL DEFAULT '0.00',
  `state` enum('new','it''s','done') COLLATE utf8mb4_unicode_ci DEFAULT 'new',
  `flag` tinyint(1) DEFAULT NULL,
  `nr` int(8) unsigned zerofill DEFAULT NULL,
  `note` text COMMENT 'free''s',
  `doc` json DEFAULT (json_object()),
  `kind` varchar(9) GENERATED ALWAYS AS (json_unquote(json_extract(`doc`,_utf8mb4'$.kind'))) STORED,
  `half` decimal(12,4) GENERATED ALWAYS AS ((`amount` / 2)) VIRTUAL NOT NULL,
  `place` point NOT NULL /*!80003 SRID 4326 */,
  `created` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
  `changed` timestamp(6) NULL DEFAULT NULL ON UPDATE CURRENT_TIMESTAMP(6),
  `hidden` int DEFAULT NULL /*!80023 INVISIBLE */,
  `bits` bit(3) DEFAULT b'101',
  PRIMARY KEY (`id`),
  UNIQUE KEY `code` (`code`(10) DESC,`customer_id`),
  KEY `customer` (`customer_id`) USING BTREE COMMENT 'who' /*!80000 INVISIBLE */,
  KEY `functional_index` ((lower(`note`))),
  SPATIAL KEY `place` (`place`),
  FULLTEXT KEY `note` (`note`) /*!50100 WITH PARSER `ngram` */,
  CONSTRAINT `orders_ibfk_1` FOREIGN KEY (`customer_id`, `id`) REFERENCES `customers` (`id`, `x`) \
     ON DELETE CASCADE ON UPDATE SET NULL,
  CONSTRAINT `positive` CHECK ((`amount` >= 0)),
  CONSTRAINT `orders_chk_1` CHECK ((`nr` <> 5)) /*!80016 NOT ENFORCED */
) ENGINE=Pelorus AUTO_INCREMENT=7 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci \
     STATS_PERSISTENT=1 COMMENT='all orders'",
    "CREATE TABLE `sales` (
  `id` int NOT NULL,
  `day` date NOT NULL,
  PRIMARY KEY (`id`,`day`)
) ENGINE=Pelorus AUTO_INCREMENT=7 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci
/*!50100 PARTITION BY RANGE (to_days(`day`))
SUBPARTITION BY HASH (`id`)
SUBPARTITIONS 2
(PARTITION p2023 VALUES LESS THAN (739251) ENGINE = InnoDB,
 PARTITION pmax VALUES LESS THAN MAXVALUE COMMENT = 'rest' ENGINE = InnoDB) */",
    "CREATE TABLE `parts` (
  `a` int DEFAULT NULL,
  `b` varchar(9) DEFAULT NULL
) ENGINE=Pelorus AUTO_INCREMENT=7 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci
/*!50500 PARTITION BY LIST  COLUMNS(a,b)
(PARTITION p0 VALUES IN ((1, 'x'),(2, 'y')) ENGINE = InnoDB) */",
    "CREATE TABLE `metrics` (
  `host` varchar(64) NOT NULL,
  `at` datetime(3) NOT NULL,
  `value` double DEFAULT NULL,
  PRIMARY KEY (`host`,`at`)
) ENGINE=Pelorus AUTO_INCREMENT=7 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci \
     HISTORY='15 MINUTE' HISTORY_BYTES=1000000 COMMIT='ASYNC'
PARTITION BY (TIME_SLICE(`at`, INTERVAL 1 DAY), HASH(`host`, 8))
SEGMENT BY (TIME_SLICE(`at`, INTERVAL 1 HOUR))",
];

#[test]
fn what_mysql_shows_is_shown_the_same() {
    for sql in SHOWN {
        assert_eq!(round_trip(sql), *sql);
    }
}

/// Dumps of MySQL 5.7, MariaDB and TiDB: the statement, its columns, keys, partitions.
const DUMPED: [(&str, [usize; 3]); 5] = [
    (
        "CREATE TABLE `a` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `name` varchar(255) COLLATE utf8_unicode_ci NOT NULL DEFAULT '',
  `c` char(1) CHARACTER SET utf8 COLLATE utf8_bin DEFAULT NULL,
  `ts` timestamp NOT NULL DEFAULT '0000-00-00 00:00:00' ON UPDATE CURRENT_TIMESTAMP,
  PRIMARY KEY (`id`),
  UNIQUE KEY `name` (`name`),
  KEY `c` (`c`) USING HASH
) ENGINE=InnoDB AUTO_INCREMENT=4 DEFAULT CHARSET=utf8 COLLATE=utf8_unicode_ci ROW_FORMAT=COMPACT;",
        [4, 3, 0],
    ),
    (
        "CREATE TABLE `p` (
  `id` int(11) DEFAULT NULL,
  `d` date DEFAULT NULL
) ENGINE=InnoDB DEFAULT CHARSET=latin1
/*!50100 PARTITION BY RANGE (YEAR(d))
(PARTITION p0 VALUES LESS THAN (2000) ENGINE = InnoDB,
 PARTITION p1 VALUES LESS THAN (2010) ENGINE = InnoDB,
 PARTITION p2 VALUES LESS THAN MAXVALUE ENGINE = InnoDB) */;",
        [2, 0, 3],
    ),
    (
        "CREATE TABLE `m` (
  `id` uuid NOT NULL,
  `ip` inet6 DEFAULT NULL,
  `j` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL CHECK (json_valid(`j`)),
  `t` datetime DEFAULT current_timestamp() ON UPDATE current_timestamp(),
  `v` int(11) GENERATED ALWAYS AS (octet_length(`j`)) STORED,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci PAGE_CHECKSUM=1",
        [5, 1, 0],
    ),
    (
        "CREATE TABLE `k` (
  `id` bigint(20) NOT NULL,
  PRIMARY KEY (`id`) /*T![clustered_index] CLUSTERED */
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin
PARTITION BY HASH (`id`) PARTITIONS 4",
        [1, 1, 0],
    ),
    (
        "CREATE TABLE `old` (`a` int(10) unsigned zerofill NOT NULL default '0', `b` text, KEY `a` \
         (`a`), FULLTEXT `b` (`b`)) TYPE=MyISAM COMMENT='x' DELAY_KEY_WRITE=1 PACK_KEYS=DEFAULT",
        [2, 2, 0],
    ),
];

#[test]
fn dumps_are_read() {
    for (sql, counts) in DUMPED {
        let table = create(sql);
        let partitions = table.partitioning.as_ref().map_or(0, |by| by.partitions.len());
        assert_eq!([table.columns.len(), table.keys.len(), partitions], counts, "{sql}");
        round_trip(sql);
    }
}

#[test]
fn version_comments_above_the_version_are_not_read() {
    let sql = "CREATE TABLE t (a INT /*!99999 DEFAULT 5 */ /*!80000 NOT NULL */)";
    let table = create(sql);
    assert_eq!((table.columns[0].default.clone(), table.columns[0].nullable), (None, Some(false)));
}

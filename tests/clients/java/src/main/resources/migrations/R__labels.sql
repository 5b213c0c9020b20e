CREATE TABLE IF NOT EXISTS label (word VARCHAR(20) PRIMARY KEY);
REPLACE INTO label VALUES ('${flyway:database}'), ('old');

-- Columns of views go by the views' names for them, those of other tables as they are written.
CREATE TABLE named (Id INT PRIMARY KEY, vAl INT);
SELECT ID, named.VAL, (iD) FROM named;
SELECT table_name, t.Table_Schema, (engine) FROM information_schema.tables t WHERE table_schema = DATABASE() AND engine IS NULL;
SELECT column_name, ordinal_position FROM INFORMATION_SCHEMA.COLUMNS WHERE table_schema = DATABASE() AND table_name = 'named' ORDER BY ordinal_position;
-- values only: types of the information schema
SELECT table_name AS name, column_name AS `column_name`, UPPER(column_name), MAX(ordinal_position) FROM information_schema.columns WHERE table_schema = DATABASE() GROUP BY table_name, column_name ORDER BY column_name;
SELECT schema_name = DATABASE(), schema_name FROM information_schema.schemata WHERE schema_name = DATABASE();
SELECT DISTINCT table_schema FROM information_schema.tables WHERE table_schema = DATABASE() UNION SELECT 'x' ORDER BY table_schema;
SELECT a.table_name, b.column_name FROM information_schema.tables a LEFT JOIN information_schema.columns b USING (table_schema, table_name) WHERE table_schema = DATABASE() ORDER BY column_name;
SELECT engine FROM information_schema.engines WHERE engine = 'none';
SELECT collation_name FROM information_schema.collations WHERE collation_name = 'utf8mb4_bin';

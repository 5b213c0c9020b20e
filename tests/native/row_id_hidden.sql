-- show_gipk_in_create_table_and_information_schema.
SET sql_generate_invisible_primary_key = ON;
CREATE TABLE g (a INT, b INT, KEY (b));
INSERT INTO g VALUES (1, 2), (3, 4);
CREATE TABLE own (my_row_id INT PRIMARY KEY, a INT);
SET show_gipk_in_create_table_and_information_schema = OFF;
SELECT @@show_gipk_in_create_table_and_information_schema;
-- values only: types of SHOW
SHOW COLUMNS FROM g;
-- values only: types of SHOW
SHOW COLUMNS FROM own;
SELECT COLUMN_NAME, ORDINAL_POSITION, COLUMN_KEY, EXTRA FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'g' ORDER BY ORDINAL_POSITION;
SELECT INDEX_NAME, COLUMN_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'g';
SELECT CONSTRAINT_NAME, COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME;
SELECT TABLE_NAME, CONSTRAINT_NAME FROM information_schema.TABLE_CONSTRAINTS WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME;
SELECT my_row_id, a FROM g ORDER BY my_row_id;
CREATE TABLE h LIKE g;
INSERT INTO h SELECT a, b FROM g;
SET show_gipk_in_create_table_and_information_schema = DEFAULT;
-- values only: types of SHOW
SHOW COLUMNS FROM g;
-- values only: types of SHOW
SHOW COLUMNS FROM h;
SELECT * FROM h ORDER BY a;

INSERT INTO label VALUES ('before');
INSERT INTO nothing VALUES (1);

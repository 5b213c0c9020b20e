/* Rows, and a
   comment of several lines; */
INSERT INTO customer (name, email) VALUES ('Ada', 'ada@example.com'), ('O''Hara; "x"', NULL);
INSERT INTO purchase (customer_id, amount) SELECT id, 12.5 FROM customer; # the end

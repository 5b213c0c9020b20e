-- The first tables.
CREATE TABLE customer (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  name VARCHAR(60) NOT NULL,
  email VARCHAR(190) UNIQUE
) COMMENT = 'who buys; and pays';

CREATE TABLE purchase (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  customer_id BIGINT NOT NULL,
  amount DECIMAL(10,2) NOT NULL DEFAULT 0,
  CONSTRAINT of_customer FOREIGN KEY (customer_id) REFERENCES customer (id)
);

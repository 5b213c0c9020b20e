CREATE VIEW totals AS SELECT customer_id, SUM(amount) AS total FROM purchase GROUP BY customer_id;
DELIMITER //
CREATE TRIGGER no_negative BEFORE INSERT ON purchase FOR EACH ROW
BEGIN
  IF NEW.amount < 0 THEN
    SET NEW.amount = 0;
  END IF;
END//
CREATE PROCEDURE pay(IN who BIGINT)
BEGIN
  UPDATE purchase SET amount = 0 WHERE customer_id = who;
END//
CREATE FUNCTION twice(x INT) RETURNS INT DETERMINISTIC RETURN x * 2//
DELIMITER ;
CALL pay(1);
/*!50000 ALTER TABLE purchase ADD COLUMN note VARCHAR(20) NULL */;
